"""Training of differential equations: the compiled loop beside torch, L-BFGS, and runs through the engine."""

import dataclasses

import numpy as np
import pytest
import torch

from arithmos.engines import Control, Job
from arithmos.engines.equation import error_of, minimum
from arithmos.engines.torch import TorchEngine
from arithmos.papers.heim2020.sir import NETWORKS, spec
from arithmos.spec import Spec
from arithmos.tasks import FractionalSIR

SMALL = FractionalSIR(points=5, end=12.0)
SHORT = 6


def short(unit="RealNPU", strength=0.1, **changes):
    """Return a spec of a few iterations on a short trajectory."""
    own = spec(unit, strength, 3)
    optimizer = dataclasses.replace(own.optimizer, lbfgs=SHORT)
    return dataclasses.replace(own, task=SMALL, iterations=SHORT + 2, evaluate_every=2, optimizer=optimizer, **changes)


def flat(network):
    return torch.cat([p.detach().flatten() for p in network.parameters()]).numpy()


@pytest.mark.parametrize("unit", NETWORKS)
def test_error_and_gradient_are_those_of_torch_in_float64(unit):
    own = short(unit)
    network = own.network(0).double()
    torch.manual_seed(1)
    for parameter in network.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    x, t = (torch.from_numpy(array).double() for array in own.observations.batch(0, 0, 1))
    wanted = (network(x) - t).square().mean()
    wanted.backward()
    value, gradient = error_of(own)(flat(network))
    assert value == pytest.approx(wanted.item(), rel=1e-12)
    own_gradient = torch.cat([p.grad.flatten() for p in network.parameters()]).numpy()
    np.testing.assert_allclose(gradient, own_gradient, rtol=1e-9, atol=1e-9 * np.abs(own_gradient).max())


def run(own, control=None):
    return list(TorchEngine().run([Job(own, (0, 1))], *([] if control is None else [control])))


def test_first_order_steps_are_those_of_torch():
    own = short(strength=0.1)
    own = dataclasses.replace(own, iterations=SHORT, evaluate_every=SHORT)
    network = own.network(1).double()
    optimizer = torch.optim.RMSprop(network.parameters(), lr=5e-3, alpha=0.9, eps=1e-8)
    x, t = (torch.from_numpy(array).double() for array in own.observations.batch(0, 0, 1))
    for _ in range(SHORT):
        optimizer.zero_grad()
        penalty = sum(p.abs().sum() for p in network.parameters())
        ((network(x) - t).square().mean() + 0.1 * penalty).backward()
        optimizer.step()
    with torch.no_grad():
        wanted = (network(x) - t).square().mean().item()
    assert run(own)[1].end_test == pytest.approx(wanted, rel=1e-5)  # the record before L-BFGS


def test_lbfgs_lowers_the_error_once_and_ends_the_training():
    for done in run(short()):
        assert done.records == 5
        before, after = done.curve.test[-2:]
        assert after < 0.9 * before
    longer = dataclasses.replace(short(), iterations=SHORT + 8)
    assert [one.end_test for one in run(longer)] == [one.end_test for one in run(short())]


def test_a_run_repeats_itself_and_a_suspended_one_ends_with_the_same_bits():
    own, states = short(), {}
    whole = run(own)
    calls = iter([False, False, False, True])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arithmos.engines.stopwatch.TELL_S", -1.0)
        stopping = Control(
            stopped=lambda: next(calls, True), suspend=lambda spec, seed, state: states.update({seed: state})
        )
        assert run(own, stopping) == []
    assert {int(state["step"][0]) for state in states.values()} <= set(range(1, SHORT + 1))
    assert states[0]["trainer.parameters"].dtype == np.float64
    resumed = run(own, Control(resume=lambda spec, seed: states[seed]))
    for one, other in zip(whole, resumed, strict=True):
        np.testing.assert_array_equal(one.end_weights, other.end_weights)
        assert (one.end_test, one.best_step) == (other.end_test, other.best_step)


def test_lbfgs_turns_back_from_errors_that_are_not_finite():
    def loss(x):
        return (float(np.sum(x**2)) - 2 * float(x[0]), 2 * x - np.eye(2)[0] * 2) if x[0] < 1.5 else (np.inf, x * np.nan)

    np.testing.assert_allclose(minimum(loss, np.array([-3.0, 40.0])), [1, 0], atol=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"iterations": 5},
        {"optimizer": dataclasses.replace(spec("NPU", 0.0, 3).optimizer, clip_norm=1.0)},
    ],
)
def test_what_cannot_be_trained_so_is_refused(changes):
    with pytest.raises(ValueError, match="lbfgs"):
        dataclasses.replace(spec("NPU", 0.0, 3), **changes)


def test_a_spec_survives_its_plain_form():
    own = spec("NPU", 0.1, 6)
    assert Spec.from_plain(own.plain()) == own
    assert own.plain()["optimizer"]["lbfgs"] == 3000
