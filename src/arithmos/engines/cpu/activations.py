"""Bias, activation, and the gate between two leaves, after an aggregation. Arrays are `[o, lanes]`."""

import numpy as np

from . import maths
from ._compile import LANES, apart, compiled

ZERO, ONE, SIX = np.float32(0), np.float32(1), np.float32(6)


@compiled
def add_bias(bias, z):
    """Z += bias, in place."""
    apart()
    for o in range(z.shape[0]):
        shift = bias[o]
        for b in range(LANES):
            z[o, b] += shift


@compiled
def add_bias_gradient(dz, d_bias):
    apart()
    for o in range(dz.shape[0]):
        s = ZERO
        for b in range(LANES):
            s += dz[o, b]
        d_bias[o] += s


@compiled
def relu(z, highest):
    """Clip values to [0, highest], in place; NaN stays."""
    for o in range(z.shape[0]):
        for b in range(LANES):
            v = z[o, b]
            z[o, b] = ZERO if v <= ZERO else highest if v >= highest else v


@compiled
def relu_gradient(z, highest, dz, da):
    """Pass the gradient between the bounds, not on them."""
    apart()
    for o in range(z.shape[0]):
        for b in range(LANES):
            da[o, b] = ZERO if z[o, b] <= ZERO or z[o, b] >= highest else dz[o, b]


@compiled
def mix(add, mul, gate, z):
    """Z = g add + (1 - g) mul with g = sigmoid(gate), which stays in `gate`."""
    apart()
    for o in range(z.shape[0]):
        for b in range(LANES):
            g = maths.sigmoid(gate[o, b])
            gate[o, b] = g
            z[o, b] = g * add[o, b] + (ONE - g) * mul[o, b]


@compiled
def mix_gradient(add, mul, gate, dz, d_add, d_mul, d_gate):
    apart()
    for o in range(dz.shape[0]):
        for b in range(LANES):
            d, g = dz[o, b], gate[o, b]
            d_add[o, b] = d * g
            d_mul[o, b] = d * (ONE - g)
            d_gate[o, b] = d * (add[o, b] - mul[o, b]) * ((ONE - g) * g)


@compiled
def sum_gate(gate, share):
    """Return the sum of the gate over the lanes that count."""
    total = ZERO
    for o in range(gate.shape[0]):
        for b in range(LANES):
            total += gate[o, b] if share[b] > ZERO else ZERO
    return total
