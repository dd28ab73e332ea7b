"""The aggregations: from effective weights and a block of inputs to outputs, and their gradients.

The maths is in `arithmos.nn._parts`. w flat, `o` rows of `i`; x `[i, lanes]`, z `[o, lanes]`, and their gradients dw, dx and dz
likewise; `rows` `[i, lanes]` and `outs` `[o, lanes]` are scratch, and keep what the gradient needs again.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...nn._parts import EPSILON, Aggregation, Product, Sum
from . import maths
from ._compile import LANES, apart, compiled, inlined

ZERO, ONE, SMALL = np.float32(0), np.float32(1), np.float32(EPSILON)


class Compiled(NamedTuple):
    """A compiled aggregation.

    Args:
        forward: `(w, x, z, rows, outs)` fills z.
        backward: `(w, x, z, dz, dw, rows, outs)` adds to dw.
        backward_input: `(w, x, z, dz, dx, rows, outs)` adds to dx; to be called after `backward`.
    """

    forward: Callable[..., None]
    backward: Callable[..., None]
    backward_input: Callable[..., None]


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


@inlined  # type: ignore[untyped-decorator]
def _sum_forward(w, x, z, rows, outs):  # type: ignore[no-untyped-def]
    weighted_sum(w, x, z)


@inlined  # type: ignore[untyped-decorator]
def _sum_backward(w, x, z, dz, dw, rows, outs):  # type: ignore[no-untyped-def]
    add_weight_gradient(dz, x, dw)


@inlined  # type: ignore[untyped-decorator]
def _sum_backward_input(w, x, z, dz, dx, rows, outs):  # type: ignore[no-untyped-def]
    add_input_gradient(w, dz, dx)


@compiled  # type: ignore[untyped-decorator]
def _log(x, rows):  # type: ignore[no-untyped-def]
    apart()
    for i in range(rows.shape[0]):
        for b in range(LANES):
            rows[i, b] = maths.log(abs(x[i, b]) + SMALL)


@compiled  # type: ignore[untyped-decorator]
def _exp(z):  # type: ignore[no-untyped-def]
    apart()
    for o in range(z.shape[0]):
        for b in range(LANES):
            z[o, b] = maths.exp(z[o, b])


@inlined  # type: ignore[untyped-decorator]
def _exp_log_forward(w, x, z, rows, outs):  # type: ignore[no-untyped-def]
    _log(x, rows)
    weighted_sum(w, rows, z)
    _exp(z)


@compiled  # type: ignore[untyped-decorator]
def _multiply(a, b, c):  # type: ignore[no-untyped-def]
    apart()
    for o in range(c.shape[0]):
        for lane in range(LANES):
            c[o, lane] = a[o, lane] * b[o, lane]


@inlined  # type: ignore[untyped-decorator]
def _exp_log_backward(w, x, z, dz, dw, rows, outs):  # type: ignore[no-untyped-def]
    _multiply(z, dz, outs)
    add_weight_gradient(outs, rows, dw)


@compiled  # type: ignore[untyped-decorator]
def clear(rows):  # type: ignore[no-untyped-def]
    """All zeros."""
    apart()
    for i in range(rows.shape[0]):
        for b in range(LANES):
            rows[i, b] = ZERO


@inlined  # type: ignore[untyped-decorator]
def _exp_log_backward_input(w, x, z, dz, dx, rows, outs):  # type: ignore[no-untyped-def]
    clear(rows)
    add_input_gradient(w, outs, rows)
    _add_log_gradient(x, rows, dx)


@compiled  # type: ignore[untyped-decorator]
def _add_log_gradient(x, rows, dx):  # type: ignore[no-untyped-def]
    apart()
    for i in range(rows.shape[0]):
        for b in range(LANES):
            v = x[i, b]
            sign = np.float32(v > ZERO) - np.float32(v < ZERO)
            dx[i, b] += rows[i, b] * sign / (abs(v) + SMALL)


@compiled  # type: ignore[untyped-decorator]
def _product_forward(w, x, z, rows, outs):  # type: ignore[no-untyped-def]
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
def _product_backward(w, x, z, dz, dw, rows, outs):  # type: ignore[no-untyped-def]
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
def _product_backward_input(w, x, z, dz, dx, rows, outs):  # type: ignore[no-untyped-def]
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


SUM = Compiled(_sum_forward, _sum_backward, _sum_backward_input)
EXP_LOG = Compiled(_exp_log_forward, _exp_log_backward, _exp_log_backward_input)
PRODUCT = Compiled(_product_forward, _product_backward, _product_backward_input)


def make_aggregation(aggregation: Aggregation) -> Compiled:
    """The compiled form of an aggregation."""
    return SUM if isinstance(aggregation, Sum) else PRODUCT if isinstance(aggregation, Product) else EXP_LOG
