import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from arithmos.statistics import (
    benjamini_hochberg,
    fisher_power,
    fisher_ps,
    median_p,
    median_ps,
    prediction_finds,
    prediction_p,
    single_levels,
    smallest_found,
)


@pytest.mark.parametrize(("k", "n", "trials"), [(0, 10, 10), (7, 10, 12), (50, 50, 32), (31, 100, 100), (98, 100, 54)])
def test_fishers_p_values_are_those_of_scipy(k, n, trials):
    expected = [stats.fisher_exact([[k, n - k], [other, trials - other]])[1] for other in range(trials + 1)]
    np.testing.assert_allclose(fisher_ps(k, n, trials), expected, rtol=1e-9)


def test_the_power_of_fishers_test_is_how_often_it_rejects():
    rng = np.random.default_rng(0)
    cases = (98, 100, 100, 0.1, 0.005), (39, 50, 50, 0.3, 0.002), (5, 10, 10, 0.4, 0.05)
    for k, n, trials, difference, level in cases:
        rates = [rate for rate in (k / n - difference, k / n + difference) if 0 <= rate <= 1]
        ps = fisher_ps(k, n, trials)
        seen = min(float(np.mean(ps[rng.binomial(trials, rate, 20_000)] <= level)) for rate in rates)
        assert fisher_power(k, n, trials, difference, level) == pytest.approx(seen, abs=0.015)


def test_power_of_a_difference_that_no_rate_has_room_for():
    assert fisher_power(5, 10, 10, 0.9, 0.05) == fisher_power(5, 10, 10, 0.5, 0.05)
    assert fisher_power(3, 10, 10, 0.9, 0.05) == fisher_power(3, 10, 10, 0.7, 0.05)


@pytest.mark.parametrize("n", [10, 50, 100])
def test_power_grows_with_the_difference(n):
    powers = [fisher_power(n // 2, n, n, points / 100, 0.01) for points in range(101)]
    assert all(after >= before - 1e-12 for before, after in pairwise(powers))
    assert powers[0] <= 0.01


def test_numbers_are_found_as_their_p_values_say():
    rng = np.random.default_rng(1)
    predicted, numbers = rng.normal(size=2500), np.linspace(-5, 5, 201)
    for level in (0.0005, 0.0008, 0.05, 0.2):
        found = prediction_finds(predicted, numbers, level, error=0.1)
        assert found.tolist() == [prediction_p(predicted, value, 0.1) <= level for value in numbers]


def test_medians_at_once_are_medians_one_by_one():
    x, values = np.random.default_rng(2).gamma(2, 10, 31), np.linspace(-1, 80, 50)
    for error in (0.0, 3.0):
        assert median_ps(x, values, 20, error).tolist() == [median_p(x, value, 20, error) for value in values]
    assert np.isnan(median_ps([], values, 20)).all()


def test_a_printed_median_of_equal_values_is_as_before():
    """By the interval of `median_prediction`: `printed` leaves it at the smallest level that has it outside."""
    x = np.array([1.0, 2.0, 2.0, 3.0, 5.0, 8.0, 9.0, 9.0])
    tails = stats.betabinom.sf((7 + 1) // 2 - 1, 7, np.arange(1, 9), 9 - np.arange(1, 9))
    assert median_p(x, 0.0, 7) == pytest.approx(2 * tails[0])
    assert median_p(x, 9.5, 7) == pytest.approx(2 * tails[0])
    assert median_p(x, 1.5, 7) == pytest.approx(2 * tails[1])
    assert median_p(x, 4.0, 7) == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_a_hypothesis_is_rejected_up_to_its_level(seed):
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(12) < 0.4, rng.random(12) * 0.02, rng.random(12))
    levels = single_levels(p, 0.1)
    assert (p <= levels).tolist() == benjamini_hochberg(p, 0.1).tolist()
    for i, level in enumerate(levels):
        others = np.delete(p, i)
        assert benjamini_hochberg(np.append(others, level - 1e-12), 0.1)[-1]
        assert not benjamini_hochberg(np.append(others, level + 1e-12), 0.1)[-1]


def test_levels_of_nothing():
    assert single_levels([]).size == 0


def test_the_smallest_difference_found():
    steps = [0.1, 0.2, 0.3]
    assert smallest_found(lambda difference: 1.0, steps, 0.8) == 0.1
    assert smallest_found(lambda difference: 4 * difference, steps, 0.8) == 0.2
    assert math.isnan(smallest_found(lambda difference: 0.5, steps, 0.8))
