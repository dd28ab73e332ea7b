r"""Thresholds for sequences of digits, one a test length, from reference runs whose cell has nothing to learn.

.. math:: \tau_L = \bar m + t_{0.99} \, s / \sqrt S

over the test errors m of S reference runs, each at the record of its lowest validation error. It is a bound of the
*mean* error of the reference, so one that is as good as the reference need not be below it.

As released, t has 8 degrees of freedom whatever S is, and some seeds are left out: of the product 1, 3 and 8, which
"did not solve it", and of the sum 0. Corrected, there are S − 1 degrees of freedom and every seed counts. Of our own
runs those that did not solve it never do: one that has learned nothing makes a threshold that nearly all are below.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import statistics
from ..engines.contract import NEVER
from ..spec.stored import problem
from ..store import KEY, Snapshot, Store

Floats = NDArray[np.float64]

RELEASED = {"mul": (0, 2, 4, 5, 6, 7, 9), "add": (1, 2, 3, 4, 5, 6, 7, 8, 9)}
"""Seeds of the published reference runs that count."""

FREEDOM = 8
"""Degrees of freedom of t in the published thresholds."""

UNSOLVED = 3.0
"""A reference run did not solve it if its validation error is more than so many times that of the best of them."""

CELLS = ("SolvedMul", "SolvedAdd")
"""Units of the reference."""


@dataclass(frozen=True)
class Reference:
    """The reference runs of a problem.

    Args:
        operation: "mul" or "add".
        seeds: one a run.
        lengths: of the test sequences.
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

    def used(self, *, as_released: bool) -> tuple[int, ...]:
        """Seeds of the runs that the thresholds are made of."""
        counted = RELEASED[self.operation] if as_released else self.seeds
        return tuple(seed for seed in self.seeds if seed in counted and seed not in self.unsolved)

    def thresholds(self, *, as_released: bool) -> dict[int, float]:
        """The test error of each length below which a run is solved; NaN where there are fewer than two runs."""
        errors = self.errors[np.isin(self.seeds, self.used(as_released=as_released))]
        limits = [statistics.upper_mean(column, freedom=FREEDOM if as_released else None) for column in errors.T]
        return dict(zip(self.lengths, limits, strict=True))

    def note(self, *, as_released: bool) -> str:
        """What the thresholds rest on, in a line."""
        used = self.used(as_released=as_released)
        failed = f" Of all of them {_listed(self.unsolved)} did not solve it." if self.unsolved else ""
        what = {"mul": "products", "add": "sums"}[self.operation]
        made = f"made of {len(used)} of {len(self.seeds)} reference runs, {_listed(used)}."
        return f"Thresholds of {what} are {made}{failed}"


def _listed(seeds: tuple[int, ...]) -> str:
    return f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds)) or 'none'}"


def references(store: Store | Snapshot) -> dict[str, Reference]:
    """The reference runs in a store, by the problem that they are of."""
    store = store.snapshot()
    specs = store.described(["layers", "length"])
    ids = specs.loc[specs["layers"].isin(CELLS) & specs["length"].notna(), "spec_id"]
    columns = ["spec", "operation", "test_lengths", "best_validation", "best_step", "curve_step", "extra"]
    runs = store.load(specs=ids, columns=columns) if len(ids) else pd.DataFrame(columns=["spec_id", "engine"])
    found: dict[str, Reference] = {}
    for _, part in runs.groupby(["spec_id", "engine"], sort=True):
        rows = [{str(name): value for name, value in row.items()} for row in part.to_dict("records")]
        name = problem(rows[0]["spec"])
        if name not in found or len(rows) > len(found[name].seeds):  # of the engine that has most
            found[name] = Reference(
                operation=rows[0]["operation"],
                seeds=tuple(row["seed"] for row in rows),
                lengths=tuple(rows[0]["test_lengths"].tolist()),
                validation=np.array([row["best_validation"] for row in rows]),
                errors=np.array([best_errors(row) for row in rows]),
            )
    return found


def with_thresholds(store: Store | Snapshot, runs: pd.DataFrame) -> pd.DataFrame:
    """Stored runs, those on sequences of digits judged at the length that they were trained on.

    Args:
        store: where the runs are.
        runs: some of them, with their columns `threshold_released` and so on, as many of these as are wanted.
    """
    store = store.snapshot()
    for criterion in ("released", "corrected"):
        absent = {f"threshold_{criterion}": np.nan, f"solved_at_{criterion}": NEVER}
        runs = runs.assign(**{name: value for name, value in absent.items() if name not in runs})
    specs = store.described(["length"])
    ids = specs.loc[specs["length"].notna() & specs["spec_id"].isin(runs["spec_id"].unique()), "spec_id"]
    if ids.empty:
        return runs
    known, keys = references(store), [*KEY]
    sequences = store.load(specs=ids, columns=["spec", "length", "curve_step", "curve_test"]).set_index(keys)
    runs = runs.set_index(keys)
    sequences = sequences[sequences.index.isin(runs.index)]
    for spec, part in sequences.groupby("spec"):
        if (reference := known.get(problem(str(spec)))) is None:
            continue
        for criterion in ("released", "corrected"):
            limit = reference.thresholds(as_released=criterion == "released")[int(part["length"].iloc[0])]
            below = [first_below(*record, limit) for record in zip(part["curve_step"], part["curve_test"], strict=True)]
            measured = pd.DataFrame({f"threshold_{criterion}": limit, f"solved_at_{criterion}": below}, part.index)
            for name in measured:
                runs.loc[part.index, name] = measured[name]
    return runs.reset_index()


def first_below(step: NDArray[np.int64], errors: Floats, limit: float) -> int:
    """The step of the first record whose error is below a limit, or `NEVER`."""
    below = np.flatnonzero(np.asarray(errors) < limit)
    return int(step[below[0]]) if below.size else NEVER


def length_errors(row: Mapping[str, Any]) -> Floats:
    """Test errors `[records, lengths]` of a stored run."""
    return np.asarray(row["curve_lengths"], np.float64).reshape(len(row["curve_step"]), -1)


def best_errors(row: Mapping[str, Any]) -> Floats:
    """Test errors of each length at the best record of a stored run."""
    errors: Floats = length_errors(row)[np.searchsorted(row["curve_step"], row["best_step"])]
    return errors
