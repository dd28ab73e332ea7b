"""Blocks of observations: random inputs with their targets, or rows of data."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ...tasks import OPERATIONS
from . import philox
from ._compile import LANES, WIDTH, apart, compiled, exactly_inlined
from ._vectors import DOUBLES, WORD, WORDS, Code, writing

MUL, DIV, ADD, SUB, ROOT, SQUARED, RECIPROCAL = (
    list(OPERATIONS).index(o) for o in ("mul", "div", "add", "sub", "root", "squared", "reciprocal")
)
UNIT, INTERVAL, TWO_PARTS, ROWS = range(4)
"""Sources of inputs: U[1, 2), another interval, a range of two parts, or rows of data."""

S32 = np.uint64(32)
ONE_BITS = 0x3F800000
HALF = WIDTH // 2
HALF_FLOATS = ir.VectorType(ir.FloatType(), HALF)


def _write_sum(code: Code, unit: bool) -> None:
    x, sums = range(2)
    _, _, row, start, stop, _ = code.arguments
    if unit:  # from their bits, which is half the work
        bits = [code.register(code.constant(0, WORDS)) for _ in range(0, LANES, WIDTH)]
        with code.loop(start, stop) as i:
            for k, total in enumerate(bits):
                total.value = total.value + code.load(x, code.at((i, LANES), k * WIDTH), WORDS)
        count = code.builder.sub(stop, start)
        ones = code.splat(code.builder.trunc(code.at((count, ONE_BITS)), WORD), WORDS)
        whole = code.splat(code.builder.sitofp(count, DOUBLES.element), DOUBLES)
        halves = [(total.value - ones).shuffled(range(k, k + HALF)) for total in bits for k in (0, HALF)]
        totals = [half.real(DOUBLES) * 2.0**-23 + whole for half in halves]
    else:
        wide = [code.register(code.constant(0.0, DOUBLES)) for _ in range(0, LANES, HALF)]
        with code.loop(start, stop) as i:
            for k, total in enumerate(wide):
                total.value = total.value + code.load(x, code.at((i, LANES), k * HALF), HALF_FLOATS).real(DOUBLES)
        totals = [total.value for total in wide]
    for k, found in enumerate(totals):
        code.store(found, sums, code.at((row, LANES), k * HALF))


@intrinsic(prefer_literal=True)
def _sum(typing: Any, x: Any, sums: Any, row: Any, start: Any, stop: Any, unit: Any) -> Any:
    """Set a row of sums to those of rows of x, in float64: exact for inputs of any range of the paper.

    With `unit` x are the bits of numbers of U[1, 2).
    """
    signature = types.void(x, sums, types.intp, types.intp, types.intp, unit)
    return signature, writing(_write_sum, bool(unit.literal_value))


@exactly_inlined
def _add_subset(subset, mode, x, x_bits, row, sums):
    if mode == UNIT:
        _sum(x_bits, sums, row, subset[0], subset[1], 1)
    else:
        _sum(x, sums, row, subset[0], subset[1], 0)


@exactly_inlined
def _combine(operation, total, sums):
    """Combine two sums; LLVM would unroll loops of a known length this short before it came to vectors."""
    if operation == MUL:
        for b in range(total.size):
            total[b] *= sums[b]
    elif operation == DIV:
        for b in range(total.size):
            total[b] /= sums[b]
    elif operation == ADD:
        for b in range(total.size):
            total[b] += sums[b]
    elif operation == SUB:
        for b in range(total.size):
            total[b] -= sums[b]


@exactly_inlined
def _finish(operation, total, t):
    if operation == SQUARED:
        for b in range(total.size):
            t[0, b] = np.float32(total[b] * total[b])
    elif operation == ROOT:
        for b in range(total.size):
            t[0, b] = np.float32(np.sqrt(total[b]))
    elif operation == RECIPROCAL:
        for b in range(total.size):
            t[0, b] = np.float32(1.0 / total[b])
    else:
        for b in range(total.size):
            t[0, b] = np.float32(total[b])


@compiled
def target(subsets, operation, mode, x, x_bits, sums, t):
    """Compute the targets t `[1, lanes]` of inputs x of the arithmetic task; sums is scratch."""
    apart()
    _add_subset(subsets[0], mode, x, x_bits, 0, sums)
    if operation not in (ROOT, SQUARED, RECIPROCAL):
        for k in range(1, subsets.shape[0]):
            _add_subset(subsets[k], mode, x, x_bits, 1, sums)
            _combine(operation, sums[0], sums[1])
    _finish(operation, sums[0], t)


@compiled
def pick_rows(half_words, inputs, targets, x, t):
    """Copy rows of data, chosen by the word of each lane."""
    for b in range(LANES):
        row = (np.uint64(half_words[0, b]) * np.uint64(inputs.shape[0])) >> S32
        for i in range(inputs.shape[1]):
            x[i, b] = inputs[row, i]
        for o in range(targets.shape[1]):
            t[o, b] = targets[row, o]


@exactly_inlined
def draw_inputs(step, mode, keys, table, half_word, third, low, width, x_words, words, half_words, x):
    """Draw the inputs x `[i, lanes]` of a block; for rows, only the words that choose them.

    Args:
        step: the iteration.
        mode: source of the inputs.
        keys, table, half_word, third: see `philox.words`.
        low, width: of the one or two parts of the range.
        x_words: the memory of x.
        words, half_words: memory for words that do not become inputs as they are, of 64 and of 32 bits.
    """
    philox.begin_step(table, keys, step, third)
    at_once = mode in (UNIT, INTERVAL)
    philox.words(table, keys, step, third, half_word, at_once, x_words if at_once else words)
    if mode == INTERVAL:
        philox.scale(x, low[0], width[0])
    elif mode == TWO_PARTS:
        philox.choose(half_words, low, width, x)


@compiled
def draw_noise(step, keys, table, half_word, third, range_, words, noise):
    """Draw the noise of a block, `[columns, lanes]`, from [low, low + width); see `draw_inputs`."""
    philox.begin_step(table, keys, step, third)
    philox.words(table, keys, step, third, half_word, True, words)
    philox.scale(noise, range_[0], range_[1])


@compiled
def copy_rows(rows, x):
    """Copy the inputs of a block."""
    apart()
    for i in range(rows.shape[0]):
        for b in range(rows.shape[1]):  # of unknown length, see `_combine`
            x[i, b] = rows[i, b]
