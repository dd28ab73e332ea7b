"""Thinned stores: every run with what its verdict rests on, and a few with their weights and curves."""

import errno
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._platform import same
from ..store import HEAVY, KEY, PREFIXES, Store, entries, frame_of
from .exact import judged_rows
from .runs import solved

KEPT = 2
"""Solved and other runs per spec that keep their weights: those with the lowest seeds."""
POINTS = 60
"""Records to keep of a learning curve."""


def thin(store: Store, into: Store | str | os.PathLike[str], *, keep: int = KEPT) -> None:
    """Write a small copy of a store: every run, judged exactly, but weights and curves of only a few runs per spec.

    Weights are kept for the solved runs, and for the others, with the lowest seeds; 60 records of their curves stay.
    Runs whose task has further results stay whole: verdicts rest on their curves and weights too. Suspended runs
    are not copied. What the other store has stays as it is, and what it lacks is added: a store that grows can be
    thinned into the same one again and again, and a full store named by mistake loses nothing.

    Args:
        store: the large store.
        into: the small one.
        keep: number of solved runs, and of others, per spec and engine that keep their weights and curves, by each of
            the thresholds; those that keep them in the other store count first.

    Raises:
        ValueError: `into` is the same store, or `keep` is negative.
    """
    other = into if isinstance(into, Store) else Store(into)
    if same(other.path, store.path):
        raise ValueError(f"into must be another store, got {str(into)!r} itself")
    if keep < 0:
        raise ValueError(f"keep must be at least 0, got {keep}")
    if not store.path.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no store to thin", str(store.path))
    other.add(_small(judged_rows(store.table()), other.table(), keep))


def _small(table: pa.Table, there: pa.Table, keep: int) -> pa.Table:
    """Return rows of runs, with weights and thinned curves of a few of them."""
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
    """Return the column, with null in all other rows."""
    return column.take(pa.array(np.arange(len(rows)), mask=~rows))


def _kept(table: pa.Table, there: pa.Table, keep: int) -> NDArray[np.bool_]:
    """Return which of the runs with weights keep them; those that have them in the small store come first."""
    columns, both = [*KEY, "best_test", "thresholds"], {"there": there, "new": table}
    frames = {name: frame_of(rows.select(columns))[_valid(rows)] for name, rows in both.items()}
    frame: pd.DataFrame = pd.concat(frames, names=["store", "row"]).reset_index()
    frame = frame.sort_values(["store", "seed"], ascending=[False, True]).drop_duplicates(list(KEY))
    kept = np.zeros(len(table), bool)
    for threshold in frame.columns[frame.columns.str.startswith(PREFIXES["thresholds"])]:
        groups = ["spec_id", "engine", solved(frame["best_test"], frame[threshold]).rename("solved")]
        chosen = frame.groupby(groups).head(keep)
        kept[chosen.loc[chosen["store"] == "new", "row"]] = True
    return kept


def _valid(rows: pa.Table) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = rows["best_weights"].is_valid().to_numpy()
    return valid


def _thin(values: NDArray[np.generic] | None, step: NDArray[np.int64] | None) -> NDArray[np.generic] | None:
    return values if values is None or step is None else values[thinned(step)]


def thinned(step: NDArray[np.int64], points: int = POINTS) -> NDArray[np.int64]:
    """Return the indices of the records to keep: the first, the last, and others spread over the logarithm.

    Example:
        >>> thinned(np.arange(0, 1001), points=4)
        array([   0,    1,   10,  100, 1000])
    """
    if len(step) <= points:
        return np.arange(len(step))
    spread = np.searchsorted(step, np.geomspace(max(step[1], 1), step[-1], points).round())
    return np.unique(np.concatenate([[0], spread]))
