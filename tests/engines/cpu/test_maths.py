"""Logarithm, exponential, tanh and sigmoid against NumPy in float64, in units in the last place."""

import numba
import numpy as np
import pytest

from arithmos.engines.cpu import maths

SPECIAL = np.array([np.nan, np.inf], np.float32)


def _map(function):
    @numba.njit
    def mapped(x, y):
        for i in range(x.size):
            y[i] = function(x[i])

    def call(x):
        y = np.full_like(x, np.nan)
        mapped(x, y)
        return y

    return call


def _ulps(found, exact):
    return np.abs(found.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _floats(low, high, count=200_000):
    """Numbers spread over the bit patterns from `low` to `high`, both positive."""
    bits = np.linspace(*np.array([low, high], np.float32).view(np.int32), count).astype(np.int32)
    return bits.view(np.float32)


@pytest.mark.parametrize(
    ("name", "exact", "x", "ulps"),
    [
        ("log", np.log, _floats(2**-126, 3.4e38), 2),
        ("log", np.log, _floats(0.5, 2.0), 2),
        ("finite_log", np.log, _floats(2**-126, 3.4028235e38), 2),
        ("exp", np.exp, np.linspace(-87, 88.7, 200_000, dtype=np.float32), 2),
        ("tanh", np.tanh, _floats(1e-30, 20), 3),
        ("sigmoid", _sigmoid, np.linspace(-80, 80, 200_000, dtype=np.float32), 4),
    ],
)
def test_few_units_in_the_last_place(name, exact, x, ulps):
    worst = _ulps(_map(getattr(maths, name))(x), exact(x.astype(np.float64))).max()
    assert worst <= ulps, f"{name} errs by {worst:.2f} units"


def test_tanh_is_odd():
    x = _floats(1e-30, 20, 1000)
    tanh = _map(maths.tanh)
    np.testing.assert_array_equal(tanh(-x), -tanh(x))


def test_exp_beyond_the_normal_numbers():
    x = np.array([88.8, 89, 200, np.inf, -90, -100, -103, -104, -200, -np.inf, np.nan], np.float32)
    with np.errstate(over="ignore"):
        exact = np.exp(x.astype(np.float64)).astype(np.float32)
    found = _map(maths.exp)(x)
    np.testing.assert_allclose(found, exact, rtol=0, atol=3e-45)
    assert (found[4:7] > 0).all()  # gradual underflow


def test_log_of_what_is_no_number():
    np.testing.assert_array_equal(_map(maths.log)(SPECIAL), SPECIAL)


def test_sigmoid_and_tanh_of_what_is_no_number():
    np.testing.assert_array_equal(_map(maths.sigmoid)(np.array([np.inf, -np.inf, np.nan], np.float32)), [1, 0, np.nan])
    np.testing.assert_array_equal(_map(maths.tanh)(np.array([np.inf, -np.inf, np.nan], np.float32)), [1, -1, np.nan])


@numba.njit
def _powers(x, y, out):
    for i in range(x.size):
        out[i] = maths.power(x[i], y[i])


def _power(x, y):
    x = np.asarray(x, np.float32)
    y = np.full(x.shape, y, np.float32)
    out = np.empty(x.shape, np.float32)
    _powers(x, y, out)
    return out


@pytest.mark.parametrize("exponent", [-1, 1, -2, 2, 0.5, -0.5, 3, 1.3, -0.01, 20, -37.5])
@pytest.mark.parametrize(("low", "high"), [(1e-6, 0.15), (0.1, 2), (0.999, 1.001), (1, 40), (1e-38, 3e38)])
def test_powers_err_by_little_more_than_a_unit_in_the_last_place(exponent, low, high):
    x = _floats(low, high, 20_000)
    with np.errstate(over="ignore", under="ignore"):
        exact = np.power(x.astype(np.float64), float(np.float32(exponent)))
        normal = (exact > 2**-126) & (exact < 3.4e38)
    assert normal.any()
    assert _ulps(_power(x, exponent)[normal], exact[normal]).max() <= 1.3 + np.abs(np.log2(exact[normal])).max() / 20


def test_the_powers_of_one_and_minus_one_are_rounded_once():
    x = _floats(1e-30, 1e30)
    np.testing.assert_array_equal(_power(x, 1), x)
    np.testing.assert_array_equal(_power(-x, -1), np.float32(-1) / x)


def test_powers_of_what_is_no_common_number():
    x = [0, -0.0, 0, np.inf, np.inf, -np.inf, -np.inf, -2, -2, -2, np.nan, 2, np.nan, 1, 2, 0.5, 2, 1e-42, 1e30, 1]
    y = [2, -1, -2, 2, -2, 3, -1, 3, -2, 0.5, 1, np.nan, 0, np.nan, np.inf, np.inf, 1e38, -0.5, 3e38, np.inf]
    with np.errstate(all="ignore"):
        exact = np.power(np.array(x, np.float32), np.array(y, np.float32))
    np.testing.assert_allclose(_power(x, y), exact, rtol=3e-7)
