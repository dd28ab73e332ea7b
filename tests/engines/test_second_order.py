"""The second-order recipe: its problem, what it finds, and runs that were cut."""

import dataclasses

import numpy as np
import pytest
import torch
from tests.engines.test_updates import brisk, resumed  # noqa: F401

from arithmos.engines import ENGINES
from arithmos.engines.contract import Job
from arithmos.engines.second_order import normal
from arithmos.engines.torch import TorchEngine
from arithmos.judging.exact import judged_runs
from arithmos.spec import LM, MODELS, Layer, Model, Spec
from arithmos.store import Store
from arithmos.tasks import Arithmetic

POWERS = Model("NAU>RealNPU", (Layer("NAU"), Layer("RealNPU")))
D = torch.float64
TASK = Arithmetic(operation="mul", input_size=20)


def spec_of(task=TASK, model=MODELS["NMU"], **options):
    defaults = {"iterations": 120, "evaluate_every": 1, "batch_size": 200, "optimizer": LM()}
    return Spec(task=task, model=model, **defaults | options)


def judged(spec, seeds=(0, 1, 2)):
    return judged_runs([*TorchEngine().run([Job(spec, seeds)])])


CASES = {
    "sum": ("add", Model("NAU>NAU", (Layer("NAU"), Layer("NAU"))), {}),
    "difference": ("sub", MODELS["NAU"], {}),
    "product": ("mul", MODELS["NMU"], {}),
    "product, more hidden units": ("mul", MODELS["NMU"], {"hidden_size": 7}),
    "square": ("squared", MODELS["NMU"], {}),
    "quotient": ("div", POWERS, {"hidden_size": 3}),
    "root": ("root", POWERS, {}),
    "square by a power": ("squared", POWERS, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_formulas_are_found_exactly(case):
    operation, model, options = CASES[case]
    task = Arithmetic(operation=operation, input_size=20)
    for run in judged(spec_of(task, model, **options)):
        assert min(run.solved_at.values()) > 0
        assert run.records == 121
        assert run.exact
        assert np.isin(run.best_weights, [-1, 0, 0.5, 1, 2]).all()


@pytest.mark.parametrize("interpolation", [(-2.0, 2.0), (-2.0, -1.0), (1.1, 1.2), (10.0, 20.0)])
def test_products_are_found_on_every_range(interpolation):
    task = dataclasses.replace(TASK, interpolation=(interpolation,), extrapolation=((2.0, 6.0),))
    for run in judged(spec_of(task)):
        assert run.exact


def test_few_rows_in_float32_are_enough():
    for run in judged(spec_of(batch_size=60, optimizer=LM(fresh=False, single=True))):
        assert run.exact


def test_the_formula_is_found_in_noise():
    for run in judged(spec_of(batch_size=400, optimizer=LM(fresh=False, noise=0.01))):
        assert run.exact


def test_noise_is_normal_and_differs_by_seed_and_step():
    seeds = torch.tensor([0, 1])
    one, other = normal(seeds, 0, 40_000), normal(seeds, 1, 40_000)
    assert torch.equal(one, normal(seeds, 0, 40_000))
    for values in (one, other):
        torch.testing.assert_close(values.mean(1), torch.zeros(2, dtype=D), atol=0.02, rtol=0)
        torch.testing.assert_close(values.std(1), torch.ones(2, dtype=D), atol=0.02, rtol=0)
    tables = torch.stack([one[0], one[1], other[0], other[1]])
    assert (torch.corrcoef(tables) - torch.eye(4, dtype=D)).abs().max() < 0.03
    assert 0.94 < (one.abs() < 1.96).double().mean() < 0.96


def test_what_the_network_cannot_be_is_not_found():
    task = Arithmetic(operation="div", input_size=20)
    [run] = judged(spec_of(task, iterations=60), (0,))
    assert not run.exact
    assert set(run.solved_at.values()) == {-1}
    assert not run.ended_early


def test_a_stack_is_its_runs_one_by_one():
    spec = spec_of(iterations=30)
    together = {run.seed: run for run in TorchEngine().run([Job(spec, (0, 1, 2))])}
    for seed, run in together.items():
        [alone] = TorchEngine().run([Job(spec, (seed,))])
        assert alone.solved_at == run.solved_at
        assert (alone.end_weights == run.end_weights).all()


@pytest.mark.usefixtures("brisk")
def test_a_run_that_was_cut_ends_the_same():
    spec = spec_of(Arithmetic(operation="div", input_size=20), POWERS)
    [whole] = TorchEngine().run([Job(spec, (0,))])
    assert min(whole.solved_at.values()) > 6
    [again] = resumed(spec, after=6)
    assert again.solved_at == whole.solved_at
    assert (again.curve.validation == whole.curve.validation).all()


def test_other_engines_refuse_in_a_line():
    assert ENGINES["cpu"]().refuses(spec_of()) == "it trains with first-order optimizers"
    assert spec_of().beyond_adam == ("lm",)


def test_runs_are_stored_and_read_back(tmp_path):
    store = Store(tmp_path / "runs")
    store.append(judged(spec_of(), (0, 1)))
    frame = store.load()
    assert frame["exact"].tolist() == [True, True]
    assert frame["learning_rate"].isna().all()
