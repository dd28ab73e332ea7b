"""Provenance of runs: engines, versions and kinds of machine; and runs outside the catalogue."""

from collections.abc import Iterable

import pandas as pd

from ...judging.references import judge_runs
from ...papers import EXPERIMENTS, Paper
from ...spec.stored import describe
from ...store import Snapshot, Store

_MAKERS = ["engine", "gpu", "processor", "version", "python", "torch", "numpy"]

COLUMNS = [*_MAKERS, "elapsed_s", "written"]
"""Store columns that `made` needs."""


def made(store: Store | Snapshot, specs: Iterable[str] | None = None) -> pd.DataFrame:
    """Return one row per engine, version and kind of machine: `runs`, `seeds`, `hours`, `first` and `last` day.

    Args:
        store: the store of the runs.
        specs: ids of the specs; all by default.
    """
    runs = store.load(specs=specs, columns=COLUMNS).fillna({"gpu": ""})
    groups = runs.groupby(_MAKERS, dropna=False, as_index=False)
    frame = groups.agg(
        runs=("seed", "size"),
        seeds=("seed", lambda seeds: f"{seeds.min()} to {seeds.max()}"),
        hours=("elapsed_s", lambda elapsed: round(elapsed.sum() / 3600, 2)),
        first=("written", "min"),
        last=("written", "max"),
    )
    return frame.assign(**{name: pd.to_datetime(frame[name]).dt.strftime("%Y-%m-%d") for name in ("first", "last")})


def catalogue(paper: Paper) -> pd.DataFrame:
    """Return the specs of a paper's experiments, one per row, in canonical JSON."""
    return pd.DataFrame(
        {"experiment": experiment.name, "seeds": experiment.seeds, "spec_id": spec.id, "spec": spec.json()}
        for experiment in paper.experiments
        for spec in experiment.specs
    )


def others(store: Store | Snapshot, criterion: str | None = None) -> pd.DataFrame:
    """Return the stored specs that belong to no experiment, one row per spec and engine: `runs` and `solved`.

    A model is identified by its `label` and `layers`; its name may be the path of a file.
    """
    names = ["spec_id", "engine", "label", "layers", "spec"]
    sizes = ["operation", "input_size", "hidden_size", "iterations"]
    known = {spec.id for experiment in EXPERIMENTS.values() for spec in experiment.specs}
    store = store.snapshot()
    unknown = [spec_id for spec_id in store.specs if spec_id not in known]
    runs = store.load(specs=unknown, columns=[*names, *sizes, "thresholds", "solved_at", "best_test"])
    runs = judge_runs(store, runs, criterion)
    found = runs.groupby([*names, *sizes], dropna=False, sort=False, as_index=False)
    frame = found.agg(runs=("seed", "size"), solved=("solved", "sum"))
    return frame.assign(task=[describe(spec) for spec in frame["spec"]])
