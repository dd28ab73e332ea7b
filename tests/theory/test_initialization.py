import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ranges import NAC_RANGES

from arithmos.theory import (
    Moments,
    backward,
    nac_range,
    nac_range_of_variance,
    nac_weight_jacobian,
    nac_weight_variance,
    nmu_forward,
    nmu_jacobian,
    nmu_variance_backward,
    nmu_variance_forward,
    uniform,
)

N = 1_000_000


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class TestNACWeight:
    @pytest.mark.parametrize("r", [0.3, 2.0, 9.5])
    def test_variance_is_what_samples_say(self, r, rng, assert_sampled):
        w = np.tanh(rng.uniform(-r, r, N)) * sigmoid(rng.uniform(-r, r, N))
        assert_sampled(w, Moments(0.0, nac_weight_variance(r)))

    def test_values_at_two(self, rng, assert_sampled):
        assert nac_weight_variance(2.0) == pytest.approx(0.16037, abs=5e-6)
        tanh_square, sigmoid_square = 1 - math.tanh(2) / 2, (2 - math.tanh(1)) / 4
        assert sigmoid_square == pytest.approx(0.3096, abs=5e-6)
        assert nac_weight_variance(2.0) == pytest.approx(tanh_square * sigmoid_square)
        # the paper's heading says tanh for the factor that is of the sigmoid
        s = sigmoid(rng.uniform(-2, 2, N))
        assert_sampled(s, Moments(0.5, sigmoid_square - 0.25))

    def test_small_ranges_do_not_cancel(self):
        for r in (1e-9, 1e-4, 0.009999, 0.010001):
            assert nac_weight_variance(r) == pytest.approx(r**2 / 12, rel=r**2 + 1e-11, abs=0)
        below, above = nac_weight_variance(math.nextafter(0.01, 0)), nac_weight_variance(0.01)
        assert below == pytest.approx(above, rel=1e-11, abs=0)

    @pytest.mark.parametrize("r", [0.5, 3.0])
    def test_jacobian_is_what_samples_say(self, r, rng, assert_sampled):
        w_hat, m_hat = rng.uniform(-r, r, (2, N))
        by_w_hat, by_m_hat = nac_weight_jacobian(r)
        assert_sampled(sigmoid(m_hat) / np.cosh(w_hat) ** 2, by_w_hat)
        assert_sampled(np.tanh(w_hat) * sigmoid(m_hat) * sigmoid(-m_hat), by_m_hat)
        assert by_m_hat.mean == 0
        assert by_w_hat.mean > 0

    def test_gradient_by_m_hat_vanishes_only_if_independent_of_the_weight(self, rng, assert_sampled):
        r, x, target = 1.0, 1.5, 0.7
        w_hat, m_hat = rng.uniform(-r, r, (2, N))
        slope = np.tanh(w_hat) * sigmoid(m_hat) * sigmoid(-m_hat)
        independent = rng.normal(2, 1, N) * slope
        squared_error = 2 * x * (np.tanh(w_hat) * sigmoid(m_hat) * x - target) * slope
        assert_sampled(independent, Moments(0.0, 5 * nac_weight_jacobian(r)[1].variance))
        mean = 2 * x**2 * (1 - math.tanh(r) / r) * math.tanh(r / 2) / (4 * r)
        assert mean > 0.1
        assert_sampled(squared_error, Moments(mean, float(squared_error.var())))

    def test_range_is_checked(self):
        for function in (nac_weight_variance, nac_weight_jacobian):
            with pytest.raises(ValueError, match=r"r must be above 0, got 0\.0"):
                function(0.0)


class TestNACRange:
    @pytest.mark.parametrize(("fans", "r"), NAC_RANGES.items(), ids=str)
    def test_published_values(self, fans, r):
        assert round(nac_range(*fans), 5) == r

    @given(st.floats(1e-12, 0.499))
    def test_range_gives_the_variance(self, variance):
        assert nac_weight_variance(nac_range_of_variance(variance)) == pytest.approx(variance, rel=1e-10, abs=0)

    @given(st.integers(1, 5000), st.integers(1, 5000))
    def test_range_is_glorot_s_from_a_fan_of_five(self, fan_in, fan_out):
        r = nac_range(fan_in, fan_out)
        assert nac_weight_variance(r) == pytest.approx(2 / max(fan_in + fan_out, 5), rel=1e-9)
        if fan_in + fan_out >= 5:
            assert nac_range(fan_in, fan_out, floor=0) == r

    @pytest.mark.parametrize("fans", [(1, 1), (2, 1), (3, 1), (2, 2)])
    def test_without_the_floor_small_layers_have_no_range(self, fans):
        with pytest.raises(ValueError, match=r"fan_in \+ fan_out must be at least 5.*floor=0.*not below 1/2"):
            nac_range(*fans, floor=0)

    @pytest.mark.parametrize("variance", [0.5, 0.7, math.inf])
    def test_no_range_from_a_variance_of_one_half(self, variance):
        with pytest.raises(ValueError, match=f"variance must be below 1/2, .*got {variance}"):
            nac_range_of_variance(variance)

    @pytest.mark.parametrize("variance", [0.0, -0.1, math.nan])
    def test_variance_must_be_positive(self, variance):
        with pytest.raises(ValueError, match=f"variance must be above 0, got {variance}"):
            nac_range_of_variance(variance)

    def test_closest_variance_below_one_half_has_a_range(self):
        assert nac_weight_variance(nac_range_of_variance(math.nextafter(0.5, 0))) <= 0.5

    def test_sizes_are_checked(self):
        with pytest.raises(ValueError, match=r"fan_in must be a whole number from 1 to .*, got 0"):
            nac_range(0, 8)
        with pytest.raises(ValueError, match=r"fan_out must be a whole number from 1 to .*, got -2"):
            nac_range(8, -2)


sizes = st.integers(1, 60)
variances = st.floats(0.05, 2.9)


class TestNMUVariance:
    @given(sizes, variances)
    def test_forward_keeps_the_input_variance(self, fan_in, v):
        weight = Moments(0.5, nmu_variance_forward(fan_in, v))
        assert nmu_forward(weight, Moments(0.0, v), fan_in).variance == pytest.approx(v, rel=1e-9)

    @given(sizes, st.integers(1, 3), st.floats(0.05, 0.3))
    def test_backward_keeps_the_gradient_variance(self, fan_in, fan_out, v):
        weight = Moments(0.5, nmu_variance_backward(fan_in, fan_out, v))
        jacobian = nmu_jacobian(weight, Moments(0.0, v), fan_in)
        assert backward(jacobian, 1.7, fan_out).variance == pytest.approx(1.7, rel=1e-9)

    @given(st.integers(1, 30))
    def test_unit_variance_forms(self, h):
        assert nmu_variance_forward(h) == pytest.approx(((4**h + 1) ** (1 / h) - 2) / 8)
        assert nmu_variance_forward(h) == pytest.approx((2.0**-h + 8.0**-h) ** (1 / h) - 0.25)
        assert nmu_variance_backward(h, 2) == pytest.approx((2.0 ** (1 - h) / 2) ** (1 / h) - 0.25)

    @pytest.mark.parametrize(("h", "right", "printed"), [(2, 0.26539, 35.875), (4, 0.25049, 5.5e8)])
    def test_the_printed_form_is_wrong(self, h, right, printed):
        assert nmu_variance_forward(h) == pytest.approx(right, abs=5e-6)
        assert ((4**h + 1) ** h - 2) / 8 == pytest.approx(printed, rel=0.01)

    def test_many_inputs_tend_to_one_quarter(self):
        # 4^-H underflows from H = 538 on
        for h in (10_000, 1_000_000):
            assert nmu_variance_forward(h) == pytest.approx(0.25, abs=1e-4)
            assert nmu_variance_backward(h, 1) == pytest.approx(0.25, abs=1e-4)
        assert nmu_variance_forward(10_000, 1e-300) == pytest.approx(math.exp(-0.030 * math.log(10)) - 0.25, 1e-3)

    def test_a_quarter_is_beyond_a_uniform_on_the_unit_interval(self):
        low, high = 0.5 - math.sqrt(3) / 2, 0.5 + math.sqrt(3) / 2
        assert (low, high) == (pytest.approx(-0.366, abs=5e-4), pytest.approx(1.366, abs=5e-4))
        assert uniform(low, high) == (0.5, pytest.approx(0.25))
        assert uniform(0.0, 1.0).variance < 0.25

    def test_no_variance_keeps_large_inputs(self):
        with pytest.raises(ValueError, match=r"input_variance=16\.0 cannot be kept over fan_in=2: .* be -0\.0142"):
            nmu_variance_forward(2, 16.0)
        with pytest.raises(ValueError, match=r"fan_in=1, fan_out=5 cannot keep .* Var\[w\] would be -0\.05"):
            nmu_variance_backward(1, 5)

    def test_arguments_are_checked(self):
        with pytest.raises(ValueError, match=r"fan_in must be a whole number from 1 to .*, got 0"):
            nmu_variance_forward(0)
        with pytest.raises(ValueError, match=r"fan_out must be a whole number from 1 to .*, got 0"):
            nmu_variance_backward(2, 0)
        with pytest.raises(ValueError, match=r"input_variance must be above 0, got 0\.0"):
            nmu_variance_forward(2, 0.0)
