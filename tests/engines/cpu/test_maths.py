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
