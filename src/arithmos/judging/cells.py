"""`judged`: the runs that count in a cell, the solved ones among them, and their numbers."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import statistics
from ..spec import Spec
from ..statistics import Interval
from ..store import Snapshot, Store
from .exact import with_verdicts
from .runs import criterion_of, of_one_engine, solved
from .sequences import AtLength, Place, by_length

Floats = NDArray[np.float64]
CellKey = tuple[str, int, Place, str]
T = TypeVar("T")


class Asked(Protocol):
    """Specs and seeds of an experiment, and the positions of the specs on its axis."""

    @property
    def specs(self) -> tuple[Spec, ...]: ...

    @property
    def seeds(self) -> int: ...

    @property
    def axis(self) -> str: ...

    @property
    def criterion(self) -> str: ...

    @property
    def by_weights(self) -> bool: ...

    def places(self) -> Iterator[tuple[Spec, Place]]: ...


def _none() -> Floats:
    return np.empty(0)


@dataclass(frozen=True)
class Judged:
    """Runs of a spec that count, with the values of the solved ones; its numbers are computed when asked for.

    Args:
        engine: engine that made them; empty if there are none.
        n: number of runs.
        k: number of solved runs.
        ended_early: number of runs that ended on NaN.
        solved_at: step at which each solved run was first below the threshold, if its row says so.
        sparsity: sparsity error of each solved run that has one.
        gate_solved, gate_unsolved: gate of each run, solved or not; of networks without a gate, none.
        seen, seen_solved: how many the exact judge has seen, and how many of those are solved.
        exact, exact_solved: how many of those are the task's formula once their weights are rounded.
        exact_sparsity: sparsity error of each of these, which says how far its weights were moved.
        threshold: test error below which they are solved, where reference runs say so; NaN elsewhere.
        note: note on the origin of the threshold.
        rises: of each solved run on sequences of digits, by how much its cell is given more from a digit to the next.
        intended: whether both weights of that cell round to 1.
        weights: effective weights of each run after its last update, where the experiment's numbers are made of them.
    """

    engine: str = ""
    n: int = 0
    k: int = 0
    ended_early: int = 0
    solved_at: Floats = field(default_factory=_none)
    sparsity: Floats = field(default_factory=_none)
    gate_solved: Floats = field(default_factory=_none)
    gate_unsolved: Floats = field(default_factory=_none)
    seen: int = 0
    seen_solved: int = 0
    exact: int = 0
    exact_solved: int = 0
    exact_sparsity: Floats = field(default_factory=_none)
    threshold: float = math.nan
    note: str = ""
    rises: Floats = field(default_factory=_none)
    intended: Floats = field(default_factory=_none)
    weights: Floats = field(default_factory=_none)

    @property
    def gate(self) -> Floats:
        """Gates of all runs."""
        return np.concatenate([self.gate_solved, self.gate_unsolved])

    @cached_property
    def success_rate(self) -> Interval:
        """Share of solved runs."""
        return statistics.wilson(self.k, self.n)

    @cached_property
    def exact_rate(self) -> Interval:
        """Share of exact runs among those that the exact judge has seen."""
        return statistics.wilson(self.exact, self.seen)

    @cached_property
    def solved_at_median(self) -> Interval:
        """Median of solved-at."""
        return statistics.median(self.solved_at)

    @cached_property
    def solved_at_mean(self) -> Interval:
        """Mean of solved-at."""
        return statistics.gamma_mean(self.solved_at)

    @cached_property
    def sparsity_mean(self) -> Interval:
        """Mean of the sparsity errors."""
        return statistics.beta_mean(self.sparsity)

    def by(self, estimator: "Callable[[Judged], T]") -> T:
        """Return what an estimator of a paper makes of the runs, computed once."""
        made: dict[Any, T] = self.__dict__.setdefault("_made", {})
        return made[estimator] if estimator in made else made.setdefault(estimator, estimator(self))


Estimator = Callable[[Judged], Interval]


@dataclass(frozen=True)
class Cells:
    """Runs that count in some experiments.

    Args:
        criterion: name of the thresholds that decided which of them are solved; None for that of each experiment.
        found: by the id of a spec, how many seeds are asked for, the place on the axis, and the name of the thresholds.
    """

    criterion: str | None
    found: Mapping[CellKey, Judged]

    def of(self, experiment: Asked) -> Iterator[tuple[Spec, Place, Judged]]:
        """Yield the cells of an experiment in order: a spec, its position, and its runs."""
        for spec, at in experiment.places():
            yield spec, at, self.found.get((spec.id, experiment.seeds, at, self.criterion_of(experiment)), Judged())

    def criterion_of(self, experiment: Asked) -> str:
        """Return the name of the thresholds by which the runs of an experiment are judged."""
        return criterion_of(experiment, self.criterion)


MEASURED = ["thresholds", "solved_at", "best_test", "best_sparsity", "best_gate", "ended_early", "exact"]
"""Columns of a store that judging needs."""


def judged(store: Store | Snapshot, experiments: Iterable[Asked], criterion: str | None = None) -> Cells:
    """Return the runs that count in some experiments: of their seeds, and of one engine per cell.

    A run is solved when its test error at the best record is below the threshold. A cell is made by one engine, the
    one with most of the experiment's seeds. Runs on sequences are judged at every length on the axis, or, in a table,
    at that of their training; without reference runs none of them counts.

    Args:
        store: where the runs are.
        experiments: experiments to judge.
        criterion: name of the thresholds; by default that of each experiment, or the first of its tasks.

    Raises:
        ValueError: an experiment has no thresholds of that name.
    """
    asked: dict[CellKey, Spec] = {}
    weighed: set[CellKey] = set()
    for experiment in experiments:
        name = criterion_of(experiment, criterion)
        places = {(spec.id, experiment.seeds, at, name): spec for spec, at in experiment.places()}
        asked |= places
        weighed |= places.keys() if experiment.by_weights else set()
    stored = store.snapshot(MEASURED)
    single = {key for key, spec in asked.items() if not spec.task.references()}
    runs = with_verdicts(stored, stored.load(specs={key[0] for key in single}, columns=MEASURED))
    cells: dict[tuple[str, int, str], Judged] = {}
    for seeds, name in {(seeds, name) for _, seeds, _, name in single}:
        wanted = {key[0] for key in single if (key[1], key[3]) == (seeds, name)}
        columns = [f"threshold_{name}", f"solved_at_{name}", *MEASURED[2:]]
        counted = of_one_engine(runs[runs["spec_id"].isin(wanted)], seeds)
        values = counted.reindex(columns=columns).to_numpy(np.float64, na_value=np.nan)
        for spec_id, rows in counted.reset_index().groupby("spec_id").indices.items():
            cells[str(spec_id), seeds, name] = _cell(counted["engine"].iloc[rows[0]], *values[rows].T)
    found = {key: cells[one] for key in single if (one := (key[0], key[1], key[3])) in cells}
    found |= {key: replace(found[key], weights=_weights(stored, *key[:2])) for key in weighed & found.keys()}
    return Cells(criterion, found | _sequences(stored, {key: spec for key, spec in asked.items() if key not in single}))


def _weights(store: Snapshot, spec_id: str, seeds: int) -> Floats:
    """Return the weights of the runs that count and keep them, `[runs, weights]`."""
    rows = of_one_engine(store.load(specs=[spec_id], columns=["end_weights"]), seeds)["end_weights"].dropna()
    return np.stack([np.asarray(row, np.float64) for row in rows]) if len(rows) else _none()


def _sequences(store: Snapshot, asked: Mapping[CellKey, Spec]) -> dict[CellKey, Judged]:
    """Return the cells of runs on sequences."""
    found: dict[CellKey, Judged] = {}
    for seeds, name in {(seeds, name) for _, seeds, _, name in asked}:
        cells = {key: spec for key, spec in asked.items() if (key[1], key[3]) == (seeds, name)}
        runs = by_length(store, {spec.id: spec for spec in cells.values()}.values(), seeds, name)
        for key, spec in cells.items():
            length = spec.task.length if isinstance(key[2], str) else key[2]
            if one := runs.get((spec.id, length)):
                found[key] = _at_length(one)
    return found


def _at_length(runs: AtLength) -> Judged:
    if math.isnan(runs.threshold):
        return Judged(note=runs.note)
    limit = np.full(runs.test.size, runs.threshold)
    values = (limit, runs.solved_at, runs.test, runs.sparsity, runs.gate, runs.ended_early, limit * math.nan)
    below = solved(runs.test, runs.threshold)
    return replace(
        _cell(runs.engine, *values),
        threshold=runs.threshold,
        note=runs.note,
        rises=runs.rises[below],
        intended=runs.intended[below],
    )


def _cell(
    engine: str,
    limit: Floats,
    solved_at: Floats,
    test: Floats,
    sparsity: Floats,
    gate: Floats,
    ended_early: Floats,
    exact: Floats,
) -> Judged:
    below = solved(test, limit)
    return Judged(
        engine=engine,
        n=below.size,
        k=int(below.sum()),
        ended_early=int(ended_early.sum()),
        solved_at=solved_at[below & (solved_at >= 0)],
        sparsity=_finite(sparsity[below]),  # a user's unit may have none
        gate_solved=_finite(gate[below]),
        gate_unsolved=_finite(gate[~below]),
        seen=_finite(exact).size,  # NaN if not judged
        seen_solved=_finite(exact[below]).size,
        exact=int((exact == 1).sum()),
        exact_solved=int((exact[below] == 1).sum()),
        exact_sparsity=_finite(sparsity[exact == 1]),
    )


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]
