"""Rank units on one protocol: run what is missing, and put it beside the runs of this project."""

import dataclasses
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _checks
from ..papers import PAPERS, Experiment
from ..papers.contests import entry
from ..report.tables.ranking import joined, of_models, ranking, shipped
from ..store import Store
from ._plan import load_units
from ._run import Outcome, Progress, run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Ranked:
    """Result of `rank`.

    Args:
        frame: solved runs of each cell; see `arithmos.report.tables.ranking`.
        outcome: summary of the runs that were made; None if none were asked for.
    """

    frame: "pd.DataFrame"
    outcome: Outcome | None = None


def rank(
    *,
    mine: Sequence[str] = (),
    models: Collection[str] | None = None,
    operations: Collection[str] | None = None,
    inputs: int = 2,
    behind: bool = False,
    seeds: int = 25,
    lr: float = 1e-3,
    strength: float = 10.0,
    store: str | Path | Store = "runs",
    engine: str = "auto",
    threads: int | None = None,
    budget_s: float = math.inf,
    progress: Progress | None = None,
) -> Ranked:
    """Rank units by the share of solved runs, on each operation and in each of nine ranges.

    Runs of this project come with the package. Those of `mine` and of `models` are made if the store lacks them, and
    take their place.

    Args:
        mine: units of the user's, `path/to/file.py:Class`.
        models: names of units to run and to show; by default all are shown and none is run.
        operations: operations to use; all by default.
        inputs: number of inputs: 2, 10 or 100.
        behind: whether a NAU stands before each unit.
        seeds: number of seeds per range.
        lr: learning rate of Adam for the units of the user's.
        strength: strength of their sparsity regularizer.
        store: folder of the runs.
        engine, threads, budget_s, progress: as in `run`.
    """
    store = store if isinstance(store, Store) else Store(store)
    contests = _contests("behind" if behind else "ranking", operations, inputs, seeds)
    own = [entry(contest, unit, lr=lr, strength=strength) for contest in contests for unit in mine]
    named = [_of(contest, models) for contest in contests]
    todo = [*own, *(part for part in named if models is not None and part.specs)]
    outcome = None
    if todo:
        load_units(todo)
        outcome = run(todo, store=store, engine=engine, threads=threads, budget_s=budget_s, progress=progress)
    known = shipped()
    known = of_models(known[known["contest"].isin([part.item for part in contests])], models)
    return Ranked(joined(ranking(store, [*own, *named]), known), outcome)


def _contests(paper: str, operations: Collection[str] | None, inputs: int, seeds: int) -> list[Experiment]:
    """Return the experiments of a ranking with these operations and inputs."""
    every = PAPERS[paper].experiments
    sizes = [*dict.fromkeys(part.specs[0].task.input_size for part in every)]
    if inputs not in sizes:
        raise ValueError(f"inputs must be one of {', '.join(map(str, sizes))}, got {inputs}")
    known = {part.specs[0].task.operation: part for part in every if part.specs[0].task.input_size == inputs}
    chosen = [_checks.one_of("operation", name, known) for name in operations or known]
    return [dataclasses.replace(known[name], seeds=seeds) for name in chosen]


def _of(contest: Experiment, models: Collection[str] | None) -> Experiment:
    """Return the part of an experiment with some models; a name that no contest has is an error."""
    if models is None:
        return contest
    known = {spec.model.name for part in PAPERS[contest.paper].experiments for spec in part.specs}
    for name in models:
        _checks.one_of("model", name, sorted(known))
    return dataclasses.replace(contest, specs=tuple(spec for spec in contest.specs if spec.model.name in models))
