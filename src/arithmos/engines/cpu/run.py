"""A run on its way: what its kernel is called with, and how it is suspended and taken up again."""

import dataclasses
import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from ... import philox as reference
from ...spec import Spec
from ...tasks import OPERATIONS, Arithmetic, Task
from ..contract import Control, Floats, Run, State, curve_records
from ..judge import Judge
from . import philox
from ._compile import LANES, WIDTH
from .kernel import Setting, make_kernel
from .program import Program, write

Arrays = dict[str, NDArray[Any]]

LINE = 64
"""Bytes in a cache line."""


class RunState:
    """A run of a spec, from its start or from where it was suspended.

    Args:
        spec: of a network whose layers have parts.
        seed: its seed.
        control: knows whether it was suspended, and how much of its curve is kept.
    """

    def __init__(self, spec: Spec, seed: int, control: Control) -> None:
        self.spec, self.seed = spec, seed
        self.program = program_of(spec)
        self.kernel = make_kernel(self.program)
        start = torch.cat([p.detach().flatten() for p in spec.network(seed).parameters()]).numpy()
        # A multiple of a register, so that Adam has no remainder; what is beyond the parameters stays 0.
        padded = -(-start.size // WIDTH) * WIDTH
        self._p, self._m, self._v = (aligned((padded,), np.float32, 0) for _ in range(3))
        self.parameters, self.exp_avg, self.exp_avg_sq = (a[: start.size] for a in (self._p, self._m, self._v))
        self.parameters[:] = start
        self.step, self.elapsed_s = 0, 0.0
        self.judge = Judge(spec, (seed,), start.size, control)
        if (state := control.resume(spec, seed)) is not None:
            self._restore(state)
        kept = curve_records(spec, control.all_records)
        self.setting, fixed = make_setting(spec, seed, self.judge.thresholds, kept)
        self.arrays = self._arrays(fixed)
        self._table = self.kernel.table(self.arrays)
        self._seconds_a_step = 1e-3

    @property
    def finished(self) -> bool:
        """It has made its last update, or met NaN."""
        return self.step > self.spec.iterations or bool(self.judge.ended[0])

    def _arrays(self, fixed: Arrays) -> Arrays:
        """All that the kernel reads and writes, by name."""
        judge = self.judge
        rows = ("best", "best_parameters", "last", "solved_at", "curve")
        return {
            "p": self._p,
            "m": self._m,
            "v": self._v,
            "records": judge.records,
            "ended": judge.ended.view(np.uint8),
            "best_step": judge.best_step,
            **{name: getattr(judge, name)[0] for name in rows},
            **fixed,
            **make_scratch(self.program, self.spec.task, self._p),
        }

    def compile(self, say: Callable[[str], None]) -> None:
        """Compiles the kernel, unless a run before has."""
        if not self.kernel.compiled:
            say(f"compiling the kernel of {self.spec.model.name}")
            self.kernel.function(self._table, self.setting, 0, 0)

    def advance(self, seconds: float) -> int:
        """Trains for about so many seconds; returns the iterations made."""
        end = self.step + max(1, int(seconds / self._seconds_a_step))
        return self.train(min(self.spec.iterations + 1, end))

    def train(self, end: int) -> int:
        """Trains up to a step; returns the iterations made."""
        begin, started = self.step, time.perf_counter()
        self.step = self.kernel.function(self._table, self.setting, begin, end)
        took = time.perf_counter() - started
        self.elapsed_s += took
        self._seconds_a_step = max(took, 1e-9) / max(1, self.step - begin)
        return self.step - begin

    def result(self, engine: str) -> Run:
        """The finished run."""
        self.judge.ended |= bool(np.isnan(self.parameters).any())
        return self.judge.runs(engine, self.parameters[None], self.elapsed_s)[0]

    def state(self) -> State:
        """All that is needed to go on."""
        return {
            "step": np.array([self.step]),
            "elapsed_s": np.array([self.elapsed_s]),
            "parameters": self.parameters,
            "exp_avg": self.exp_avg,
            "exp_avg_sq": self.exp_avg_sq,
            **{f"judge.{name}": value for name, value in self.judge.state(0).items()},
        }

    def _restore(self, state: State) -> None:
        self.step, self.elapsed_s = int(state["step"][0]), float(state["elapsed_s"][0])
        for name in ("parameters", "exp_avg", "exp_avg_sq"):
            getattr(self, name)[:] = state[name]
        prefix = "judge."
        judged = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        self.judge.restore(0, judged)


def program_of(spec: Spec) -> Program:
    """The program of the spec's network."""
    parts = [part for part in spec.parts if part is not None]
    return write(parts, spec.sizes)


def aligned(shape: tuple[int, ...], dtype: DTypeLike, fill: float) -> NDArray[Any]:
    """An array that begins on a cache line: a register's load across two lines takes twice as long."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    array: NDArray[Any] = memory[start : start + size].view(dtype).reshape(shape)
    array.fill(fill)
    return array


def align(values: NDArray[Any]) -> NDArray[Any]:
    """A copy that begins on a cache line."""
    copy = aligned(values.shape, values.dtype, 0)
    copy[...] = values
    return copy


def make_scratch(program: Program, task: Task, p: Floats) -> Arrays:
    """Memory that means nothing between two iterations, filled with NaN; and the parameters by name."""
    columns = -(-task.input_size // 4) * 4
    x = aligned((columns, LANES), np.float32, np.nan)
    words = aligned((columns if isinstance(task, Arithmetic) else 4, LANES // 2), np.uint64, 0)
    g = aligned(p.shape, np.float32, 0)
    arrays: Arrays = {
        "x": x,
        "x_words": x.view(np.uint64),
        "words": words,
        "half_words": words.view(np.uint32),
        "third": aligned((LANES,), np.uint64, 0),
        "sums": aligned((2, LANES), np.float64, np.nan),
        "t": aligned((task.output_size, LANES), np.float32, np.nan),
        "g": g,
    }
    arrays |= {name: aligned(shape, np.float32, np.nan) for name, shape in program.shapes.items()}
    position = 0
    for name, size in program.parameters.items():
        arrays[name] = p[position : position + size]
        arrays[f"g{name[1:]}"] = g[position : position + size]
        position += size
    return arrays


def make_setting(
    spec: Spec, seed: int, thresholds: tuple[float, float], kept: NDArray[np.int64]
) -> tuple[Setting, Arrays]:
    """The numbers and arrays that stay the same for a run."""
    task, adam, schedule = spec.task, spec.optimizer, spec.model.schedule
    outputs = task.output_size
    if isinstance(task, Arithmetic):
        stream, interpolation = reference.TRAIN, task.interpolation
        subsets, operation = np.array(task.subsets(seed)), list(OPERATIONS).index(task.operation)
        row_inputs, row_targets = np.empty((0, task.input_size), np.float32), np.empty((0, outputs), np.float32)
        inputs = shared_inputs(dataclasses.replace(task, operation="mul", fixed=((0, 1),)))
    else:
        stream, interpolation = reference.ROWS, ((0.0, 1.0),)
        subsets, operation = np.empty((0, 2), np.int64), 0
        row_inputs, row_targets = task.training()
        inputs = blocks(task.validation(seed)[0], task.test(seed)[0])
    validation, test = task.validation(seed)[1], task.test(seed)[1]
    low, high = np.array(interpolation, np.float32).T
    places = np.full(spec.records, -1)
    places[kept] = np.arange(len(kept))
    inside = philox.lane_rows(spec.batch_size) < spec.batch_size
    setting = Setting(
        evaluate_every=spec.evaluate_every,
        batch=np.float32(spec.batch_size * outputs),
        half_word=np.uint64(32),
        unit=isinstance(task, Arithmetic) and len(interpolation) == 1,
        operation=operation,
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
    arrays: Arrays = {
        "keys": philox.round_keys(seed),
        "tables": align(philox.row_tables(seed, stream, spec.batch_size)),
        "share": align(np.where(inside, np.float32(2 / (spec.batch_size * outputs)), np.float32(0))),
        "low": low.copy(),
        "width": high - low,
        "subsets": subsets,
        "row_inputs": row_inputs,
        "row_targets": row_targets,
        "inputs": inputs,
        "targets": blocks(validation, test),
        "thresholds": np.array(thresholds, np.float32),
        "places": places,
    }
    return setting, arrays


def blocks(*sets: NDArray[np.float32]) -> Floats:
    """Sets of observations `[rows, columns]` as blocks `[blocks, columns, lanes]`, set after set.

    The last row of a set fills up its last block.
    """
    rows = [np.minimum(np.arange(-(-len(s) // LANES) * LANES), len(s) - 1) for s in sets]
    padded = np.concatenate([s[r] for s, r in zip(sets, rows, strict=True)])
    by_feature = padded.reshape(-1, LANES, padded.shape[1]).swapaxes(1, 2)
    return align(by_feature)


@lru_cache(maxsize=4)
def shared_inputs(task: Arithmetic) -> Floats:
    """The inputs of both fixed sets in blocks, which all runs on the same inputs share."""
    return blocks(task.validation_inputs(), task.test_inputs())
