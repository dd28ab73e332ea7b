import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from arithmos.statistics import benjamini_hochberg

p_values = arrays(np.float64, st.integers(1, 40), elements=st.floats(1e-6, 1) | st.floats(1e-4, 0.05))


@given(p_values, st.floats(0.01, 0.3))
def test_is_scipys(p, rate):
    adjusted = stats.false_discovery_control(p)
    clear = ~np.isclose(adjusted, rate, rtol=1e-9)
    np.testing.assert_array_equal(benjamini_hochberg(p, rate)[clear], (adjusted <= rate)[clear])


@given(p_values)
def test_rejects_the_smallest_and_more_at_a_higher_rate(p):
    strict, lax = benjamini_hochberg(p, 0.05), benjamini_hochberg(p, 0.2)
    assert (lax | ~strict).all()
    if strict.any():
        assert strict[p <= p[strict].max()].all()


def test_false_discoveries_are_as_few_as_promised():
    rng = np.random.default_rng(0)
    share = []
    for _ in range(400):
        p = np.concatenate([rng.random(80), rng.beta(0.05, 1, 20)])
        rejected = benjamini_hochberg(p, 0.1)
        share.append(rejected[:80].sum() / max(1, rejected.sum()))
    assert 0.06 < np.mean(share) < 0.1  # 0.1 times the share of true hypotheses, 0.08


def test_nothing_to_test():
    assert benjamini_hochberg([]).shape == (0,)


@pytest.mark.parametrize("p", [[0.1, np.nan], [-0.1], [1.1]])
def test_what_is_no_probability(p):
    with pytest.raises(ValueError, match="p must"):
        benjamini_hochberg(p)


@pytest.mark.parametrize("rate", [0, 1, 5])
def test_rate_out_of_range(rate):
    with pytest.raises(ValueError, match="rate must lie between 0 and 1"):
        benjamini_hochberg([0.1], rate)
