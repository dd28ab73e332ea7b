"""Engine of the workers: it sends runs to them in chunks and yields the finished ones."""

import math
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from distributed import CancelledError, Client, Future, KilledWorker, as_completed
from distributed.protocol import serialize_bytes

from ...spec import Layer, Spec
from .. import Refused
from ..contract import NO_CONTROL, Control, Job, Run
from ..cost import Clock
from ..resume import guarded
from .worker import Chunk, Made, stop

AHEAD = 2
"""Chunks in flight per slot, so that no worker waits for the client."""

LEAST_S, MOST_S = 1.0, 60.0
"""Seconds per chunk of the cpu engine; shorter towards the end, so that all workers finish together."""

GPU_S = 300.0
"""Seconds per chunk of the cuda engine, which needs many runs at a time."""

FAILURES = 5
"""Attempts at a single run over which workers die, four at a time. The last one is made with no other chunk in flight,
because Dask blames all tasks that a worker has."""

STOP_S = 30.0
"""Seconds that stopped workers have to send their unfinished runs."""

FETCH_S = 10.0
COUNT_S = 2.0
POLL_S = 0.02


class Remote:
    """Engine of the workers of a cluster.

    Args:
        client: client of the scheduler.
        pace: estimate of how long runs take on one core.
        name: name of the engine.
        resource: Dask resource that a worker must have and a chunk takes.
        refusal: function that returns why the engine cannot run a spec, or None.
    """

    def __init__(
        self, client: Client, pace: Clock, name: str, resource: str, refusal: Callable[[Spec], str | None]
    ) -> None:
        self.name = name
        self._client, self._pace, self._resource, self._refusal = client, pace, resource, refusal

    def refuses(self, spec: Spec) -> str | None:
        """Return why the workers' engine cannot run the spec, on one line, or None if it can.

        Raises:
            Refused: a unit is a class of this process, which a worker cannot import; or its file has changed.
        """
        for layer in spec.model.layers:
            name = layer.name
            if layer.own and layer.file is None:
                raise Refused(
                    f"a worker cannot be sent the class {name}; name it by its file, as 'path/to/file.py:{name}'"
                )
            if layer.file is not None and Layer(layer.unit).version != layer.version:
                raise Refused(f"{layer.file} has changed since its unit was loaded; start again")
        return self._refusal(spec)

    def run(self, jobs: Sequence[Job], control: Control = NO_CONTROL) -> Iterator[Run]:
        """Yield finished runs as chunks come back."""
        control = guarded(control)
        flight = Flight(self._client, self._resource)
        line = RunQueue(jobs, lambda spec: self._pace.seconds(spec, self.name))
        specs = {job.spec.id: job.spec for job in jobs}
        campaign = uuid.uuid4().hex
        before: dict[tuple[str, int], int] = {}  # steps of suspended runs

        def chunk(part: Sequence[Job]) -> Chunk:
            asked = {(job.spec.id, seed): control.resume(job.spec, seed) for job in part for seed in job.seeds}
            states = {key: state for key, state in asked.items() if state is not None}
            before.update((key, int(state["step"][0])) for key, state in states.items())
            return Chunk(campaign, self.name, tuple(part), states, control.all_records)

        def landed() -> Iterator[Run]:
            for made in flight.landed():
                for (spec_id, seed), run in made.runs.items():
                    spec = specs[spec_id]
                    control.advance(spec, spec.iterations + 1 - before.get((spec_id, seed), 0))
                    yield replace(run, spec=spec)
                for (spec_id, seed), state in made.states.items():
                    control.suspend(specs[spec_id], seed, state)
                for (spec_id, why), failures in groupby(made.failures.items(), key=lambda item: (item[0][0], item[1])):
                    spec, seeds = specs[spec_id], [seed for (_, seed), _ in failures]
                    for seed in seeds:
                        control.advance(spec, spec.iterations + 1 - before.get((spec_id, seed), 0))
                    control.failed(spec, seeds, why)

        try:
            while not control.stopped():
                while flight.room(control.say) and (part := self.cut(line, flight.slots, control)):
                    flight.send(chunk(part))
                if flight.empty and not line:
                    return
                yield from landed()
            self._client.run(stop, campaign, on_error="ignore")
            until = time.monotonic() + STOP_S
            while not flight.empty and time.monotonic() < until:
                yield from landed()
        finally:
            flight.cancel()

    def cut(self, line: "RunQueue", slots: int, control: Control = NO_CONTROL) -> list[Job]:
        """Return the next chunk; empty if nothing is left."""
        if self.name == "cpu":
            return line.cut(min(max(line.left_s / (AHEAD * slots), LEAST_S), MOST_S), control.wanted)
        # A GPU takes about as long for a few runs as for many, and so does a stack of runs of one spec.
        share = line.total_s / slots
        if self.name == "cuda":
            return line.cut(min(share, GPU_S), control.wanted)
        return line.cut(share, control.wanted, one_spec=True)


class RunQueue:
    """Queue of runs.

    Args:
        jobs: jobs in the order in which to start them.
        seconds: estimated time of a run of a spec.
    """

    def __init__(self, jobs: Sequence[Job], seconds: Callable[[Spec], float]) -> None:
        self._runs = deque((job.spec, seed, s) for job in jobs for s in [seconds(job.spec)] for seed in job.seeds)
        self.total_s = self.left_s = sum(s for *_, s in self._runs)

    def __bool__(self) -> bool:
        return bool(self._runs)

    def cut(self, seconds: float, wanted: Callable[[Spec, int], bool], one_spec: bool = False) -> list[Job]:
        """Take the next wanted runs that together take this long, at least one; empty when none are left."""
        taken: list[tuple[Spec, int]] = []
        while self._runs:
            spec, seed, needed = self._runs[0]
            if taken and (needed > seconds or (one_spec and spec is not taken[0][0])):
                break
            self._runs.popleft()
            self.left_s -= needed
            if wanted(spec, seed):
                seconds -= needed
                taken.append((spec, seed))
        return _jobs(taken)


def _jobs(runs: Sequence[tuple[Spec, int]]) -> list[Job]:
    """Group runs into jobs, as few as their order allows."""
    grouped = groupby(runs, key=lambda run: run[0].id)
    return [Job(part[0][0], tuple(seed for _, seed in part)) for _, group in grouped if (part := list(group))]


def sealed() -> Callable[[bytes], Made]:
    """Return a function that trains a chunk given as bytes in Dask's encoding.

    It is pickled by value and names our modules only within its body or in quotes: a scheduler opens every task, and
    would otherwise have to import torch.
    """

    def train(chunk: bytes) -> "Made":
        from distributed.protocol import deserialize_bytes

        from arithmos.engines.cluster import worker

        return worker.train(deserialize_bytes(chunk))

    return train


def waking() -> Callable[[Any], None]:
    """Return a function that makes a scheduler start tasks that wait for a worker; it is pickled as in `sealed`.

    Dask reconsiders such tasks when a worker joins, but ours gets its slots a moment later. The tasks must stay the
    same ones: Dask counts how many workers die over each, and gives it up.
    """

    def wake(dask_scheduler: Any) -> None:
        for worker in list(dask_scheduler.running):
            begun = dask_scheduler.bulk_schedule_unrunnable_after_adding_worker(worker)
            dask_scheduler.transitions(begun, "arithmos-wake")

    return wake


@dataclass(frozen=True)
class _Sent:
    """Chunk in flight, with the number of times that workers have died over it."""

    chunk: Chunk
    failures: int = 0


class Flight:
    """Chunks in flight.

    Args:
        client: client of the scheduler.
        resource: Dask resource that a worker must have and a chunk takes.
    """

    def __init__(self, client: Client, resource: str) -> None:
        self.slots = 0
        self._client, self._resource = client, resource
        self._flying: dict[Future, _Sent] = {}
        self._suspects: list[_Sent] = []  # to be sent alone
        self._done = as_completed(loop=client.loop)
        self._counted = -math.inf

    @property
    def empty(self) -> bool:
        """Whether all chunks have come back."""
        return not (self._flying or self._suspects)

    def room(self, say: Callable[[str], None]) -> bool:
        """Return whether a worker could take another chunk."""
        if time.monotonic() - self._counted > COUNT_S:
            before, self._counted = self.slots, time.monotonic()
            with suppress(OSError):  # a lost scheduler shows in the chunks
                self.slots = self._count()
                if self.slots:
                    self._client.run_on_scheduler(waking())
            if before and not self.slots:
                say("all workers are gone; waiting for others")
        alone = self._suspects or any(sent.failures == FAILURES - 1 for sent in self._flying.values())
        return not alone and len(self._flying) < AHEAD * self.slots

    def _count(self) -> int:
        # Not Client.scheduler_info, whose answer a heartbeat may empty of workers before it is read.
        workers = self._client.sync(self._client.scheduler.identity, n_workers=-1)["workers"].values()
        return sum(int(worker["resources"].get(self._resource, 0)) for worker in workers)

    def send(self, chunk: Chunk, failures: int = 0) -> None:
        """Send a chunk to any worker."""
        future = self._client.submit(
            sealed(), serialize_bytes(chunk), key=f"arithmos-{uuid.uuid4().hex}", resources={self._resource: 1}
        )
        self._flying[future] = _Sent(chunk, failures)
        self._done.add(future)

    def landed(self) -> Iterator[Made]:
        """Yield the results that have come back, after a moment."""
        time.sleep(POLL_S)
        for future in self._done.next_batch(block=False):
            sent = self._flying.pop(future)
            try:
                yield future.result(timeout=FETCH_S)
            except TimeoutError:  # its worker is lost, and Dask runs it again
                self._flying[future] = sent
                self._done.add(future)
            except KilledWorker as error:
                yield self._split(sent, error)
            except CancelledError as error:
                raise ConnectionError("the Dask scheduler is gone; start again to resume the stored runs") from error
        if self._suspects and not self._flying:
            suspect = self._suspects.pop()
            self.send(suspect.chunk, suspect.failures)

    def _split(self, sent: _Sent, error: KilledWorker) -> Made:
        """Send a chunk over which workers died again in halves: it may have been too long, or contain a faulty run.

        A single run that was sent too often has failed.
        """
        runs = [(job.spec, seed) for job in sent.chunk.jobs for seed in job.seeds]
        failures = sent.failures + (len(runs) == 1)
        if failures == FAILURES:
            spec, seed = runs[0]
            return Made(failures={(spec.id, seed): f"it kills every worker, most recently {error.last_worker.address}"})
        if failures == FAILURES - 1:
            self._suspects.append(replace(sent, failures=failures))
            return Made()
        for half in (runs[::2], runs[1::2]):
            if half:
                self.send(replace(sent.chunk, jobs=tuple(_jobs(half))), failures)
        return Made()

    def cancel(self) -> None:
        """Cancel what is still in flight."""
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel(list(self._flying))
