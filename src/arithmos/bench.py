"""The bench: run experiments into a store, and see a unit of one's own beside the published ones.

Every verb of the command line has its twin here.
"""

import dataclasses
import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol

import torch
from torch import nn

from .engines import ENGINES, Control, Engine, Engines, Job, Run
from .engines.cost import Clock
from .experiments import EXPERIMENTS, SURFACES, Experiment
from .nn import UNITS
from .nn._unit import Unit
from .spec import MODELS, Layer, Model, Spec, as_unit, model
from .store import Store
from .tasks import TEN_PARAMETERS, Arithmetic

if TYPE_CHECKING:
    import pandas as pd


class Progress(Protocol):
    """Somebody who watches a campaign."""

    def begin(self, runs: int, stored: int, iterations: int) -> None:
        """There are so many runs, of which some are stored, and so many iterations to go."""

    def advance(self, iterations: int) -> None:
        """So many iterations were done."""

    def finished(self, run: Run) -> None:
        """A run came to its end."""

    def say(self, line: str) -> None:
        """Something slow or odd happens."""


class Silent:
    """Watches without a word."""

    def begin(self, runs: int, stored: int, iterations: int) -> None: ...

    def advance(self, iterations: int) -> None: ...

    def finished(self, run: Run) -> None: ...

    def say(self, line: str) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """What became of a campaign.

    Args:
        runs: runs that the experiments ask for.
        stored: how many of them were in the store before.
        finished: how many were run now.
        stopped: why it ended before all were run: "interrupted", "out of time", or empty.
        elapsed_s: seconds it took.
    """

    runs: int
    stored: int
    finished: int
    stopped: str
    elapsed_s: float

    @property
    def left(self) -> int:
        """Runs still missing."""
        return self.runs - self.stored - self.finished


@dataclass(frozen=True)
class Plan:
    """What is left to run: jobs by engine."""

    runs: int
    jobs: tuple[tuple[Engine, tuple[Job, ...]], ...]

    @property
    def missing(self) -> int:
        """Runs to be made."""
        return sum(len(job.seeds) for _, jobs in self.jobs for job in jobs)

    @property
    def iterations(self) -> int:
        """Iterations to be made."""
        return sum((job.spec.iterations + 1) * len(job.seeds) for _, jobs in self.jobs for job in jobs)


def select(
    experiments: Sequence[str | Experiment],
    *,
    models: Collection[str | Model] | None = None,
    operations: Collection[str] | None = None,
    seeds: int | None = None,
    iterations: int | None = None,
) -> list[Experiment]:
    """Experiments by name, or parts of them."""
    parts = []
    for name in experiments:
        if isinstance(name, str) and name in SURFACES:
            raise KeyError(f"{name} has no runs; `arithmos figure {name}` draws it")
        experiment = EXPERIMENTS[name] if isinstance(name, str) else name
        own = {spec.model.name: spec.model for spec in experiment.specs}
        chosen = None
        if models is not None:
            chosen = [own[m] if isinstance(m, str) and m in own else _tried(m) for m in models]
        parts.append(experiment.select(models=chosen, operations=operations, seeds=seeds, iterations=iterations))
    return parts


def _tried(name: str | Model) -> Model:
    """A model; if there is a unit in it that is not ours, it has let a small batch through."""
    chosen = model(name) if isinstance(name, str) else name
    if all(layer.record.name in UNITS for layer in chosen.layers):
        return chosen
    try:
        shape = tuple(Spec(task=TEN_PARAMETERS, model=chosen).network(0)(torch.ones(3, 4)).shape)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"model {chosen.name!r} fails on a batch of 3 rows of 4 inputs: {reason}") from error
    if shape != (3, 1):
        raise ValueError(f"model {chosen.name!r} must give 3 rows of 1 output for 3 rows of 4 inputs, got {shape}")
    return chosen


def plan(experiments: Sequence[Experiment], store: Store, engines: Engines) -> Plan:
    """What of the experiments is not in the store yet; a spec that several of them share is run once.

    An engine that is asked for by name makes the runs that it has not made. Otherwise a spec stays with the engine that
    has made most of its runs, and one that any engine has made whole is done.
    """
    seeds: dict[str, tuple[Spec, int]] = {}
    for experiment in experiments:
        for spec in experiment.specs:
            known = seeds.get(spec.id, (spec, 0))
            seeds[spec.id] = (known[0], max(known[1], experiment.seeds))
    by_engine: dict[str, tuple[Engine, list[Job]]] = {}
    for spec, count in seeds.values():
        missing = {name: store.missing(spec, range(count), engine=name) for name in ENGINES}
        preferred = min(missing, key=lambda name: len(missing[name]))
        if engines.name == "auto" and not missing[preferred]:
            continue
        engine = engines.choose(spec, preferred)
        if missing[engine.name]:
            by_engine.setdefault(engine.name, (engine, []))[1].append(Job(spec, missing[engine.name]))
    total = sum(count for _, count in seeds.values())
    return Plan(total, tuple((engine, tuple(jobs)) for engine, jobs in by_engine.values()))


def clock(store: Store, experiments: Sequence[Experiment] = (), *, threads: int | None = None) -> Clock:
    """What the runs in a store say about the time that further ones will take."""
    specs = [spec for experiment in (*EXPERIMENTS.values(), *experiments) for spec in experiment.specs]
    return Clock(store.load(columns=["elapsed_s"]), specs, threads)


def estimate(todo: Plan, pace: Clock) -> "pd.DataFrame":
    """What a plan takes, a row an engine: runs, iterations, seconds."""
    import pandas as pd

    rows = [
        {
            "engine": engine.name,
            "runs": sum(len(job.seeds) for job in jobs),
            "iterations": sum((job.spec.iterations + 1) * len(job.seeds) for job in jobs),
            "seconds": sum(pace.seconds(job.spec, engine.name) * len(job.seeds) for job in jobs),
        }
        for engine, jobs in todo.jobs
    ]
    return pd.DataFrame(rows, columns=["engine", "runs", "iterations", "seconds"])


def catalogue(store: str | Path | Store = "runs", *, engine: str = "auto") -> "pd.DataFrame":
    """The experiments, a row each: what they are in the paper, what they run, what is stored, seconds for the rest.

    Figures without runs come last.
    """
    import pandas as pd

    store = store if isinstance(store, Store) else Store(store)
    engines, pace = Engines(engine, say=Silent().say), clock(store)
    rows = []
    for experiment in EXPERIMENTS.values():
        todo = plan([experiment], store, engines)
        rows.append(
            {
                "name": experiment.name,
                "item": experiment.item,
                "runs": experiment.runs,
                "iterations": experiment.iterations,
                "stored": todo.runs - todo.missing,
                "seconds": estimate(todo, pace)["seconds"].sum(),
            }
        )
    nothing = {"runs": 0, "iterations": 0, "stored": 0, "seconds": 0.0}
    rows += [{"name": surface.name, "item": surface.item, **nothing} for surface in SURFACES.values()]
    return pd.DataFrame(rows)


def run(
    experiments: Sequence[str | Experiment],
    *,
    models: Collection[str | Model] | None = None,
    operations: Collection[str] | None = None,
    seeds: int | None = None,
    iterations: int | None = None,
    engine: str = "auto",
    store: str | Path | Store = "runs",
    threads: int | None = None,
    budget_s: float = math.inf,
    all_records: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Runs what is missing of some experiments, and stores each run as it finishes.

    Args:
        experiments: names of `EXPERIMENTS`, or experiments.
        models: only these models, or a model of one's own in their place.
        operations: only these operations.
        seeds: how many seeds, instead of the experiment's number.
        iterations: a last iteration other than the experiment's.
        engine: "auto", "torch", "cpu" or "cuda".
        store: folder of the store.
        threads: threads of the cpu engine.
        budget_s: seconds after which to stop; what is in the air is suspended, and goes on next time.
        all_records: store every record of the curves.
        progress: who is told how it goes.
    """
    watch = progress or Silent()
    begun = time.monotonic()
    store = store if isinstance(store, Store) else Store(store)
    parts = select(experiments, models=models, operations=operations, seeds=seeds, iterations=iterations)
    todo = plan(parts, store, Engines(engine, threads=threads, say=watch.say))
    stored = todo.runs - todo.missing
    watch.begin(todo.runs, stored, todo.iterations)
    finished = 0
    with interruptible() as interrupted, store.writer() as writer:

        def late() -> bool:
            return time.monotonic() - begun > budget_s

        def control(name: str) -> Control:
            return Control(
                advance=watch.advance,
                stopped=lambda: interrupted() or late(),
                resume=lambda spec, seed: store.resume(spec, seed, name),
                suspend=lambda spec, seed, state: writer.suspend(spec, seed, name, state),
                say=watch.say,
                all_records=all_records,
            )

        for runner, jobs in todo.jobs:
            for made in runner.run(jobs, control(runner.name)):
                writer.add(made)
                finished += 1
                watch.finished(made)
        stopped = "interrupted" if interrupted() else "out of time" if late() else ""
    left = todo.missing - finished
    return Outcome(todo.runs, stored, finished, stopped if left else "", time.monotonic() - begun)


def compare(
    unit: Unit | type[nn.Module],
    *,
    first: str = "NAU",
    task: str | Arithmetic = "mul",
    seeds: int = 100,
    iterations: int = 5_000_000,
    models: Sequence[str] | None = None,
    engine: str = "auto",
    store: str | Path | Store = "runs",
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """A unit of one's own beside the published models, on the same task: a table with a row a model.

    Args:
        unit: a layer class, or a `Unit`.
        first: the unit of the first layer; the own one is the second.
        task: an operation, with the paper's defaults, or a task.
        seeds: how many seeds.
        iterations: the last iteration.
        models: names of the models beside it; all of the paper's unless told.
        engine: as in `run`; a unit without `parts` runs on the torch engine.
        store: as in `run`.
        progress: as in `run`.
    """
    from .report.summary import summarize

    own = as_unit(unit)
    name = f"{first}>{own.name}"
    problem = Arithmetic(operation=task) if isinstance(task, str) else task  # type: ignore[arg-type]
    mine = dataclasses.replace(MODELS["NMU"], name=name, label=name, layers=(Layer(first), Layer(own)))
    others = [MODELS[m] for m in (list(MODELS)[:11] if models is None else models)]
    experiment = Experiment(
        name=name,
        item="",
        title=f"{own.label} beside the published models",
        specs=tuple(Spec(task=problem, model=m, iterations=iterations) for m in (mine, *others)),
        seeds=seeds,
    )
    store = store if isinstance(store, Store) else Store(store)
    run([experiment], engine=engine, store=store, progress=progress)
    return summarize(store, experiment)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C or SIGTERM is only noted, so that work in the air can be saved; the second acts."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event.is_set
        return

    def note(number: int, frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event.is_set
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
