import dataclasses
import math

import numpy as np
import pytest

from arithmos import statistics
from arithmos.statistics import Interval
from arithmos.statistics.interval import sample, tail

ESTIMATORS = [
    statistics.student_t,
    statistics.median,
    statistics.gamma_mean,
    statistics.gamma_mean_as_released,
    statistics.beta_mean,
    statistics.beta_mean_as_released,
]


def test_nothing_one_value_and_an_interval_are_told_apart():
    nothing, point, interval = Interval(math.nan), Interval(0.5), Interval(0.5, 0.4, 0.7)
    assert (nothing.is_empty, point.is_empty, interval.is_empty) == (True, False, False)
    assert (nothing.has_bounds, point.has_bounds, interval.has_bounds) == (False, False, True)


def test_contains():
    interval = Interval(0.5, 0.4, 0.7)
    assert 0.4 in interval
    assert 0.7 in interval
    assert 0.39 not in interval
    assert 0.5 not in Interval(0.5)


def test_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Interval(0.5).low = 0.4  # type: ignore[misc]


@pytest.mark.parametrize("bounds", [(0.6, 0.4), (math.nan, 0.4), (0.4, math.nan)])
def test_bounds_that_are_none_are_refused(bounds):
    with pytest.raises(ValueError, match="low"):
        Interval(0.5, *bounds)


@pytest.mark.parametrize("bad", [[1.0, math.nan], [math.inf]])
def test_sample_names_the_argument_that_is_not_finite(bad):
    with pytest.raises(ValueError, match="steps must hold finite numbers"):
        sample(bad, "steps")


def test_sample_names_the_shape():
    with pytest.raises(ValueError, match=r"steps must have one axis, got shape \(2, 2\)"):
        sample(np.ones((2, 2)), "steps")


@pytest.mark.parametrize("level", [0, 1, 95, math.nan])
def test_level_out_of_range(level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        tail(level)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_value_shows_nothing_and_one_value_no_bounds(estimator):
    assert estimator([]).is_empty
    one = estimator([0.25])
    assert one.estimate == 0.25
    assert not one.has_bounds


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_nan_and_level_are_refused(estimator):
    with pytest.raises(ValueError, match="x must hold finite numbers, got 1 "):
        estimator([0.1, math.nan])
    with pytest.raises(ValueError, match="level"):
        estimator([0.1, 0.2], 95)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_equal_values(estimator):
    interval = estimator(np.full(10, 0.1))
    assert interval.estimate == pytest.approx(0.1)
    assert not interval.has_bounds or interval.low == pytest.approx(interval.high)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 0.4])
@pytest.mark.parametrize("spread", [1e-10, 1e-4, 0.1, 5.0])
@pytest.mark.parametrize("n", [2, 7, 10_000])
def test_any_size_scale_and_skew(estimator, scale, spread, n):
    y = np.exp(spread * np.random.default_rng(n).standard_normal(n))
    interval = estimator(scale * y / y.max())
    if interval.has_bounds:
        assert interval.low <= interval.estimate <= interval.high
    else:
        assert estimator is statistics.median  # n = 2
        assert n == 2
