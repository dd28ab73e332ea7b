"""Runs of a store, and which of their rows count."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ._duplicates import counted, own_rows, ranks
from ._folder import RETRY_S, Folder, RunKey, Stamp
from ._part import Damaged
from ._schema import KEY, RUNS

Tables = dict[str, pa.Table]
"""Columns by the name of their part."""

RowNumbers = dict[str, list[int]]
"""Rows by the name of their part."""

Places = NDArray[np.intp]


class Index:
    """Rows of a store, and which of them count.

    Args:
        tables: the columns that identify a run, for each part.
        others: function from the rows of runs that have several, by part, to those that do not count.

    Attributes:
        parts: names of the parts.
        rows: number of rows, whether they count or not.
        runs: number of different runs.
        ids, engines: spec ids and engines, in ascending order.
    """

    def __init__(self, tables: Tables, others: Callable[[RowNumbers], RowNumbers]) -> None:
        self.parts, self._others = tuple(tables), others
        self._ends = np.cumsum([0, *map(len, tables.values())])
        table = concat([*tables.values()], RUNS).select(KEY)
        self.ids, spec = _encoded(table["spec_id"])
        self.engines, engine = _encoded(table["engine"])
        self._keys = np.stack([spec, np.from_dlpack(table["seed"].combine_chunks()), engine])
        self._sorted = np.lexsort(self._keys[::-1])
        self._first = np.diff(self._keys[:, self._sorted], prepend=-1).any(axis=0)
        self.rows, self.runs = len(table), int(self._first.sum())

    @cached_property
    def copies(self) -> RowNumbers:
        """Rows of runs that have several, by part."""
        several = ~self._first | ~np.append(self._first, True)[1:]
        part, row = self._where(np.sort(self._sorted[several]))
        found: RowNumbers = {}
        for number, place in zip(part.tolist(), row.tolist(), strict=True):
            found.setdefault(self.parts[number], []).append(place)
        return found

    @cached_property
    def order(self) -> Places:
        """Rows that count, numbered over all parts, in the order of their runs.

        Raises:
            FileNotFoundError: a part that is needed is gone.
        """
        if not self.copies:
            return self._sorted
        start = dict(zip(self.parts, self._ends.tolist(), strict=False))
        gone = [start[name] + row for name, rows in self._others(self.copies).items() for row in rows]
        return self._sorted[~np.isin(self._sorted, gone)]

    @cached_property
    def places(self) -> tuple[Places, Places]:
        """Part and position in it of each row that counts."""
        return self._where(self.order)

    @cached_property
    def spec(self) -> Places:
        """Position in `ids` of the spec of each row that counts."""
        spec: Places = self._keys[0, self.order]
        return spec

    def keys(self, places: Places) -> Iterator[RunKey]:
        """Yield the runs of the rows that count at some positions."""
        spec, seed, engine = self._keys[:, self.order[places]]
        return zip(self.ids[spec], seed.tolist(), self.engines[engine], strict=True)

    @cached_property
    def seeds(self) -> dict[tuple[str, str], set[int]]:
        """Seeds that are stored, by spec id and engine."""
        spec, seed, engine = self._keys
        group = spec * len(self.engines) + engine
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        names = ((self.ids[spec[at]], self.engines[engine[at]]) for at in order[starts])
        seeds = (set(part.tolist()) for part in np.split(seed[order], starts[1:]))
        return dict(zip(names, seeds, strict=False))  # without rows there is an empty part

    def _where(self, rows: Places) -> tuple[Places, Places]:
        part = np.searchsorted(self._ends, rows, side="right") - 1
        return part, rows - self._ends[part]


class Runs(Folder):
    """Folder of runs; of several rows of one run, one counts, as `_duplicates` decides."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "part", RUNS)

    def _distrust(self) -> None:
        super()._distrust()
        self._keys: dict[Stamp, pa.Table] = {}
        self._index = Index({}, self._not_counted)

    def _set_aside(self, stamp: Stamp, reason: Damaged) -> None:
        super()._set_aside(stamp, reason)
        self._keys.pop(stamp, None)

    def read(self, columns: Sequence[str] = ()) -> tuple[Index, Tables]:
        """Return the index, and columns of every part in its order.

        The columns that identify runs are read once in the life of a part.
        """

        def read(stamp: Stamp) -> tuple[pa.Table, pa.Table]:
            if stamp in self._keys and set(columns) <= set(KEY):
                return self._keys[stamp], self._keys[stamp]
            table = self._read(stamp, [*dict.fromkeys((*KEY, *columns))])
            return table.select(KEY), table

        found = self._each(lambda stamp: (stamp, *read(stamp)))
        self._keys = {stamp: keys for stamp, keys, _ in found.values()}
        if self._index.parts != tuple(found):
            self._index = Index({name: keys for name, (_, keys, _) in found.items()}, self._not_counted)
        return self._index, {name: table for name, (_, _, table) in found.items()}

    def index(self) -> Index:
        """Return the index."""
        return self.read()[0]

    def conflicts(self) -> tuple[RunKey, ...]:
        """Return the runs whose rows have different numbers."""
        while True:
            try:
                copies = self.index().copies
                table = concat([self.table(name).take(places) for name, places in copies.items()], RUNS)
                counts = Counter(keys(table.take(own_rows(table))))
                return tuple(key for key, count in counts.items() if count > 1)
            except FileNotFoundError:
                time.sleep(RETRY_S)

    def _not_counted(self, copies: RowNumbers) -> RowNumbers:
        """Return the rows that do not count, of those of runs that have several."""
        import pandas as pd

        ranked = [ranks(self.table(name).take(rows)).assign(part=name, row=rows) for name, rows in copies.items()]
        frame = pd.concat(ranked)
        return {str(name): part["row"].to_list() for name, part in frame[~counted(frame)].groupby("part")}


def _encoded(column: pa.ChunkedArray) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Return the values of a column in ascending order, and the position of each row's value among them."""
    encoded = column.combine_chunks().dictionary_encode()
    different = np.array(encoded.dictionary.to_pylist(), object)  # `to_numpy` loads pandas
    values, places = np.unique(different, return_inverse=True)
    return values, places[np.from_dlpack(encoded.indices)]


def keys(table: pa.Table) -> Iterator[RunKey]:
    """Yield the runs of rows."""
    return zip(*(table[name].to_pylist() for name in KEY), strict=True)


def concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """Concatenate tables; without any, return an empty one."""
    if tables:
        return pa.concat_tables(tables)
    nothing = [pa.nulls(0, kind) for kind in schema.types]  # `empty_table` loads pandas
    return pa.Table.from_arrays(nothing, schema=schema)
