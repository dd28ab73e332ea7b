"""`Snapshot`: the runs of a store, listed once for several queries."""

import time
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._seeds import Seeds
from ._folder import RETRY_S, RunKey
from ._runs import Places, Runs, concat
from ._schema import COLUMNS, CURVE, KEY, LIGHT, RUNS, frame_of

if TYPE_CHECKING:
    import pandas as pd

    from ..engines.cost import Work
    from ..spec import Spec


class Snapshot:
    """Runs of a store at one moment.

    The list of runs and the named columns are read when the snapshot is taken; other columns are read when they are
    asked for, and only from the parts that have them. If a part was packed or set aside in the meantime, the snapshot
    is taken again.

    Args:
        runs: the folder.
        columns: columns to read at once and keep.
    """

    def __init__(self, runs: Runs, columns: Sequence[str] = ()) -> None:
        self._runs, self._columns = runs, [*dict.fromkeys((*KEY, *_known(columns)))]
        self._take()

    def _take(self) -> None:
        while True:
            index, tables = self._runs.read(self._columns)
            table = concat([*tables.values()], RUNS).select(self._columns).combine_chunks()
            try:
                order = pa.Array.from_buffers(pa.int64(), len(index.order), [None, pa.py_buffer(index.order)])
                self._index, self._table = index, table.take(order)  # an array of NumPy's would load pandas
                return
            except FileNotFoundError:
                time.sleep(RETRY_S)

    @property
    def path(self) -> Path:
        """Folder of the store."""
        return self._runs.path

    def __len__(self) -> int:
        """Return the number of different runs."""
        return self._index.runs

    @property
    def specs(self) -> list[str]:
        """Ids of the specs, in ascending order."""
        ids: list[str] = self._index.ids.tolist()
        return ids

    def snapshot(self, columns: Sequence[str] = ()) -> "Snapshot":
        """Return this snapshot with more columns kept, so that a function can take a store or a snapshot."""
        if rest := [name for name in _known(columns) if name not in self._columns]:
            self._table = self.table([*self._columns, *rest])
            self._columns = self._table.schema.names
        return self

    def missing(self, spec: "Spec | Work", seeds: int, engine: str) -> Seeds:
        """Return those of the seeds 0 … seeds - 1 that have no run of an engine yet."""
        return Seeds.without(range(seeds), sorted(self._index.seeds.get((spec.id, engine), ())))

    def load(
        self,
        *,
        specs: Iterable["Spec | str"] | None = None,
        runs: Iterable[RunKey] | None = None,
        columns: Sequence[str] | None = None,
    ) -> "pd.DataFrame":
        """Return runs as a table; see `Store.load`."""
        return frame_of(self.table(LIGHT if columns is None else columns, specs, runs))

    def curves(self, *, specs: Iterable["Spec | str"] | None = None) -> "pd.DataFrame":
        """Return learning curves; see `Store.curves`."""
        table = self.table(CURVE, specs).combine_chunks()
        parents = pc.list_parent_indices(table[CURVE[0]])
        columns = {name: table[name].take(parents) for name in KEY}
        columns |= {name.removeprefix("curve_"): pc.list_flatten(table[name]) for name in CURVE}
        frame: pd.DataFrame = pa.table(columns).to_pandas()
        return frame

    def described(self, columns: Sequence[str]) -> "pd.DataFrame":
        """Return columns that follow from the spec, one row per spec, read from as few parts as possible."""

        def first() -> Places:
            order = np.argsort(self._index.places[0], kind="stable")
            return order[np.unique(self._index.spec[order], return_index=True)[1]]

        frame: pd.DataFrame = self._at(first, columns).to_pandas()
        return frame.drop(columns=["seed", "engine"])

    def table(
        self, columns: Sequence[str], specs: Iterable["Spec | str"] | None = None, runs: Iterable[RunKey] | None = None
    ) -> pa.Table:
        """Return columns of runs, one row per run, ordered by run, with the columns that identify it."""
        ids = None if specs is None else {spec if isinstance(spec, str) else spec.id for spec in specs}
        named = None if runs is None else set(runs)
        return self._at(lambda: self._chosen(ids, named), columns)

    def _at(self, choose: Callable[[], Places], columns: Sequence[str]) -> pa.Table:
        """Return columns of the chosen runs, trying again if a part is gone by the time it is read."""
        wanted = [name for name in COLUMNS if name in {*KEY, *_known(columns)}]
        while True:
            try:
                places = choose()
                table = self._table if len(places) == len(self) else self._table.take(places)
                if rest := [name for name in wanted if name not in self._columns]:
                    for name, column in zip(rest, self._rest(places, rest).columns, strict=True):
                        table = table.append_column(RUNS.field(name), column)
                return table.select(wanted)
            except FileNotFoundError:
                time.sleep(RETRY_S)
                self._take()

    def _chosen(self, ids: set[str] | None, named: set[RunKey] | None) -> Places:
        index, places = self._index, np.arange(len(self))
        if named is not None:
            ids = {spec_id for spec_id, _, _ in named} if ids is None else ids
        if ids is not None:
            chosen = np.array([spec_id in ids for spec_id in index.ids], bool)
            places = places[chosen[index.spec]]
        if named is not None:
            places = places[np.array([key in named for key in index.keys(places)], bool)]
        return places

    def _rest(self, places: Places, columns: Sequence[str]) -> pa.Table:
        """Return columns that were not read when the snapshot was taken, from the parts of these runs."""
        parts, rows = (column[places] for column in self._index.places)
        order = np.argsort(parts, kind="stable")
        parts, rows = parts[order], rows[order]
        starts = np.flatnonzero(np.diff(parts, prepend=-1))
        tables = (
            [
                self._runs.table(self._index.parts[parts[start]], columns).take(part)
                for start, part in zip(starts, np.split(rows, starts[1:]), strict=True)
            ]
            if len(places)
            else []
        )
        return concat(tables, RUNS).select(columns).combine_chunks().take(np.argsort(order))


def _known(columns: Sequence[str]) -> Sequence[str]:
    for name in columns:
        if name not in COLUMNS:
            near = get_close_matches(name, COLUMNS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(COLUMNS)}"
            raise KeyError(f"unknown column {name!r}; {hint}")
    return columns
