"""Weight maps from parameters p to effective weights w, and from the gradient of w to that of p, g.

The maths is in `arithmos.nn._parts`. All arrays are flat.
"""

import numpy as np

from . import maths
from ._compile import apart, compiled

ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)


@compiled
def copy(a, b):
    """Copy: the free map, its gradient, and other copies."""
    apart()
    for i in range(b.size):
        b[i] = a[i]


@compiled
def zero(a):
    """All zeros."""
    for i in range(a.size):
        a[i] = ZERO


@compiled
def clip(p, low, high, w):
    """W = p within [low, high]."""
    apart()
    for i in range(w.size):
        w[i] = low if p[i] < low else high if p[i] > high else p[i]


@compiled
def clip_gradient(p, low, high, dw, g):
    """Pass the gradient within the range and on its bounds."""
    apart()
    for i in range(dw.size):
        g[i] = dw[i] if p[i] >= low and p[i] <= high else ZERO


@compiled
def project(p, low, high):
    """Project the parameters into [low, high]."""
    for i in range(p.size):
        p[i] = low if p[i] < low else high if p[i] > high else p[i]


@compiled
def sigmoid_weight(p, w):
    """W = sigmoid(p)."""
    apart()
    for i in range(w.size):
        w[i] = maths.sigmoid(p[i])


@compiled
def sigmoid_weight_gradient(w, dw, g):
    apart()
    for i in range(dw.size):
        g[i] = dw[i] * ((ONE - w[i]) * w[i])


@compiled
def tanh_sigmoid_weight(w_hat, m_hat, tanh, sigmoid, w):
    """W = tanh(W_hat) * sigmoid(M_hat); both factors are kept for the gradient."""
    apart()
    for i in range(w.size):
        t, s = maths.tanh(w_hat[i]), maths.sigmoid(m_hat[i])
        tanh[i] = t
        sigmoid[i] = s
        w[i] = t * s


@compiled
def tanh_sigmoid_weight_gradient(tanh, sigmoid, dw, g_w_hat, g_m_hat):
    apart()
    for i in range(dw.size):
        t, s = tanh[i], sigmoid[i]
        g_w_hat[i] = dw[i] * s * (ONE - t * t)
        g_m_hat[i] = dw[i] * t * ((ONE - s) * s)


@compiled
def _sign(x):
    return np.float32(x > ZERO) - np.float32(x < ZERO)


@compiled
def add_sparsity_gradient(p, signed, strength, g):
    """Add the gradient of strength · mean min(|w|, |1 - |w||), or of min(|w|, |1 - w|) if not signed.

    As torch has it, the slope is 0 at 0, at ±1/2 and at ±1.
    """
    apart()
    share = np.float32(strength) / np.float32(p.size)
    for i in range(p.size):
        near_0 = abs(p[i])
        to_1 = ONE - (near_0 if signed else p[i])
        slope_0 = _sign(p[i])
        slope_1 = -_sign(to_1) * (slope_0 if signed else ONE)
        slope = slope_0 if near_0 < abs(to_1) else slope_1 if near_0 > abs(to_1) else HALF * (slope_0 + slope_1)
        g[i] += share * slope


@compiled
def sparsity_error(w):
    """Return the largest min(|w|, |1 - |w||)."""
    largest = ZERO
    for i in range(w.size):
        magnitude = abs(w[i])
        largest = max(largest, min(magnitude, abs(ONE - magnitude)))
    return largest
