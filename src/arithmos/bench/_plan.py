"""Plans of experiments: the missing runs, their engines, and the time they take."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ..engines import Engine, Engines, Job, Refused
from ..engines.cost import TIMES, Clock, Work
from ..listed import Listed, missing, rows, shipped
from ..papers import EXPERIMENTS, FIGURES, PAPERS, SUFFIX, Experiment, Paper, Surface, load
from ..papers.catalogue import OWN
from ..spec import Model, Spec, model
from ..store import Snapshot, Store

if TYPE_CHECKING:
    import pandas as pd

NEEDED = {"sparsity": "without a regularizer", "bounds": "without ranges of its parameters"}
"""Methods of a unit that training uses, with how it is trained without them."""


@dataclass(frozen=True)
class Plan:
    """Runs to make.

    Args:
        runs: number of runs in the experiments.
        jobs: jobs by engine.
        refused: jobs that no engine can run, with the reason.
    """

    runs: int
    jobs: tuple[tuple[Engine, tuple[Job, ...]], ...]
    refused: tuple[tuple[Job, str], ...] = ()

    @property
    def missing(self) -> int:
        """Number of runs to make."""
        return sum(len(job.seeds) for _, jobs in self.jobs for job in jobs)

    @property
    def impossible(self) -> int:
        """Number of runs that no engine can make."""
        return sum(len(job.seeds) for job, _ in self.refused)

    @property
    def stored(self) -> int:
        """Number of runs that are stored already."""
        return self.runs - self.missing - self.impossible


def select(
    experiments: Sequence[str | Experiment],
    *,
    models: Collection[str | Model] | None = None,
    operations: Collection[str] | None = None,
    seeds: int | None = None,
    iterations: int | None = None,
    epochs: int | None = None,
) -> list[Experiment]:
    """Return experiments by name or file, or parts of them."""
    parts = []
    for name in experiments:
        experiment = _find(name) if isinstance(name, str) else name
        own = {spec.model.name: spec.model for spec in experiment.specs}
        chosen = None
        if models is not None:
            named = experiment.cell if experiment.specs[0].task.sequential else model
            chosen = [m if isinstance(m, Model) else own.get(m) or named(m) for m in models]
        short = {"seeds": seeds, "iterations": iterations, "epochs": epochs}
        parts.append(experiment.select(models=chosen, operations=operations, **short))
    return parts


def _find(name: str) -> Experiment:
    """Return an experiment of the catalogue or from a file."""
    if not name.endswith(SUFFIX):
        if name in FIGURES and isinstance(FIGURES[name], Surface):
            raise KeyError(f"{name} has no runs; `arithmos figure {name}` draws it")
        return EXPERIMENTS[name]
    return load(name)


def load_units(experiments: Sequence[Experiment]) -> None:
    """Load the users' files that experiments name.

    Nothing else loads them: an experiment can be inspected without running the files that it names.

    Raises:
        ValueError: a file does not load, or has no such unit.
    """
    for spec in (spec for experiment in experiments for spec in experiment.specs):
        spec.load()


def unequal(experiments: Sequence[Experiment]) -> list[str]:
    """Return one line per unit of a user's that lacks what the published units are trained with.

    Args:
        experiments: experiments whose units are loaded.
    """
    layers = {layer for experiment in experiments for spec in experiment.specs for layer in spec.model.layers}
    own = {layer.label: layer.record.module for layer in layers if layer.own}
    lacking = {label: [name for name in NEEDED if not hasattr(module, name)] for label, module in sorted(own.items())}
    return [
        f"{label} has no {' and no '.join(f'{name}()' for name in names)}, so it is trained "
        f"{' and '.join(NEEDED[name] for name in names)}; the units it is compared with may have what it lacks"
        for label, names in lacking.items()
        if names
    ]


def plan(experiments: Sequence[Experiment], store: Store | Snapshot, engines: Engines) -> Plan:
    """Plan the runs that are not stored yet; a spec that several experiments share is run once.

    An engine asked for by name makes the runs that it has not made itself. Otherwise a spec stays with the engine that
    has made most of its runs, and a spec that any engine has completed is done.

    Raises:
        Refused: there is nothing that can be run.
    """
    specs = _specs(experiments)
    by_engine: dict[str, tuple[Engine, list[Job]]] = {}
    refused: list[tuple[Job, str]] = []
    stored = store.snapshot()
    for spec, count in specs:
        lacking, preferred = missing(stored, spec, count)
        if engines.name == "auto" and not lacking[preferred]:
            continue
        try:
            engine = engines.choose(spec, preferred)
        except Refused as error:
            left = lacking[preferred if engines.name == "auto" else engines.name]
            refused.append((Job(spec, left), str(error)))
            continue
        if lacking[engine.name]:
            by_engine.setdefault(engine.name, (engine, []))[1].append(Job(spec, lacking[engine.name]))
    lines = dict.fromkeys(f"refused: {job.spec.model.name}: {why}" for job, why in refused)
    if refused and len(refused) == len(specs):
        raise Refused("; ".join(lines))
    for line in lines:
        engines.say(line)
    total = sum(count for _, count in specs)
    return Plan(total, tuple((engine, tuple(jobs)) for engine, jobs in by_engine.values()), tuple(refused))


def _specs(experiments: Sequence[Experiment]) -> list[tuple[Spec, int]]:
    """Return the specs of experiments, each once, with the largest number of its seeds."""
    seeds: dict[str, tuple[Spec, int]] = {}
    for experiment in experiments:
        for spec in experiment.specs:
            known = seeds.get(spec.id, (spec, 0))
            seeds[spec.id] = (known[0], max(known[1], experiment.seeds))
    return list(seeds.values())


def clock(store: Store | Snapshot, experiments: Sequence[Experiment] = (), *, threads: int | None = None) -> Clock:
    """Return a clock for this machine, calibrated by the stored runs."""
    others = [one for paper in PAPERS.values() if not any(paper is own for own in OWN) for one in paper.experiments]
    specs: list[Spec | Work] = [spec for one in shipped() for spec in one.specs]  # whose ids are known without a digest
    specs += [spec for one in (*others, *experiments) for spec in one.specs]
    return Clock(store.snapshot(TIMES).table(TIMES), specs, threads, gpu=torch.cuda.is_available())


def estimate(todo: Plan, pace: Clock) -> "pd.DataFrame":
    """Estimate the cost of a plan, one row per engine: runs, iterations, seconds."""
    import pandas as pd

    rows = [
        {
            "engine": engine.name,
            "runs": sum(len(job.seeds) for job in jobs),
            "iterations": sum((job.spec.iterations + 1) * len(job.seeds) for job in jobs),
            "seconds": sum(pace.seconds(job.spec, engine.name, n) * n for job in jobs for n in [len(job.seeds)]),
        }
        for engine, jobs in todo.jobs
    ]
    return pd.DataFrame(rows, columns=["engine", "runs", "iterations", "seconds"])


def catalogue(
    store: str | Path | Store = "runs", *, papers: Collection[Paper] | None = None, engine: str = "auto"
) -> "pd.DataFrame":
    """List the experiments, one row each: item in the paper, specs, stored runs, seconds for the rest.

    Figures without runs come last.
    """
    import pandas as pd

    stored = (store if isinstance(store, Store) else Store(store)).snapshot(TIMES)
    engines, pace = Engines(engine, say=lambda line: None), clock(stored)
    chosen = list(PAPERS.values() if papers is None else papers)
    experiments = [experiment for paper in chosen for experiment in paper.experiments]
    surfaces = [Listed(f"{paper.key}/{surface.name}", surface.item) for paper in chosen for surface in paper.surfaces]
    return pd.DataFrame(rows([*experiments, *surfaces], stored, engines.likely, pace.seconds, engines.name))
