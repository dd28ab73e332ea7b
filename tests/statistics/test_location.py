import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from arithmos.statistics import median, median_prediction, student_t, upper_mean
from arithmos.statistics.location import median_below

samples = arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6))


@given(samples.filter(lambda x: x.size > 1), st.floats(0.5, 0.999))
def test_student_t_is_scipys(x, level):
    ours = student_t(x, level)
    if x.std() > 1e-9 * abs(x.mean()):
        theirs = stats.ttest_1samp(x, 0.0).confidence_interval(level)
        np.testing.assert_allclose((ours.low, ours.high), theirs, rtol=1e-9, atol=1e-9)
    assert ours.low <= ours.estimate <= ours.high


def test_student_t_is_kept_in_range():
    interval = student_t([0.0, 0.0, 0.4], low=0.0, high=0.5)
    assert (interval.low, interval.high) == (0.0, 0.5)
    assert interval.estimate == pytest.approx(0.4 / 3)


@given(samples.filter(lambda x: x.size > 1), st.floats(0.51, 0.999))
def test_upper_mean_is_one_side_of_students_t(x, level):
    np.testing.assert_allclose(upper_mean(x, level), student_t(x, 2 * level - 1).high, rtol=1e-9, atol=1e-6)


def test_upper_mean_with_the_published_degrees_of_freedom():
    x = [1.0, 2.0, 4.0, 4.0, 5.0, 7.0, 5.0]  # mean 4, standard deviation 2
    assert upper_mean(x, freedom=8) == pytest.approx(4 + 2.896459 * 2 / math.sqrt(7), abs=1e-5)
    assert upper_mean(x) == pytest.approx(4 + 3.142668 * 2 / math.sqrt(7), abs=1e-5)
    assert math.isnan(upper_mean([1.0]))
    with pytest.raises(ValueError, match="freedom must be at least 1, got 0"):
        upper_mean(x, freedom=0)


@given(samples, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_median_is_scipys(x, level):
    ours = median(x, level)
    assert ours.estimate == np.median(x)
    theirs = stats.quantile_test(x, p=0.5).confidence_interval(level)
    if ours.has_bounds:
        np.testing.assert_array_equal((ours.low, ours.high), (theirs.low, theirs.high))
        assert ours.low <= ours.estimate <= ours.high


@given(samples)
def test_median_interval_widens_with_the_level(x):
    narrow, wide = median(x, 0.8), median(x, 0.99)
    if wide.has_bounds:
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_median_of_too_few_has_no_bounds():
    assert not median(range(5)).has_bounds
    assert median(range(6)).has_bounds


def test_median_covers_at_least_its_level():
    rng = np.random.default_rng(1)
    covered = [np.log(2) in median(rng.exponential(size=41)) for _ in range(1000)]
    assert 0.95 - 0.02 < np.mean(covered) < 0.985


@pytest.mark.parametrize(("n", "further"), [(50, 31), (31, 100), (99, 10)])
def test_median_prediction_holds_the_next_median(n, further):
    rng = np.random.default_rng(2)
    held = [
        np.median(rng.exponential(size=further)) in median_prediction(rng.exponential(size=n), further)
        for _ in range(500)
    ]
    assert 0.93 < np.mean(held) < 0.99


def test_median_prediction_approaches_the_interval_of_the_median():
    x = np.random.default_rng(3).normal(size=80)
    assert median_prediction(x, 10**5) == median(x)
    wide = median_prediction(x, 10)
    assert wide.low < median(x).low
    assert wide.high > median(x).high


def test_median_prediction_of_nothing_and_for_nothing():
    assert median_prediction([], 5).is_empty
    assert not median_prediction([1.0, 2.0], 5).has_bounds
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        median_prediction([1.0], 0)


@given(st.integers(1, 300), st.integers(1, 300))
def test_the_chance_of_a_median_is_the_tail_of_a_beta_binomial_distribution(n, size):
    r = np.arange(1, size + 1)
    expected = stats.betabinom.sf((n + 1) // 2 - 1, n, r, size + 1 - r)
    np.testing.assert_allclose(median_below(n, r, size), expected, rtol=1e-9, atol=1e-12)
