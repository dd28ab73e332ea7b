"""Exact judge of runs: test whether the best record's network, with its weights rounded, is the task's formula."""

import dataclasses
from collections.abc import Sequence

import pandas as pd
import pyarrow as pa

from ..engines.contract import Run
from ..engines.stored import described
from ..formula.stored import judge
from ..store import KEY, Snapshot


def judged_runs(runs: Sequence[Run]) -> list[Run]:
    """Return new runs with their verdicts, to be stored."""
    found = list(runs)
    of_spec: dict[str, list[int]] = {}
    for place, run in enumerate(found):
        of_spec.setdefault(run.spec.id, []).append(place)
    for places in of_spec.values():
        part = [found[place] for place in places]
        verdicts = judge(part[0].spec, [run.seed for run in part], [run.best_weights for run in part])
        for place, exact in zip(places, verdicts, strict=True):
            found[place] = dataclasses.replace(found[place], exact=exact)
    return found


def judged_rows(table: pa.Table) -> pa.Table:
    """Return rows of a store, those that were not judged when they were stored judged by their weights."""
    frame = table.select(["spec", "seed", "exact"]).to_pandas()
    exact = table["exact"].to_pylist()
    for spec, part in frame[frame["exact"].isna()].groupby("spec"):
        places = part.index.to_list()
        weights = table["best_weights"].take(places).to_pandas().to_list()
        for place, verdict in zip(places, judge(str(spec), part["seed"].to_list(), weights), strict=True):
            exact[place] = verdict
    place = table.schema.get_field_index("exact")
    return table.set_column(place, table.schema.field("exact"), pa.array(exact, pa.bool_()))


def with_verdicts(store: Snapshot, runs: pd.DataFrame) -> pd.DataFrame:
    """Return stored runs; those that were not judged when they were stored are judged by their weights, if kept."""
    unseen = runs["exact"].isna()
    if unseen.any():
        specs = store.described(["spec"]).set_index("spec_id")["spec"]
        able = {one for one in runs.loc[unseen, "spec_id"].unique() if _can_judge(specs.get(one))}
        unseen &= runs["spec_id"].isin(able)
    if not unseen.any():
        return runs
    keys = runs.loc[unseen, [*KEY]].itertuples(index=False, name=None)
    found: dict[tuple[object, ...], bool | None] = {}
    for spec, part in store.load(runs=keys, columns=["spec", "best_weights"]).groupby("spec"):
        exact = judge(str(spec), part["seed"].to_list(), part["best_weights"].to_list())
        found |= zip(part[[*KEY]].itertuples(index=False, name=None), exact, strict=True)
    verdicts = runs["exact"].astype(object)
    verdicts[unseen] = [found.get(key) for key in runs.loc[unseen, [*KEY]].itertuples(index=False, name=None)]
    return runs.assign(exact=verdicts)


def _can_judge(spec: str | None) -> bool:
    if spec is None:  # in a part whose other columns could be read
        return False
    try:
        return described(spec).draws is not None
    except ValueError:
        return False
