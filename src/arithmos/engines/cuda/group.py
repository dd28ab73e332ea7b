"""Runs of one spec that train side by side, one thread block each, chunk after chunk on one stream."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...spec import Adam, RMSprop, Spec
from ...tasks import Observations, TableDraws, UniformDraws
from ..contract import NEVER, Control, Floats, Run, State, curve_records, unit_code
from ..judge import Judge
from ..states import ARRAYS, initial, judged, state_of
from ..updates import loss_scale
from .device import KernelDevice, LoadedKernel, Memory
from .names import Count, Ended, Error, Settings
from .plan import KernelPlan, range_constants, range_kind

Shared = Callable[[object, Callable[[], NDArray[Any]]], Memory]
"""Memory of an array that groups share, by what it holds and a function that makes it."""


class RunGroup:
    """Runs of one spec on a device.

    Args:
        device: device to train on.
        plan: plan of the spec's kernel.
        kernel: kernel loaded on the device.
        spec: spec of the runs.
        states: seeds, each with the state to resume from or None to start.
        control: control of the caller, which decides whether all records are kept.
        shared: arrays on the device that groups share, by what they hold.
    """

    def __init__(
        self,
        device: KernelDevice,
        plan: KernelPlan,
        kernel: LoadedKernel,
        spec: Spec,
        states: dict[int, State | None],
        control: Control,
        shared: Shared,
    ) -> None:
        self.spec, self.plan, self.seeds = spec, plan, tuple(states)
        self.kernel, self._device = kernel, device
        self._stream = device.stream()
        kept = curve_records(spec, control.all_records)
        runs, size = len(states), plan.parameters
        parameters = np.stack(
            [initial(spec, seed) if state is None else state["parameters"] for seed, state in states.items()]
        )
        first, second, best = (np.zeros((runs, size), np.float32) for _ in range(3))
        curve = np.full((runs, len(kept), 3), np.nan, np.float32)
        errors = np.full((runs, Error.ERRORS), np.nan, np.float32)
        thresholds = np.array([*spec.task.thresholds().values()])
        counts = np.zeros((runs, Count.SOLVED + thresholds.size), np.int64)
        counts[:, Count.SOLVED :] = NEVER
        self.elapsed_s = np.zeros(runs)
        for run, state in enumerate(states.values()):
            if state is not None:
                first[run], second[run], best[run] = (state[n] for n in (*ARRAYS[1:], "judge.best_parameters"))
                curve[run], errors[run, :4], errors[run, 4:] = (state[f"judge.{n}"] for n in ("curve", "best", "last"))
                records = int(state["judge.records"])
                counts[run, :3] = int(state["step"][0]), records, int(state["judge.best_step"])
                counts[run, Count.SOLVED :] = state["judge.solved_at"]
                counts[run, Count.CURVE] = np.searchsorted(kept, records)
                self.elapsed_s[run] = float(state["elapsed_s"][0])
        self.counts = counts
        self._planned = counts[:, Count.STEP].copy()
        self._reported = np.zeros(runs, bool)
        self._tokens: deque[tuple[Callable[[], bool], int, float, Memory]] = deque()
        self._rate = 0.0
        self._since = 0.0

        self._arrays = {
            "parameters": parameters, "first": first, "second": second, "best": best,
            "curve": curve, "errors": errors, "counts": counts,
        }  # fmt: skip
        own = {name: device.upload(array) for name, array in self._arrays.items()}
        own["thresholds"] = device.upload(thresholds)
        own["seeds"] = device.upload(np.array(self.seeds, np.uint32))
        own["constants"] = device.upload(_constants(spec, self.seeds, plan.constants))
        own["curve_records"] = device.upload(kept.astype(np.int32))
        optimizer = spec.first_order
        own["adam"] = shared((optimizer, spec.iterations), lambda: _rates(optimizer, spec.iterations))
        scales = loss_scale(spec, self.seeds)
        own["loss_scales"] = device.upload((np.ones(4) if scales is None else scales).astype(np.float32))
        own |= _data(device, spec, self.seeds, shared)
        self._memory = own
        self._slots: tuple[bytes, Memory] | None = None
        self.settings = _settings(spec, {name: memory.address for name, memory in own.items()}, len(kept))

    @property
    def blocks(self) -> int:
        """Number of runs that have not ended."""
        return int((self.counts[:, Count.ENDED] == Ended.RUNNING).sum())

    @property
    def queued(self) -> int:
        """Chunks that are queued or running."""
        return len(self._tokens)

    def chunk(self, seconds: float) -> int:
        """Return the iterations that take about this long."""
        return max(1, int(self._rate * seconds)) if self._rate else min(self.spec.evaluate_every, 1000)

    def launch(self, iterations: int) -> bool:
        """Queue the next chunk of at most so many iterations; returns false if everything is queued."""
        live = np.flatnonzero((self.counts[:, Count.ENDED] == Ended.RUNNING) & (self._planned <= self.spec.iterations))
        if not len(live):
            return False
        chunk = min(iterations, self.spec.iterations + 1)
        key = live.astype(np.int32).tobytes()
        if self._slots is None or self._slots[0] != key:
            self._slots = key, self._device.upload(live.astype(np.int32))
        done = self._stream.launch(
            self.kernel.function, self.plan, len(live), self.settings, self._slots[1].address, chunk
        )
        self._tokens.append((done, chunk, time.monotonic(), self._slots[1]))
        self._planned[live] += chunk
        return True

    def poll(self) -> int | None:
        """Return the iterations done since the last call, if a chunk has ended; None otherwise."""
        if not self._tokens or not self._tokens[0][0]():
            return None
        _, chunk, launched, _ = self._tokens.popleft()
        now = time.monotonic()
        rate = chunk / max(now - max(launched, self._since), 1e-4)
        self._rate = min(rate, 8 * self._rate) if self._rate else rate
        self._since = now
        return self._look()

    def wait(self) -> int:
        """Wait until nothing is queued, and return the iterations done since the last call."""
        self._stream.wait()
        self._tokens.clear()
        return self._look()

    def _look(self) -> int:
        before = self.counts[:, Count.STEP].sum()
        self._memory["counts"].download(self.counts)
        return int(self.counts[:, Count.STEP].sum() - before)

    def finished(self, engine: str, control: Control) -> Iterator[Run]:
        """Yield runs that have ended and were not reported yet."""
        for run in np.flatnonzero((self.counts[:, Count.ENDED] != Ended.RUNNING) & ~self._reported):
            self._reported[run] = True
            state = self._state(run)
            judge = Judge(self.spec, (self.seeds[run],), self.plan.parameters, control)
            judge.restore(0, judged(state))
            yield from judge.runs(engine, state["parameters"].astype(np.float32)[None], float(self.elapsed_s[run]))

    def suspended(self) -> Iterator[tuple[int, State]]:
        """Return seeds and states of the runs that have not ended. Nothing may be queued."""
        for run in np.flatnonzero(self.counts[:, Count.ENDED] == Ended.RUNNING):
            yield self.seeds[run], self._state(run)

    def _state(self, run: np.intp) -> State:
        rows = {}
        for name, array in self._arrays.items():
            row = np.empty_like(array[run])
            rows[name] = self._memory[name].download(row, int(run) * row.nbytes)
        counts, errors = rows["counts"], rows["errors"]
        remembered = {
            "records": counts[Count.RECORDS],
            "ended": np.bool_(counts[Count.ENDED] == Ended.MET_NAN),
            "best_step": counts[Count.BEST_STEP],
            "best": errors[:4],
            "best_parameters": rows["best"],
            "last": errors[4:],
            "solved_at": counts[Count.SOLVED :],
            "curve": rows["curve"],
        }
        arrays = dict(zip(ARRAYS, (rows["parameters"], rows["first"], rows["second"]), strict=True))
        return state_of(int(counts[Count.STEP]), float(self.elapsed_s[run]), arrays, remembered)


def _constants(spec: Spec, seeds: tuple[int, ...], count: int) -> Floats:
    """Return the buffers of each run's network, which stay as they are: `[run, element]`."""
    if not count:
        return np.zeros(4, np.float32)
    with unit_code():
        networks = [spec.network(seed) for seed in seeds]
    return np.stack([torch.cat([b.detach().float().flatten() for b in one.buffers()]).numpy() for one in networks])


def _steps(adam: Adam | RMSprop, iterations: int) -> int:
    """Steps after which the corrections of the moments no longer change in float32."""
    if isinstance(adam, RMSprop):
        return 1
    slowest = max(adam.beta1, adam.beta2)
    steps = 1 if slowest == 0 else math.ceil(26 * math.log(2) / -math.log(slowest))
    return min(steps, iterations + 1)


def _rates(adam: Adam | RMSprop, iterations: int) -> Floats:
    """Return the rate and scale of each step: `[step, 2]`."""
    if isinstance(adam, RMSprop):
        return np.array([[adam.lr, 1.0]], np.float32)
    t = np.arange(1, _steps(adam, iterations) + 1, dtype=np.float64)
    table = np.stack([adam.lr / (1 - adam.beta1**t), 1 / np.sqrt(1 - adam.beta2**t)], axis=1)
    return table.astype(np.float32)


def _data(device: KernelDevice, spec: Spec, seeds: tuple[int, ...], shared: Shared) -> dict[str, Memory]:
    """Return the fixed sets, with the index of each run's targets, or a user's rows."""
    task = spec.observations
    own = [task.draws(seed) for seed in seeds]
    if isinstance(table := own[0], TableDraws):
        memory = {
            "rows": shared((task, "rows"), lambda: _padded(table.inputs)),
            "rows_t": device.upload(table.targets),
            "subsets": device.upload(np.zeros((len(seeds), 1), np.int32)),
            "sets": device.upload(np.zeros(len(seeds), np.int32)),
        }
        for name, (x, t) in {"validation": task.validation(0), "test": task.test(0)}.items():
            memory[name] = device.upload(_columns(x))
            memory[f"{name}_t"] = device.upload(t)
        return memory
    draws = [one for one in own if isinstance(one, UniformDraws)]
    subsets = [one.subsets for one in draws]
    kinds = {chosen: seed for chosen, seed in zip(subsets, seeds, strict=True)}
    number = {chosen: n for n, chosen in enumerate(kinds)}
    targets = [_targets(task, seed) for seed in kinds.values()]
    empty = device.upload(np.zeros(4, np.float32))
    return {
        "rows": empty,
        "rows_t": empty,
        "subsets": device.upload(np.array([[start for start, _ in chosen] for chosen in subsets], np.int32)),
        "sets": device.upload(np.array([number[chosen] for chosen in subsets], np.int32)),
        "validation": shared(
            ("validation", task.input_size, draws[0].interpolation), lambda: _columns(task.validation(0)[0])
        ),
        "test": shared(("test", task.input_size, draws[0].extrapolation), lambda: _columns(task.test(0)[0])),
        "validation_t": device.upload(np.stack([pair[0] for pair in targets])),
        "test_t": device.upload(np.stack([pair[1] for pair in targets])),
    }


@lru_cache(maxsize=1024)
def _targets(task: Observations, seed: int) -> tuple[Floats, Floats]:
    return task.validation(seed)[1], task.test(seed)[1]


def _padded(x: Floats) -> Floats:
    return np.pad(x, ((0, 0), (0, -x.shape[1] % 4)))


def _columns(x: Floats) -> Floats:
    """Groups of four columns, each contiguous over the rows: `[i / 4, row, 4]`."""
    padded = _padded(x)
    return np.ascontiguousarray(padded.reshape(len(x), -1, 4).transpose(1, 0, 2))


def _settings(spec: Spec, addresses: dict[str, int], curve_length: int) -> Settings:
    own, schedule = spec.first_order, spec.model.schedule
    beta1, beta2 = (0.0, own.alpha) if isinstance(own, RMSprop) else (own.beta1, own.beta2)
    # A ramp without length is a step: one before its start it is 0, at its start 1.
    start, slope = (
        (schedule.start, 1 / (schedule.end - schedule.start))
        if schedule.end > schedule.start
        else (math.ceil(schedule.start) - 1, 1.0)
    )
    return Settings(
        **addresses,
        **_task_settings(spec),
        iterations=spec.iterations,
        ramp_start=math.floor(start),
        every=spec.evaluate_every,
        adam_steps=_steps(own, spec.iterations),
        curve_length=curve_length,
        threshold_count=len(spec.task.criteria),
        gain1=1 - beta1,
        beta2=beta2,
        gain2=1 - beta2,
        epsilon=own.eps,
        strength=schedule.strength,
        ramp_offset=start - math.floor(start),
        ramp_slope=slope,
    )


def _task_settings(spec: Spec) -> dict[str, Any]:
    task, draws = spec.observations, spec.task.draws(0)
    sizes = {f"{name}_rows": len(getattr(task, name)(0)[0]) for name in ("validation", "test")}
    if not isinstance(draws, UniformDraws):
        return {**sizes, "row_count": 0 if draws is None else len(draws.inputs)}
    widths, lows = range_constants(draws.interpolation)
    if range_kind(spec) == "SHIFTED":
        lows = [lows[0] - widths[0]]
    return {
        **sizes,
        "width": (widths[0], widths[-1]),
        "low": (lows[0], lows[-1]),
    }
