"""Runs of a cell, and which are solved, for tables, verdicts, claims, pages and progress alike."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..engines.contract import NEVER, Run
from ..spec import Spec


class Criteria(Protocol):
    """Specs whose tasks have named thresholds, and the name that is used by default; empty for the first."""

    @property
    def specs(self) -> tuple[Spec, ...]: ...

    @property
    def criterion(self) -> str: ...


def criterion_of(experiment: Criteria, criterion: str | None = None) -> str:
    """Return the name of the thresholds that decide: the given one, the experiment's, or the first of its tasks'.

    Raises:
        ValueError: its tasks have no threshold of that name.
    """
    names = [*dict.fromkeys(name for spec in experiment.specs for name in spec.task.criteria)]
    if criterion is None:
        return experiment.criterion or next(iter(names), "")
    if criterion not in names:
        known = " or ".join(map(repr, names)) or "left out, for there are no thresholds"
        raise ValueError(f"criterion must be {known}, got {criterion!r}")
    return criterion


def solved(test: Any, threshold: Any) -> Any:
    """Return whether test errors at the best record are below a threshold; never if either is NaN."""
    return test < threshold


def is_solved(run: Run) -> bool | None:
    """Return whether a new run is solved by the first of its thresholds; None if it has none."""
    limits = [limit for limit in run.thresholds.values() if not np.isnan(limit)]
    return bool(solved(run.best_test, limits[0])) if limits else None


def unsolved(test: float, thresholds: Mapping[str, float]) -> str:
    """Return the thresholds that a test error is not below, in words; empty if it is below all there are."""
    missed = [(name, limit) for name, limit in thresholds.items() if not np.isnan(limit) and not solved(test, limit)]
    return " and ".join(f"{limit:.3g} ({name})" for name, limit in missed)


def first_below(step: NDArray[np.int64], errors: NDArray[np.floating[Any]], limit: float) -> int:
    """Return the step of the first record whose error is below a limit, or `NEVER`."""
    below = np.flatnonzero(solved(np.asarray(errors), limit))
    return int(step[below[0]]) if below.size else NEVER


def of_one_engine(runs: pd.DataFrame, seeds: int | None = None) -> pd.DataFrame:
    """Return the runs of each spec that count: those of the engine with most of them, of equals the first by name.

    Args:
        runs: runs of stored specs.
        seeds: number of seeds that count, 0 … seeds - 1; all by default.
    """
    if seeds is not None:
        runs = runs[runs["seed"] < seeds]
    if runs.empty:
        return runs
    counts = runs.groupby(["spec_id", "engine"], sort=True)["seed"].size()
    best = dict(counts.groupby("spec_id").idxmax())
    return runs[runs["engine"] == runs["spec_id"].map({spec_id: engine for spec_id, (_, engine) in best.items()})]
