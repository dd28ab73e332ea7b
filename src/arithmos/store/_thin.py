"""A small store of a large one: every run with what its verdict rests on, a few with their weights and curves."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ._schema import HEAVY, KEY, PREFIXES, entries, frame_of, judged

KEPT = 2
"""Runs of a spec that keep their weights, of the solved ones and of the others: those with the lowest seeds."""
POINTS = 60
"""Records that are left of a learning curve."""


def thin(table: pa.Table, there: pa.Table, keep: int) -> pa.Table:
    """The same runs, exactly judged, with weights and thinned curves for `keep` solved and `keep` other runs per spec.

    Runs whose task reports more stay whole: verdicts rest on their curves and weights too.

    Args:
        table: rows of runs, one per run.
        there: rows of the small store, whose weights and curves stay.
        keep: how many; by each of the thresholds, so that there can be a few more.
    """
    table = judged(table)
    kept = _kept(table, there, keep)
    extra = pc.list_value_length(entries(table["extra"])).to_numpy() > 0
    steps, whole = _where(kept & ~extra, table["curve_step"]).to_pandas(), kept | extra
    for name in HEAVY:
        column = _where(whole, table[name])
        if not name.endswith("_weights"):
            rows = zip(column.to_pandas(), steps, strict=True)
            column = pa.array([_thin(values, step) for values, step in rows], table[name].type)
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), column)
    return table


def _where(rows: NDArray[np.bool_], column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, null in all other rows."""
    return column.take(pa.array(np.arange(len(rows)), mask=~rows))


def _kept(table: pa.Table, there: pa.Table, keep: int) -> NDArray[np.bool_]:
    """Which of the runs that still have weights keep them; those that have them in the small store come first."""
    columns, both = [*KEY, "best_test", "thresholds"], {"there": there, "new": table}
    frames = {name: frame_of(rows.select(columns))[_valid(rows)] for name, rows in both.items()}
    frame: pd.DataFrame = pd.concat(frames, names=["store", "row"]).reset_index()
    frame = frame.sort_values(["store", "seed"], ascending=[False, True]).drop_duplicates(list(KEY))
    kept = np.zeros(len(table), bool)
    for threshold in frame.columns[frame.columns.str.startswith(PREFIXES["thresholds"])]:
        solved = (frame["best_test"] < frame[threshold]).rename("solved")
        chosen = frame.groupby(["spec_id", "engine", solved]).head(keep)
        kept[chosen.loc[chosen["store"] == "new", "row"]] = True
    return kept


def _valid(rows: pa.Table) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = rows["best_weights"].is_valid().to_numpy()
    return valid


def _thin(values: NDArray[np.generic] | None, step: NDArray[np.int64] | None) -> NDArray[np.generic] | None:
    return values if values is None or step is None else values[thinned(step)]


def thinned(step: NDArray[np.int64], points: int = POINTS) -> NDArray[np.int64]:
    """Which records of a curve to keep: the first and the last, and the rest spread over the logarithm.

    Example:
        >>> thinned(np.arange(0, 1001), points=4)
        array([   0,    1,   10,  100, 1000])
    """
    if len(step) <= points:
        return np.arange(len(step))
    spread = np.searchsorted(step, np.geomspace(max(step[1], 1), step[-1], points).round())
    return np.unique(np.concatenate([[0], spread]))
