"""Levenberg-Marquardt against SciPy on the problems of Moré, Garbow and Hillstrom (1981), and its parts."""

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arithmos.optim import Stopping, damped, least_squares
from arithmos.optim.damped import FLOOR, Bounds, Iterate, iterate
from arithmos.optim.least_squares import FunctionProblem

BARD = (0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39)


def rosenbrock(p):
    return torch.stack([10 * (p[1] - p[0] ** 2), 1 - p[0]])


def powell(p):
    return torch.stack([p[0] + 10 * p[1], 5**0.5 * (p[2] - p[3]), (p[1] - 2 * p[2]) ** 2, 10**0.5 * (p[0] - p[3]) ** 2])


def bard(p):
    u = torch.arange(1.0, 16.0, dtype=p.dtype)
    v = 16 - u
    return torch.tensor(BARD, dtype=p.dtype) - (p[0] + u / (v * p[1] + torch.minimum(u, v) * p[2]))


def kowalik(p):
    y = p.new_tensor([0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
    u = p.new_tensor([4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])
    return y - p[0] * (u**2 + u * p[1]) / (u**2 + u * p[2] + p[3])


PROBLEMS = {
    "rosenbrock": (rosenbrock, (-1.2, 1.0)),
    "powell": (powell, (3.0, -1.0, 0.0, 1.0)),
    "bard": (bard, (1.0, 1.0, 1.0)),
    "kowalik": (kowalik, (0.25, 0.39, 0.415, 0.39)),
}


def by_scipy(function, start, **options):
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": 2000}
    return scipy.optimize.least_squares(lambda p: function(torch.tensor(p)).numpy(), start, **tight, **options)


@pytest.mark.parametrize("name", PROBLEMS)
def test_reaches_the_minimum_of_scipy(name):
    function, start = PROBLEMS[name]
    [ours] = least_squares(function, torch.tensor(start))
    theirs = by_scipy(function, start)
    assert ours.loss <= theirs.cost * (1 + 1e-9) + 1e-20
    np.testing.assert_allclose(ours.point, theirs.x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("rosenbrock", (-2.0, -2.0), (0.5, 2.0)),
        ("rosenbrock", (-2.0, 1.5), (2.0, 2.0)),
        ("bard", (0.1, 0.0, 0.0), (1.0, 1.0, 1.0)),
        ("kowalik", (0.0, 0.0, 0.0, 0.0), (0.2, 1.0, 0.1, 1.0)),
    ],
)
def test_reaches_the_minimum_of_scipy_within_bounds(name, low, high):
    function, start = PROBLEMS[name]
    inside = np.clip(start, low, high)
    [ours] = least_squares(function, torch.tensor(inside), bounds=(torch.tensor(low), torch.tensor(high)))
    theirs = by_scipy(function, np.clip(inside, np.array(low) + 1e-3, np.array(high) - 1e-3), bounds=(low, high))
    assert ours.loss <= theirs.cost * (1 + 1e-7)
    np.testing.assert_allclose(ours.point, theirs.x, atol=2e-3)
    assert ((ours.point >= torch.tensor(low)) & (ours.point <= torch.tensor(high))).all()


def test_a_stack_equals_its_problems_alone():
    starts = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    shifts = torch.linspace(-1, 1, 5, dtype=torch.float64)

    def shifted(p, shift):
        return rosenbrock(p - shift)

    stack = least_squares(shifted, starts, shifts)
    alone = [m for start, shift in zip(starts, shifts, strict=True) for m in least_squares(shifted, start, shift)]
    assert [m.iterations for m in stack] == [m.iterations for m in alone]
    assert [m.reason for m in stack] == [m.reason for m in alone]
    for one, other in zip(stack, alone, strict=True):
        torch.testing.assert_close(one.point, other.point)


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_a_linear_problem_takes_the_step_of_either_space(residuals, parameters, seed):
    """The step in the space of the residuals is that in the space of the parameters."""
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(residuals, parameters, generator=generator, dtype=torch.float64)
    right = torch.randn(residuals, generator=generator, dtype=torch.float64)
    state = Iterate.start(torch.zeros(1, parameters, dtype=torch.float64), damping=0.1)
    moved = iterate(FunctionProblem(lambda p: matrix @ p - right), state)
    norms = matrix.square().sum(0)
    scale = torch.diag(norms + FLOOR * norms.max())
    expected = torch.linalg.solve(matrix.T @ matrix + 0.1 * scale, matrix.T @ right)
    torch.testing.assert_close(moved.point[0], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_jacobians_agree_with_finite_differences(name):
    function, start = PROBLEMS[name]
    point = torch.tensor([start], dtype=torch.float64)
    _, jacobian = FunctionProblem(function).linearize(point)
    for column in range(point.shape[1]):
        step = torch.zeros_like(point)
        step[0, column] = 1e-6
        difference = (function((point + step)[0]) - function((point - step)[0])) / 2e-6
        torch.testing.assert_close(jacobian[0, :, column], difference, rtol=1e-6, atol=1e-7)


def test_a_parameter_leaves_its_bound_when_the_gradient_points_inwards():
    bounds = Bounds(torch.tensor([0.0, 0.0]).double(), torch.tensor([1.0, 1.0]).double())
    state = Iterate.start(torch.tensor([[0.0, 1.0]], dtype=torch.float64))
    for _ in range(20):
        state = iterate(FunctionProblem(lambda p: p - p.new_tensor([0.5, 2.0])), state, bounds)
    torch.testing.assert_close(state.point, torch.tensor([[0.5, 1.0]], dtype=torch.float64))


def test_residuals_that_are_not_finite_end_a_minimization():
    [minimum] = least_squares(lambda p: p / 0 * torch.nan, torch.ones(2))
    assert minimum.reason == "not finite"
    assert minimum.point.tolist() == [1.0, 1.0]


def test_a_step_into_nan_is_rejected():
    [minimum] = least_squares(lambda p: torch.log(p) + 5, torch.tensor([1.0]))
    assert minimum.point.item() == pytest.approx(np.exp(-5))


def test_ends_at_the_limit_of_iterations():
    [minimum] = least_squares(rosenbrock, torch.tensor([-1.2, 1.0]), stopping=Stopping(iterations=3))
    assert (minimum.iterations, minimum.reason) == (3, "iterations")


def test_refuses_a_jacobian_that_is_too_large(monkeypatch):
    monkeypatch.setattr(damped, "MEMORY", 100)
    with pytest.raises(ValueError, match="the Jacobian of 15 residuals and 3 parameters needs"):
        least_squares(bard, torch.ones(3))


@pytest.mark.parametrize("start", [torch.tensor(1.0), torch.ones(1, 2, 3), torch.empty(0)])
def test_refuses_a_start_of_another_shape(start):
    with pytest.raises(ValueError, match=r"start must be parameters \[p\] or a stack"):
        least_squares(rosenbrock, start)


def test_refuses_bounds_in_the_wrong_order():
    with pytest.raises(ValueError, match="bounds must be low <= high"):
        least_squares(rosenbrock, torch.ones(2), bounds=(1.0, 0.0))


@pytest.mark.parametrize("options", [{"iterations": 0}, {"gradient": -1.0}, {"decrease": float("nan")}])
def test_refuses_a_bad_stopping_rule(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must"):
        Stopping(**options)
