"""On a worker: say what it is, be admitted, train chunks of runs with an engine of its own.

A worker imports this module by name, so arithmos is installed there. Dask's wire carries pickles, which run code when
they are opened: whoever may speak to the scheduler may run anything on the workers, and on the client.
"""

import dataclasses
import hashlib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from distributed import Worker, WorkerPlugin, get_worker
from distributed.core import Status

from ...spec import Layer, Spec
from .. import ENGINES, Refused
from ..contract import Control, Engine, Job, Run, State
from ..cuda.plan import Limits

SLOT = "arithmos"
"""Dask resource of an admitted worker: as many as it has threads. A chunk takes one."""

GPU = "arithmos-gpu"
"""Dask resource of a worker with a GPU: one, so that one chunk has it for itself."""

PROFILABLE = sys.version_info >= (3, 11, 9)
"""Whether Dask may look at the frames of threads that train; Python before may stand still for ever over it, by
python/cpython#106883, and Dask looks a hundred times a second."""


def _digest(root: Path) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(root.rglob("[!.]*")):
        if path.is_file() and path.parent.name != "__pycache__":
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


CODE = _digest(Path(__file__).parents[2])
"""Digest of all files of the package as it was imported, data included: checkouts differ under one version."""


@dataclass(frozen=True)
class Description:
    """What a worker is.

    Args:
        code: digest of its arithmos.
        gpu: what its GPU has to offer, or why there is none.
    """

    code: str
    gpu: Limits | str


def describe() -> Description:
    """What this worker is."""
    return Description(CODE, _gpu())


@lru_cache(maxsize=1)
def _gpu() -> Limits | str:
    from ..cuda.device import Gpu

    try:
        return Gpu().limits
    except (ImportError, RuntimeError) as error:
        return str(error)


class Admission(WorkerPlugin):  # type: ignore[misc]
    """Gives the workers of a cluster, and those that join it later, their slots; not those with another arithmos.

    Args:
        code: digest of the client's arithmos.
    """

    name = "arithmos"

    def __init__(self, code: str) -> None:
        self.code = code

    async def setup(self, worker: Worker) -> None:
        """Called by Dask on every worker."""
        admitted = self.code == CODE
        if admitted and not PROFILABLE and (profile := worker.periodic_callbacks.pop("profile", None)):
            profile.stop()
        gpu = admitted and isinstance(_gpu(), Limits)
        await worker.set_resources(**{SLOT: worker.state.nthreads * admitted, GPU: int(gpu)})
        if not admitted:
            raise RuntimeError(
                f"the arithmos of this worker is {CODE}, that of the client {self.code}: it gets no work"
            )


@dataclass(frozen=True)
class Chunk:
    """Runs for a worker.

    Args:
        campaign: what it belongs to, by which it can be stopped.
        engine: name of the engine.
        jobs: specs and seeds.
        states: where suspended runs go on, by spec id and seed.
        files: source of the user's own units, by the path that specs name.
        all_records: keep every record of the curves.
    """

    campaign: str
    engine: str
    jobs: tuple[Job, ...]
    states: dict[tuple[str, int], State]
    files: dict[str, str]
    all_records: bool

    @property
    def count(self) -> int:
        """How many runs."""
        return sum(len(job.seeds) for job in self.jobs)


@dataclass(frozen=True)
class Made:
    """What became of a chunk, by spec id and seed.

    Args:
        runs: finished runs, without their specs.
        states: states of the runs that were cut.
        failures: why runs failed, in one line.
    """

    runs: dict[tuple[str, int], Run] = dataclasses.field(default_factory=dict)
    states: dict[tuple[str, int], State] = dataclasses.field(default_factory=dict)
    failures: dict[tuple[str, int], str] = dataclasses.field(default_factory=dict)


_LEAVING = (Status.closing, Status.closed, Status.failed)

_stopped: set[str] = set()


def stop(campaign: str) -> None:
    """From now on chunks of this campaign suspend what they have under way."""
    _stopped.add(campaign)


def train(chunk: Chunk) -> Made:
    """Trains a chunk; the task that Dask runs."""
    worker = get_worker()
    key = worker.get_current_task()

    def stopped() -> bool:
        # Dask cannot end a task whose client is gone, but no longer calls it executing.
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
        try:
            jobs.append(Job(_here(job.spec, chunk.files), job.seeds))
        except Refused as error:
            failed(job.spec, job.seeds, str(error))
    for run in _engine(chunk.engine).run(jobs, control):
        made.runs[run.spec.id, run.seed] = dataclasses.replace(run, spec=cast(Spec, None))  # the client has it
        made.states.pop((run.spec.id, run.seed), None)
    return made


def _engine(name: str) -> Engine:
    """An engine for one chunk: a slot is one thread, and a GPU is bound to the thread that asked for it."""
    if name == "cpu":
        from ..cpu import CpuEngine

        return CpuEngine(threads=1)
    return ENGINES[name]()


def files_of(spec: Spec) -> dict[str, str]:
    """Source of the user's own units in a spec, by path.

    Raises:
        Refused: a unit is a class of this process, of which a worker could know nothing; or its file is another now.
    """
    from ...nn import CELLS

    files = {}
    for layer in spec.model.layers:
        if isinstance(layer.unit, str):
            path, colon, _ = layer.unit.rpartition(":")
            if colon:
                if Layer(layer.unit).version != layer.version:
                    raise Refused(f"{path} is not what it was when its unit was named; name it again")
                files[path] = Path(path).read_text(encoding="utf-8")
        elif CELLS.get(layer.unit.name) != layer.unit:
            name = layer.unit.name
            raise Refused(f"a worker cannot be sent the class {name}; name it by its file, as 'path/to/file.py:{name}'")
    return files


def _here(spec: Spec, files: dict[str, str]) -> Spec:
    """The spec with the user's units in files of this machine."""
    layers = tuple(dataclasses.replace(layer, unit=_unit_here(layer, files)) for layer in spec.model.layers)
    if layers == spec.model.layers:
        return spec
    return dataclasses.replace(spec, model=dataclasses.replace(spec.model, layers=layers))


def _unit_here(layer: Layer, files: dict[str, str]) -> Any:
    if not isinstance(layer.unit, str) or ":" not in layer.unit:
        return layer.unit
    path, _, attribute = layer.unit.rpartition(":")
    unit = f"{_written(Path(path).name, files[path])}:{attribute}"
    try:
        _ = Layer(unit).record
    except ValueError as error:
        raise Refused(f"a worker cannot use the unit {layer.unit}, of which it has this one file: {error}") from error
    return unit


@lru_cache(maxsize=32)
def _written(name: str, source: str) -> Path:
    path = Path(tempfile.mkdtemp(dir=get_worker().local_directory)) / name
    path.write_text(source, encoding="utf-8")
    return path
