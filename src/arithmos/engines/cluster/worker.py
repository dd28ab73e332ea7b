"""Worker side of a cluster: describe the worker, admit it, train chunks of runs with its own engine.

A worker imports this module by name, so arithmos must be installed there. Dask's protocol carries pickles, which run
code when they are opened: anyone who can reach the scheduler can run anything on the workers and on the client.
"""

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from distributed import Worker, WorkerPlugin, get_worker
from distributed.core import Status

from ...spec import Spec
from .. import ENGINES
from ..code import SOURCE
from ..contract import Control, Engine, Job, Run, State
from ..cuda.plan import Limits

SLOT = "arithmos"
"""Dask resource of an admitted worker, one per thread. A chunk takes one."""

GPU = "arithmos-gpu"
"""Dask resource of a worker with a GPU: one, so that a chunk has the GPU to itself."""

PROFILABLE = sys.version_info >= (3, 11, 9)
"""Whether Dask may inspect the frames of training threads. Earlier versions of Python may deadlock over it
(python/cpython#106883), and Dask does it a hundred times per second."""


@dataclass(frozen=True)
class Description:
    """Properties of a worker.

    Args:
        code: digest of its arithmos package.
        gpu: limits of its GPU, or why there is none.
    """

    code: str
    gpu: Limits | str


def describe() -> Description:
    """Describe this worker."""
    return Description(SOURCE, _gpu())


@lru_cache(maxsize=1)
def _gpu() -> Limits | str:
    from ..cuda.device import Gpu

    try:
        return Gpu().limits
    except (ImportError, RuntimeError) as error:
        return str(error)


class Admission(WorkerPlugin):  # type: ignore[misc]
    """Worker plugin that gives workers their slots, unless their arithmos differs; also when they join later.

    Args:
        code: digest of the client's arithmos package.
    """

    name = "arithmos"

    def __init__(self, code: str) -> None:
        self.code = code

    async def setup(self, worker: Worker) -> None:
        """Admit a worker; Dask calls this on every one."""
        admitted = self.code == SOURCE
        if admitted and not PROFILABLE and (profile := worker.periodic_callbacks.pop("profile", None)):
            profile.stop()
        gpu = admitted and isinstance(_gpu(), Limits)
        await worker.set_resources(**{SLOT: worker.state.nthreads * admitted, GPU: int(gpu)})
        if not admitted:
            raise RuntimeError(
                f"this worker has arithmos {SOURCE}, the client {self.code}; it gets no work until both are the same"
            )


@dataclass(frozen=True)
class Chunk:
    """Runs for a worker.

    Args:
        campaign: id of its campaign, by which it can be stopped.
        engine: name of the engine.
        jobs: specs and seeds.
        states: checkpoints of suspended runs, by spec id and seed.
        all_records: whether to keep every record of the curves.
    """

    campaign: str
    engine: str
    jobs: tuple[Job, ...]
    states: dict[tuple[str, int], State]
    all_records: bool


@dataclass(frozen=True)
class Made:
    """Result of a chunk, by spec id and seed.

    Args:
        runs: finished runs, without their specs.
        states: checkpoints of unfinished runs.
        failures: why runs failed, on one line.
    """

    runs: dict[tuple[str, int], Run] = dataclasses.field(default_factory=dict)
    states: dict[tuple[str, int], State] = dataclasses.field(default_factory=dict)
    failures: dict[tuple[str, int], str] = dataclasses.field(default_factory=dict)


_LEAVING = (Status.closing, Status.closed, Status.failed)

_stopped: set[str] = set()


def stop(campaign: str) -> None:
    """Make chunks of this campaign suspend their runs from now on."""
    _stopped.add(campaign)


def train(chunk: Chunk) -> Made:
    """Train a chunk; this is the task that Dask runs."""
    worker = get_worker()
    key = worker.get_current_task()

    def stopped() -> bool:
        # Dask cannot end a task whose client is gone, but no longer reports it as executing.
        task = worker.state.tasks.get(key)
        abandoned = task is None or task.state != "executing" or worker.status in _LEAVING
        return abandoned or chunk.campaign in _stopped

    made = Made()

    def suspend(spec: Spec, seed: int, state: State) -> None:
        made.states[spec.id, seed] = state

    def failed(spec: Spec, seeds: Sequence[int], why: str) -> None:
        made.failures.update(((spec.id, seed), why) for seed in seeds)

    control = Control(
        stopped=stopped,
        resume=lambda spec, seed: chunk.states.get((spec.id, seed)),
        suspend=suspend,
        failed=failed,
        all_records=chunk.all_records,
    )
    jobs = []
    for job in chunk.jobs:
        if why := _unloadable(job.spec):
            failed(job.spec, job.seeds, why)
        else:
            jobs.append(job)
    for run in _engine(chunk.engine).run(jobs, control):
        made.runs[run.spec.id, run.seed] = dataclasses.replace(run, spec=cast(Spec, None))  # the client has it
        made.states.pop((run.spec.id, run.seed), None)
    return made


def _engine(name: str) -> Engine:
    """Return an engine for one chunk: a slot is one thread, and a GPU is bound to the thread that opened it."""
    if name == "cpu":
        from ..cpu import CpuEngine

        return CpuEngine(threads=1)
    return ENGINES[name]()


def _unloadable(spec: Spec) -> str:
    """Return why a user's unit cannot be loaded here from the text that its layer brings; empty if all can."""
    for layer in spec.model.layers:
        try:
            _ = layer.record
        except ValueError as error:
            return f"a worker cannot load the unit {layer.unit} from its file alone: {error}"
    return ""
