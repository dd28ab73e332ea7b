"""Older files, brought up to date as they are read.

`VERSION` is the version of the schema. Whoever changes a column raises it and adds the step that makes a table of the
new version from one of the version before: `MIGRATIONS["part", 1] = update_to_2`. Files on disk stay as they are;
`pack` writes new ones. A step sees the columns that were asked for and those in `NEEDED`.
"""

from collections.abc import Callable

import pyarrow as pa

VERSION = 4

DIGITS = {
    **dict.fromkeys(("curve_training", "curve_lengths", "digit_outputs", "digit_spreads"), pa.list_(pa.float32())),
    **dict.fromkeys(("digits", "test_lengths"), pa.list_(pa.int64())),
    **{"images": pa.string(), "length": pa.int64(), "input_strength": pa.float64()},
}


def update_to_2(table: pa.Table) -> pa.Table:
    """Sequences of digits have columns that no earlier run could fill."""
    for name, kind in DIGITS.items():
        table = table.append_column(name, pa.nulls(len(table), kind))
    return table


def update_to_3(table: pa.Table) -> pa.Table:
    """Earlier runs were not judged exactly."""
    return table.append_column("exact", pa.nulls(len(table), pa.bool_()))


def update_to_4(table: pa.Table) -> pa.Table:
    """Earlier runs do not say which GPU made them."""
    return table.append_column("gpu", pa.nulls(len(table), pa.string()))


MIGRATIONS: dict[tuple[str, int], Callable[[pa.Table], pa.Table]] = {
    ("part", 1): update_to_2,
    ("part", 2): update_to_3,
    ("part", 3): update_to_4,
}
"""By the kind of part and the version they start from; none for a kind that the next version leaves as it is."""

NEEDED: tuple[str, ...] = ()
"""Columns from which steps compute others; they are read from every older part."""


def migrate(table: pa.Table, kind: str, version: int) -> pa.Table:
    """A table of an older version as one of this version."""
    for step in range(version, VERSION):
        if (kind, step) in MIGRATIONS:
            table = MIGRATIONS[kind, step](table)
    return table
