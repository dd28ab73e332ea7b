import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from arithmos.regression.numbers import is_simple, meant
from arithmos.regression.pool import Pool
from arithmos.regression.precision import resolution
from arithmos.regression.refine import refine
from arithmos.regression.screen import relevant
from arithmos.regression.structure import structure
from arithmos.regression.terms import (
    Column,
    TermSum,
    complexity,
    exact_number,
    jacobian,
    numbers,
    product,
    renumbered,
    scaled,
    to_sympy,
    values,
)
from arithmos.regression.tidy import tidy, variants

X = np.random.default_rng(0).uniform(1, 2, (40, 3))

small = st.floats(0.5, 3)
powers = st.sampled_from([-1.0, 0.5, 1.0, 2.0])
columns = st.builds(Column, st.integers(0, 2))
trees = st.recursive(
    columns,
    lambda inner: st.one_of(
        st.builds(lambda a, b, c, d, e: TermSum((a, b), (c, d), e), small, small, inner, inner, small),
        st.builds(
            lambda a, b, p, q: product([(a, p), (b, q)]), inner, inner, *(st.sampled_from([-1.0, 0.5, 1.0, 2.0]),) * 2
        ),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=60)
@given(trees)
def test_derivatives_are_those_of_the_values(node):
    fitted, slopes = jacobian(node, X)
    np.testing.assert_allclose(fitted, values(node, X), rtol=1e-12)
    constants = numbers(node)
    assert len(slopes) == len(constants)
    for number, slope in enumerate(slopes):
        up, down = list(constants), list(constants)
        up[number] += 1e-6
        down[number] -= 1e-6
        change = values(renumbered(node, iter(up)), X) - values(renumbered(node, iter(down)), X)
        np.testing.assert_allclose(change / 2e-6, slope, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(slope).max()))


@settings(deadline=None, max_examples=60)
@given(trees)
def test_a_tidy_formula_has_the_same_values(node):
    np.testing.assert_allclose(values(tidy(node, X), X), values(node, X), rtol=1e-9)


def test_a_tidy_product_has_no_minus_sign_in_front():
    node = TermSum((-1.19,), (product([(Column(0), 1.0), (TermSum((1.0,), (Column(1),), -1.0), 1.0)]),))
    assert str(to_sympy(tidy(node, X), sympy.symbols("a b c"))) == "1.19*a*(1 - b)"


def test_a_number_does_not_overflow_where_it_is_multiplied_into_a_small_power():
    node = TermSum((5.0,), (product([(Column(0), 1.0), (TermSum((1.0, 2.0), (Column(1), Column(2))), 0.001)]),))
    for other in variants(node):
        np.testing.assert_allclose(values(other, X), values(node, X))


def test_tidying_factors_polynomials():
    a, b = Column(0), Column(1)
    square = TermSum((1.0, -2.0, 1.0), (product([(a, 2.0)]), product([(a, 1.0), (b, 1.0)]), product([(b, 2.0)])))
    assert complexity(tidy(square, X)) == 3


def test_refining_finds_constants_inside_a_root():
    node = product([(TermSum((2.0, 2.0), (Column(0), Column(1)), 0.5), 0.5)])
    y = np.sqrt(3 * X[:, 0] + 0.7 * X[:, 1] + 1.5)
    found = refine(node, X, y, np.ones(len(y)))
    np.testing.assert_allclose(numbers(found.node), [3, 0.7, 1.5], rtol=1e-8)


@pytest.mark.parametrize("value", [2.0, -0.5, 1.19, 1 / 3, np.pi / 4, 6.674e-11, 8.314, 299792458.0, np.sqrt(2)])
def test_numbers_that_were_meant_are_recognized(value):
    assert meant(value * (1 + 1e-13), 1e-11 * abs(value)) == pytest.approx(value, rel=1e-15)


def test_most_numbers_were_not_meant():
    drawn = np.random.default_rng(0).uniform(1, 2, 500)
    assert not any(is_simple(value) for value in drawn)
    assert sum(meant(value, 1e-3) is not None for value in drawn) < 100


def test_digits_of_a_column():
    assert resolution(np.array([1.25, 3.5, 10.0]))[0] == 0.005
    assert not resolution(X[:, 0]).any()
    assert resolution(X[:, 0].astype(np.float32).astype(np.float64))[0] > 0


@pytest.mark.parametrize(
    "left",
    [
        lambda x: 0.3 * x[:, 0],
        lambda x: 0.5 * (x[:, 1] - 1.5) ** 2,
        lambda x: 0.1 * np.sin(20 * x[:, 2]),
        lambda x: (x[:, 0] - 1.5) * (x[:, 2] - 1.5),
    ],
)
def test_structure_in_a_residual_is_found(left):
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (400, 3))
    noise = 0.05 * rng.normal(size=400)
    assert structure(noise, x, np.ones(400), [0, 1], x[:, 0]) is None
    assert structure(noise + left(x) - left(x).mean(), x, np.ones(400), [0, 1], x[:, 0]) is not None


def test_columns_that_matter_are_found_among_many():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 60))
    pool = Pool(x, x[:, 3] * x[:, 40] + x[:, 7], np.ones(400), np.inf)
    assert sorted(relevant(pool)) == [3, 7, 40]
    assert relevant(Pool(x, rng.normal(size=400), np.ones(400), np.inf)) == ()


def test_a_scaled_sum_is_one_sum():
    assert scaled(2.0, TermSum((1.0,), (Column(0),), 3.0)) == TermSum((2.0,), (Column(0),), 6.0)


def test_large_numbers_are_no_multiples_of_pi():
    assert exact_number(4 * math.pi / 3) == 4 * sympy.pi / 3
    assert exact_number(566390004536028.3).is_Float
