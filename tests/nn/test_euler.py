"""Networks as right-hand sides of differential equations, beside a closed form, SciPy and finite differences."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from arithmos.nn import NAU, Euler, Linear, RealNPU
from arithmos.tasks import FractionalSIR
from arithmos.tasks.sir import BETA, START, derivative


def linear(rate):
    layer = Linear(2, 2, dtype=torch.float64)
    layer.weight.data = torch.tensor([[-rate, 0.0], [rate, 0.0]], dtype=torch.float64)
    layer.bias.data.zero_()
    return layer


def test_a_decay_is_that_of_the_closed_form():
    u = torch.tensor([[1.0, 0.0], [4.0, 1.0]], dtype=torch.float64)
    times = (0.0, 0.5, 3.0, 3.25)
    y = Euler([linear(0.25)], times, dt=0.5)(u).view(2, 4, 2)
    steps = 0.875 ** np.array([0, 1, 6])
    np.testing.assert_allclose(y[:, :3, 0].detach(), np.outer([1, 4], steps))
    np.testing.assert_allclose(y[:, 3, 0].detach(), np.array([1, 4]) * steps[2] * (1 + 0.875) / 2)
    np.testing.assert_allclose(y.sum(-1).detach(), [[1] * 4, [5] * 4])
    fine = Euler([linear(0.25)], times, dt=1e-3)(u[:1]).view(4, 2)
    np.testing.assert_allclose(fine[:, 0].detach(), np.exp(-0.25 * np.array(times)), rtol=2e-4)


def exact_network():
    """Return a NAU behind a RealNPU that is the fractional SIR model, with hidden units r, I and R."""
    npu, nau = RealNPU(3, 3, epsilon=0.0, dtype=torch.float64), NAU(3, 3, clip=False, dtype=torch.float64)
    npu.gate.data.fill_(1.0)
    npu.weight.data = torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    nau.weight.data = torch.tensor([[-BETA, 0.0, 0.01], [BETA, -0.05, 0.0], [0.0, 0.05, -0.01]], dtype=torch.float64)
    return [npu, nau]


def test_small_steps_are_the_solution_of_scipy():
    start, times = np.array([90.0, 5.0, 1.0]), (1.0, 7.5, 30.0)
    found = Euler(exact_network(), times, dt=0.01)(torch.tensor(start)).view(3, 3)
    wanted = solve_ivp(lambda time, u: derivative(u), (0, 30), start, method="DOP853", t_eval=times, rtol=1e-10)
    np.testing.assert_allclose(found.detach(), wanted.y.T, atol=0.02)


def test_the_gradient_is_that_of_finite_differences():
    network = Euler(exact_network(), (0.5, 3.0), dt=1.0)

    def states(u, weight):
        return torch.func.functional_call(network, {"0.weight": weight}, (u,))

    u, weight = torch.tensor([[90.0, 5.0, 1.0]], dtype=torch.float64), network[0].weight.detach().clone()
    assert torch.autograd.gradcheck(states, (u.requires_grad_(), weight.requires_grad_()))


@pytest.mark.parametrize(("times", "dt"), [((), 1.0), ((-1.0, 2.0), 1.0), ((2.0, 1.0), 1.0), ((1.0,), 0.0)])
def test_times_and_step_are_checked(times, dt):
    with pytest.raises(ValueError, match="times must ascend"):
        Euler([], times, dt)


def test_the_reference_is_independent_of_the_method_and_loses_nobody():
    task = FractionalSIR()
    states = task.trajectory()
    assert states.shape == (40, 3)
    np.testing.assert_allclose(states[0], START)
    np.testing.assert_allclose(states.sum(1), 100.01)
    radau = solve_ivp(lambda time, u: derivative(u), (0, 200), START, method="Radau", rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(states[-1], radau.y[:, -1], rtol=1e-5)
    assert FractionalSIR.from_plain(task.plain()) == task
