"""The runs of a store: which are there, and which of their rows count."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ._duplicates import counted, own_rows, ranks
from ._folder import RETRY_S, Folder, Key, Row
from ._schema import KEY, RUNS

Rows = Mapping[str, list[Row]]
"""What the rows of each part are about."""

Seeds = dict[tuple[str, str], set[int]]

T = TypeVar("T")


class Runs(Folder):
    """A folder of runs; of several rows of one run one counts, as `_duplicates` has it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "part", RUNS)
        self._seeds: tuple[tuple[str, ...], Seeds] = ((), {})
        self._others: tuple[tuple[str, ...], dict[str, NDArray[np.bool_]]] = ((), {})

    def seeds(self) -> Seeds:
        """Which seeds are stored, by id of the spec and engine."""
        rows = self.rows()
        if self._seeds[0] != tuple(rows):
            index: Seeds = {}
            for part in rows.values():
                for (spec_id, seed, engine), _ in part:
                    index.setdefault((spec_id, engine), set()).add(seed)
            self._seeds = tuple(rows), index
        return self._seeds[1]

    def load(
        self, columns: Sequence[str] = RUNS.names, then: Callable[[pa.Table], pa.Table] = lambda table: table
    ) -> pa.Table:
        """Columns of the rows that count, one row per run, ordered by run.

        Args:
            columns: the columns; those that name a run are among them.
            then: applied to each part as it is read, to choose among its rows.
        """

        def read(rows: Rows) -> list[pa.Table]:
            others = self._not_counted(rows)
            tables = ((name, self.table(name, columns)) for name in rows)
            return [then(table.filter(~others[name]) if name in others else table) for name, table in tables]

        table = concat(self._settled(read), RUNS).select(columns)
        return table.take(table.select(KEY).to_pandas().sort_values([*KEY]).index.to_numpy())

    def conflicts(self) -> tuple[Key, ...]:
        """The runs whose rows have different numbers."""

        def read(rows: Rows) -> list[pa.Table]:
            return [self.table(name).take(places) for name, places in _copies(rows).items()]

        table = concat(self._settled(read), RUNS)
        counts = Counter(keys(table.take(own_rows(table))))
        return tuple(key for key, count in counts.items() if count > 1)

    def _settled(self, read: Callable[[Rows], T]) -> T:
        """Read something of all parts that are there; again if one was packed or set aside in the meantime."""
        while True:
            try:
                return read(self.rows())
            except FileNotFoundError:
                time.sleep(RETRY_S)

    def _not_counted(self, rows: Rows) -> dict[str, NDArray[np.bool_]]:
        """The rows that do not count, for each part that has some."""
        if self._others[0] != tuple(rows):
            copies = _copies(rows).items()
            ranked = [ranks(self.table(name).take(places)).assign(part=name, row=places) for name, places in copies]
            others: dict[str, NDArray[np.bool_]] = {}
            if ranked:
                frame = pd.concat(ranked)
                for name, part in frame[~counted(frame)].groupby("part"):
                    others[str(name)] = np.isin(np.arange(len(rows[str(name)])), part["row"])
            self._others = tuple(rows), others
        return self._others[1]


def _copies(rows: Rows) -> dict[str, list[int]]:
    """The rows of runs that have several, by part."""
    counts = Counter(key for part in rows.values() for key, _ in part)
    found = {name: [row for row, (key, _) in enumerate(part) if counts[key] > 1] for name, part in rows.items()}
    return {name: places for name, places in found.items() if places}


def keys(table: pa.Table) -> Iterator[Key]:
    """The runs that rows are about."""
    return zip(*(table[name].to_pylist() for name in KEY), strict=True)


def concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """All rows of some tables, none if there are no tables."""
    return pa.concat_tables(tables) if tables else schema.empty_table()
