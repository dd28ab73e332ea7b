"""Sums of products of two matrices, the loops that take most of the time, written by hand.

w is flat, o rows of i; x `[i, lanes]`, z `[o, lanes]`; dw, dx and dz are their gradients. All sums stay in registers,
those of up to four outputs at a time.
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from ._compile import LANES, WIDTH, apart, compiled
from ._vectors import FLOATS, Code, writing

ZERO = np.float32(0)
BLOCK = range(0, LANES, WIDTH)
"""First lanes of the vectors in a row."""


@compiled
def clear(array):
    """All zeros."""
    for k in range(array.shape[0]):
        array[k] = ZERO


def _write_weighted_sum(code: Code, outputs: int) -> None:
    w, x, z = range(3)
    _, _, _, o, n, _ = code.arguments
    zero = code.constant(0.0, FLOATS)
    chains = 2 if outputs <= 2 else 1  # as many sums as hide the time that a fused multiply-add takes
    sums = [[[code.register(zero) for _ in BLOCK] for _ in range(outputs)] for _ in range(chains)]

    def add(first: Any, chains: int) -> None:
        for c in range(chains):
            i = code.at(first, c)
            inputs = [code.load(x, code.at((i, LANES), start), FLOATS) for start in BLOCK]
            for k in range(outputs):
                weight = code.splat(code.number(w, code.at((code.at(o, k), n), i)), FLOATS)
                for total, value in zip(sums[c][k], inputs, strict=True):
                    total.value = total.value.plus(weight, value)

    whole = code.builder.sub(n, code.builder.srem(n, code.index(chains)))
    with code.loop(code.index(0), whole, chains) as i:
        add(i, chains)
    if chains > 1:
        with code.loop(whole, n) as i:
            add(i, 1)
    for k in range(outputs):
        for v, start in enumerate(BLOCK):
            total = sums[0][k][v].value
            for chain in sums[1:]:
                total = total + chain[k][v].value
            code.store(total, z, code.at((code.at(o, k), LANES), start))


@intrinsic(prefer_literal=True)
def _weighted_sum(typing: Any, w: Any, x: Any, z: Any, o: Any, n: Any, outputs: Any) -> Any:
    """Compute so many rows of z from row o on."""
    signature = types.void(w, x, z, types.intp, types.intp, outputs)
    return signature, writing(_write_weighted_sum, outputs.literal_value)


@compiled
def weighted_sum(w, x, z):
    """z_o = sum_i w_oi x_i."""
    apart()
    outputs = z.shape[0]
    n = w.size // outputs
    fours, pairs = outputs // 4 * 4, outputs // 2 * 2
    for o in range(0, fours, 4):
        _weighted_sum(w, x, z, o, n, 4)
    if fours < pairs:
        _weighted_sum(w, x, z, fours, n, 2)
    if pairs < outputs:
        _weighted_sum(w, x, z, pairs, n, 1)


def _write_weight_gradient(code: Code, outputs: int, first: bool) -> None:
    dz, x, parts = range(3)
    _, _, _, o, n, *_ = code.arguments
    rows = [[code.load(dz, code.at((code.at(o, k), LANES), start), FLOATS) for start in BLOCK] for k in range(outputs)]
    with code.loop(code.index(0), n) as i:
        inputs = [code.load(x, code.at((i, LANES), start), FLOATS) for start in BLOCK]
        for k, row in enumerate(rows):
            place = code.at((code.at(o, k), n, WIDTH), (i, WIDTH))
            left, right = row[0] * inputs[0], row[1] * inputs[1]
            if not first:
                left = code.load(parts, place, FLOATS).plus(row[0], inputs[0])
            code.store(left.plus(row[2], inputs[2]) + right.plus(row[3], inputs[3]), parts, place)


@intrinsic(prefer_literal=True)
def _weight_gradient(typing: Any, dz: Any, x: Any, parts: Any, o: Any, n: Any, outputs: Any, first: Any) -> Any:
    """Set or add to the parts of so many outputs from output o on."""
    signature = types.void(dz, x, parts, types.intp, types.intp, outputs, first)
    return signature, writing(_write_weight_gradient, outputs.literal_value, bool(first.literal_value))


@compiled
def add_weight_gradient(dz, x, first, parts):
    """dw_oi += sum_b dz_ob x_ib, left in parts `[o i, width]` to be summed by `fold`; the first block sets them."""
    apart()
    outputs = dz.shape[0]
    n = parts.shape[0] // outputs
    fours, pairs = outputs // 4 * 4, outputs // 2 * 2
    for o in range(0, fours, 4):
        if first:
            _weight_gradient(dz, x, parts, o, n, 4, 1)
        else:
            _weight_gradient(dz, x, parts, o, n, 4, 0)
    if fours < pairs:
        if first:
            _weight_gradient(dz, x, parts, fours, n, 2, 1)
        else:
            _weight_gradient(dz, x, parts, fours, n, 2, 0)
    if pairs < outputs:
        if first:
            _weight_gradient(dz, x, parts, pairs, n, 1, 1)
        else:
            _weight_gradient(dz, x, parts, pairs, n, 1, 0)


QUARTERS = range(0, WIDTH, WIDTH // 4)
FOLDING = (
    ([place for q in QUARTERS for place in (q, WIDTH + q, q + 1, WIDTH + q + 1)], 2),
    ([place for q in QUARTERS for place in (q, q + 1, WIDTH + q, WIDTH + q + 1)], 2),
    ([*range(8), *range(16, 24)], 8),
    ([start + place for start in (0, 8, 16, 24) for place in range(4)], 4),
)
"""Steps that sum the rows of a square: the places of two rows, side by side, to be added to those so far behind them.

The sums of two rows stand side by side after a step, and in order after the last. The first steps stay in quarters of
a register, which is cheaper.
"""


def _write_fold(code: Code) -> None:
    parts, dw = range(2)
    k = code.arguments[2]
    rows = [code.load(parts, code.at((code.at(k, row), WIDTH)), FLOATS) for row in range(WIDTH)]
    for places, behind in FOLDING:
        others = [place + behind for place in places]
        pairs = zip(rows[::2], rows[1::2], strict=True)
        rows = [a.shuffled(places, b) + a.shuffled(others, b) for a, b in pairs]
    code.store(rows[0], dw, k)


@intrinsic
def _fold(typing: Any, parts: Any, dw: Any, k: Any) -> Any:
    """Set as many elements of dw as a register holds, from element k on."""
    return types.void(parts, dw, types.intp), writing(_write_fold)


@compiled
def fold(parts, dw):
    """Set dw to the sums of the rows of parts."""
    apart()
    if dw.size < WIDTH:
        for k in range(dw.size):
            total = ZERO
            for l in range(WIDTH):
                total += parts[k, l]
            dw[k] = total
    else:
        for k in range(0, dw.size - WIDTH + 1, WIDTH):
            _fold(parts, dw, k)
        _fold(parts, dw, dw.size - WIDTH)  # some of them again


def _write_input_gradient(code: Code) -> None:
    w, dz, dx = range(3)
    _, _, _, outputs, n = code.arguments
    zero = code.constant(0.0, FLOATS)
    with code.loop(code.index(0), n) as i:
        sums = [code.register(zero) for _ in BLOCK]
        with code.loop(code.index(0), outputs) as o:
            weight = code.splat(code.number(w, code.at((o, n), i)), FLOATS)
            for total, start in zip(sums, BLOCK, strict=True):
                total.value = total.value.plus(weight, code.load(dz, code.at((o, LANES), start), FLOATS))
        for total, start in zip(sums, BLOCK, strict=True):
            code.store(total.value, dx, code.at((i, LANES), start))


@intrinsic
def _input_gradient(typing: Any, w: Any, dz: Any, dx: Any, outputs: Any, n: Any) -> Any:
    return types.void(w, dz, dx, types.intp, types.intp), writing(_write_input_gradient)


@compiled
def input_gradient(w, dz, dx):
    """dx_ib = sum_o w_oi dz_ob."""
    apart()
    _input_gradient(w, dz, dx, dz.shape[0], w.size // dz.shape[0])
