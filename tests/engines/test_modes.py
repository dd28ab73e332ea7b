"""Units are trained in training mode and judged in evaluation mode; what cannot be stacked is trained seed by seed."""

import dataclasses

import numpy as np
import pytest
import torch
from tests.engines.test_probe import spec_of
from tests.engines.test_torch import _same

from arithmos import constrain, sparsity_loss
from arithmos.engines.contract import Control, Failed, Job
from arithmos.engines.networks import Networks
from arithmos.engines.torch import TorchEngine
from arithmos.spec import MODELS
from arithmos.tasks import TEN_PARAMETERS


def runs_of(spec, seeds, **control):
    return {run.seed: run for run in TorchEngine().run([Job(spec, tuple(seeds))], Control(**control))}


def plain(spec, seed, steps):
    """A run without random numbers as one would write it down, in both modes; its validation error before each step."""
    network = spec.network(seed)
    optimizer = torch.optim.Adam([p for p in network.parameters() if p.requires_grad])
    constrain(optimizer, network)
    errors = []
    for step in range(steps):
        x, t = map(torch.from_numpy, map(np.copy, spec.task.validation(seed)))
        with torch.no_grad():
            errors.append(float((network.eval()(x) - t).square().mean()))
        network.train()
        x, t = map(torch.from_numpy, spec.task.batch(seed, step, spec.batch_size))
        loss = (network(x) - t).square().mean() + spec.model.schedule(step) * sparsity_loss(network)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network, errors


def test_a_unit_that_returns_0_in_evaluation_mode_is_judged_by_that():
    spec = spec_of("EvalBroken")
    run, nmu = runs_of(spec, [2])[2], runs_of(dataclasses.replace(spec, model=MODELS["NMU"]), [2])[2]
    targets = TEN_PARAMETERS.validation(2)[1], TEN_PARAMETERS.test(2)[1]
    for errors, target in zip((run.curve.validation, run.curve.test), targets, strict=True):
        np.testing.assert_allclose(errors, np.square(target, dtype=np.float64).mean(), rtol=1e-6)
    np.testing.assert_array_equal(run.end_weights, nmu.end_weights)  # it trains as the NMU does


@pytest.mark.parametrize("unit", ["Normed", "Branching", "Hooked", "Masked", "Frozen"])
def test_a_run_is_that_of_a_plain_loop_in_both_modes(unit):
    spec = spec_of(unit)
    run = runs_of(spec, [1, 3])[3]
    network, errors = plain(spec, 3, 31)
    expected = torch.cat([p.detach().flatten() for p in network.parameters()])
    np.testing.assert_allclose(run.end_weights, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run.curve.validation, errors[::10], rtol=1e-5)


@pytest.mark.parametrize("unit", ["Dropped", "Noisy", "Normed", "Branching"])
def test_a_run_seed_by_seed_depends_on_its_seed_alone(unit):
    spec = spec_of(unit)
    together = runs_of(spec, [0, 1, 2])
    torch.rand(1)  # other random numbers that were drawn meanwhile
    before = torch.get_rng_state()
    again = runs_of(spec, [2])
    assert torch.equal(torch.get_rng_state(), before)
    _same(together[2], again[2])
    assert not np.array_equal(together[0].end_weights, together[1].end_weights)


def test_noise_differs_from_step_to_step_and_from_run_to_run():
    spec = dataclasses.replace(spec_of("Noisy"), optimizer=dataclasses.replace(spec_of("Noisy").optimizer, lr=1e-30))
    runs = runs_of(spec, [0, 1])
    for run in runs.values():
        assert len(set(run.curve.validation.tolist())) == 4  # the weights do not change, the noise does
    noise = [run.curve.test - run.curve.test[0] for run in runs.values()]
    assert not np.allclose(noise[0], noise[1])


@pytest.mark.parametrize("unit", ["Dropped", "Normed", "Frozen"])
def test_a_suspended_run_goes_on_to_the_same_bits(unit, monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    spec, states, polls = spec_of(unit), {}, iter(range(1000))
    kept = {
        "stopped": lambda: next(polls) == 17,
        "suspend": lambda spec, seed, state: states.__setitem__(seed, state),
    }
    assert runs_of(spec, [4], **kept) == {}
    assert int(states[4]["step"][0]) == 17
    assert ("buffer.1.norm.running_mean" in states[4]) == (unit == "Normed")
    resumed = runs_of(spec, [4, 5], resume=lambda spec, seed: states.get(seed))
    whole = runs_of(spec, [4, 5])
    for seed in (4, 5):
        _same(resumed[seed], whole[seed])


def test_a_parameter_that_is_not_trained_stays():
    spec = spec_of("Frozen")
    scale = float(spec.network(0)[1].scale)
    assert runs_of(spec, [0])[0].end_weights[-4:].tolist() == [scale, 0.0, 0.0, 0.0]


def test_a_unit_that_returns_nan_is_a_run_that_met_nan():
    run = runs_of(spec_of("ReturnsNaN"), [0])[0]
    assert run.ended_early
    assert np.isnan(run.best_test)


def test_a_unit_that_raises_loses_its_own_runs_only():
    told = []
    jobs = [Job(spec_of(unit), (0, 1)) for unit in ("RaisesLate", "Masked")]
    made = TorchEngine().run(jobs, Control(failed=lambda *failure: told.append(failure)))
    assert [(run.spec, run.seed) for run in made] == [(jobs[1].spec, 0), (jobs[1].spec, 1)]
    [(spec, seeds, why)] = told
    assert (spec, seeds) == (jobs[0].spec, (0, 1))
    assert why.startswith("RuntimeError: this is the twentieth call (own_units.py:")


def test_whoever_does_not_listen_is_told_by_an_error():
    with pytest.raises(Failed, match="RaisesLate, seeds 0, 1: RuntimeError: this is the twentieth call"):
        runs_of(spec_of("RaisesLate"), [0, 1])


def test_errors_of_the_caller_are_not_those_of_a_unit(monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)

    def full(*_):
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        runs_of(spec_of("Masked"), [0], stopped=full)


def test_networks_that_are_not_stacked_are_one_by_one():
    with pytest.raises(ValueError, match="must be called one by one, got 2"):
        Networks(spec_of("Masked"), (0, 1), torch.device("cpu"), stacked=False)
