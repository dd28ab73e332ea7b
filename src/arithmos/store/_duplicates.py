"""Duplicate rows of a run: which one counts, and which can be removed.

They come from merged stores, from concurrent campaigns, and from a pack in progress. The choice depends on the rows
alone, never on their files: the row that keeps more weights and records counts, and among equals the one written
first. A row can be removed only if a remaining row says everything that it says.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ._schema import CURVE, HEAVY, KEY, NUMBERS, entries

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, list[NDArray[Any] | None]]
Hashes = NDArray[np.uint64]

_ORDER = [*KEY, "lost", "written", "hash"]


def ranks(table: pa.Table) -> "pd.DataFrame":
    """Return for each row its run and its rank; the smallest rank of a run counts.

    Args:
        table: rows of runs with all columns.
    """
    kept = pc.is_valid(table["exact"]).to_numpy().astype(np.int64)
    for name in HEAVY:
        kept += _lengths(table[name])
    frame: pd.DataFrame = table.select([*KEY, "written"]).to_pandas()
    return frame.assign(lost=-kept, hash=_hash(table, table.schema.names))


def counted(ranked: "pd.DataFrame") -> NDArray[np.bool_]:
    """Return which rows count, one per run, given the ranks of rows."""
    first = ranked.reset_index(drop=True).sort_values(_ORDER, kind="stable").drop_duplicates(list(KEY)).index
    return np.isin(np.arange(len(ranked)), first)


def own_rows(table: pa.Table) -> NDArray[np.intp]:
    """Return the rows of a table that say something of their own, ordered by run and, within a run, by rank.

    There is one row per run, and more only for runs whose rows conflict.
    """
    keys = table.select(KEY).to_pandas()
    several = keys.duplicated(keep=False).to_numpy()
    places = np.flatnonzero(several)
    places = places[ranks(table.take(places)).sort_values(_ORDER, kind="stable").index]
    rows = np.concatenate([np.flatnonzero(~several), places[_uncovered(table.take(places))]])
    order: NDArray[np.intp] = rows[keys.iloc[rows].reset_index(drop=True).sort_values([*KEY], kind="stable").index]
    return order


def _uncovered(table: pa.Table) -> NDArray[np.bool_]:
    """Return a mask of the rows, ordered by run and rank, that no earlier row covers."""
    keys = list(zip(*(table[name].to_pylist() for name in KEY), strict=True))
    numbers = _hash(table, NUMBERS)
    arrays: Arrays = {name: table[name].to_pandas().to_list() for name in HEAVY}
    stays, start = np.ones(len(keys), bool), 0
    for row, key in enumerate(keys):
        start = start if key == keys[start] else row
        before = (other for other in range(start, row) if stays[other])
        stays[row] = not any(numbers[row] == numbers[other] and _covers(arrays, other, row) for other in before)
    return stays


def _covers(arrays: Arrays, one: int, other: int) -> bool:
    """Return whether a row keeps all weights and records that another row keeps."""
    steps, taken = (arrays["curve_step"][row] for row in (one, other))
    for name in HEAVY:
        mine, theirs = arrays[name][one], arrays[name][other]
        if theirs is None:
            continue
        if mine is None:
            return False
        if name in CURVE and steps is not None and taken is not None and len(taken) < len(steps):
            mine = mine[np.searchsorted(steps, taken).clip(max=len(steps) - 1)]
        if not np.array_equal(mine, theirs, equal_nan=True):
            return False
    return True


def _hash(table: pa.Table, names: Sequence[str]) -> Hashes:
    """Return a hash of these columns for each row; all NaN are equal, whatever their bits."""
    total = np.zeros(len(table), np.uint64)
    for number, name in enumerate(names):
        total += _hash_column(table[name]) * np.uint64(2 * number + 1)
    return total


def _hash_column(column: pa.ChunkedArray) -> Hashes:
    if pa.types.is_map(column.type):
        return _hash_column(entries(column))
    if pa.types.is_struct(column.type):
        key, value = (_hash_column(pc.struct_field(column, name)) for name in ("key", "value"))
        return key + np.uint64(3) * value
    if not pa.types.is_list(column.type):
        return _hash_values(column.to_numpy())
    lengths = _lengths(column)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    hashes = _hash_column(pc.list_flatten(column)) * (2 * place + 1).astype(np.uint64)
    totals = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    total: Hashes = totals[ends[1:]] - totals[ends[:-1]] + _hash_values(lengths)
    return total


def _hash_values(values: NDArray[Any]) -> Hashes:
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values + 0)  # and -0 is 0
    import pandas as pd  # only stores with several rows of a run need it

    hashes: Hashes = pd.util.hash_array(values)
    return hashes


def _lengths(column: pa.ChunkedArray) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    return lengths
