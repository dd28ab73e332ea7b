"""The batch of an iteration: inputs from the random stream and their targets, or rows of data at hand."""

import numpy as np

from ...tasks import OPERATIONS
from . import philox
from ._compile import LANES, apart, compiled

MUL, DIV, ADD, SUB, ROOT, SQUARED = (list(OPERATIONS).index(o) for o in ("mul", "div", "add", "sub", "root", "squared"))
S32 = np.uint64(32)


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
    else:
        for b in range(LANES):
            t[0, b] = np.float32(total[b])


@compiled
def target(subsets, operation, x, sums, t):
    """The targets t `[1, lanes]` of inputs x of the arithmetic task; sums `[2, lanes]` is scratch."""
    _add_rows(x[subsets[0, 0] : subsets[0, 1]], sums[0])
    if operation != ROOT and operation != SQUARED:
        for k in range(1, subsets.shape[0]):
            _add_rows(x[subsets[k, 0] : subsets[k, 1]], sums[1])
            _combine(operation, sums[0], sums[1])
    _finish(operation, sums[0], t)


@compiled
def pick_rows(half_words, inputs, targets, x, t):
    """Rows of data at hand: the word of a lane says which."""
    for b in range(LANES):
        row = (np.uint64(half_words[0, b]) * np.uint64(inputs.shape[0])) >> S32
        for i in range(inputs.shape[1]):
            x[i, b] = inputs[row, i]
        for o in range(targets.shape[1]):
            t[o, b] = targets[row, o]


@compiled
def draw(
    step, keys, table, half_word, third, unit, low, width, x_words, words, half_words, subsets, operation,
    row_inputs, row_targets, sums, x, t,
):  # fmt: skip
    """Inputs x `[i, lanes]` and targets t `[o, lanes]` of a block of the batch of one iteration.

    Args:
        table: what the generator knows of the block's rows; keys, half_word and third: see `philox.words`.
        unit: the range is one interval, to which U[1, 2) can be moved.
        low, width: of the one or two parts of the range.
        x_words, words, half_words: the memory of x, and memory for words, as 64 and as 32 bits.
        subsets, operation: of the arithmetic task; there are no subsets if the observations are rows.
    """
    philox.begin_step(table, keys, step, third)
    philox.words(table, keys, step, third, half_word, unit, x_words if unit else words)
    if subsets.shape[0] == 0:
        pick_rows(half_words, row_inputs, row_targets, x, t)
    else:
        if not unit:
            philox.choose(half_words, low, width, x)
        elif low[0] != width[0] or low[0] != np.float32(1):
            philox.scale(x, low[0], width[0])
        target(subsets, operation, x, sums, t)
