"""`judged`: which runs count in a cell, which of them are solved, and the numbers that tables make of them."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import statistics
from ..spec import Spec
from ..statistics import Interval
from ..store import Snapshot, Store
from ..tasks import DigitSequences
from .sequences import AtLength, Place, by_length

Criterion = Literal["released", "corrected"]
Floats = NDArray[np.float64]


class Asked(Protocol):
    """What an experiment asks for: specs, seeds, and the places on its axis that the specs stand at."""

    @property
    def specs(self) -> tuple[Spec, ...]: ...

    @property
    def seeds(self) -> int: ...

    @property
    def axis(self) -> str: ...

    def places(self) -> Iterator[tuple[Spec, Place]]: ...


def _none() -> Floats:
    return np.empty(0)


@dataclass(frozen=True)
class Judged:
    """The runs of a spec that count, and of the solved ones what is summarized; its numbers are made when asked for.

    Args:
        engine: who made them; empty if there are none.
        n: how many.
        k: how many of them are solved.
        ended_early: how many were cut by NaN.
        solved_at: when each solved run was first below the threshold, if its row says so.
        sparsity: sparsity error of each solved run that has one.
        gate_solved, gate_unsolved: gate of each run, solved or not; of networks without a gate, none.
        seen, seen_solved: how many the exact judge has seen, and how many of those are solved.
        exact, exact_solved: how many of those are the task's formula once their weights are rounded.
        exact_sparsity: sparsity error of each of these, which says how far its weights were moved.
        threshold: test error below which they are solved, where reference runs say so; NaN elsewhere.
        note: what that rests on.
        rises: of each solved run on sequences of digits, by how much its cell is given more from a digit to the next.
        intended: whether both weights of that cell round to 1.
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
    def solved_at_mean_released(self) -> Interval:
        """Mean of solved-at, by the estimator behind the printed one."""
        return statistics.gamma_mean_as_released(self.solved_at)

    @cached_property
    def sparsity_mean(self) -> Interval:
        """Mean of the sparsity errors."""
        return statistics.beta_mean(self.sparsity)

    @cached_property
    def sparsity_mean_released(self) -> Interval:
        """Mean of the sparsity errors, by the estimator behind the printed one."""
        return statistics.beta_mean_as_released(self.sparsity)


@dataclass(frozen=True)
class Cells:
    """The runs that count in some experiments.

    Args:
        criterion: what decided which of them are solved.
        found: by the id of a spec, how many seeds are asked for, and the place on the axis.
    """

    criterion: Criterion
    found: Mapping[tuple[str, int, Place], Judged]

    def of(self, experiment: Asked) -> Iterator[tuple[Spec, Place, Judged]]:
        """The cells of an experiment in its order: a spec each, its place, and its runs."""
        for spec, at in experiment.places():
            yield spec, at, self.found.get((spec.id, experiment.seeds, at), Judged())


def measured(criterion: Criterion) -> list[str]:
    """Return the columns of a store that judging needs."""
    return ["thresholds", "solved_at", "best_test", "best_sparsity", "best_gate", "ended_early", "exact"]


def judged(store: Store | Snapshot, experiments: Iterable[Asked], criterion: Criterion = "released") -> Cells:
    """The runs that count in some experiments: of their seeds, and of one engine a cell.

    A run is solved when its test error at the best record is below the threshold. A cell is made by one engine, the
    one with most of the experiment's seeds. Runs on sequences of digits are judged at every length on the axis, or, in
    a table, at that of their training; without reference runs none of them counts.

    Args:
        store: where the runs are.
        experiments: what they are of.
        criterion: the thresholds behind the published decisions, or those of the task's own subsets.
    """
    if criterion not in ("released", "corrected"):
        raise ValueError(f"criterion must be 'released' or 'corrected', got {criterion!r}")
    everything = [(spec, experiment.seeds, at) for experiment in experiments for spec, at in experiment.places()]
    asked = {(spec.id, seeds, at) for spec, seeds, at in everything if not isinstance(spec.task, DigitSequences)}
    stored = store.snapshot(measured(criterion))
    runs = stored.load(specs={spec_id for spec_id, _, _ in asked}, columns=measured(criterion))
    names = [f"threshold_{criterion}", f"solved_at_{criterion}", *measured(criterion)[2:]]
    runs = runs.reindex(columns=[*runs.columns.union(names)])
    seed, values = runs["seed"].to_numpy(), [runs[name].to_numpy(np.float64) for name in names]
    made: dict[str, dict[str, NDArray[np.intp]]] = {}
    for (name, engine), part in runs.groupby(["spec_id", "engine"], sort=True):
        made.setdefault(str(name), {})[str(engine)] = part.index.to_numpy()
    cells: dict[tuple[str, int], Judged] = {}
    for spec_id, seeds in {(spec_id, seeds) for spec_id, seeds, _ in asked}:
        counted = [(engine, rows[seed[rows] < seeds]) for engine, rows in made.get(spec_id, {}).items()]
        engine, rows = max(counted, key=lambda made: len(made[1]), default=("", np.empty(0, np.intp)))
        if len(rows):
            cells[spec_id, seeds] = _cell(engine, *(column[rows] for column in values))
    found = {key: cells[key[:2]] for key in asked if key[:2] in cells}
    return Cells(criterion, found | _sequences(stored, everything, as_released=criterion == "released"))


def _sequences(
    store: Snapshot, everything: Iterable[tuple[Spec, int, Place]], *, as_released: bool
) -> dict[tuple[str, int, Place], Judged]:
    """Those of the runs that are on sequences of digits."""
    asked: dict[int, list[tuple[Spec, Place, float]]] = {}
    for spec, seeds, at in everything:
        if isinstance(spec.task, DigitSequences):
            asked.setdefault(seeds, []).append((spec, at, spec.task.length if isinstance(at, str) else at))
    found: dict[tuple[str, int, Place], Judged] = {}
    for seeds, cells in asked.items():
        runs = by_length(store, {spec.id: spec for spec, _, _ in cells}.values(), seeds, as_released=as_released)
        for spec, at, length in cells:
            if one := runs.get((spec.id, length)):
                found[spec.id, seeds, at] = _at_length(one)
    return found


def _at_length(runs: AtLength) -> Judged:
    if math.isnan(runs.threshold):
        return Judged(note=runs.note)
    limit = np.full(runs.test.size, runs.threshold)
    values = (limit, runs.solved_at, runs.test, runs.sparsity, runs.gate, runs.ended_early, limit * math.nan)
    solved = runs.test < runs.threshold
    return replace(
        _cell(runs.engine, *values),
        threshold=runs.threshold,
        note=runs.note,
        rises=runs.rises[solved],
        intended=runs.intended[solved],
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
    solved = test < limit
    return Judged(
        engine=engine,
        n=solved.size,
        k=int(solved.sum()),
        ended_early=int(ended_early.sum()),
        solved_at=solved_at[solved & (solved_at >= 0)],
        sparsity=_finite(sparsity[solved]),  # a user's unit may have none
        gate_solved=_finite(gate[solved]),
        gate_unsolved=_finite(gate[~solved]),
        seen=_finite(exact).size,  # NaN if not judged
        seen_solved=_finite(exact[solved]).size,
        exact=int((exact == 1).sum()),
        exact_solved=int((exact[solved] == 1).sum()),
        exact_sparsity=_finite(sparsity[exact == 1]),
    )


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]
