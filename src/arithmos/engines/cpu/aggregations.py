"""Aggregations from effective weights and a block of inputs to outputs, and their gradients.

The maths is in `arithmos.nn._parts`. w is flat, o rows of i; x `[i, lanes]`, z `[o, lanes]`; dw, dx and dz are their
gradients. What is called `add_` adds to its last argument. `rows` `[i, lanes]` and `outs` `[o, lanes]` are scratch.
"""

import numpy as np

from ...nn._parts import EPSILON
from . import maths
from ._compile import LANES, WIDTH, apart, compiled

ZERO, ONE, SMALL = np.float32(0), np.float32(1), np.float32(EPSILON)


@compiled
def clear(rows):
    """All zeros."""
    for i in range(rows.shape[0]):
        for b in range(LANES):
            rows[i, b] = ZERO


@compiled
def copy_outputs(a, z):
    """Z = a."""
    apart()
    for o in range(z.shape[0]):
        for b in range(LANES):
            z[o, b] = a[o, b]


@compiled
def weighted_sum(w, x, z):
    """z_o = sum_i w_oi x_i."""
    apart()
    n = w.size // z.shape[0]
    rest = n % 4
    for o in range(z.shape[0]):
        for b in range(LANES):
            z[o, b] = ZERO
        for i in range(rest):
            w0 = w[o * n + i]
            for b in range(LANES):
                z[o, b] += w0 * x[i, b]
    for i in range(rest, n, 4):
        for o in range(z.shape[0]):
            k = o * n + i
            w0, w1, w2, w3 = w[k], w[k + 1], w[k + 2], w[k + 3]
            for b in range(LANES):
                z[o, b] += (w0 * x[i, b] + w1 * x[i + 1, b]) + (w2 * x[i + 2, b] + w3 * x[i + 3, b])


@compiled
def add_weight_gradient(dz, x, parts):
    """dw_oi += sum_b dz_ob x_ib, left in parts `[o i, width]` to be summed by `fold` once per batch."""
    apart()
    n = parts.shape[0] // dz.shape[0]
    for o in range(dz.shape[0]):
        for i in range(n):
            k = o * n + i
            for l in range(WIDTH):
                parts[k, l] += (
                    dz[o, l] * x[i, l]
                    + dz[o, l + WIDTH] * x[i, l + WIDTH]
                    + dz[o, l + 2 * WIDTH] * x[i, l + 2 * WIDTH]
                    + dz[o, l + 3 * WIDTH] * x[i, l + 3 * WIDTH]
                )


@compiled
def _pair(a, n, b):
    """b_k = a_2k + a_2k+1, which vectorizes where the sum of one row after the other does not."""
    apart()
    for k in range(n):
        b[k] = a[2 * k] + a[2 * k + 1]


@compiled
def _add_pair(a, n, b):
    apart()
    for k in range(n):
        b[k] += a[2 * k] + a[2 * k + 1]


@compiled
def fold(parts, halves, dw):
    """Add the sums of the rows of parts to dw; halves `[8 o i]` is scratch, and so are the parts afterwards."""
    flat, n = parts.reshape(parts.size), dw.size
    _pair(flat, 8 * n, halves)
    _pair(halves, 4 * n, flat)
    _pair(flat, 2 * n, halves)
    _add_pair(halves, n, dw)


@compiled
def clear_parts(parts):
    """All zeros."""
    for k in range(parts.shape[0]):
        for l in range(WIDTH):
            parts[k, l] = ZERO


@compiled
def add_input_gradient(w, dz, dx):
    """dx_ib += sum_o w_oi dz_ob."""
    apart()
    n = w.size // dz.shape[0]
    for i in range(n):
        for o in range(dz.shape[0]):
            w0 = w[o * n + i]
            for b in range(LANES):
                dx[i, b] += w0 * dz[o, b]


@compiled
def log_inputs(x, rows):
    """log(|x| + epsilon)."""
    apart()
    for i in range(rows.shape[0]):
        for b in range(LANES):
            rows[i, b] = maths.log(abs(x[i, b]) + SMALL)


@compiled
def exp_outputs(z):
    """Take the exponential of every output, in place."""
    for o in range(z.shape[0]):
        for b in range(LANES):
            z[o, b] = maths.exp(z[o, b])


@compiled
def exp_gradient(z, dz, outs):
    """Turn the gradient of exp(s) into that of s."""
    apart()
    for o in range(outs.shape[0]):
        for b in range(LANES):
            outs[o, b] = z[o, b] * dz[o, b]


@compiled
def add_log_gradient(x, rows, dx):
    """Turn the gradient of log(|x| + epsilon) into that of x."""
    apart()
    for i in range(rows.shape[0]):
        for b in range(LANES):
            v = x[i, b]
            sign = np.float32(v > ZERO) - np.float32(v < ZERO)
            dx[i, b] += rows[i, b] * sign / (abs(v) + SMALL)


@compiled
def product(w, x, z):
    """z_o = prod_i (w_oi x_i + 1 - w_oi)."""
    apart()
    n = w.size // z.shape[0]
    for o in range(z.shape[0]):
        for b in range(LANES):
            z[o, b] = ONE
        for i in range(n):
            w0 = w[o * n + i]
            for b in range(LANES):
                z[o, b] *= w0 * x[i, b] + (ONE - w0)


@compiled
def _before(w, o, x, rows):
    """Products of the factors before each input."""
    apart()
    n = rows.shape[0]
    for b in range(LANES):
        rows[0, b] = ONE
    for i in range(n - 1):
        w0 = w[o * n + i]
        for b in range(LANES):
            rows[i + 1, b] = rows[i, b] * (w0 * x[i, b] + (ONE - w0))


@compiled
def add_product_gradients(w, x, dz, rows, outs, dw, dx):
    """Compute the gradient of each factor as the product of those before and after it, correct with zeros too.

    dx has no rows if it is not needed.
    """
    apart()
    n = rows.shape[0]
    for o in range(dz.shape[0]):
        _before(w, o, x, rows)
        for b in range(LANES):
            outs[o, b] = dz[o, b]
        for i in range(n - 1, -1, -1):
            w0 = w[o * n + i]
            s = ZERO
            if dx.shape[0] == 0:
                for b in range(LANES):
                    s += rows[i, b] * outs[o, b] * (x[i, b] - ONE)
                    outs[o, b] *= w0 * x[i, b] + (ONE - w0)
            else:
                for b in range(LANES):
                    d = rows[i, b] * outs[o, b]
                    s += d * (x[i, b] - ONE)
                    dx[i, b] += d * w0
                    outs[o, b] *= w0 * x[i, b] + (ONE - w0)
            dw[o * n + i] += s
