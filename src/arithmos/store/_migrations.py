"""Older files, brought up to date as they are read.

`VERSION` is the version of the schema. Whoever changes a column raises it and adds the step that makes a table of the
new version from one of the version before: `MIGRATIONS[1] = update_to_2`. Files on disk stay as they are; `pack`
writes new ones.
"""

from collections.abc import Callable

import pyarrow as pa

VERSION = 1

MIGRATIONS: dict[int, Callable[[pa.Table], pa.Table]] = {}
"""By the version they start from."""


def migrate(table: pa.Table, version: int) -> pa.Table:
    """A table of an older version as one of this version."""
    for step in range(version, VERSION):
        table = MIGRATIONS[step](table)
    return table
