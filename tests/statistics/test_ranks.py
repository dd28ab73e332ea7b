import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from arithmos import statistics

many = st.lists(st.integers(0, 9), min_size=26, max_size=40)


def likelier(pairs):
    """The share of all ways to deal each pair out, with which pairs of x and y are in order as often, or more."""

    def ordered(x, y):
        return sum((a < b) + 0.5 * (a == b) for a in x for b in y)

    def dealt(x, y):
        both = [*x, *y]
        for chosen in combinations(range(len(both)), len(x)):
            yield ordered([both[i] for i in chosen], [both[i] for i in range(len(both)) if i not in chosen])

    found = sum(ordered(*pair) for pair in pairs)
    ways = [sum(way) for way in product(*(list(dealt(*pair)) for pair in pairs))]
    return sum(way >= found for way in ways) / len(ways)


few = st.lists(st.integers(0, 3), min_size=1, max_size=4)


@given(st.lists(st.tuples(few, few), min_size=1, max_size=2))
def test_few_values_are_counted(pairs):
    assert statistics.rank_sum(pairs)[1] == pytest.approx(likelier(pairs))


@given(st.permutations(range(50)), st.integers(1, 49))
def test_fifty_values_are_counted_as_by_mann_and_whitney(order, size):
    x, y = order[:size], order[size:]
    share, p = statistics.rank_sum([(x, y)])
    expected = stats.mannwhitneyu(x, y, alternative="less", method="exact")
    assert share == pytest.approx(1 - expected.statistic / (len(x) * len(y)))
    assert p == pytest.approx(expected.pvalue)


@given(many, many)
def test_many_values_are_approximated_as_by_mann_and_whitney(x, y):
    share, p = statistics.rank_sum([(x, y)])
    expected = stats.mannwhitneyu(x, y, alternative="less", use_continuity=False, method="asymptotic")
    assert share == pytest.approx(1 - expected.statistic / (len(x) * len(y)))
    assert p == (pytest.approx(expected.pvalue) if len({*x, *y}) > 1 else 0.5)


@pytest.mark.parametrize(("low", "high", "p"), [(4, 1, 1 / 5), (3, 3, 1 / 20), (8, 5, 1 / 1287)])
def test_nothing_is_less_likely_than_two_samples_apart(low, high, p):
    assert statistics.rank_sum([(range(low), range(low, low + high))]) == (1, pytest.approx(p))


def test_pairs_are_compared_within_themselves():
    rng = np.random.default_rng(0)
    strata = [(rng.normal(10 * i, 1, 20), rng.normal(10 * i + 0.7, 1, 20)) for i in range(5)]
    share, p = statistics.rank_sum(strata)
    assert 0.6 < share < 0.8
    assert p < 1e-4
    together = statistics.rank_sum([tuple(np.concatenate(side) for side in zip(*strata, strict=True))])
    assert p < together[1]


def test_empty_samples_tell_nothing():
    assert statistics.rank_sum([([1, 2], [3, 4]), ([], [1])]) == statistics.rank_sum([([1, 2], [3, 4])])
    share, p = statistics.rank_sum([([], [1])])
    assert math.isnan(share)
    assert p == 1


@given(many)
def test_ranks_are_scipys(x):
    np.testing.assert_array_equal(statistics.ranked(np.array(x, float)), stats.rankdata(x))
