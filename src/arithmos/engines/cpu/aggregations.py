"""The aggregations: from effective weights and a block of inputs to outputs, and their gradients.

The maths is in `arithmos.nn._parts`. w is flat, o rows of i; x `[i, lanes]`, z `[o, lanes]`; dw, dx and dz are their
gradients. What is called `add_` adds to its last argument. `rows` `[i, lanes]` and `outs` `[o, lanes]` are scratch.
"""

import numpy as np

from ...nn._parts import EPSILON
from . import maths
from ._compile import LANES, apart, compiled

ZERO, ONE, SMALL = np.float32(0), np.float32(1), np.float32(EPSILON)


@compiled  # type: ignore[untyped-decorator]
def clear(rows):  # type: ignore[no-untyped-def]
    """All zeros."""
    for i in range(rows.shape[0]):
        for b in range(LANES):
            rows[i, b] = ZERO


@compiled  # type: ignore[untyped-decorator]
def copy_outputs(a, z):  # type: ignore[no-untyped-def]
    """Z = a."""
    apart()
    for o in range(z.shape[0]):
        for b in range(LANES):
            z[o, b] = a[o, b]


@compiled  # type: ignore[untyped-decorator]
def weighted_sum(w, x, z):  # type: ignore[no-untyped-def]
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


@compiled  # type: ignore[untyped-decorator]
def add_weight_gradient(dz, x, dw):  # type: ignore[no-untyped-def]
    """dw_oi += sum_b dz_ob x_ib."""
    apart()
    n = dw.size // dz.shape[0]
    rest = n % 4
    for i in range(rest):
        for o in range(dz.shape[0]):
            s = ZERO
            for b in range(LANES):
                s += dz[o, b] * x[i, b]
            dw[o * n + i] += s
    for i in range(rest, n, 4):
        for o in range(dz.shape[0]):
            s0 = s1 = s2 = s3 = ZERO
            for b in range(LANES):
                s0 += dz[o, b] * x[i, b]
                s1 += dz[o, b] * x[i + 1, b]
                s2 += dz[o, b] * x[i + 2, b]
                s3 += dz[o, b] * x[i + 3, b]
            k = o * n + i
            dw[k] += s0
            dw[k + 1] += s1
            dw[k + 2] += s2
            dw[k + 3] += s3


@compiled  # type: ignore[untyped-decorator]
def add_input_gradient(w, dz, dx):  # type: ignore[no-untyped-def]
    """dx_ib += sum_o w_oi dz_ob."""
    apart()
    n = w.size // dz.shape[0]
    for i in range(n):
        for o in range(dz.shape[0]):
            w0 = w[o * n + i]
            for b in range(LANES):
                dx[i, b] += w0 * dz[o, b]


@compiled  # type: ignore[untyped-decorator]
def log_inputs(x, rows):  # type: ignore[no-untyped-def]
    """log(|x| + epsilon)."""
    apart()
    for i in range(rows.shape[0]):
        for b in range(LANES):
            rows[i, b] = maths.log(abs(x[i, b]) + SMALL)


@compiled  # type: ignore[untyped-decorator]
def exp_outputs(z):  # type: ignore[no-untyped-def]
    """The exponential of every output, in place."""
    for o in range(z.shape[0]):
        for b in range(LANES):
            z[o, b] = maths.exp(z[o, b])


@compiled  # type: ignore[untyped-decorator]
def exp_gradient(z, dz, outs):  # type: ignore[no-untyped-def]
    """From the gradient of exp(s) to that of s."""
    apart()
    for o in range(outs.shape[0]):
        for b in range(LANES):
            outs[o, b] = z[o, b] * dz[o, b]


@compiled  # type: ignore[untyped-decorator]
def add_log_gradient(x, rows, dx):  # type: ignore[no-untyped-def]
    """From the gradient of log(|x| + epsilon) to that of x."""
    apart()
    for i in range(rows.shape[0]):
        for b in range(LANES):
            v = x[i, b]
            sign = np.float32(v > ZERO) - np.float32(v < ZERO)
            dx[i, b] += rows[i, b] * sign / (abs(v) + SMALL)


@compiled  # type: ignore[untyped-decorator]
def product(w, x, z):  # type: ignore[no-untyped-def]
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


@compiled  # type: ignore[untyped-decorator]
def _before(w, o, x, rows):  # type: ignore[no-untyped-def]
    """Products of the factors before each input."""
    apart()
    n = rows.shape[0]
    for b in range(LANES):
        rows[0, b] = ONE
    for i in range(n - 1):
        w0 = w[o * n + i]
        for b in range(LANES):
            rows[i + 1, b] = rows[i, b] * (w0 * x[i, b] + (ONE - w0))


@compiled  # type: ignore[untyped-decorator]
def add_product_weight_gradient(w, x, dz, rows, outs, dw):  # type: ignore[no-untyped-def]
    """The gradient of a factor is the product of those before it and those behind it, right with zeros among them."""
    apart()
    n = rows.shape[0]
    for o in range(dz.shape[0]):
        _before(w, o, x, rows)
        for b in range(LANES):
            outs[o, b] = dz[o, b]
        for i in range(n - 1, -1, -1):
            w0 = w[o * n + i]
            s = ZERO
            for b in range(LANES):
                s += rows[i, b] * outs[o, b] * (x[i, b] - ONE)
                outs[o, b] *= w0 * x[i, b] + (ONE - w0)
            dw[o * n + i] += s


@compiled  # type: ignore[untyped-decorator]
def add_product_input_gradient(w, x, dz, rows, outs, dx):  # type: ignore[no-untyped-def]
    """Likewise, for the inputs."""
    apart()
    n = rows.shape[0]
    for o in range(dz.shape[0]):
        _before(w, o, x, rows)
        for b in range(LANES):
            outs[o, b] = dz[o, b]
        for i in range(n - 1, -1, -1):
            w0 = w[o * n + i]
            for b in range(LANES):
                dx[i, b] += rows[i, b] * outs[o, b] * w0
                outs[o, b] *= w0 * x[i, b] + (ONE - w0)
