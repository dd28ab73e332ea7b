import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from arithmos import statistics
from arithmos.statistics.prediction import DRAWS


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=40),
    st.integers(-1, 31),
    st.integers(1, 60),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
)
def test_median_p_is_where_the_prediction_interval_ends(x, printed, n, level):
    interval = statistics.median_prediction(x, n, level)
    if interval.has_bounds:
        assert (statistics.median_p(x, printed, n) <= 1 - level + 1e-12) == (printed not in interval)


def test_median_p_gives_rounding_its_due():
    x = np.arange(1000, 1100)
    assert statistics.median_p(x, 980, 50) < 1e-6
    assert statistics.median_p(x, 980, 50, error=70) > 0.5
    assert math.isnan(statistics.median_p([], 3, 5))
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        statistics.median_p(x, 980, 0)


def test_unseen_values_interleave_with_ours_in_every_way_alike():
    x = np.sort(np.random.default_rng(1).random(20))
    drawn = statistics.unseen(x, 15, 0.0, 1.0)
    assert drawn.shape == (DRAWS, 15)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    for r in (1, 7, 20):
        law = stats.betabinom(15, r, 21 - r)
        below = (drawn < x[r - 1]).sum(axis=1)
        assert below.mean() == pytest.approx(law.mean(), abs=4 * law.std() / math.sqrt(DRAWS))
        assert below.std() == pytest.approx(law.std(), rel=0.1)


def test_unseen_values_reach_as_far_as_they_may():
    drawn = statistics.unseen([5.0, 6.0], 50, 0.0, 100.0)
    assert drawn.max() > 90
    assert statistics.unseen([5.0, 6.0], 50, 0.0, 1.0).max() <= 6
    assert np.array_equal(drawn, statistics.unseen([6.0, 5.0], 50, 0.0, 100.0))
    with pytest.raises(ValueError, match="x must hold a value and n be at least 1, got 0 values and n = 3"):
        statistics.unseen([], 3, 0, 1)


def test_prediction_p_counts_both_sides():
    predicted = np.arange(999)
    assert statistics.prediction_p(predicted, -1) == 2 / 1000
    assert statistics.prediction_p(predicted, 1000) == 2 / 1000
    assert statistics.prediction_p(predicted, 499) == 1
    assert statistics.prediction_p(predicted, -10, error=20) == 2 * 12 / 1000


@given(st.integers(0, 2**32 - 1), st.floats(0.3, 30), st.floats(1e-6, 1e6))
@settings(max_examples=30)
def test_fixed_variance_mean_has_the_largest_likelihood(seed, shape, scale):
    x = np.random.default_rng(seed).gamma(shape, scale, 40)
    best = float(statistics.fixed_variance_mean(x[None])[0])
    variance = x.var(ddof=1)

    def likelihood(mean):
        return stats.gamma.logpdf(x, mean**2 / variance, scale=variance / mean).sum()

    assert likelihood(best) >= max(likelihood(best * factor) for factor in (0.9, 0.99, 1.01, 1.1))


def test_fixed_variance_mean_of_equal_values_is_their_value():
    assert statistics.fixed_variance_mean(np.full((2, 5), 7000.0)) == pytest.approx([7000, 7000], rel=1e-5)


@given(st.integers(0, 2**32 - 1), st.floats(0.5, 200), st.integers(2, 100), st.booleans())
@settings(max_examples=60)
def test_no_value_is_later_than_latest(seed, shape, n, outlier):
    x = np.random.default_rng(seed).gamma(shape, 1000 / shape, n)
    if outlier:
        x[0] = 50_000
    released = statistics.gamma_mean_as_released(x)
    if released.has_bounds:
        assert x.max() <= statistics.latest(released.estimate, (released.high - released.low) / 2, n)


def test_a_mean_without_an_interval_excludes_nothing():
    assert statistics.latest(1000, math.nan, 3) == math.inf


def test_two_samples_of_one_skewed_law_seldom_differ():
    """The published NAU on + is like this: nearly all runs at 2·10⁴, a few at 10⁶ and beyond."""
    rng = np.random.default_rng(0)

    def sample(n):
        late = rng.random(n) < 0.03
        return np.where(late, rng.uniform(1e6, 5e6, n), rng.normal(18_000, 1500, n))

    p = []
    for _ in range(60):
        ours, theirs = sample(50), sample(100)
        printed = statistics.gamma_mean_as_released(theirs)
        latest = min(5e6, statistics.latest(printed.estimate, (printed.high - printed.low) / 2, 100))
        means = statistics.fixed_variance_mean(statistics.unseen(ours, 100, 0, latest))
        p.append(statistics.prediction_p(means, printed.estimate, 0.01 * printed.estimate))
    assert np.mean(np.array(p) < 0.05) < 0.1
