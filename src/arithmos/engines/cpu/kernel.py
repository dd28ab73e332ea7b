"""The fused loop: one compiled function trains one run, from any step to any other."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...nn._parts import Parts
from ...tasks import OPERATIONS
from . import philox
from ._compile import LANES, apart, compiled, inlined, wide
from .aggregations import clear
from .layers import Floats, GateBuffers, LeafBuffers, make_layer

ZERO, ONE = np.float32(0), np.float32(1)
MUL, DIV, ADD, SUB, ROOT, SQUARED = (list(OPERATIONS).index(o) for o in ("mul", "div", "add", "sub", "root", "squared"))
NEVER = -1


class Setting(NamedTuple):
    """What stays the same for a run; plain numbers and arrays, so that one kernel serves all of them."""

    evaluate_every: int
    keys: NDArray[np.uint64]
    tables: NDArray[np.uint64]  # [blocks, 3, lanes]
    half_word: np.uint64
    share: Floats  # [blocks, lanes]: 2 / (batch · outputs), 0 in lanes beyond the batch
    outputs_seen: np.float32  # batch · outputs
    unit: bool  # the range is one interval, to which U[1, 2) can be moved
    low: Floats  # [2]
    width: Floats  # [2]
    subsets: NDArray[np.int64]  # [subsets, 2]; none if the observations are rows
    operation: int
    row_inputs: Floats  # [rows, i]
    row_targets: Floats  # [rows, o]
    validation: Floats  # [blocks, i, lanes]
    validation_targets: Floats  # [blocks, o, lanes]
    validation_size: int
    test: Floats
    test_targets: Floats
    test_size: int
    strength: float
    start: float
    end: float
    lr: float
    beta1: float
    beta2: float
    eps: float
    thresholds: Floats  # [2]
    places: NDArray[np.int64]  # [records]: where the curve keeps a record, or -1


class Verdict(NamedTuple):
    """The arrays of a `Judge` of one run, which the loop keeps as `Judge.observe` does."""

    records: NDArray[np.int64]  # [1]
    ended: NDArray[np.bool_]  # [1]
    best_step: NDArray[np.int64]  # [1]
    best: Floats  # [1, 4]: validation, test, sparsity, gate
    best_parameters: Floats  # [1, parameters]
    last: Floats  # [1, 3]
    solved_at: NDArray[np.int64]  # [1, 2]
    curve: Floats  # [1, kept, 3]


class Scratch(NamedTuple):
    """Memory of a run that means nothing between two iterations."""

    x: Floats  # [i up to a multiple of 4, lanes]
    x_words: NDArray[np.uint64]  # [i likewise, lanes / 2], the memory of x
    words: NDArray[np.uint64]  # [i likewise, lanes / 2]; [4, lanes / 2] if the observations are rows
    half_words: NDArray[np.uint32]  # the memory of words
    third: NDArray[np.uint64]  # [lanes]
    sums: NDArray[np.float64]  # [2, lanes]
    t: Floats  # [o, lanes]
    z: Floats  # [h, lanes]
    dz: Floats  # [h, lanes]
    y: Floats  # [o, lanes]
    dy: Floats  # [o, lanes]
    g: Floats  # [parameters]
    first: LeafBuffers | GateBuffers
    second: LeafBuffers | GateBuffers


@compiled  # type: ignore[untyped-decorator]
def _add_rows(x, begin, end, sums):  # type: ignore[no-untyped-def]
    """Sums in float64, which are exact for inputs of any range of the paper."""
    apart()
    for b in range(LANES):
        sums[b] = 0.0
    rest = (end - begin) % 4
    part = x[begin:end]
    for i in range(rest):
        for b in range(LANES):
            sums[b] += np.float64(part[i, b])
    for i in range(rest, part.shape[0], 4):
        for b in range(LANES):
            pair = np.float64(part[i, b]) + np.float64(part[i + 1, b])
            sums[b] += pair + (np.float64(part[i + 2, b]) + np.float64(part[i + 3, b]))


@compiled  # type: ignore[untyped-decorator]
def _combine(operation, sums, other):  # type: ignore[no-untyped-def]
    apart()
    if operation == MUL:
        for b in range(LANES):
            sums[b] *= other[b]
    elif operation == DIV:
        for b in range(LANES):
            sums[b] /= other[b]
    elif operation == ADD:
        for b in range(LANES):
            sums[b] += other[b]
    elif operation == SUB:
        for b in range(LANES):
            sums[b] -= other[b]


@compiled  # type: ignore[untyped-decorator]
def target(subsets, operation, x, sums, other, t):  # type: ignore[no-untyped-def]
    """The targets of a block of the arithmetic task."""
    _add_rows(x, subsets[0, 0], subsets[0, 1], sums)
    if operation != ROOT and operation != SQUARED:
        for k in range(1, subsets.shape[0]):
            _add_rows(x, subsets[k, 0], subsets[k, 1], other)
            _combine(operation, sums, other)
    _finish(operation, sums, t)


@compiled  # type: ignore[untyped-decorator]
def _finish(operation, sums, t):  # type: ignore[no-untyped-def]
    apart()
    if operation == SQUARED:
        for b in range(LANES):
            t[0, b] = np.float32(sums[b] * sums[b])
    elif operation == ROOT:
        for b in range(LANES):
            t[0, b] = np.float32(np.sqrt(sums[b]))
    else:
        for b in range(LANES):
            t[0, b] = np.float32(sums[b])


@compiled  # type: ignore[untyped-decorator]
def _pick_rows(half_words, inputs, targets, x, t):  # type: ignore[no-untyped-def]
    """Rows of data at hand: the word of a lane says which."""
    for b in range(LANES):
        row = (np.uint64(half_words[0, b]) * np.uint64(inputs.shape[0])) >> np.uint64(32)
        for i in range(inputs.shape[1]):
            x[i, b] = inputs[row, i]
        for o in range(targets.shape[1]):
            t[o, b] = targets[row, o]


@inlined  # type: ignore[untyped-decorator]
def draw(setting, step, block, scratch):  # type: ignore[no-untyped-def]
    """Inputs and targets of a block of the batch of one iteration."""
    table, unit = setting.tables[block], setting.unit
    philox.begin_step(table, setting.keys, step, scratch.third)
    words = scratch.x_words if unit else scratch.words
    philox.words(table, setting.keys, step, scratch.third, setting.half_word, unit, words)
    if setting.subsets.shape[0] == 0:
        _pick_rows(scratch.half_words, setting.row_inputs, setting.row_targets, scratch.x, scratch.t)
    else:
        if unit:
            philox.scale(scratch.x, setting.low[0], setting.width[0])
        else:
            philox.choose(scratch.half_words, setting.low, setting.width, scratch.x)
        target(setting.subsets, setting.operation, scratch.x, scratch.sums[0], scratch.sums[1], scratch.t)


@compiled  # type: ignore[untyped-decorator]
def _error_gradient(y, t, share, dy):  # type: ignore[no-untyped-def]
    apart()
    for o in range(y.shape[0]):
        for b in range(LANES):
            dy[o, b] = (y[o, b] - t[o, b]) * share[b]


@compiled  # type: ignore[untyped-decorator]
def _squared_error(y, t, lanes):  # type: ignore[no-untyped-def]
    total = 0.0
    for o in range(y.shape[0]):
        for b in range(lanes):
            d = np.float64(y[o, b] - t[o, b])
            total += d * d
    return total


@inlined  # type: ignore[untyped-decorator]
def adam(setting, step, g, p, m, v):  # type: ignore[no-untyped-def]
    """One step of Adam, its operations in the order of torch's; corrections in float64."""
    step_size = np.float32(setting.lr / (1.0 - setting.beta1 ** (step + 1)))
    correction = np.float32(np.sqrt(1.0 - setting.beta2 ** (step + 1)))
    share1, share2 = np.float32(1.0 - setting.beta1), np.float32(1.0 - setting.beta2)
    _adam(step_size, correction, share1, np.float32(setting.beta2), share2, np.float32(setting.eps), g, p, m, v)


@compiled  # type: ignore[untyped-decorator]
def _adam(step_size, correction, share1, beta2, share2, eps, g, p, m, v):  # type: ignore[no-untyped-def]
    apart()
    for i in range(p.size):
        m[i] += share1 * (g[i] - m[i])
        v[i] = v[i] * beta2 + share2 * g[i] * g[i]
        p[i] -= step_size * m[i] / (np.sqrt(v[i]) / correction + eps)


@compiled  # type: ignore[untyped-decorator]
def strength_at(strength, start, end, step):  # type: ignore[no-untyped-def]
    """The schedule of the sparsity regularizer."""
    return strength if step >= end else strength * max(0.0, (step - start) / (end - start))


@compiled  # type: ignore[untyped-decorator]
def _any_nan(p):  # type: ignore[no-untyped-def]
    for i in range(p.size):
        if np.isnan(p[i]):
            return True
    return False


@compiled  # type: ignore[untyped-decorator]
def observe(validation, test, sparsity, gate, step, p, thresholds, place, verdict):  # type: ignore[no-untyped-def]
    """Takes a record as `Judge.observe` does; `place` is where the curve keeps it, or -1."""
    best = verdict.best[0, 0]
    provisional = verdict.best_step[0] == 0 or np.isnan(best)
    if validation < best or (provisional and not np.isnan(validation)) or np.isnan(best):
        verdict.best_step[0] = step
        verdict.best[0, 0], verdict.best[0, 1] = validation, test
        verdict.best[0, 2], verdict.best[0, 3] = sparsity, gate
        for i in range(p.size):
            verdict.best_parameters[0, i] = p[i]
    for k in range(2):
        if test < thresholds[k] and verdict.solved_at[0, k] == NEVER:
            verdict.solved_at[0, k] = step
    verdict.last[0, 0], verdict.last[0, 1], verdict.last[0, 2] = validation, test, sparsity
    verdict.records[0] += 1
    if place >= 0:
        curve = verdict.curve
        curve[0, place, 0], curve[0, place, 1], curve[0, place, 2] = validation, test, sparsity


@lru_cache(maxsize=64)
def make_kernel(first: Parts, second: Parts) -> Callable[..., int]:
    """The loop for a network of two layers.

    It is called as `kernel(setting, begin, end, split, p, m, v, verdict, scratch)`, trains from step `begin` up to
    step `end`, and returns the step it came to, which is less than `end` if it met NaN. `split` is where the
    parameters of the second layer begin.
    """
    weigh1, forward1, backward1, _, gradient1, project1, sparsity1, _ = make_layer(first)
    weigh2, forward2, backward2, backward_input2, gradient2, project2, sparsity2, gate2 = make_layer(second)

    @inlined  # type: ignore[untyped-decorator]
    def error(x, t, size, scratch):  # type: ignore[no-untyped-def]
        total = 0.0
        for k in range(x.shape[0]):
            forward1(x[k], scratch.z, scratch.first)
            forward2(scratch.z, scratch.y, scratch.second)
            total += _squared_error(scratch.y, t[k], min(LANES, size - k * LANES))
        return np.float32(total / (size * t.shape[1]))

    @compiled  # type: ignore[untyped-decorator]
    def kernel(setting, begin, end, split, p, m, v, verdict, scratch):  # type: ignore[no-untyped-def]
        wide()
        first, second, g, x, z, y = scratch.first, scratch.second, scratch.g, scratch.x, scratch.z, scratch.y
        p1, p2, g1, g2 = p[:split], p[split:], g[:split], g[split:]
        validation = test = ZERO
        for step in range(begin, end):
            weigh1(p1, first)
            weigh2(p2, second)
            recording = step % setting.evaluate_every == 0
            if recording:
                if _any_nan(p):
                    verdict.ended[0] = True
                    return step
                validation = error(setting.validation, setting.validation_targets, setting.validation_size, scratch)
                test = error(setting.test, setting.test_targets, setting.test_size, scratch)
            gate = ZERO
            for block in range(setting.tables.shape[0]):
                draw(setting, step, block, scratch)
                forward1(x, z, first)
                forward2(z, y, second)
                if recording:
                    gate += gate2(setting.share[block], second)
                _error_gradient(y, scratch.t, setting.share[block], scratch.dy)
                backward2(z, y, scratch.dy, second)
                clear(scratch.dz)
                backward_input2(z, y, scratch.dy, scratch.dz, second)
                backward1(x, z, scratch.dz, first)
            if recording:
                sparsity = max(sparsity1(first), sparsity2(second))
                gate /= setting.outputs_seen
                place = setting.places[step // setting.evaluate_every]
                observe(validation, test, sparsity, gate, step, p, setting.thresholds, place, verdict)
            strength = strength_at(setting.strength, setting.start, setting.end, step)
            gradient1(p1, strength, first, g1)
            gradient2(p2, strength, second, g2)
            adam(setting, step, g, p, m, v)
            project1(p1, first)
            project2(p2, second)
        return end

    return kernel  # type: ignore[no-any-return]
