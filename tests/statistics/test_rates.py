import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from arithmos.statistics import fisher_exact, rate_difference, wilson

trials = st.integers(1, 500)


@st.composite
def counts(draw):
    n = draw(trials)
    return draw(st.integers(0, n)), n


@given(counts(), st.floats(0.5, 0.999))
def test_wilson_is_scipys(kn, level):
    k, n = kn
    ours = wilson(k, n, level)
    theirs = stats.binomtest(k, n).proportion_ci(level, method="wilson")
    np.testing.assert_allclose((ours.low, ours.high), theirs, atol=1e-12)


@given(counts())
def test_wilson_holds_the_rate_and_widens_with_the_level(kn):
    narrow, wide = wilson(*kn, 0.8), wilson(*kn, 0.99)
    assert 0 <= wide.low <= narrow.low <= narrow.estimate <= narrow.high <= wide.high <= 1


@given(counts())
def test_wilson_mirrors(kn):
    k, n = kn
    solved, failed = wilson(k, n), wilson(n - k, n)
    assert solved.low == pytest.approx(1 - failed.high, abs=1e-12)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.5, 0.93])
def test_wilson_covers(rate):
    n = 100
    weights = stats.binom.pmf(np.arange(n + 1), n, rate)
    coverage = sum(w for k, w in enumerate(weights) if rate in wilson(k, n))
    assert 0.93 < coverage < 0.98


def test_wilson_without_trials_shows_nothing():
    assert wilson(0, 0).is_empty


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 2), (0, -1)])
def test_impossible_counts(k, n):
    with pytest.raises(ValueError, match=f"got k = {k} and n = {n}"):
        wilson(k, n)
    with pytest.raises(ValueError, match="k2 and n2"):
        fisher_exact(1, 2, k, n)


# Newcombe (1998), table II, method 10
@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2", "low", "high"),
    [
        (56, 70, 48, 80, 0.0524, 0.3339),
        (9, 10, 3, 10, 0.1705, 0.8090),
        (10, 10, 0, 20, 0.6791, 1.0),
        (10, 10, 0, 10, 0.6075, 1.0),
    ],
)
def test_rate_difference_is_newcombes(k1, n1, k2, n2, low, high):
    interval = rate_difference(k1, n1, k2, n2)
    assert interval.estimate == pytest.approx(k1 / n1 - k2 / n2)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=6e-5)


@given(counts(), counts())
def test_rate_difference_is_antisymmetric_and_ordered(one, two):
    forth, back = rate_difference(*one, *two), rate_difference(*two, *one)
    assert forth.low <= forth.estimate <= forth.high
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), abs=1e-12)
    assert rate_difference(*one, *two, level=0.99).low <= forth.low


def test_rate_difference_covers():
    k = np.arange(51)
    p1, p2 = 0.9, 0.6
    w1, w2 = stats.binom.pmf(k, 50, p1), stats.binom.pmf(k, 50, p2)
    near = [(i, j) for i in k for j in k if w1[i] * w2[j] > 1e-6]
    coverage = sum(w1[i] * w2[j] for i, j in near if p1 - p2 in rate_difference(int(i), 50, int(j), 50))
    assert 0.94 < coverage < 0.97


def test_rate_difference_without_trials_shows_nothing():
    assert rate_difference(1, 2, 0, 0).is_empty
    assert rate_difference(0, 0, 1, 2).is_empty


def test_fisher_by_hand():
    # Of the tables with these margins only the two most extreme are as unlikely: 2 / C(8, 4).
    assert fisher_exact(4, 4, 0, 4) == pytest.approx(2 / math.comb(8, 4))


@given(counts(), counts())
def test_fisher_is_symmetric_and_a_probability(one, two):
    p = fisher_exact(*one, *two)
    assert 0 <= p <= 1 + 1e-12
    assert p == pytest.approx(fisher_exact(*two, *one))


def test_fisher_without_trials_finds_nothing():
    assert fisher_exact(0, 0, 3, 5) == 1
    assert fisher_exact(0, 100, 0, 100) == 1
