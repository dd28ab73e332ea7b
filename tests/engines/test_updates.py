"""Updates beyond Adam: each engine against a plain loop of torch, one network at a time."""

import dataclasses

import numpy as np
import pytest
import torch
from tests.agreement.specs import small

from arithmos.engines import ENGINES
from arithmos.engines.contract import Control, Job
from arithmos.engines.torch import TorchEngine
from arithmos.engines.updates import Restarts, penalty_of, stagnates
from arithmos.optim import constrain, sparsity_loss
from arithmos.optim.preconditioner import preconditioner
from arithmos.spec import Adam, Penalty, RMSprop
from arithmos.spec.optimizers import PULLED

L1 = Penalty(kind="l1", strength=1.0, most=10.0, every=25)
PULL = Penalty(kind="pull", strength=50, after=20)
NORM = Penalty(kind="norm", strength=5.0, most=50.0, every=25)

CASES = {
    "RMSprop": (RMSprop(lr=0.002, alpha=0.9, layer_rates=(0.5, 2)), ()),
    "layer rates, scaled loss": (Adam(layer_rates=(1, 0.1), scale_loss=True), ()),
    "clipped entries": (Adam(clip_value=0.03), ()),
    "clipped norm": (Adam(clip_norm=0.2), ()),
    "penalties": (Adam(), (L1, PULL)),
    "norms": (RMSprop(lr=0.002), (NORM,)),
    "preconditioned, clipped norm": (Adam(precondition=True, scale_loss=True, clip_norm=0.2), (L1,)),
}


def spec_of(case, **options):
    optimizer, penalties = CASES[case]
    spec = small("NMU", iterations=69, evaluate_every=20, optimizer=optimizer)
    return dataclasses.replace(spec, model=dataclasses.replace(spec.model, penalties=penalties), **options)


def written_down(spec, seed):
    """The weights after the last step of a run, by torch's own optimizers and functions."""
    network, own = spec.network(seed), spec.optimizer
    rates = own.layer_rates or (1, 1)
    groups = [{"params": [*layer.parameters()], "lr": own.lr * r} for layer, r in zip(network, rates, strict=True)]
    if isinstance(own, Adam):
        optimizer = torch.optim.Adam(groups)
    else:
        optimizer = torch.optim.RMSprop(groups, alpha=own.alpha, eps=own.eps)
    constrain(optimizer, network)
    scale, direction = preconditioner(torch.tensor(spec.task.validation(seed)[0]))
    variance = spec.task.validation(seed)[1].astype(float).var() if own.scale_loss else 1.0
    for step in range(spec.iterations + 1):
        x, t = map(torch.from_numpy, spec.task.batch(seed, step, spec.batch_size))
        loss = (network(x) - t).square().mean() / variance + spec.model.schedule(step) * sparsity_loss(network)
        for penalty in spec.model.penalties:
            if penalty.kind == "l1":
                loss = loss + penalty.at(step) * sum(p.abs().sum() for p in network.parameters())
            elif penalty.kind == "norm":
                loss = loss + penalty.at(step) * sum(p.square().sum().sqrt() for p in network.parameters())
            elif step > penalty.after:
                far = sum((PULLED - p.abs()).clamp(min=0).mean() for p in network.parameters())
                loss = loss + penalty.strength * far
        optimizer.zero_grad()
        loss.backward()
        if own.precondition:
            matrix = torch.diag(scale) - torch.outer(direction, direction)
            network[0].weight.grad = (network[0].weight.grad.double() @ matrix).float()
        if own.clip_value:
            torch.nn.utils.clip_grad_value_(network.parameters(), own.clip_value)
        if own.clip_norm:
            torch.nn.utils.clip_grad_norm_(network.parameters(), own.clip_norm)
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in network.parameters()]).numpy()


@pytest.mark.parametrize("engine", ["torch", "cpu"])
@pytest.mark.parametrize("case", CASES)
def test_an_engine_trains_as_written_down(case, engine):
    spec = spec_of(case)
    if (case, engine) == ("norms", "cpu"):
        assert ENGINES[engine]().refuses(spec) == "it has no penalty on the norms of parameters"
        return
    runs = {run.seed: run for run in ENGINES[engine]().run([Job(spec, (0, 3))])}
    plain = dataclasses.replace(spec, optimizer=Adam())
    [without] = ENGINES[engine]().run([Job(dataclasses.replace(plain, model=small("NMU").model), (0,))])
    assert np.abs(runs[0].end_weights - without.end_weights).max() > 1e-3
    for seed, run in runs.items():
        np.testing.assert_allclose(run.end_weights, written_down(spec, seed), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("engine", ["torch", "cpu"])
def test_a_penalty_waits_for_a_validation_error(engine):
    """It acts on one run of two: the error of the other is above the limit until the last record."""
    spec = spec_of("layer rates, scaled loss")
    job, control = Job(spec, (0, 3)), Control(all_records=True)
    errors = {run.seed: run.curve.validation for run in ENGINES[engine]().run([job], control)}
    low, high = sorted(errors, key=lambda seed: errors[seed].min())
    limit = float(errors[high].min() + errors[low].min()) / 2
    waiting = Penalty(kind="l1", strength=10.0, below=limit)
    changed = dataclasses.replace(spec, model=dataclasses.replace(spec.model, penalties=(waiting,)))
    before, after = (
        {run.seed: run.end_weights for run in ENGINES[engine]().run([Job(s, (0, 3))])} for s in (spec, changed)
    )
    assert (before[high] == after[high]).all()
    assert (before[low] != after[low]).any()


def test_the_norm_of_a_parameter_that_is_0_has_a_gradient_of_0():
    """As the imaginary parts of an NPU are at the start."""
    parameters = [torch.zeros(2, 3, requires_grad=True), torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)]
    total = penalty_of(NORM, parameters, 2)
    assert total.tolist() == [5.0, 0.0]
    total.sum().backward()
    assert parameters[0].grad.eq(0).all()
    torch.testing.assert_close(parameters[1].grad, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


@pytest.fixture
def brisk(monkeypatch):
    """A stack looks at its caller after every iteration."""
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)


@pytest.mark.usefixtures("brisk")
@pytest.mark.parametrize("case", ["RMSprop", "layer rates, scaled loss", "penalties", "preconditioned, clipped norm"])
def test_a_run_that_was_cut_ends_the_same(case):
    spec = spec_of(case, iterations=59, evaluate_every=7)
    [whole] = TorchEngine().run([Job(spec, (0,))])
    [again] = resumed(spec)
    assert (again.end_weights == whole.end_weights).all()
    assert (again.curve.validation == whole.curve.validation).all()


def resumed(spec, seeds=(0,), after=41):
    """Runs that are suspended on their way, and resumed."""
    states, told = {}, []
    control = Control(
        stopped=lambda: len(told) > after,
        advance=lambda *_: told.append(1),
        suspend=lambda spec, seed, state: states.update({seed: state}),
    )
    assert not [*TorchEngine().run([Job(spec, seeds)], control)]
    assert 0 < states[0]["step"][0] <= spec.iterations
    return TorchEngine().run([Job(spec, seeds)], Control(resume=lambda spec, seed: states[seed]))


def test_stagnation_is_a_large_error_that_does_not_fall():
    assert stagnates(np.full(100, 2, np.float32))
    assert not stagnates(np.full(100, 0.5, np.float32))
    assert not stagnates(np.linspace(9, 2, 100, dtype=np.float32))


@pytest.mark.usefixtures("brisk")
def test_a_stagnating_run_starts_again_with_other_weights():
    spec = small("NMU", iterations=99, evaluate_every=10, optimizer=Adam(lr=1e-12, reinitialize=30))
    runs = [*TorchEngine().run([Job(spec, (0, 3))], Control(all_records=True))]
    still = dataclasses.replace(spec, optimizer=Adam(lr=1e-12))
    for run, other in zip(runs, TorchEngine().run([Job(still, (0, 3))], Control(all_records=True)), strict=True):
        same = np.isclose(run.curve.validation, other.curve.validation, rtol=1e-2)
        assert same[:4].all()  # steps 0 to 30
        assert not same[4:].any()
        assert np.abs(run.end_weights - other.end_weights).max() > 0.01
    [again] = resumed(spec)
    assert (again.end_weights == runs[0].end_weights).all()
    restarts = Restarts(spec, (0, 3))
    restarts.count[:] = 1
    assert restarts.seed_of(0) != restarts.seed_of(1)


def test_engines_refuse_what_they_do_not_do_in_a_line():
    stagnant = small("NMU", optimizer=Adam(reinitialize=30))
    assert ENGINES["cpu"]().refuses(stagnant) == "it does not start stagnating runs again"
