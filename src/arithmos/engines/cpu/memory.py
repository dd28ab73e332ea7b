"""Memory of a run: the arguments of its kernel, by name."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ... import philox as reference
from ...spec import Adam, Spec
from ...tasks import OPERATIONS, Observations, UniformDraws
from ...tasks.arithmetic import EVALUATION_SIZE, Range
from ..contract import Floats
from ..updates import input_preconditioner, loss_scale
from . import batch, philox
from ._compile import LANES
from .kernel import Setting
from .program import LoopProgram

Arrays = dict[str, NDArray[Any]]

LINE = 64
"""Bytes in a cache line."""


def aligned(shape: tuple[int, ...], dtype: DTypeLike, fill: float) -> NDArray[Any]:
    """Return an array that starts on a cache line: a register's load across two lines takes twice as long."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    array: NDArray[Any] = memory[start : start + size].view(dtype).reshape(shape)
    array.fill(fill)
    return array


def align(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that starts on a cache line."""
    copy = aligned(values.shape, values.dtype, 0)
    copy[...] = values
    return copy


def make_scratch(program: LoopProgram, task: Observations, p: Floats) -> Arrays:
    """Return scratch memory, filled with NaN, and the parameters by name."""
    columns, draws = -(-task.input_size // 4) * 4, task.draws(0)
    x = aligned((columns, LANES), np.float32, np.nan)
    words = aligned((columns if isinstance(draws, UniformDraws) else 4, LANES // 2), np.uint64, 0)
    g = aligned(p.shape, np.float32, 0)
    arrays: Arrays = {
        "x": x,
        "x_words": x.view(np.uint64),
        "x_bits": x.view(np.uint32),
        "words": words,
        "half_words": words.view(np.uint32),
        "third": aligned((2, LANES), np.uint64, 0),
        "sums": aligned((2, LANES), np.float64, np.nan),
        "t": aligned((task.output_size, LANES), np.float32, np.nan),
        "g": g,
    }
    arrays |= {name: aligned(shape, np.float32, np.nan) for name, shape in program.shapes.items()}
    for name, noise in program.noises.items():
        drawn = aligned((-(-noise.columns // 4) * 4, LANES), np.float32, np.nan)
        range_ = np.array([noise.draw.low, noise.draw.width], np.float32)
        arrays |= {name: drawn, f"{name}_words": drawn.view(np.uint64), f"{name}_range": range_}
    arrays["sizes"] = np.array(program.sizes, np.int64)
    position = 0
    for name, size in program.parameters.items():
        arrays[name] = p[position : position + size]
        arrays[f"g{name[1:]}"] = g[position : position + size]
        position += size
    return arrays


def make_noise(program: LoopProgram, spec: Spec, seed: int) -> Arrays:
    """Return the tables of the generator for the noise of units."""
    key = (seed, reference.RUN)
    return {
        f"{name}_tables": align(philox.row_tables(key, reference.UNIT + noise.call, spec.batch_size))
        for name, noise in program.noises.items()
    }


def make_setting(spec: Spec, seed: int, thresholds: Sequence[float], kept: NDArray[np.int64]) -> tuple[Setting, Arrays]:
    """Return the numbers and arrays that stay the same for a run."""
    task, optimizer, schedule = spec.observations, spec.first_order, spec.model.schedule
    adam = optimizer if isinstance(optimizer, Adam) else Adam(optimizer.lr, optimizer.alpha, eps=optimizer.eps)
    scale = loss_scale(spec, (seed,))
    input_scale, input_direction = input_preconditioner(spec, (seed,)) or np.zeros((2, 1, 1), np.float32)
    draws = task.draws(seed)
    validation, test = task.validation(seed)[1], task.test(seed)[1]
    setting = Setting(
        evaluate_every=spec.evaluate_every,
        batch=np.float32(spec.batch_size * task.output_size),
        half_word=np.uint64(32),
        operation=list(OPERATIONS).index(draws.operation) if isinstance(draws, UniformDraws) else 0,
        validation_blocks=-(-len(validation) // LANES),
        validation_size=len(validation),
        test_size=len(test),
        strength=float(schedule.strength),
        start=float(schedule.start),
        end=float(schedule.end),
        lr=adam.lr,
        beta1=adam.beta1,
        beta2=adam.beta2,
        eps=adam.eps,
    )
    share = np.float32(2) / setting.batch * np.float32(1 if scale is None else scale[0])
    places = np.full(spec.records, -1)
    places[kept] = np.arange(len(kept))
    inside = philox.lane_rows(spec.batch_size) < spec.batch_size
    key, shared_key = (seed, reference.RUN), (0, reference.SHARED)
    stream = reference.TRAIN if isinstance(draws, UniformDraws) else reference.ROWS
    arrays: Arrays = {
        "keys": philox.round_keys(key),
        "tables": align(philox.row_tables(key, stream, spec.batch_size)),
        "share": align(np.where(inside, share, np.float32(0))),
        "shared_keys": philox.round_keys(shared_key),
        "targets": blocks(validation, test),
        "thresholds": np.array(thresholds, np.float32),
        "places": places,
        "input_scale": align(input_scale[0]),
        "input_direction": align(input_direction[0]),
    }
    return setting, arrays | _observations(task, seed)


def _observations(task: Observations, seed: int) -> Arrays:
    """Return the sources of the batch, the validation set and the test set."""
    draws = task.draws(seed)
    if isinstance(draws, UniformDraws):
        ranges = (draws.interpolation, draws.interpolation, draws.extrapolation)
        lows, highs = np.array([np.resize(np.array(range_, np.float32), (2, 2)).T for range_ in ranges]).swapaxes(0, 1)
        nothing = np.empty((0, 1), np.float32)
        return {
            "modes": np.array([_mode(range_, draws.input_size) for range_ in ranges]),
            "lows": lows.copy(),
            "widths": highs - lows,
            "shared_tables": shared_tables(),
            "subsets": np.array(draws.subsets),
            "inputs": nothing[None],
            "row_inputs": nothing,
            "row_targets": nothing,
        }
    assert draws is not None, "the engine refuses tasks that do not say how batches are drawn"
    return {
        "modes": np.full(3, batch.ROWS),
        "lows": np.zeros((3, 2), np.float32),
        "widths": np.ones((3, 2), np.float32),
        "shared_tables": np.empty((0, 3, LANES), np.uint64),
        "subsets": np.empty((0, 2), np.int64),
        "inputs": blocks(task.validation(seed)[0], task.test(seed)[0]),
        "row_inputs": draws.inputs,
        "row_targets": draws.targets,
    }


def _mode(range_: Range, input_size: int) -> int:
    if len(range_) == 2:
        return batch.TWO_PARTS
    return batch.UNIT if range_ == ((1.0, 2.0),) and input_size <= reference.MOST_BITS else batch.INTERVAL


def blocks(*sets: NDArray[np.float32]) -> Floats:
    """Sets of observations `[rows, columns]` as blocks `[blocks, columns, lanes]`, set after set.

    The last row of a set fills up its last block.
    """
    rows = (np.minimum(philox.lane_rows(len(s)), len(s) - 1) for s in sets)
    return align(np.concatenate([s[r] for s, r in zip(sets, rows, strict=True)]).swapaxes(1, 2))


@lru_cache(maxsize=1)
def shared_tables() -> NDArray[np.uint64]:
    """Return the generator's tables for the validation and test rows, which all runs share."""
    key, streams = (0, reference.SHARED), (reference.VALIDATION, reference.TEST)
    return align(np.concatenate([philox.row_tables(key, stream, EVALUATION_SIZE) for stream in streams]))
