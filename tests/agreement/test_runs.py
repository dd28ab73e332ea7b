"""Whole runs beside the torch engine: trajectories where they can be compared, success rates where they cannot."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import fisher_exact
from tests.agreement.specs import ODD, small

from arithmos.engines import ENGINES
from arithmos.engines.contract import Control, Job
from arithmos.engines.trace import logarithmic
from arithmos.spec import MODELS, Adam, Spec
from arithmos.statistics import benjamini_hochberg
from arithmos.tasks import TEN_PARAMETERS, Arithmetic

NO_LOGARITHM = [name for name, model in MODELS.items() if not any(map(logarithmic, model.layers))]
FIVE = ("NMU", "NACMul", "NALU", "NACMulSigma", "GatedNAUNMU")


@pytest.fixture(scope="module")
def torch_engine():
    return ENGINES["torch"]()


def both(engine, torch_engine, spec, seeds=(0, 3)):
    """Runs of the same seeds, in pairs."""
    control = Control(all_records=True)
    runs = ({run.seed: run for run in e.run([Job(spec, seeds)], control)} for e in (engine, torch_engine))
    ours, theirs = runs
    return [(ours[seed], theirs[seed]) for seed in seeds]


@pytest.mark.parametrize("name", [*NO_LOGARITHM, "products first", "range in two parts", "rows", "not projected"])
def test_two_hundred_steps(engine, torch_engine, name):
    spec = ODD[name] if name in ODD else small(name)
    spec = dataclasses.replace(spec, iterations=199, evaluate_every=50)
    for ours, theirs in both(engine, torch_engine, spec):
        np.testing.assert_allclose(ours.end_weights, theirs.end_weights, rtol=1e-4, atol=1e-5)
        assert ours.records == theirs.records == 4
        assert ours.best_step == theirs.best_step
        for of in ("validation", "test", "sparsity"):
            np.testing.assert_allclose(getattr(ours.curve, of), getattr(theirs.curve, of), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(ours.best_weights, theirs.best_weights, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(ours.best_gate, theirs.best_gate, atol=1e-5)


@pytest.mark.parametrize("adam", [Adam(beta1=0, beta2=0), Adam(beta1=0), Adam(eps=1.2e-38), Adam(lr=3e37, eps=1)])
def test_odd_settings_of_adam(engine, torch_engine, adam):
    """Integers, and the smallest and largest numbers that are taken."""
    spec = dataclasses.replace(small("NMU"), iterations=19, evaluate_every=5, optimizer=adam)
    for ours, theirs in both(engine, torch_engine, spec):
        assert (ours.records, ours.ended_early) == (theirs.records, theirs.ended_early) == (4, False)
        np.testing.assert_allclose(ours.end_weights, theirs.end_weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", [2**32, -1, 1.5])
def test_a_seed_that_is_no_32_bit_word_is_refused(seed):
    with pytest.raises(ValueError, match=r"seed must be a whole number from 0 to 2\^32 - 1, got"):
        Job(small("NMU"), (0, seed))


@pytest.mark.parametrize("name", ["exp-log first", "rows with three outputs"])
def test_first_record_of_exp_log_networks(engine, torch_engine, name):
    spec = dataclasses.replace(ODD[name], iterations=0)
    for ours, theirs in both(engine, torch_engine, spec):
        for of in ("best_validation", "best_test", "best_sparsity", "best_gate"):
            np.testing.assert_allclose(getattr(ours, of), getattr(theirs, of), rtol=1e-4, err_msg=of)
        assert (ours.solved_at, ours.records) == (theirs.solved_at, 1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # infinite errors, on the way to NaN
def test_a_run_that_meets_nan_ends_as_on_torch(engine, torch_engine):
    task = Arithmetic(operation="mul", interpolation=((10.0, 20.0),))
    spec = small("GatedNAUNMU", task=task, iterations=50, evaluate_every=5)
    for ours, theirs in both(engine, torch_engine, spec):
        assert ours.ended_early
        assert theirs.ended_early
        assert ours.records == theirs.records < spec.records
        assert ours.best_step == theirs.best_step


@pytest.mark.slow
def test_success_rates_do_not_differ(engine, torch_engine):
    """200 seeds of the ten-parameter function, five models: Fisher's exact test for each, Benjamini-Hochberg at 1 %."""
    seeds = tuple(range(200))
    jobs = [Job(Spec(task=TEN_PARAMETERS, model=MODELS[name], iterations=200_000), seeds) for name in FIVE]
    solved = {
        (e.name, name): sum(run.best_test < run.thresholds["corrected"] for run in e.run([job]))
        for e in (engine, torch_engine)
        for name, job in zip(FIVE, jobs, strict=True)
    }
    counts = [[solved[e.name, name] for e in (engine, torch_engine)] for name in FIVE]
    tables = [[[k, len(seeds) - k] for k in pair] for pair in counts]
    p_values = np.array([fisher_exact(table).pvalue for table in tables])
    assert not benjamini_hochberg(p_values, 0.01).any(), list(zip(FIVE, counts, p_values, strict=True))
