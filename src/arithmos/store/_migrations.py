"""Migrations of older files, applied as they are read.

`VERSION` is the version of the schema. A change of columns raises it and adds a step that makes a table of the new
version from one of the previous version: `MIGRATIONS["part", 1] = update_to_2`. Files on disk stay as they are; `pack`
writes new ones. A step sees the columns that were asked for, and those that `sources` names.
"""

from collections.abc import Callable, Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

VERSION = 5

DIGITS = {
    **dict.fromkeys(("curve_training", "curve_lengths", "digit_outputs", "digit_spreads"), pa.list_(pa.float32())),
    **dict.fromkeys(("digits", "test_lengths"), pa.list_(pa.int64())),
    **{"images": pa.string(), "length": pa.int64(), "input_strength": pa.float64()},
}


def update_to_2(table: pa.Table) -> pa.Table:
    """Add the columns of sequences of digits, which no earlier run could fill."""
    for name, kind in DIGITS.items():
        table = table.append_column(name, pa.nulls(len(table), kind))
    return table


def update_to_3(table: pa.Table) -> pa.Table:
    """Add the exact judgement, which earlier runs lack."""
    return table.append_column("exact", pa.nulls(len(table), pa.bool_()))


def update_to_4(table: pa.Table) -> pa.Table:
    """Add the GPU, which earlier runs do not name."""
    return table.append_column("gpu", pa.nulls(len(table), pa.string()))


OLD = {"thresholds": "threshold_", "solved_at": "solved_at_"}
"""Prefixes of the columns that are now values by name."""

EXTRA = tuple(DIGITS)[:4]


def sources(stored: Collection[str], wanted: Collection[str]) -> list[str]:
    """Return the columns of a part from which steps make the wanted ones."""
    found = [name for name in EXTRA if "extra" in wanted]
    if {*OLD} & {*wanted} and not {*OLD} <= {*stored}:
        found += ["task", *(name for name in stored if name.startswith(tuple(OLD.values())))]
    return found


def update_to_5(table: pa.Table) -> pa.Table:
    """Collect values by name: thresholds, solved-at steps, and the results of sequences of digits.

    Sequences had no known threshold. Rows of a user's data had at most one, stored twice.
    """
    if limits := _starting(table, OLD["thresholds"]):
        kind = table["task"].to_numpy()[:, None]
        known = ~np.stack([pc.is_nan(table[name]).to_numpy() for name in limits], axis=1)
        there = (kind == "arithmetic") | ((kind == "rows") & known & (np.arange(len(limits)) == 0))
        names = [name.removeprefix(OLD["thresholds"]) for name in limits]
        keys = np.where(kind == "rows", "threshold", np.array(names, object))
        for column, prefix in OLD.items():
            table = table.append_column(column, _by_name(keys, table.select(_starting(table, prefix)), there))
    if {*EXTRA} <= {*table.schema.names}:
        old = table.select(EXTRA)
        there = np.stack([pc.is_valid(column).to_numpy() for column in old.columns], axis=1)
        table = table.append_column("extra", _by_name(np.array([EXTRA] * len(table), object), old, there))
    return table


def _starting(table: pa.Table, prefix: str) -> list[str]:
    return [name for name in table.schema.names if name.startswith(prefix)]


def _by_name(keys: NDArray[np.object_], old: pa.Table, there: NDArray[np.bool_]) -> pa.Array:
    """Return columns as one column of values by name, for those `[rows, columns]` that are present."""
    row, column = np.nonzero(there)
    values = pa.concat_arrays([chunk for values in old.columns for chunk in values.chunks])
    ends = pa.array(np.concatenate([[0], np.cumsum(there.sum(axis=1))]), pa.int32())
    return pa.MapArray.from_arrays(ends, pa.array(keys[there], pa.string()), values.take(column * len(old) + row))


MIGRATIONS: dict[tuple[str, int], Callable[[pa.Table], pa.Table]] = {
    ("part", 1): update_to_2,
    ("part", 2): update_to_3,
    ("part", 3): update_to_4,
    ("part", 4): update_to_5,
}
"""Steps by kind of part and the version they start from; a kind that does not change has none."""


def migrate(table: pa.Table, kind: str, version: int) -> pa.Table:
    """Return a table of an older version as one of this version."""
    for step in range(version, VERSION):
        if (kind, step) in MIGRATIONS:
            table = MIGRATIONS[kind, step](table)
    return table
