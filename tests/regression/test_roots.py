import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arithmos.regression.roots import joined
from arithmos.regression.terms import Column, PowerProduct, TermSum, complexity, values

FACTORS = (Column(0), Column(1), TermSum((1.0, 1.0), (Column(0), Column(1))), TermSum((2.0,), (Column(2),), 0.5))
POWERS = st.sampled_from([-1.5, -1.0, -2 / 3, -0.5, 1 / 3, 0.5, 2 / 3, 1.0, 1.5, 2.0, 0.7312])


@given(st.lists(POWERS, min_size=4, max_size=4), st.integers(0, 1000))
def test_one_root_has_the_values_of_several(powers, seed):
    x = np.random.default_rng(seed).uniform(0.5, 3.0, (20, 3))
    law = TermSum((1.5,), (PowerProduct(FACTORS, tuple(powers)),), 1.0)
    made = joined(law)
    np.testing.assert_allclose(values(made, x), values(law, x), rtol=1e-12)
    assert complexity(made) <= complexity(law)


def test_a_joined_root_has_a_value_where_two_factors_are_negative():
    law = PowerProduct((TermSum((1.0,), (Column(0),), -5.0), TermSum((1.0,), (Column(1),), -5.0)), (0.5, 0.5))
    x = np.array([[1.0, 4.0], [9.0, 6.0]])
    assert np.isnan(values(law, x)).tolist() == [True, False]
    np.testing.assert_allclose(values(joined(law), x), [2.0, 2.0])
