import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from arithmos.statistics import gamma_mean, gamma_mean_as_released, student_t

CUTOFF = stats.chi2.ppf(0.95, 1)


def deviance(x, mu, shape):
    return -2 * stats.gamma.logpdf(x, shape, scale=mu / shape).sum()


def profile(x, mu):
    found = optimize.minimize_scalar(
        lambda v: deviance(x, mu, np.exp(v)), bounds=(-8, 12), method="bounded", options={"xatol": 1e-10}
    )
    return found.fun


@st.composite
def positive(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, shape, scale = draw(st.integers(2, 60)), draw(st.floats(0.1, 200)), draw(st.floats(1, 1e6))
    return scale * rng.gamma(shape, size=n) + 1e-12 * scale


# SciPy's own likelihood loses digits where the values are nearly equal.
@given(positive().filter(lambda x: x.std() > 0.02 * x.mean()))
def test_estimate_and_bounds_by_scipys_likelihood(x):
    interval = gamma_mean(x)
    assert interval.estimate == pytest.approx(x.mean())
    shape, _, scale = stats.gamma.fit(x, floc=0)
    best = deviance(x, shape * scale, shape)
    for bound in (interval.low, interval.high):
        assert profile(x, bound) - best == pytest.approx(CUTOFF, rel=1e-4)


@given(positive(), st.floats(0.1, 1e4))
def test_scales_with_its_data_and_widens_with_the_level(x, factor):
    one, other = gamma_mean(x), gamma_mean(factor * x)
    assert (other.low, other.high) == pytest.approx((factor * one.low, factor * one.high), rel=1e-8)
    wide = gamma_mean(x, 0.99)
    assert wide.low < one.low < one.estimate < one.high < wide.high


def test_nearly_equal_values_have_the_normal_interval():
    x = 1e6 * (1 + 1e-9 * np.random.default_rng(0).standard_normal(400))
    interval = gamma_mean(x)
    half = np.sqrt(CUTOFF) * x.std() / 20
    # The likelihood-ratio interval of a normal mean is wider by the fourth order in n^−½.
    assert interval.high - x.mean() == pytest.approx(half, rel=0.01)
    assert x.mean() - interval.low == pytest.approx(half, rel=0.01)


def test_equal_values_have_no_bounds_a_zero_has_students():
    assert not gamma_mean([1003.0] * 3).has_bounds
    x = [0.0, 1000.0, 3000.0]
    assert gamma_mean(x) == student_t(x, low=0.0)
    assert gamma_mean_as_released(x) == student_t(x, low=0.0)


@pytest.mark.parametrize("estimator", [gamma_mean, gamma_mean_as_released])
def test_negative_values(estimator):
    with pytest.raises(ValueError, match=r"x must not be negative, got -1\.0"):
        estimator([-1.0, 2.0])


@pytest.mark.parametrize("shape", [0.3, 1.0, 10.0])
def test_covers(shape):
    rng = np.random.default_rng(4)
    covered = [1.0 in gamma_mean(rng.gamma(shape, 1 / shape, size=100)) for _ in range(1000)]
    low, high = stats.binom.interval(0.999, 1000, 0.95)
    assert low <= sum(covered) <= high


def test_as_released_stops_near_the_maximum_at_fixed_variance():
    x = np.random.default_rng(5).lognormal(0, 1, size=60)
    variance = x.var(ddof=1)
    at = lambda mu: deviance(x, mu, mu**2 / variance)  # noqa: E731
    best = optimize.minimize_scalar(at, bounds=(x.mean() / 5, x.mean() * 5), method="bounded")
    interval = gamma_mean_as_released(x)
    assert interval.estimate != pytest.approx(x.mean(), rel=0.01)
    assert at(interval.estimate) - best.fun < 0.5
    for bound in (interval.low, interval.high):
        assert at(bound) - at(interval.estimate) == pytest.approx(CUTOFF, rel=1e-6)


def test_as_released_does_not_cover_skewed_data():
    rng = np.random.default_rng(6)
    covered = [1.0 in gamma_mean_as_released(rng.gamma(0.3, 1 / 0.3, size=100)) for _ in range(200)]
    assert np.mean(covered) < 0.9


# Below a standard deviation of 1e-5 the released code turns to Student's t, whatever the scale.
@given(positive().filter(lambda x: x.std() > 1e-4))
def test_as_released_scales_with_its_data(x):
    one, other = gamma_mean_as_released(10 * x), gamma_mean_as_released(1000 * x)
    assert other.estimate == pytest.approx(100 * one.estimate, rel=1e-6)
    assert one.low <= one.estimate <= one.high


@pytest.mark.parametrize("rest", [1e-12, 1e-4])
def test_as_released_where_its_curvature_turns_negative(rest):
    interval = gamma_mean_as_released([rest] + [1e3] * 30)
    assert 0 < interval.low < interval.estimate < interval.high < 1e3


def test_as_released_falls_back_to_students_t():
    x = 0.3 + 1e-6 * np.arange(5)
    assert gamma_mean_as_released(x) == student_t(x, low=0.0)
