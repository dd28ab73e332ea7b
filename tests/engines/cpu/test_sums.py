"""Sums of products of any size against float64, on scratch that is full of NaN."""

import numpy as np
import pytest

from arithmos.engines.cpu import sums
from arithmos.engines.cpu._compile import LANES, WIDTH

SIZES = [(1, 1), (1, 16), (2, 4), (3, 5), (2, 100), (7, 17), (9, 2)]


def matrices(outputs, inputs):
    rng = np.random.default_rng(outputs)
    shapes = (outputs, inputs), (inputs, LANES), (outputs, LANES)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def unset(*shape):
    return np.full(shape, np.nan, np.float32)


def check(found, exact, terms):
    assert np.abs(found - exact).max() <= 2 * terms**0.5 * 2.0**-24 * max(1, np.abs(exact).max())


@pytest.mark.parametrize(("outputs", "inputs"), SIZES)
def test_weighted_sums(outputs, inputs):
    w, x, z = matrices(outputs, inputs)
    z[:] = np.nan
    sums.weighted_sum(w.ravel(), x, z)
    check(z, w.astype(float) @ x, inputs)


@pytest.mark.parametrize(("outputs", "inputs"), SIZES)
def test_gradient_of_the_weights(outputs, inputs):
    _, x, dz = matrices(outputs, inputs)
    parts, dw = unset(outputs * inputs, WIDTH), unset(outputs * inputs)
    sums.add_weight_gradient(dz, x, True, parts)
    sums.add_weight_gradient(2 * dz, x, False, parts)
    sums.fold(parts, dw)
    check(dw.reshape(outputs, inputs), 3 * dz.astype(float) @ x.T, 2 * LANES)


@pytest.mark.parametrize(("outputs", "inputs"), SIZES)
def test_gradient_of_the_inputs(outputs, inputs):
    w, dx, dz = matrices(outputs, inputs)
    dx[:] = np.nan
    sums.input_gradient(w.ravel(), dz, dx)
    check(dx, w.T.astype(float) @ dz, outputs)
