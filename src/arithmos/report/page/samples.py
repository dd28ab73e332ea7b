"""Sample runs of every spec, with learning curves and weights, small enough to embed in a page."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..._frames import records
from ...judging.references import judge_runs
from ...judging.runs import of_one_engine
from ...judging.thin import thinned
from ...store import KEY, Snapshot, Store
from .embedded import significant
from .run import matrices

EACH = 2
"""Solved and unsolved runs to show per spec: those with the lowest seeds."""
_CURVES = ("validation", "test", "sparsity")
_HEAVY = ("best_weights", "curve_step", *(f"curve_{name}" for name in _CURVES))
MEASURED = ("best_step", "best_test", "best_sparsity", "best_gate", "ended_early")


def samples(
    store: Store | Snapshot, criterion: str | None = None, specs: Iterable[str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return a few runs of every spec of a store, by spec id, ready for JSON.

    A spec has `spec`, its JSON; `threshold`; `arrays`, the name, outputs and inputs of each weight matrix; and `runs`.
    A run has `seed`, `engine`, `solved`, `solved_at`, `ended_early`; `best_step`, with `test_error`, `sparsity_error`,
    `gate` and `weights` there, the last in thousandths, matrix by matrix; and its curve as `step`, `validation`,
    `test`, `sparsity`.

    Args:
        store: the store of the runs.
        criterion: name of the thresholds that decide which runs are solved; by default the first of each run.
        specs: ids of the specs; all by default.
    """
    store = store.snapshot(["thresholds", "solved_at", *MEASURED])
    runs = of_one_engine(store.load(specs=specs, columns=["thresholds", "solved_at", *MEASURED]))
    runs = judge_runs(store, runs, criterion).sort_values(["spec_id", "seed"])
    chosen = runs.groupby(["spec_id", "solved"], sort=False).head(EACH)
    names = chosen[[*KEY]].itertuples(index=False, name=None)
    heavy = store.load(runs=names, columns=["spec", *_HEAVY])
    found: dict[str, dict[str, Any]] = {}
    kept = heavy[
        heavy[["best_weights", "curve_step"]].notna().all(axis=1)
    ]  # a thinned store keeps the weights of a few runs only
    for row in records(chosen.merge(kept, on=[*KEY])):
        if row["spec_id"] not in found:
            sizes = [(name, *_size(name, matrix.shape)) for name, matrix in matrices(row)]
            about = {"spec": row["spec"], "threshold": significant(row["threshold"]), "arrays": sizes, "runs": []}
            found[row["spec_id"]] = about
        found[row["spec_id"]]["runs"].append(_run(row))
    return found


def _size(name: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns; a bias is a column, other arrays of one axis are a row."""
    if len(shape) == 2:
        return shape[0], shape[1]
    return (shape[0], 1) if name.endswith("bias") else (1, shape[0])


def _run(row: dict[str, Any]) -> dict[str, Any]:
    step = np.asarray(row["curve_step"])
    kept = thinned(step)
    curves = {name: [significant(value, 3) for value in np.asarray(row[f"curve_{name}"])[kept]] for name in _CURVES}
    weights = np.nan_to_num(np.asarray(row["best_weights"], np.float64))
    return {
        **{name: row[name] for name in ("seed", "engine", "solved", "ended_early", "best_step")},
        "solved_at": int(row["solved_at"]),
        "test_error": significant(row["best_test"]),
        "sparsity_error": significant(row["best_sparsity"]),
        "gate": significant(row["best_gate"]),
        "weights": np.rint(weights * 1000).astype(int).tolist(),
        "step": step[kept].tolist(),
        **curves,
    }
