"""The cpu engine: one fused loop for a few runs at a time, on one thread (Numba)."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, islice
from queue import SimpleQueue

from ..._platform import cores
from ...spec import Penalty, Spec
from ...spec.optimizers import Optimizer
from ..contract import NO_CONTROL, Control, Failed, Job, Run
from ..probe import unfit
from ..resume import guarded
from ..trace import identity
from .kernel import make_kernel
from .run import Group, RunState, program_of

__all__ = ["CpuEngine"]

CHUNK_S = 0.5
"""Seconds of training between two checks of the caller's control."""

TOGETHER = 8
"""Runs that train in a group, if there are enough for all threads."""


_Kernel = tuple[tuple[object, ...], Optimizer, tuple[Penalty, ...]]


def _kernel(spec: Spec) -> _Kernel:
    """Return what the source of a spec's kernel depends on."""
    return tuple(map(identity, spec.model.layers)), spec.optimizer, spec.model.penalties


class CpuEngine:
    """Engine that trains runs on all cores, a thread for each run, or for a few if there are many.

    A run's numbers are the same to the bit whatever the threads, the order of the runs and their interruptions.

    Args:
        threads: their number; by default as many as this process may use cores.

    Example:
        >>> from arithmos.spec import MODELS, Spec
        >>> from arithmos.tasks import TEN_PARAMETERS
        >>> spec = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=20_000)
        >>> [run] = CpuEngine().run([Job(spec, (2,))])
        >>> run.records, *run.solved_at.values()
        (21, 14000, 14000)
    """

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        self.threads = threads or cores()

    def refuses(self, spec: Spec) -> str | None:
        """Return why the network cannot be run (a unit without a program, a failed trial, images); None if it can."""
        return unfit(spec) or None

    def run(self, jobs: Sequence[Job], control: Control = NO_CONTROL) -> Iterator[Run]:
        """Yield finished runs, in the order in which they finish."""
        for job in jobs:
            if (reason := self.refuses(job.spec)) is not None:
                raise ValueError(f"the cpu engine cannot run this: {reason}")
        control = guarded(control)
        kernels: dict[_Kernel, Spec] = {}
        for job in jobs:
            if job.seeds:
                kernels.setdefault(_kernel(job.spec), job.spec)
        events: SimpleQueue[tuple[Spec, int] | Group | BaseException] = SimpleQueue()
        stop = threading.Event()
        flying: set[Group] = set()

        def compile(spec: Spec) -> None:
            kernel = make_kernel(program_of(spec), spec)
            kernel.compile(lambda: control.say(f"compiling the kernel of {spec.model.name}"))

        def train(group: Group) -> None:
            try:
                while not (group.finished or stop.is_set()):
                    events.put((group.spec, group.advance(CHUNK_S)))
                events.put(group)
            except BaseException as error:
                events.put(error)

        with ThreadPoolExecutor(1) as compiler, ThreadPoolExecutor(self.threads) as pool:
            # A kernel is compiled while the runs of those before it train.
            compiled = {kernel: compiler.submit(compile, spec) for kernel, spec in kernels.items()}
            todo = (group for job in jobs for group in self._groups(job, control))
            try:
                while not control.stopped():
                    # More than there are threads, so that none waits while the caller looks at a finished run.
                    while len(flying) < 2 * self.threads and (group := next(todo, None)) is not None:
                        compiled[_kernel(group.spec)].result()
                        flying.add(group)
                        pool.submit(train, group)
                    if not flying:
                        return
                    event = events.get()
                    if isinstance(event, BaseException):
                        raise event
                    if isinstance(event, Group):
                        while event.runs:
                            run = event.runs.pop(0)
                            spared = run.spec.iterations + 1 - run.step  # by NaN
                            control.advance(run.spec, spared)
                            yield run.result(self.name)
                        flying.remove(event)
                    else:
                        control.advance(*event)
            finally:
                stop.set()
                compiler.shutdown(cancel_futures=True)
                pool.shutdown(cancel_futures=True)
                while not events.empty():
                    if isinstance(event := events.get(), tuple):
                        control.advance(*event)
                for run in (run for group in flying for run in group.runs):
                    if run.step > 0:
                        control.suspend(run.spec, run.seed, run.state())

    def _groups(self, job: Job, control: Control) -> Iterator[Group]:
        """Yield the runs of a job in groups, which are smaller towards the end, so that no thread waits."""
        seeds, left = iter(job.seeds), len(job.seeds)
        while left > 0:
            size = min(TOGETHER, max(1, left // (2 * self.threads)))
            left -= size
            runs = []
            for seed in islice(seeds, size):
                if control.wanted(job.spec, seed):
                    try:
                        runs.append(RunState(job.spec, seed, control))
                    except Failed as error:
                        control.failed(job.spec, (seed,), str(error))
            for _, alike in groupby(runs, key=lambda run: (run.step, run.setting)):
                yield Group([*alike])
