import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from arithmos.theory import (
    Moments,
    backward,
    nac_add_forward,
    nac_add_jacobian,
    nac_mul_forward,
    nac_mul_jacobian,
    nmu_forward,
    nmu_jacobian,
    uniform,
)

N = 400_000

Array = NDArray[np.float64]


def product_of_the_others(factors: Array) -> Array:
    """Leave the first of the last axis out."""
    return factors[..., 1:].prod(-1)


class TestSum:
    # inputs of mean 0 are the paper's case; the others tell E[w] E[x] terms apart
    @pytest.mark.parametrize("weight_range", [(-0.5, 0.5), (-0.2, 0.9)])
    @pytest.mark.parametrize("input_range", [(-1.5, 1.5), (1.0, 2.0)])
    def test_forward_is_what_samples_say(self, weight_range, input_range, rng, assert_sampled):
        w, x = rng.uniform(*weight_range, (N, 5)), rng.uniform(*input_range, (N, 5))
        assert_sampled((w * x).sum(1), nac_add_forward(uniform(*weight_range), uniform(*input_range), fan_in=5))

    def test_backward_is_what_samples_say(self, rng, assert_sampled):
        w, delta = rng.uniform(-0.2, 0.9, (N, 3)), rng.normal(0, 1.5, (N, 3))
        expected = backward(nac_add_jacobian(uniform(-0.2, 0.9)), gradient_variance=2.25, fan_out=3)
        assert_sampled((delta * w).sum(1), expected)

    def test_glorot_keeps_both_variances_where_fans_are_equal(self):
        r = math.sqrt(6 / (7 + 7))
        assert nac_add_forward(uniform(-r, r), Moments(0.0, 1.0), fan_in=7).variance == pytest.approx(1)
        assert backward(nac_add_jacobian(uniform(-r, r)), 1.0, fan_out=7).variance == pytest.approx(1)


class TestNMU:
    @pytest.mark.parametrize("weight_range", [(0.25, 0.75), (0.0, 0.4)])
    @pytest.mark.parametrize("input_range", [(-math.sqrt(3), math.sqrt(3)), (1.0, 2.0)])
    def test_forward_is_what_samples_say(self, weight_range, input_range, rng, assert_sampled):
        w, x = rng.uniform(*weight_range, (N, 4)), rng.uniform(*input_range, (N, 4))
        expected = nmu_forward(uniform(*weight_range), uniform(*input_range), fan_in=4)
        assert_sampled((w * x + 1 - w).prod(1), expected)

    @pytest.mark.parametrize("weight_range", [(0.25, 0.75), (0.0, 0.4)])
    @pytest.mark.parametrize("input_range", [(-math.sqrt(3), math.sqrt(3)), (1.0, 2.0)])
    def test_backward_is_what_samples_say(self, weight_range, input_range, rng, assert_sampled):
        n, fan_in, fan_out = N // 2, 4, 3
        w = rng.uniform(*weight_range, (n, fan_out, fan_in))
        x = rng.uniform(*input_range, (n, 1, fan_in))  # the outputs share their inputs
        delta = rng.normal(0, 1.5, (n, fan_out))
        slopes = w[..., 0] * product_of_the_others(w * x + 1 - w)
        jacobian = nmu_jacobian(uniform(*weight_range), uniform(*input_range), fan_in)
        assert_sampled(slopes[:, 0], jacobian)
        assert_sampled((delta * slopes).sum(1), backward(jacobian, gradient_variance=2.25, fan_out=fan_out))

    @pytest.mark.parametrize("fan_in", [1, 2, 9])
    def test_the_paper_s_forms(self, fan_in):
        weight, inputs = Moments(0.5, 0.07), Moments(0.0, 1.7)
        forward, jacobian = nmu_forward(weight, inputs, fan_in), nmu_jacobian(weight, inputs, fan_in)
        assert forward.mean == jacobian.mean == 0.5**fan_in
        assert forward.variance == pytest.approx(0.32**fan_in * 2.7**fan_in - 4.0**-fan_in)
        assert backward(jacobian, 1.3, fan_out=6) == Moments(
            0.0, pytest.approx(1.3 * 6 * 0.32**fan_in * 2.7 ** (fan_in - 1))
        )

    def test_published_runs_start_far_from_unit_variance(self):
        weight, inputs = uniform(0.25, 0.75), Moments(0.0, 1.0)
        assert weight.variance == pytest.approx(1 / 48)
        assert nmu_forward(weight, inputs, 4) == (0.0625, pytest.approx(0.0822, abs=5e-5))
        assert backward(nmu_jacobian(weight, inputs, 4), 1.0, 1).variance == pytest.approx(0.0430, abs=5e-5)


def legendre(r: float, center: float = 0.0) -> tuple[Array, Array]:
    """Nodes and weights of E[f(v)], v ~ U[center - r, center + r]; exact to rounding for smooth f."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return center + r * nodes, weights / 2


def nac_mul_exactly(r_w: float, r_x: float, center: float, fan_in: int) -> tuple[Moments, Moments]:
    """Moments of z and dz/dx for w ~ U[-r_w, r_w], x ~ U[center - r_x, center + r_x] of one sign."""
    (w, p_w), (x, p_x) = legendre(r_w), legendre(r_x, center)

    def mean(f: Callable[[Array, Array], Array]) -> float:
        return float(p_x @ f(w[None, :], x[:, None]) @ p_w)

    power, power2 = mean(lambda w, x: abs(x) ** w), mean(lambda w, x: abs(x) ** (2 * w))
    slope = mean(lambda w, x: w * abs(x) ** w / x) * power ** (fan_in - 1)
    slope2 = mean(lambda w, x: w**2 * abs(x) ** (2 * w) / x**2) * power2 ** (fan_in - 1)
    return (
        Moments(power**fan_in, power2**fan_in - power ** (2 * fan_in)),
        Moments(slope, slope2 - slope**2),
    )


class TestNACMul:
    @pytest.mark.parametrize("center", [2.5, 0.6, -3.0])
    @pytest.mark.parametrize("fan_in", [1, 3])
    def test_error_is_of_fourth_order_or_higher(self, center, fan_in):
        def errors(scale):
            r_w, r_x = 0.1 * scale, 0.2 * scale
            weight, inputs = uniform(-r_w, r_w), uniform(center - r_x, center + r_x)
            estimates = (
                nac_mul_forward(weight, inputs, fan_in, epsilon=1e-12),
                nac_mul_jacobian(weight, inputs, fan_in, epsilon=1e-12),
            )
            return np.abs(np.subtract(estimates, nac_mul_exactly(r_w, r_x, center, fan_in))).ravel()

        # half the spread, a sixteenth of the error
        assert (errors(1.0) / errors(0.5)).min() > 15

    def test_matches_samples_where_the_expansion_holds(self, rng, assert_sampled):
        w, x = rng.uniform(-0.02, 0.02, (N, 3)), rng.uniform(2.45, 2.55, (N, 3))
        weight, inputs = uniform(-0.02, 0.02), uniform(2.45, 2.55)
        z = (x**w).prod(1)
        delta = rng.normal(size=N)
        jacobian = nac_mul_jacobian(weight, inputs, fan_in=3)
        assert_sampled(z, nac_mul_forward(weight, inputs, fan_in=3))
        assert_sampled(z * w[:, 0] / x[:, 0], jacobian)
        assert_sampled(delta * z * w[:, 0] / x[:, 0], backward(jacobian, 1.0, fan_out=1))

    def test_the_paper_s_forms(self):
        weight, inputs, epsilon = Moments(0.0, 0.3), Moments(-2.0, 0.4), 0.1

        def f(c1, c2):
            return (1 + c1 / 2 * 0.3 * math.log(2.1) ** 2) ** (c2 * 5)

        forward = nac_mul_forward(weight, inputs, 5, epsilon=epsilon)
        assert forward == (pytest.approx(f(1, 1)), pytest.approx(f(4, 1) - f(1, 2)))
        jacobian = nac_mul_jacobian(weight, inputs, 5, epsilon=epsilon)
        assert jacobian.mean == pytest.approx(-0.3 * math.log(2.1) / 2.1 * f(1, 4 / 5))  # 0 in print
        assert backward(jacobian, 1.3, fan_out=6) == (
            0.0,
            pytest.approx(1.3 * 6 * f(4, 1) * 0.3 * (1 / 2.1**2 + 3 * 0.4 / 2.1**4)),
        )

    def test_known_bias_for_inputs_near_zero(self, rng):
        estimate = nac_mul_forward(uniform(-0.5, 0.5), uniform(0.0, 1.0), fan_in=1).mean
        samples = rng.uniform(0, 1, N) ** rng.uniform(-0.5, 0.5, N)
        assert estimate == pytest.approx(1.020, abs=5e-4)
        assert samples.mean() == pytest.approx(1.098, abs=4.5 * samples.std() / N**0.5)
        assert math.log(3) == pytest.approx(1.098, abs=1e-3)  # the integral of 1/(1 + w) over [-1/2, 1/2]

    def test_mean_jacobian_is_not_zero(self, rng):
        w, x = rng.uniform(-0.5, 0.5, (4 * N, 2)), rng.uniform(1, 2, (4 * N, 2))
        slopes = (x**w).prod(1) * w[:, 0] / x[:, 0]
        standard_error = slopes.std() / len(slopes) ** 0.5
        exact = nac_mul_exactly(0.5, 0.5, 1.5, fan_in=2)[1].mean
        assert exact == pytest.approx(0.0202, abs=1e-4)
        assert slopes.mean() == pytest.approx(exact, abs=4.5 * standard_error)
        assert slopes.mean() > 50 * standard_error
        assert nac_mul_jacobian(uniform(-0.5, 0.5), uniform(1, 2), fan_in=2).mean == pytest.approx(exact, rel=0.15)

    def test_expectation_is_at_least_one_and_one_where_the_base_is_one(self):
        def mean(center, epsilon):
            return nac_mul_forward(Moments(0.0, 0.2), Moments(center, 0.0), 4, epsilon=epsilon).mean

        assert mean(0.75, 0.25) == mean(-0.75, 0.25) == 1
        assert mean(0.74, 0.25) > 1
        assert mean(0.76, 0.25) > 1

    def test_variance_explodes_at_zero_mean_inputs(self):
        weight, inputs = uniform(-0.5, 0.5), Moments(0.0, 1.0)
        jacobian = nac_mul_jacobian(weight, inputs, fan_in=2)
        assert jacobian.mean == 0
        assert jacobian.variance > 1e26  # 3 Var[w] Var[x] / epsilon^4

    def test_refuses_weights_off_its_expansion_point(self):
        with pytest.raises(ValueError, match=r"weight\.mean must be 0 for NAC•.*got 0\.5"):
            nac_mul_forward(uniform(0.25, 0.75), Moments(1.0, 0.0), 2)


def test_uniform_and_mean_square():
    assert uniform(-1.0, 2.0) == (0.5, 0.75)
    assert uniform(-1.0, 2.0).mean_square == 1.0
    with pytest.raises(ValueError, match=r"low must not exceed high, got low=2, high=1"):
        uniform(2, 1)


@pytest.mark.parametrize("function", [nac_add_forward, nac_mul_forward, nac_mul_jacobian, nmu_forward, nmu_jacobian])
def test_sizes_are_checked(function):
    with pytest.raises(ValueError, match=r"fan_in must be a whole number from 1 to .*, got 0"):
        function(Moments(0.0, 1.0), Moments(0.0, 1.0), 0)
    with pytest.raises(ValueError, match=r"fan_out must be a whole number from 1 to .*, got -1"):
        backward(Moments(0.0, 1.0), 1.0, -1)
