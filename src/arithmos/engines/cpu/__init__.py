"""The cpu engine: one fused loop trains one run, a thread a run (Numba)."""

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from ...spec import Spec
from ..contract import Control, Job, Run
from .run import RunState

__all__ = ["CpuEngine"]

CHUNK_S = 0.5
"""Seconds of training between two looks at what the caller wants."""


class CpuEngine:
    """Trains runs on all cores, one thread a run.

    Args:
        threads: runs at a time; by default as many as this process may use cores.

    Example:
        >>> from arithmos.engines.contract import Job
        >>> from arithmos.spec import MODELS, Spec
        >>> from arithmos.tasks import TEN_PARAMETERS
        >>> spec = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=20_000)
        >>> [run] = CpuEngine().run([Job(spec, (0,))])
        >>> run.records, run.solved_at_corrected > 0
        (21, True)
    """

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        self.threads = threads or len(os.sched_getaffinity(0))

    def refuses(self, spec: Spec) -> str | None:
        """Networks that have not two layers, and layers with a part of their own."""
        if len(spec.model.layers) != 2:
            return f"the cpu engine trains networks of two layers, and {spec.model.name} has {len(spec.model.layers)}"
        for layer, parts in zip(spec.model.layers, spec.parts, strict=True):
            if parts is None:
                return f"the cpu engine knows the parts of units, and {layer.unit} has a part of its own"
        return None

    def run(self, jobs: Sequence[Job], control: Control = Control()) -> Iterator[Run]:
        """Finished runs, in the order in which they finish."""
        for job in jobs:
            if (reason := self.refuses(job.spec)) is not None:
                raise ValueError(reason)
        todo = ((job.spec, seed) for job in jobs for seed in job.seeds)
        events: SimpleQueue[int | RunState | BaseException] = SimpleQueue()
        stop = threading.Event()
        flying: set[RunState] = set()

        def train(run: RunState) -> None:
            try:
                run.bind()
                while not (run.finished or stop.is_set()):
                    events.put(run.advance(CHUNK_S))
                events.put(run)
            except BaseException as error:
                events.put(error)

        with ThreadPoolExecutor(self.threads) as pool:
            try:
                while True:
                    while len(flying) < 2 * self.threads and not stop.is_set():
                        if (following := next(todo, None)) is None:
                            break
                        run = RunState(*following, control)
                        flying.add(run)
                        pool.submit(train, run)
                    if not flying:
                        return
                    event = events.get()
                    if isinstance(event, BaseException):
                        raise event
                    if isinstance(event, RunState):
                        if event.finished:
                            flying.remove(event)
                            yield event.result(self.name)
                    else:
                        control.advance(event)
                        if control.stopped():
                            return
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)
                for run in flying:
                    control.suspend(run.spec, run.seed, run.state())
