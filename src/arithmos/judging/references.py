r"""Thresholds for sequences of digits, one per test length, from reference runs whose cell has nothing to learn.

.. math:: \tau_L = \bar m + t_{0.99} \, s / \sqrt S

over the test errors m of S reference runs, each at the record of its lowest validation error. It is a bound of the
*mean* error of the reference, so one that is as good as the reference need not be below it.

Which seeds count and how many degrees of freedom t has is said by the task, under the name of the threshold. Runs that
did not solve it never count: one that has learned nothing makes a threshold that nearly all are below.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import statistics
from .._frames import records
from ..engines.contract import NEVER
from ..spec.stored import problem
from ..store import KEY, PREFIXES, Snapshot, Store
from ..tasks import ReferenceRule
from ..tasks.threshold import reference_rules
from .runs import first_below, of_one_engine, solved

Floats = NDArray[np.float64]

UNSOLVED = 3.0
"""Factor over the best validation error beyond which a reference run counts as not solved."""

CELLS = ("SolvedMul", "SolvedAdd")
"""Units of the reference."""


@dataclass(frozen=True)
class Reference:
    """Reference runs of a problem.

    Args:
        operation: "mul" or "add".
        seeds: one per run.
        lengths: lengths of the test sequences.
        validation: lowest validation error of each run.
        errors: test errors at that record, `[runs, lengths]`.
    """

    operation: str
    seeds: tuple[int, ...]
    lengths: tuple[int, ...]
    validation: Floats
    errors: Floats

    @property
    def unsolved(self) -> tuple[int, ...]:
        """Seeds of the runs that did not solve it."""
        solved = np.isfinite(self.errors).all(axis=1) & (self.validation <= UNSOLVED * np.nanmin(self.validation))
        return tuple(seed for seed, found in zip(self.seeds, solved, strict=True) if not found)

    def used(self, criterion: str) -> tuple[int, ...]:
        """Return the seeds of the runs that the thresholds of a name are made of."""
        counted = self._rule(criterion).seeds
        return tuple(seed for seed in self.seeds if seed not in self.unsolved and (counted is None or seed in counted))

    def thresholds(self, criterion: str) -> dict[int, float]:
        """Return the test error of each length below which a run is solved; NaN where there are fewer than two runs."""
        errors = self.errors[np.isin(self.seeds, self.used(criterion))]
        limits = [statistics.upper_mean(column, freedom=self._rule(criterion).freedom) for column in errors.T]
        return dict(zip(self.lengths, limits, strict=True))

    def _rule(self, criterion: str) -> ReferenceRule:
        return reference_rules(self.operation)[criterion]

    def note(self, criterion: str) -> str:
        """Return a line on the origin of the thresholds."""
        used = self.used(criterion)
        failed = f" Of all of them {_listed(self.unsolved)} did not solve it." if self.unsolved else ""
        what = {"mul": "products", "add": "sums"}[self.operation]
        made = f"made of {len(used)} of {len(self.seeds)} reference runs, {_listed(used)}."
        return f"Thresholds of {what} are {made}{failed}"


def _listed(seeds: tuple[int, ...]) -> str:
    return f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds)) or 'none'}"


def references(store: Store | Snapshot) -> dict[str, Reference]:
    """Return the reference runs in a store, by problem."""
    store = store.snapshot()
    specs = store.described(["layers", "length"])
    ids = specs.loc[specs["layers"].isin(CELLS) & specs["length"].notna(), "spec_id"]
    columns = ["spec", "operation", "test_lengths", "best_validation", "best_step", "curve_step", "extra"]
    runs = of_one_engine(store.load(specs=ids, columns=columns))
    found: dict[str, Reference] = {}
    for _, part in runs.groupby("spec_id", sort=True):
        rows = records(part)
        name = problem(rows[0]["spec"])
        if name not in found or len(rows) > len(found[name].seeds):
            found[name] = Reference(
                operation=rows[0]["operation"],
                seeds=tuple(row["seed"] for row in rows),
                lengths=tuple(rows[0]["test_lengths"].tolist()),
                validation=np.array([row["best_validation"] for row in rows]),
                errors=np.array([best_errors(row) for row in rows]),
            )
    return found


def judge_runs(store: Store | Snapshot, runs: pd.DataFrame, criterion: str | None = None) -> pd.DataFrame:
    """Return stored runs with `criterion`, `threshold`, `solved_at` and `solved`.

    Each is judged by the threshold of the name given or, if it has none, by the first that it has. Runs on sequences
    are judged at the length that they were trained on.

    Args:
        store: where the runs are.
        runs: some of them, with the columns `thresholds`, `solved_at` and `best_test`.
        criterion: name of the threshold.
    """
    runs = with_thresholds(store, runs)
    names = sorted(names_of(runs), key=lambda name: name != criterion) or [""]
    limits, steps = (
        runs.reindex(columns=[prefix + name for name in names]).to_numpy(np.float64)
        for prefix in (PREFIXES["thresholds"], PREFIXES["solved_at"])
    )
    place = np.arange(len(runs)), (~np.isnan(limits)).argmax(axis=1)
    return runs.assign(
        criterion=np.array(names, object)[place[1]],
        threshold=limits[place],
        solved_at=np.nan_to_num(steps[place], nan=NEVER).astype(np.int64),
        solved=solved(runs["best_test"], limits[place]),
    )


def names_of(runs: pd.DataFrame) -> list[str]:
    """Return the names of the thresholds that some of the runs have."""
    prefix = PREFIXES["thresholds"]
    return [name.removeprefix(prefix) for name in map(str, runs) if name.startswith(prefix)]


def with_thresholds(store: Store | Snapshot, runs: pd.DataFrame) -> pd.DataFrame:
    """Return stored runs, those on sequences with thresholds and solved-at steps at the length of their training."""
    store = store.snapshot()
    specs = store.described(["spec", "length", "operation"])
    specs = specs[specs["length"].notna() & specs["spec_id"].isin(runs["spec_id"].unique())]
    if specs.empty:
        return runs
    known, keys = references(store), [*KEY]
    curves = store.load(specs=specs["spec_id"], columns=["curve_step", "curve_test"]).set_index(keys)
    runs = runs.set_index(keys)
    curves = curves[curves.index.isin(runs.index)]
    for spec_id, spec, length, operation in specs[["spec_id", "spec", "length", "operation"]].itertuples(index=False):
        reference, part = known.get(problem(spec)), curves[curves.index.get_level_values("spec_id") == spec_id]
        for name in reference_rules(operation):
            limit = math.nan if reference is None else reference.thresholds(name)[int(length)]
            below = [first_below(*record, limit) for record in zip(part["curve_step"], part["curve_test"], strict=True)]
            runs.loc[part.index, PREFIXES["thresholds"] + name] = limit
            runs.loc[part.index, PREFIXES["solved_at"] + name] = below
    return runs.reset_index()


def length_errors(row: Mapping[str, Any]) -> Floats:
    """Return the test errors `[records, lengths]` of a stored run."""
    return np.asarray(row["curve_lengths"], np.float64).reshape(len(row["curve_step"]), -1)


def best_errors(row: Mapping[str, Any]) -> Floats:
    """Return the test errors of each length at the best record of a stored run."""
    errors: Floats = length_errors(row)[np.searchsorted(row["curve_step"], row["best_step"])]
    return errors
