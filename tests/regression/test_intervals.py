import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arithmos.regression import ArithmeticRegressor
from arithmos.regression.intervals import constants, settled
from arithmos.regression.numbers import is_simple, is_simple_exponent, meant
from arithmos.regression.pool import snap
from arithmos.regression.refine import refine
from arithmos.regression.terms import Column, PowerProduct, TermSum, exponents, numbers, values

A, B, C = (Column(i) for i in range(3))
RATIO = TermSum((1.19,), (PowerProduct((A, B, C), (1.0, 1.0, -1.0)),))
LINEAR = TermSum((3.7, 0.21), (A, B))
GRAVITY = TermSum((0.5, 9.81), (PowerProduct((A, B), (1.0, 2.0)), PowerProduct((A, C), (1.0, 1.0))))
POWER_LAW = TermSum((1.234,), (PowerProduct((A, B), (0.83, -0.37)),))
SATURATION = PowerProduct((A, TermSum((1.37,), (B,), 1.0)), (1.0, -1.0))


def covered(node, noise, share_of_value, tables=100, rows=200):
    """Return the share of the true constants that are in the formula or within the intervals of its estimates."""
    true = [*numbers(node), *exponents(node)]
    inside = []
    for seed in range(tables):
        rng = np.random.default_rng([seed, 5])
        x, w = rng.uniform(1, 5, (rows, 3)), np.ones(rows)
        exact = values(node, x)
        y = exact + noise * (exact if share_of_value else exact.std()) * rng.normal(size=rows)
        found = settled(snap(node, x[50:], y[50:], w[50:]).node, x, y, w)
        found = refine(found, x, y, w, np.array([not is_simple(number) for number in numbers(found)], bool)).node
        for constant in constants(found, x, y, w):
            meant_to_be = min(true, key=lambda number: abs(number - constant.value))
            right = math.isclose(constant.value, meant_to_be)
            inside.append(right if constant.exact else constant.low <= meant_to_be <= constant.high)
            assert constant.exact or constant.low <= constant.value <= constant.high
    return np.mean(inside)


@pytest.mark.parametrize("share_of_value", [False, True], ids=["equal noise", "noise relative to the value"])
@pytest.mark.parametrize("node", [RATIO, LINEAR, GRAVITY, POWER_LAW, SATURATION])
def test_95_percent_of_the_intervals_hold_the_constant(node, share_of_value):
    assert 0.9 <= covered(node, 0.01, share_of_value) <= 0.99


def test_weights_count_as_inverse_variances():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, (400, 3))
    deviation = rng.choice([0.01, 1.0], 400)
    y = values(RATIO, x) + deviation * rng.normal(size=400)
    w = deviation**-2.0
    node = refine(TermSum((math.exp(0.2),), RATIO.terms), x, y, w / w.mean()).node
    (weighted,) = constants(node, x, y, w / w.mean())
    (plain,) = constants(node, x, y, np.ones(400))
    assert weighted.low < 1.19 < weighted.high
    assert weighted.high - weighted.low < 0.1 * (plain.high - plain.low)


def test_estimated_exponents_are_constants_with_intervals():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, (300, 2))
    exact = 1.234 * x[:, 0] ** 0.83 * x[:, 1] ** -0.37
    certificate = ArithmeticRegressor(random_state=0).fit(x, exact + 0.02 * rng.normal(size=300)).certificate_
    assert certificate.verdict == "noise"
    assert len(certificate.constants) == 3
    for constant, true in zip(sorted(certificate.constants, key=lambda c: c.value), (-0.37, 0.83, 1.234), strict=True):
        assert not constant.exact
        assert constant.low < true < constant.high


def test_a_number_far_from_its_estimate_must_be_simpler():
    assert meant(9.802, 0.0105) == 9.8
    assert meant(9.809, 0.0105) is None
    assert meant(3.028, 0.03) == 3.0


def test_gravity_is_not_the_square_of_pi():
    assert meant(9.82, 0.1) is None
    assert meant(math.pi**2, 1e-4) == math.pi**2


@given(st.integers(-9, 9), st.integers(1, 6))
def test_fractions_are_simple_exponents(top, bottom):
    assert is_simple_exponent(top / bottom)
    assert not is_simple_exponent(top / bottom + 0.0123)
