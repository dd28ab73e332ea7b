import math

import numpy as np
import pytest
import torch

from arithmos.theory import (
    loss_surface,
    nac_mul_expectation_error,
    nac_mul_expectation_error_limit,
    nac_mul_forward,
    uniform,
)


class TestLossSurface:
    @pytest.mark.parametrize("epsilon", [1e-7, 0.1, 1.0])
    def test_is_the_network_s_squared_error(self, epsilon):
        x = torch.tensor([1.0, 1.2, 1.8, 2.0], dtype=torch.float64)
        mask = torch.tensor([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]], dtype=torch.float64)
        axis = np.linspace(-1, 1, 9)
        surface = loss_surface(axis[:, None], axis, epsilon)
        assert surface.shape == (9, 9)
        for row, w1 in zip(surface, axis, strict=True):
            hidden = (w1 * mask) @ x
            for loss, w2 in zip(row, axis, strict=True):
                z = (w2 * (hidden.abs() + epsilon).log()).sum().exp()
                target = x[:2].sum() * x.sum()
                assert loss == pytest.approx(float((z - target) ** 2), rel=1e-10)

    def test_solution_and_singularity(self):
        assert loss_surface(1.0, 1.0, 1e-7) == pytest.approx(0, abs=1e-10)
        assert loss_surface(-1.0, 1.0, 1e-7) == pytest.approx(0, abs=1e-10)
        assert loss_surface(0.0, -1.0, 1e-7) > 1e27
        assert loss_surface(0.0, -1.0, 0.1) == pytest.approx(86.8**2)

    def test_epsilon_is_checked(self):
        with pytest.raises(ValueError, match="epsilon must be above 0, got 0"):
            loss_surface(0.5, 0.5, 0)


NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(60)


def exact_mean(r_w: float, r_z: float) -> float:
    """E[x^w] = E[r_z^w / (1 + w)] for w ~ U[-r_w, r_w] and x ~ U[0, r_z], by quadrature."""
    w = r_w * NODES
    return float((r_z**w / (1 + w)) @ NODE_WEIGHTS / 2)


def exact_error(r_w: float, r_z: float) -> float:
    estimate = nac_mul_forward(uniform(-r_w, r_w), uniform(0, r_z), 1, epsilon=1e-8).mean
    return estimate - exact_mean(r_w, r_z)


class TestExpectationError:
    @pytest.mark.parametrize(("r_w", "r_z"), [(0.001, 10.0), (0.2, 3.0), (0.45, 1.0), (0.45, 50.0)])
    def test_is_the_exact_error_to_sampling_error(self, r_w, r_z, rng):
        variance = exact_mean(2 * r_w, r_z) - exact_mean(r_w, r_z) ** 2
        assert nac_mul_expectation_error(r_w, r_z, rng, draws=200_000) == pytest.approx(
            exact_error(r_w, r_z), abs=4.5 * math.sqrt(variance / 200_000)
        )

    def test_low_end_of_the_figure(self, rng):
        assert nac_mul_expectation_error(0.5, 1.0, rng) == pytest.approx(-0.078, abs=0.01)

    def test_range_over_the_figure_s_grid(self):
        errors = [exact_error(r_w, r_z) for r_w in 0.001 + 0.011 * np.arange(46) for r_z in range(1, 51)]
        assert min(errors) == exact_error(0.496, 1) == pytest.approx(-0.077, abs=5e-4)
        assert max(errors) == pytest.approx(0.006, abs=5e-4)

    def test_is_repeatable(self):
        first, second = (nac_mul_expectation_error(0.3, 2.0, np.random.default_rng(1)) for _ in range(2))
        assert first == second

    def test_arguments_are_checked(self, rng):
        with pytest.raises(ValueError, match=r"draws must be a whole number from 1 to .*, got 0"):
            nac_mul_expectation_error(0.3, 2.0, rng, draws=0)

    def test_limit_is_the_exact_error(self):
        r_w, r_z = 0.001 + 0.055 * np.arange(10), np.array([[1.0], [7.0], [50.0]])
        limit = nac_mul_expectation_error_limit(r_w, r_z, epsilon=1e-18)
        exact = [[exact_error(width, high) for width in r_w] for [high] in r_z]
        np.testing.assert_allclose(limit, exact, atol=1e-8)  # which leaves epsilon out

    def test_limit_is_what_sampling_finds(self, rng):
        variance = exact_mean(0.8, 20.0) - exact_mean(0.4, 20.0) ** 2
        sampled = nac_mul_expectation_error(0.4, 20.0, rng)
        limit = nac_mul_expectation_error_limit(0.4, 20.0)
        assert sampled == pytest.approx(float(limit), abs=4.5 * math.sqrt(variance / 100_000))
