import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arithmos.formula import expression
from arithmos.regression.products import Products, network, ordered

COLUMNS = 4
QUICK = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
ternary = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=COLUMNS, max_size=COLUMNS).filter(any)
product = st.lists(ternary, min_size=1, max_size=3).map(lambda rows: np.array(rows))
number = st.sampled_from([-2.0, -1.0, 0.5, 1.0, 3.0])


@st.composite
def formulas(draw):
    factors = draw(st.lists(product, max_size=3))
    coefficients = draw(st.lists(number, min_size=len(factors), max_size=len(factors)))
    return Products(factors, np.array(coefficients), draw(st.sampled_from([0.0, 1.5])))


X = np.random.default_rng(0).uniform(-2, 2, (7, COLUMNS))


@QUICK
@given(formulas())
def test_is_the_sum_of_products_of_sums(formula):
    expected = np.full(len(X), formula.intercept)
    for w, c in zip(formula.factors, formula.coefficients, strict=True):
        term = c
        for row in w:
            term = term * sum(weight * X[:, i] for i, weight in enumerate(row))
        expected = expected + term
    np.testing.assert_allclose(formula(X), expected, rtol=1e-12, atol=1e-12)


@QUICK
@given(st.lists(formulas(), min_size=1, max_size=3))
def test_network_computes_the_same(outputs):
    made = network(outputs, COLUMNS)
    expected = np.stack([formula(X) for formula in outputs], 1)
    np.testing.assert_allclose(made(torch.from_numpy(X)).detach(), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(expression(made, snap=0).numpy()(X), expected, rtol=1e-9, atol=1e-9)


def test_network_without_coefficients_has_two_layers():
    square = Products([np.array([[1.0, 1, 0, 0], [1, 1, 0, 0]])], np.ones(1))
    assert str(expression(network([square], COLUMNS))) == "(x1 + x2)**2"
    assert len(network([square], COLUMNS)) == 2
    assert len(network([Products(square.factors, np.array([2.0]))], COLUMNS)) == 3


@QUICK
@given(product, st.randoms(use_true_random=False))
def test_order_and_signs_of_factors_do_not_matter(w, random):
    rows = [row * random.choice([-1, 1]) for row in w]
    random.shuffle(rows)
    np.testing.assert_array_equal(ordered(np.array(rows)), ordered(w))
    ratio = Products([ordered(w)], np.ones(1))(X), Products([w], np.ones(1))(X)
    np.testing.assert_allclose(np.abs(ratio[0]), np.abs(ratio[1]), rtol=1e-12)


@pytest.mark.parametrize(
    ("formula", "complexity", "constants", "used"),
    [
        (Products([], np.empty(0)), 0, (), []),
        (Products([], np.empty(0), 2.0), 1, (2.0,), []),
        (Products([np.array([[1.0, -1, 0, 0], [0, 0, 0, 1]])], np.array([-1.0])), 3, (), [0, 1, 3]),
        (Products([np.array([[0.0, 1, 0, 0]])], np.array([3.0]), 1.0), 3, (3.0, 1.0), [1]),
    ],
)
def test_what_is_written_down(formula, complexity, constants, used):
    assert (formula.complexity, formula.constants, formula.used.tolist()) == (complexity, constants, used)
