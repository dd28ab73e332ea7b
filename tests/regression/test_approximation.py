import math

import numpy as np
import pytest

from arithmos.regression import ArithmeticRegressor
from arithmos.regression.approximation import flexible_part, rival, table_column
from arithmos.regression.terms import Column, PowerProduct, TermSum, product

A, B, C = (Column(i) for i in range(3))
K, L, M, N = (math.exp(power) for power in (-0.6571, 0.31661, 1.123, -1.001))
SQUARE = PowerProduct((A,), (2.0,))
CUBE = PowerProduct((A,), (3.0,))
PAIR = PowerProduct((A, B), (1.0, 1.0))


def power(base, exponent):
    return PowerProduct((base,), (exponent,))


LAWS = {
    "line": TermSum((K,), (A,), L),
    "power law": TermSum((K,), (power(A, 0.8123),)),
    "saturation": product([(A, 1.0), (TermSum((1.0,), (A,), L), -1.0)], K),
    "fall": TermSum((K, L), (A, SQUARE)),
    "parabola": TermSum((K, L), (A, SQUARE), M),
    "surface": TermSum((K, L, M), (A, B, PAIR), N),
    "plane": TermSum((K, L, M), (A, B, C), N),
    "two exponents": TermSum((K,), (PowerProduct((A, B), (0.8123, -0.4123)),)),
    "integers": TermSum((2.0, -3.0, 5.0, 7.0), (A, SQUARE, CUBE, power(A, 4.0)), 11.0),
}
APPROXIMATIONS = {
    "cubic": TermSum((K, L, M), (A, SQUARE, CUBE), N),
    "ratio": product([(TermSum((K,), (A,), L), 1.0), (TermSum((1.0,), (A,), M), -1.0)]),
    "factor": product([(B, 1.0), (C, 1.0), (TermSum((K, L, M), (A, SQUARE, CUBE), 1.0), 1.0)]),
    "terms of one column": TermSum((1.0, 1.0, K, L, M), (B, C, A, SQUARE, CUBE)),
    "one estimate and many numbers": TermSum((0.01, 2.0, 0.1, K), (CUBE, SQUARE, power(A, 5.0), A), 1.0),
}


@pytest.mark.parametrize("name", LAWS)
def test_short_formulas_may_be_laws(name):
    assert flexible_part(LAWS[name]) is None


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_long_formulas_with_estimated_constants_are_flexible(name):
    assert flexible_part(APPROXIMATIONS[name]) is not None


def test_names_the_part():
    part = flexible_part(APPROXIMATIONS["terms of one column"])
    assert (part.columns, part.symbols, part.constants) == (frozenset({0}), 8, 3)


def fit(target, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 5, (300, 2))
    y = target(*x.T)
    return ArithmeticRegressor(random_state=0, budget_s=600.0).fit(x, y + 0.01 * y.std() * rng.normal(size=300))


@pytest.mark.parametrize(
    "target",
    [
        lambda a, b: np.sin(a),
        lambda a, b: np.log(a),
        lambda a, b: np.tanh(a - 3),
        lambda a, b: b * np.exp(-a),
    ],
    ids=["sin", "log", "tanh", "exp"],
)
def test_a_noisy_function_without_a_formula_has_none(target):
    certificate = fit(target).certificate_
    assert certificate.verdict == "not found"
    assert "may be an approximation" in certificate.reason or "depends on" in certificate.reason


@pytest.mark.parametrize(
    "law",
    [
        lambda a, b: 3.7182 * a + 0.2187 * b + 1.3571,
        lambda a, b: 2.3571 * a / (b + 0.7281),
        lambda a, b: 12.347 * a - 4.9051 * a**2,
        lambda a, b: 1.7317 * a**2 - 3.4123 * a + 12.2371,
    ],
    ids=["plane", "saturation", "fall", "parabola"],
)
def test_a_noisy_law_with_odd_constants_is_one(law):
    assert fit(law).certificate_.verdict == "noise"


@pytest.mark.parametrize("name", ["log", "sin", "tanh"])
def test_a_function_outside_the_language_may_explain_as_much(name):
    x = np.random.default_rng(0).uniform(1.1, 1.4, (200, 2))
    curve = getattr(np, name)(x[:, 0])
    fitted = np.polynomial.Polynomial.fit(x[:, 0], curve, 3).convert().coef.tolist()
    cubic = TermSum(tuple(fitted[1:]), (A, SQUARE, CUBE), fitted[0])
    y = x[:, 1] * curve + 0.001 * np.random.default_rng(1).normal(size=200)
    assert rival(product([(B, 1.0), (cubic, 1.0)]), x, y, np.ones(200)) == (name, 0)
    assert rival(product([(B, 1.0), (A, 1.0)], K), x, K * x[:, 0] * x[:, 1], np.ones(200)) is None


def test_a_polynomial_through_the_rows_of_a_table_is_no_formula():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(0, 5, 300), rng.uniform(1, 5, 300)]).astype(float)
    table = rng.normal(size=5)
    model = ArithmeticRegressor(random_state=0, budget_s=600.0).fit(x, table[x[:, 0].astype(int)] + x[:, 1])
    assert model.certificate_.verdict == "not found"
    assert "few different values" in model.certificate_.reason
    assert table_column(TermSum((K, L), (A, B)), x) is None
