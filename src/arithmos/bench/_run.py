"""Run the missing runs of experiments into a store."""

import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Protocol

from .._platform import STOP_SIGNALS
from ..engines import Control, Engines, Run
from ..engines.cost import TIMES, Clock
from ..judging.exact import judged_runs
from ..papers import Experiment
from ..spec import Model, Spec
from ..spec.memory import check_curve
from ..store import Store
from ._plan import clock, load_units, plan, select
from ._sharing import Others, arrange


class Progress(Protocol):
    """Progress observer of a campaign."""

    def begin(self, runs: int, stored: int, work: float) -> None:
        """Start with a number of runs, of which some are stored, and the work to do, in estimated seconds."""

    def advance(self, iterations: int, work: float) -> None:
        """Add finished iterations and the work that they were."""

    def fewer(self, work: float) -> None:
        """Subtract work that need not be done, because another or an earlier campaign did it."""

    def finished(self, run: Run) -> None:
        """Add a finished run."""

    def spared(self) -> None:
        """Count a run that another campaign on the same store has made."""

    def say(self, line: str) -> None:
        """Show a message about something slow or unusual."""


class Silent:
    """Progress observer that shows nothing."""

    def begin(self, runs: int, stored: int, work: float) -> None: ...

    def advance(self, iterations: int, work: float) -> None: ...

    def fewer(self, work: float) -> None: ...

    def finished(self, run: Run) -> None: ...

    def spared(self) -> None: ...

    def say(self, line: str) -> None: ...


@dataclass(frozen=True)
class Missed:
    """Runs of a spec that every engine refused, or that failed.

    Args:
        spec: their spec.
        seeds: their seeds.
        why: the reason, in one line.
    """

    spec: Spec
    seeds: Sequence[int]
    why: str

    def __str__(self) -> str:
        return f"{self.spec.model.name}, {seed_numbers(self.seeds)}: {self.why}"


def seed_numbers(seeds: Collection[int]) -> str:
    """Format seeds as words.

    Example:
        >>> seed_numbers([5]), seed_numbers([0, 1, 2, 7, 8])
        ('seed 5', 'seeds 0-2, 7-8')
    """
    spans: list[list[int]] = []
    for seed in sorted(seeds):
        if spans and spans[-1][-1] == seed - 1:
            spans[-1][1:] = [seed]
        else:
            spans.append([seed])
    return ("seed " if len(seeds) == 1 else "seeds ") + ", ".join("-".join(map(str, span)) for span in spans)


@dataclass(frozen=True)
class Outcome:
    """Summary of a campaign.

    Args:
        runs: number of runs in the experiments.
        stored: number of them that were stored before, or were stored by other campaigns meanwhile.
        finished: number of runs made by this campaign.
        stopped: why it stopped early: "interrupted", "out of time", or empty.
        elapsed_s: seconds it took.
        missed: runs that cannot be made because of their units.
    """

    runs: int
    stored: int
    finished: int
    stopped: str
    elapsed_s: float
    missed: tuple[Missed, ...] = ()

    @property
    def left(self) -> int:
        """Number of runs still to be made."""
        return self.runs - self.stored - self.finished - sum(len(part.seeds) for part in self.missed)


def run(
    experiments: Sequence[str | Experiment],
    *,
    models: Collection[str | Model] | None = None,
    operations: Collection[str] | None = None,
    seeds: int | None = None,
    iterations: int | None = None,
    epochs: int | None = None,
    engine: str = "auto",
    store: str | Path | Store = "runs",
    threads: int | None = None,
    budget_s: float = math.inf,
    all_records: bool = False,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Run the missing runs of experiments, and store each run as it finishes.

    Models with a unit that cannot be run, or that fails, are reported on one line each, and the others are run. Several
    campaigns may share a store: each skips what another has made.

    Args:
        experiments: names of `EXPERIMENTS`, experiment files, or experiments.
        models: models to run, or a model of the user's.
        operations: operations to run.
        seeds: number of seeds; by default that of the experiment.
        iterations: last iteration; by default that of the experiment.
        epochs: number of epochs, for sequences of digits.
        engine: "auto", "torch", "cpu" or "cuda".
        store: folder of the store.
        threads: threads of the cpu engine.
        budget_s: time limit in seconds; unfinished runs are suspended and can be resumed.
        all_records: whether to store every record of the curves.
        dask: scheduler of a Dask cluster on which to run, or "local:N" for N workers on this machine.
        progress: progress observer.
    """
    watch = progress or Silent()
    begun = time.monotonic()
    store = store if isinstance(store, Store) else Store(store)
    short = {"seeds": seeds, "iterations": iterations, "epochs": epochs}
    parts = select(experiments, models=models, operations=operations, **short)
    load_units(parts)
    if all_records:
        for spec in (spec for part in parts for spec in part.specs):
            check_curve(spec)
    snapshot = store.snapshot(TIMES)
    pace = clock(snapshot, parts, threads=1)

    def work(spec: Spec, name: str, iterations: int | None = None) -> float:
        """Return the estimated work of a run, or of some of its iterations."""
        share = 1.0 if iterations is None else iterations / (spec.iterations + 1)
        return pace.seconds(spec, name) * share

    with workforce(engine, dask=dask, threads=threads, pace=pace, say=watch.say) as engines:
        todo = plan(parts, snapshot, engines)
        del snapshot  # free its memory for the hours that follow
        others = Others(store, [job for _, jobs in todo.jobs for job in jobs], any_engine=engine == "auto")
        stored = todo.stored
        missed = [Missed(job.spec, job.seeds, why) for job, why in todo.refused]
        works = [work(job.spec, engine.name) * len(job.seeds) for engine, jobs in todo.jobs for job in jobs]
        watch.begin(todo.runs - todo.impossible, stored, sum(works))
        finished = spared = 0
        with interruptible() as interrupted, store.writer(judge=judged_runs) as writer:

            def late() -> bool:
                return time.monotonic() - begun > budget_s

            def wanted(spec: Spec, seed: int, name: str) -> bool:
                nonlocal spared
                if others.made(spec, seed, name):
                    spared += 1
                    watch.spared()
                    watch.fewer(work(spec, name))
                    return False
                return True

            def failed(spec: Spec, seeds: Sequence[int], why: str) -> None:
                told = any((part.spec.model, part.why) == (spec.model, why) for part in missed)
                missed.append(Missed(spec, tuple(seeds), why))
                if not told:
                    watch.say(f"failed: {missed[-1]}")

            def control(name: str) -> Control:
                return Control(
                    advance=lambda spec, iterations: watch.advance(iterations, work(spec, name, iterations)),
                    stopped=lambda: interrupted() or late(),
                    resume=lambda spec, seed: store.resume(spec, seed, name),
                    resumed=lambda spec, step: watch.fewer(work(spec, name, step)),
                    suspend=lambda spec, seed, state: writer.suspend(spec, seed, name, state),
                    wanted=lambda spec, seed: wanted(spec, seed, name),
                    failed=failed,
                    say=watch.say,
                    all_records=all_records,
                )

            for runner, jobs in todo.jobs:
                suspended = {(spec_id, seed) for spec_id, seed, name in store.suspended if name == runner.name}
                order = arrange(jobs, partial(pace.seconds, engine=runner.name), suspended)
                for made in runner.run(order, control(runner.name)):
                    writer.add(made)
                    finished += 1
                    watch.finished(made)
            stopped = "interrupted" if interrupted() else "out of time" if late() else ""
    if spared:
        watch.say(f"other campaigns made {spared} runs meanwhile; {store.duplicates} rows are duplicates")
    outcome = Outcome(todo.runs, stored + spared, finished, stopped, time.monotonic() - begun, tuple(missed))
    return outcome if outcome.left else replace(outcome, stopped="")


@contextmanager
def workforce(
    engine: str, *, dask: str | None, threads: int | None, pace: Clock, say: Callable[[str], None]
) -> Iterator[Engines]:
    """Return the engines of this machine or of a cluster; the arguments are those of `run`."""
    if dask is None:
        yield Engines(engine, threads=threads, say=say)
        return
    from ..engines.cluster import Cluster

    with Cluster(dask, pace, threads=threads, say=say) as cluster:
        yield Engines(engine, threads=cluster.threads, makers=cluster.engines, say=say)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Note the first Ctrl-C or SIGTERM inside, so that unfinished runs can be saved; a second one takes effect.

    A signal that the process was started to ignore, as behind a shell's `&`, is still ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted: list[int] = []  # not an Event: a second signal inside its `set` would deadlock

    def note(number: int, frame: FrameType | None) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    heard = [n for n in STOP_SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, note) for number in heard}
    try:
        yield lambda: bool(noted)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
