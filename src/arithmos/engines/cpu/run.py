"""A run on its way: what the kernel is called with, and how it is suspended and taken up again."""

import dataclasses
import time
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from ... import philox as reference
from ...nn._parts import Parts
from ...spec import Spec
from ...tasks import OPERATIONS, Arithmetic
from ..contract import Control, Floats, Run, State
from ..judge import Judge
from . import philox
from ._compile import LANES
from .kernel import Scratch, Setting, Verdict, make_kernel
from .layers import make_buffers


class RunState:
    """A run of a spec, from its start or from where it was suspended.

    Args:
        spec: of a network with two layers that have parts.
        seed: its seed.
        control: knows whether it was suspended, and how much of its curve is kept.
    """

    def __init__(self, spec: Spec, seed: int, control: Control) -> None:
        self.spec, self.seed = spec, seed
        self.kernel = make_kernel(*parts_of(spec))
        layers = spec.network(seed)
        self.split = sum(p.numel() for p in layers[0].parameters())
        flat = torch.cat([p.detach().flatten() for p in layers.parameters()])
        self.p = flat.numpy().copy()
        self.m, self.v = np.zeros_like(self.p), np.zeros_like(self.p)
        self.step, self.elapsed_s = 0, 0.0
        self.judge = Judge(spec, (seed,), self.p.size, control)
        self.setting = make_setting(spec, seed, self.judge)
        state = control.resume(spec, seed)
        if state is not None:
            self._restore(state)
        self.verdict = Verdict(*(getattr(self.judge, name) for name in Verdict._fields))
        self._pace = 1e-3

    @property
    def finished(self) -> bool:
        """It has made its last update, or met NaN."""
        return self.step > self.spec.iterations or bool(self.judge.ended[0])

    def advance(self, scratch: Scratch, seconds: float) -> int:
        """Trains for about so many seconds; returns the iterations made."""
        begin = self.step
        end = min(self.spec.iterations + 1, begin + max(1, int(seconds / self._pace)))
        started = time.perf_counter()
        self.step = self.kernel(self.setting, begin, end, self.split, self.p, self.m, self.v, self.verdict, scratch)
        took = time.perf_counter() - started
        self.elapsed_s += took
        self._pace = max(took, 1e-9) / max(1, self.step - begin)
        return self.step - begin

    def result(self, engine: str) -> Run:
        """The finished run."""
        self.judge.ended |= bool(np.isnan(self.p).any())
        return self.judge.runs(engine, self.p[None], self.elapsed_s)[0]

    def state(self) -> State:
        """All that is needed to go on."""
        return {
            "step": np.array([self.step]),
            "elapsed_s": np.array([self.elapsed_s]),
            "parameters": self.p,
            "exp_avg": self.m,
            "exp_avg_sq": self.v,
            **{f"judge.{name}": value for name, value in self.judge.state(0).items()},
        }

    def _restore(self, state: State) -> None:
        self.step, self.elapsed_s = int(state["step"][0]), float(state["elapsed_s"][0])
        self.p[:], self.m[:], self.v[:] = (state[name] for name in ("parameters", "exp_avg", "exp_avg_sq"))
        prefix = "judge."
        self.judge.restore(
            0, {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        )


def parts_of(spec: Spec) -> tuple[Parts, Parts]:
    """The parts of the two layers."""
    first, second = spec.parts
    if first is None or second is None:
        raise ValueError("both layers must have parts")
    return first, second


def make_scratch(spec: Spec) -> Scratch:
    """Memory for a run of the spec, filled with NaN."""
    inputs, hidden, outputs = spec.sizes
    first, second = parts_of(spec)
    columns = -(-inputs // 4) * 4
    x = np.full((columns, LANES), np.nan, np.float32)
    words = np.zeros((columns if isinstance(spec.task, Arithmetic) else 4, LANES // 2), np.uint64)
    parameters = sum(p.numel() for p in spec.network(0).parameters())

    def nan(*shape: int) -> Floats:
        return np.full(shape, np.nan, np.float32)

    return Scratch(
        x=x,
        x_words=x.view(np.uint64),
        words=words,
        half_words=words.view(np.uint32),
        third=np.zeros(LANES, np.uint64),
        sums=np.full((2, LANES), np.nan),
        t=nan(outputs, LANES),
        z=nan(hidden, LANES),
        dz=nan(hidden, LANES),
        y=nan(outputs, LANES),
        dy=nan(outputs, LANES),
        g=nan(parameters),
        first=make_buffers(first, inputs, hidden),
        second=make_buffers(second, hidden, outputs),
    )


def make_setting(spec: Spec, seed: int, judge: Judge) -> Setting:
    """What stays the same for a run."""
    task, adam, schedule = spec.task, spec.optimizer, spec.model.schedule
    outputs = task.output_size
    lanes = philox.lane_rows(spec.batch_size)
    share = np.where(lanes < spec.batch_size, np.float32(2 / (spec.batch_size * outputs)), np.float32(0))
    if isinstance(task, Arithmetic):
        stream, interpolation = reference.TRAIN, task.interpolation
        subsets, operation = np.array(task.subsets(seed)), list(OPERATIONS).index(task.operation)
        row_inputs, row_targets = np.empty((0, task.input_size), np.float32), np.empty((0, outputs), np.float32)
        validation, test = shared_inputs(dataclasses.replace(task, operation="mul", fixed=((0, 1),)))
    else:
        stream, interpolation = reference.ROWS, ((0.0, 1.0),)
        subsets, operation = np.empty((0, 2), np.int64), 0
        row_inputs, row_targets = task.training()
        validation, test = blocks(task.validation(seed)[0]), blocks(task.test(seed)[0])
    low = np.array([part[0] for part in interpolation], np.float32)
    width = np.array([np.float32(part[1]) - np.float32(part[0]) for part in interpolation], np.float32)
    targets = task.validation(seed)[1], task.test(seed)[1]
    places = np.full(spec.records, -1)
    places[judge._kept] = np.arange(len(judge._kept))
    return Setting(
        evaluate_every=spec.evaluate_every,
        keys=philox.round_keys(seed),
        tables=philox.row_tables(seed, stream, spec.batch_size),
        half_word=np.uint64(32),
        share=share.astype(np.float32),
        outputs_seen=np.float32(spec.batch_size * outputs),
        unit=isinstance(task, Arithmetic) and len(interpolation) == 1,
        low=np.resize(low, 2),
        width=np.resize(width, 2),
        subsets=subsets,
        operation=operation,
        row_inputs=row_inputs,
        row_targets=row_targets,
        validation=validation,
        validation_targets=blocks(targets[0]),
        validation_size=len(targets[0]),
        test=test,
        test_targets=blocks(targets[1]),
        test_size=len(targets[1]),
        strength=float(schedule.strength),
        start=float(schedule.start),
        end=float(schedule.end),
        lr=adam.lr,
        beta1=adam.beta1,
        beta2=adam.beta2,
        eps=adam.eps,
        thresholds=np.array(judge.thresholds, np.float32),
        places=places,
    )


def blocks(rows: NDArray[np.float32]) -> Floats:
    """Observations `[rows, columns]` as blocks `[blocks, columns, lanes]`; the last row fills up the last block."""
    count = -(-len(rows) // LANES)
    padded = rows[np.minimum(np.arange(count * LANES), len(rows) - 1)]
    return np.ascontiguousarray(padded.reshape(count, LANES, -1).swapaxes(1, 2))


@lru_cache(maxsize=4)
def shared_inputs(task: Arithmetic) -> tuple[Floats, Floats]:
    """The inputs of both fixed sets in blocks, which all runs on the same inputs share."""
    return blocks(task.validation_inputs()), blocks(task.test_inputs())
