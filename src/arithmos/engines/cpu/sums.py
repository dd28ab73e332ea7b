"""Sums of products of two matrices, the loops that take most of the time, written by hand.

w is flat, o rows of i; x `[i, lanes]`, z `[o, lanes]`; dw, dx and dz are their gradients.
"""

import numpy as np

from ._compile import LANES, WIDTH, apart, compiled

ZERO = np.float32(0)


@compiled
def clear(array):
    """All zeros."""
    flat = array.reshape(array.size)
    for k in range(flat.size):
        flat[k] = ZERO


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
def add_weight_gradient(dz, x, first, parts):
    """dw_oi += sum_b dz_ob x_ib, left in parts `[o i, width]` to be summed by `fold`; the first block sets them."""
    apart()
    n = parts.shape[0] // dz.shape[0]
    for o in range(dz.shape[0]):
        for i in range(n):
            k = o * n + i
            for l in range(WIDTH):
                parts[k, l] = (ZERO if first else parts[k, l]) + (
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
def fold(parts, halves, dw):
    """Set dw to the sums of the rows of parts; halves `[8 o i]` is scratch, and so are the parts afterwards."""
    flat, n = parts.reshape(parts.size), dw.size
    _pair(flat, 8 * n, halves)
    _pair(halves, 4 * n, flat)
    _pair(flat, 2 * n, halves)
    _pair(halves, n, dw)


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
