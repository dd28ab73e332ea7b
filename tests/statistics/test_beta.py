import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize, stats

from arithmos.statistics import beta_mean, beta_mean_as_released, gamma_mean, student_t

CUTOFF = stats.chi2.ppf(0.95, 1)


def deviance(y, m, v):
    return -2 * stats.beta.logpdf(y, m * v, (1 - m) * v).sum()


def profile(y, m):
    return optimize.minimize_scalar(
        lambda u: deviance(y, m, np.exp(u)), bounds=(-6, 14), method="bounded", options={"xatol": 1e-10}
    ).fun


@st.composite
def errors(draw):
    """Sparsity errors, strictly between 0 and ½."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, m, v = draw(st.integers(2, 60)), draw(st.floats(0.1, 0.9)), draw(st.floats(3, 1e3))
    return rng.beta(m * v, (1 - m) * v, size=n) / 2


# SciPy's own likelihood loses digits where the values are nearly equal.
@given(errors().filter(lambda x: x.std() > 0.003))
def test_estimate_and_bounds_by_scipys_likelihood(x):
    interval = beta_mean(x)
    best = profile(2 * x, 2 * interval.estimate)
    for m in (0.999 * interval.estimate, 0.5 - 0.999 * (0.5 - interval.estimate)):
        assert profile(2 * x, 2 * m) >= best - 1e-6
    for bound in (interval.low, interval.high):
        assert profile(2 * x, 2 * bound) - best == pytest.approx(CUTOFF, rel=1e-4)


@given(errors())
def test_mirrors_and_widens_with_the_level(x):
    x = 0.5 - (0.5 - x)  # its mirror image has no more digits
    assume(x.min() > 0)
    one, mirrored, wide = beta_mean(x), beta_mean(0.5 - x), beta_mean(x, 0.99)
    assert (mirrored.low, mirrored.high) == pytest.approx((0.5 - one.high, 0.5 - one.low), rel=1e-6)
    assert wide.low < one.low < one.estimate < one.high < wide.high


def test_tiny_values_have_the_interval_of_the_gamma_distribution():
    x = 1e-8 * np.random.default_rng(0).gamma(3, size=50)
    ours, limit = beta_mean(x), gamma_mean(x)
    for a, b in [(ours.estimate, limit.estimate), (ours.low, limit.low), (ours.high, limit.high)]:
        assert a == pytest.approx(b, rel=1e-5)


def test_values_a_beta_distribution_cannot_have_get_students_t():
    within, beyond = [0.0, 0.1, 0.5], [0.1, 0.2, 1.0]
    assert beta_mean(within) == student_t(within, low=0.0, high=0.5)
    assert beta_mean(beyond) == student_t(beyond, low=0.0)
    assert beta_mean([1.0]).estimate == 1.0
    assert not beta_mean([0.1] * 3).has_bounds


@pytest.mark.parametrize("estimator", [beta_mean, beta_mean_as_released])
def test_negative_values(estimator):
    with pytest.raises(ValueError, match=r"x must not be negative, got -0\.1"):
        estimator([-0.1, 0.2])


@pytest.mark.parametrize(("m", "v"), [(0.9, 20.0), (0.07, 500.0), (1e-6, 1e6)])
def test_covers(m, v):
    rng = np.random.default_rng(7)
    covered = [m / 2 in beta_mean(rng.beta(m * v, (1 - m) * v, size=100) / 2) for _ in range(1000)]
    low, high = stats.binom.interval(0.999, 1000, 0.95)
    assert low <= sum(covered) <= high


@given(errors())
def test_as_released_is_half_of_a_fit_to_values_not_doubled(x):
    released = beta_mean_as_released(x)
    meant = beta_mean(x / 2)
    if x.std(ddof=1) > 1e-9 and meant.estimate > 1.8e-5:
        assert (released.estimate, released.low, released.high) == pytest.approx(
            (meant.estimate, meant.low, meant.high)
        )


def test_as_released_falls_back_to_students_t():
    tiny = 1e-5 * np.random.default_rng(8).gamma(3, size=50)
    equal = np.full(5, 0.2)
    for x in (tiny, equal):
        assert beta_mean_as_released(x) == student_t(x, low=0.0, high=0.5)
    halved = beta_mean_as_released(10 * tiny)
    assert halved.estimate == pytest.approx(5 * tiny.mean(), rel=0.01)


def test_as_released_cuts_at_a_half():
    x = np.array([0.3, 0.45, 1.2])
    assert beta_mean_as_released(x) == beta_mean_as_released(np.minimum(x, 0.5))
    assert beta_mean_as_released(x).estimate < 0.25
