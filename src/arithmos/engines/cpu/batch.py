"""Blocks of observations: random inputs with their targets, or rows of data."""

import numpy as np

from ...tasks import OPERATIONS
from . import philox
from ._compile import LANES, apart, compiled

MUL, DIV, ADD, SUB, ROOT, SQUARED, RECIPROCAL = (
    list(OPERATIONS).index(o) for o in ("mul", "div", "add", "sub", "root", "squared", "reciprocal")
)
UNIT, INTERVAL, TWO_PARTS, ROWS = range(4)
"""Sources of inputs: U[1, 2), another interval, a range of two parts, or rows of data."""

S32 = np.uint64(32)
ONE_BITS, NONE = np.uint32(0x3F800000), np.uint32(0)


@compiled
def _add_rows(x, sums):
    """Sums of all rows of x in float64, which are exact for inputs of any range of the paper."""
    apart()
    n = x.shape[0]
    rest = n % 4
    for b in range(LANES):
        sums[b] = 0.0
    for i in range(rest):
        for b in range(LANES):
            sums[b] += np.float64(x[i, b])
    for i in range(rest, n, 4):
        for b in range(LANES):
            pair = np.float64(x[i, b]) + np.float64(x[i + 1, b])
            sums[b] += pair + (np.float64(x[i + 2, b]) + np.float64(x[i + 3, b]))


@compiled
def _add_bits(x_bits, bits, sums):
    """Return the same sums for numbers of U[1, 2), from their bits: half the work."""
    apart()
    n = x_bits.shape[0]
    rest = n % 4
    for b in range(LANES):
        bits[b] = NONE
    for i in range(rest):
        for b in range(LANES):
            bits[b] += x_bits[i, b] - ONE_BITS
    for i in range(rest, n, 4):
        for b in range(LANES):
            bits[b] += (x_bits[i, b] + x_bits[i + 1, b]) + (x_bits[i + 2, b] + x_bits[i + 3, b])
    ones = np.uint32(n - rest) * ONE_BITS
    for b in range(LANES):
        sums[b] = n + np.float64(np.uint32(bits[b] - ones)) * 2.0**-23


@compiled
def _add_subset(subset, mode, x, x_bits, bits, sums):
    if mode == UNIT:
        _add_bits(x_bits[subset[0] : subset[1]], bits, sums)
    else:
        _add_rows(x[subset[0] : subset[1]], sums)


@compiled
def _combine(operation, total, sums):
    apart()
    if operation == MUL:
        for b in range(LANES):
            total[b] *= sums[b]
    elif operation == DIV:
        for b in range(LANES):
            total[b] /= sums[b]
    elif operation == ADD:
        for b in range(LANES):
            total[b] += sums[b]
    elif operation == SUB:
        for b in range(LANES):
            total[b] -= sums[b]


@compiled
def _finish(operation, total, t):
    apart()
    if operation == SQUARED:
        for b in range(LANES):
            t[0, b] = np.float32(total[b] * total[b])
    elif operation == ROOT:
        for b in range(LANES):
            t[0, b] = np.float32(np.sqrt(total[b]))
    elif operation == RECIPROCAL:
        for b in range(LANES):
            t[0, b] = np.float32(1.0 / total[b])
    else:
        for b in range(LANES):
            t[0, b] = np.float32(total[b])


@compiled
def target(subsets, operation, mode, x, x_bits, bits, sums, t):
    """Compute the targets t `[1, lanes]` of inputs x of the arithmetic task; bits and sums are scratch."""
    _add_subset(subsets[0], mode, x, x_bits, bits, sums[0])
    if operation not in (ROOT, SQUARED, RECIPROCAL):
        for k in range(1, subsets.shape[0]):
            _add_subset(subsets[k], mode, x, x_bits, bits, sums[1])
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


@compiled
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
        for b in range(LANES):
            x[i, b] = rows[i, b]
