import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from arithmos import statistics

values = st.lists(st.integers(0, 9), min_size=1, max_size=30)


@given(values, values)
def test_one_pair_is_mann_whitney(x, y):
    share, p = statistics.rank_sum([(x, y)])
    expected = stats.mannwhitneyu(x, y, alternative="less", use_continuity=False, method="asymptotic")
    assert share == pytest.approx(1 - expected.statistic / (len(x) * len(y)))
    if len({*x, *y}) > 1:
        assert p == pytest.approx(expected.pvalue)
    else:
        assert p == 0.5


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
