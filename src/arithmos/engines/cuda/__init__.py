"""The cuda engine: one thread block trains one run to its end, in CUDA C++ compiled at run time.

Runs of one spec are a group, which has its kernel and its stream. Enough groups are live at once to fill the GPU twice,
those with most left to do first; each works in chunks of about a second, so that progress shows and a stop is answered.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from numpy.typing import NDArray

from ..._platform import cores
from ...spec import Spec
from ...tasks import Task
from ..contract import NO_CONTROL, Control, Failed, Job, Run, State
from ..probe import unfit
from ..resume import guarded
from .device import Gpu, KernelDevice, LoadedKernel, Memory
from .group import RunGroup
from .names import Count, Ended
from .plan import KernelPlan, Limits, make_plan

_CHUNK_S = 1.0
_QUEUED = 2
_STREAMS = 32
_POLL_S = 0.002


@dataclass
class _Waiting:
    """Group that has not started; its kernel is being compiled and its thresholds simulated."""

    plan: KernelPlan
    spec: Spec
    states: dict[int, State | None]

    @property
    def work(self) -> float:
        """Cost of its longest run."""
        done = min(0 if state is None else int(state["step"][0]) for state in self.states.values())
        return (self.spec.iterations + 1 - done) * self.plan.cost


def refusal(spec: Spec, limits: Limits) -> str | None:
    """Return why a GPU with these limits cannot run a spec, on one line, or None if it can."""
    if why := unfit(spec):
        return why
    if spec.first_order.precondition:
        return "it does not precondition gradients"
    try:
        make_plan(spec, limits)
    except ValueError as error:
        return str(error)
    except Failed:
        pass  # the runs fail, and say so
    return None


class CudaEngine:
    """Engine that trains runs on one NVIDIA GPU.

    Args:
        device: the GPU; by default the first one.
        fill: runs in flight, as a multiple of those that fit on the GPU at a time.
        chunk_s: seconds of a chunk of work.

    Raises:
        ImportError: if cuda-core or NVRTC is missing.
        RuntimeError: if there is no GPU that can be used.
    """

    name = "cuda"

    def __init__(self, device: KernelDevice | None = None, *, fill: float = 2.0, chunk_s: float = _CHUNK_S) -> None:
        self.device = Gpu() if device is None else device
        self.fill, self.chunk_s = fill, chunk_s

    def refuses(self, spec: Spec) -> str | None:
        """Return why this engine cannot run the spec, on one line, or None if it can."""
        return refusal(spec, self.device.limits)

    def run(self, jobs: Sequence[Job], control: Control = NO_CONTROL) -> Iterator[Run]:
        """Yield finished runs, as they end."""
        for job in jobs:
            if (why := self.refuses(job.spec)) is not None:
                raise ValueError(f"the cuda engine cannot run this: {why}")
        pool = ThreadPoolExecutor(max_workers=cores())
        try:
            for run in _Schedule(self, jobs, guarded(control), pool).run():
                yield replace(run, gpu=self.device.name)
        finally:
            pool.shutdown(cancel_futures=True)


class _Schedule:
    """Groups of a call, waiting and live."""

    def __init__(self, engine: CudaEngine, jobs: Sequence[Job], control: Control, pool: ThreadPoolExecutor) -> None:
        self.engine, self.device, self.control = engine, engine.device, control
        self.live: list[RunGroup] = []
        self._kernels: dict[str, LoadedKernel] = {}
        self._shared: WeakValueDictionary[object, Memory] = WeakValueDictionary()
        groups = (self._waiting(job) for job in jobs if job.seeds)
        self.waiting = sorted((group for group in groups if group is not None), key=lambda group: -group.work)
        self._codes: dict[str, Future[bytes]] = {}
        self._thresholds: dict[Task, Future[dict[str, float]]] = {}
        for group in self.waiting:
            plan, spec = group.plan, group.spec
            if plan.source not in self._codes:
                self._codes[plan.source] = pool.submit(self.device.compile, plan)
            if spec.task not in self._thresholds:
                self._thresholds[spec.task] = pool.submit(spec.task.thresholds)

    def _waiting(self, job: Job) -> _Waiting | None:
        try:
            plan = make_plan(job.spec, self.device.limits)
        except Failed as error:
            self.control.failed(job.spec, job.seeds, str(error))
            return None
        return _Waiting(plan, job.spec, {seed: self.control.resume(job.spec, seed) for seed in job.seeds})

    def _ready(self, group: _Waiting) -> bool:
        return self._codes[group.plan.source].done() and self._thresholds[group.spec.task].done()

    def run(self) -> Iterator[Run]:
        """Keep the GPU full until everything is done or the caller stops it."""
        before = time.monotonic()
        if self._codes:
            self.control.say(f"{len(self._codes)} kernels: compiling those that are not in the cache")
        while self.waiting or self.live:
            if self.control.stopped():
                yield from self._stop()
                return
            started = self._start()
            for group in self.live:
                while group.queued < _QUEUED and group.launch(group.chunk(self.engine.chunk_s)):
                    started = True
            ended = False
            for group in list(self.live):
                while (iterations := group.poll()) is not None:
                    ended = True
                    self.control.advance(group.spec, iterations)
            now = time.monotonic()
            self._share_time(now - before)
            before = now
            for group in list(self.live):
                yield from group.finished(self.engine.name, self.control)
                if not (group.blocks or group.queued):
                    self.live.remove(group)
            if not (started or ended):
                time.sleep(_POLL_S)

    def _share_time(self, seconds: float) -> None:
        blocks = sum(group.blocks for group in self.live)
        for group in self.live:
            group.elapsed_s[group.counts[:, Count.ENDED] == Ended.RUNNING] += seconds / max(blocks, 1)

    def _full(self) -> bool:
        residents = self.device.limits.multiprocessors
        filled = sum(group.blocks / (group.kernel.resident * residents) for group in self.live)
        return filled >= self.engine.fill or len(self.live) >= _STREAMS

    def _start(self) -> bool:
        """Start the groups with most to do, as many as fill the GPU and have a kernel."""
        started = False
        while not self._full():
            ready = next(filter(self._ready, self.waiting), None)
            if ready is None:
                break
            self.waiting.remove(ready)
            states = {s: state for s, state in ready.states.items() if self.control.wanted(ready.spec, s)}
            if not states:
                continue
            source = ready.plan.source
            if source not in self._kernels:
                self._kernels[source] = self.device.load(self._codes[source].result(), ready.plan)
            kernel = self._kernels[source]
            try:
                group = RunGroup(self.device, ready.plan, kernel, ready.spec, states, self.control, self._keep)
            except Failed as error:
                self.control.failed(ready.spec, tuple(states), str(error))
                continue
            self.live.append(group)
            started = True
        return started

    def _keep(self, key: object, make: Callable[[], NDArray[Any]]) -> Memory:
        memory = self._shared.get(key)
        if memory is None:
            memory = self._shared[key] = self.device.upload(make())
        return memory

    def _stop(self) -> Iterator[Run]:
        for group in self.live:
            self.control.advance(group.spec, group.wait())
        for group in self.live:
            yield from group.finished(self.engine.name, self.control)
            for seed, state in group.suspended():
                self.control.suspend(group.spec, seed, state)
