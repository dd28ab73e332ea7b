"""`Store`: runs on disk."""

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ..engines.contract import Run, State
from ._duplicates import own_rows
from ._folder import RunKey
from ._pack import fewest, latest
from ._part import try_to_write
from ._runs import Runs, concat, keys
from ._schema import CURVE, LIGHT, RUNS, STATES, now, row_of_state, table_of_runs
from ._snapshot import Snapshot
from ._states import States
from ._writer import RunJudge, Writer

if TYPE_CHECKING:
    import pandas as pd

    from ..spec import Spec

PACKED_BYTES = 16 * 2**20
PACKED_FILES = 8


@dataclass(frozen=True)
class Summary:
    """Summary of a store.

    Args:
        runs: number of different runs.
        specs: number of different specs.
        duplicates: number of rows in excess of one per run.
        suspended: number of runs that can be resumed.
        files: number of parts, including those of suspended runs.
        bytes: their size.
        damaged: files that are set aside, with the reason.
    """

    runs: int
    specs: int
    duplicates: int
    suspended: int
    files: int
    bytes: int
    damaged: tuple[tuple[str, str], ...]


class Store:
    """Runs on disk: a folder of immutable Parquet parts, one row per run.

    There is no server and no lock. Several processes may write at once, also on a network disk; copying a folder into
    another merges the stores; a kill loses only what was not yet written. A file that is damaged or foreign is named in
    a warning and in `damaged`, and the rest is read. Nothing in a store is ever unpickled.

    Args:
        path: the folder; it is created when the first run is stored.

    Raises:
        NotADirectoryError: the path is a file.

    Example:
        >>> import tempfile
        >>> store = Store(tempfile.mkdtemp())
        >>> len(store), store.summary().files
        (0, 0)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(
                errno.ENOTDIR, "a store must be a folder, got a file; choose a folder", str(self.path)
            )
        self._runs = Runs(self.path)
        self._states = States(self.path / "_suspended")
        self._folders = (self._runs, self._states.folder)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def __len__(self) -> int:
        """Return the number of different runs."""
        return self._runs.index().runs

    def prepare(self) -> None:
        """Create the folder and try to write there, so that a campaign fails before its first run."""
        self.seeds()
        try_to_write(self.path)

    def append(self, runs: Iterable[Run]) -> None:
        """Store runs as one new part, and drop their suspended states.

        Raises:
            OSError: none of them is stored; what was stored before is unchanged.
        """
        runs = list(runs)
        if not runs:
            return
        suspended = self._states.latest()
        self._runs.add(table_of_runs(runs, now()))
        if suspended:
            self._states.drop(self._finished())

    def writer(self, *, flush_s: float = 5.0, flush_runs: int = 1000, judge: RunJudge = list) -> Writer:
        """Return a buffer for runs that come one by one; see `Writer`."""
        return Writer(self, flush_s=flush_s, flush_runs=flush_runs, judge=judge)

    def missing(self, spec: "Spec", seeds: Iterable[int], engine: str | None = None) -> tuple[int, ...]:
        """Return the seeds without a run of this engine, or of any by default."""
        index, name = self.seeds(), spec.id
        stored = [found for (spec_id, by), found in index.items() if spec_id == name and engine in (None, by)]
        return tuple(seed for seed in seeds if not any(seed in found for found in stored))

    def load(
        self,
        *,
        specs: Iterable["Spec | str"] | None = None,
        runs: Iterable[RunKey] | None = None,
        columns: Sequence[str] | None = None,
    ) -> "pd.DataFrame":
        """Return the runs as a table, one row per run, ordered by spec, seed and engine.

        Of several rows of one run, the one that keeps more weights and records counts, and among equals the first
        written.

        Args:
            specs: specs, or their ids, to load; all by default.
            runs: runs to load, as (spec id, seed, engine); all by default.
            columns: columns besides those that identify the run; by default all but weights and curves.
        """
        columns = LIGHT if columns is None else columns
        snapshot = self.snapshot(columns if specs is None and runs is None else ())
        return snapshot.load(specs=specs, runs=runs, columns=columns)

    def curves(self, *, specs: Iterable["Spec | str"] | None = None) -> "pd.DataFrame":
        """Return the learning curves, one row per record: `step`, `validation`, `test` and `sparsity`."""
        return self.snapshot(CURVE if specs is None else ()).curves(specs=specs)

    def snapshot(self, columns: Sequence[str] = ()) -> Snapshot:
        """Return the runs of this moment, for several queries.

        Args:
            columns: columns to read at once and keep.
        """
        return Snapshot(self._runs, columns)

    def suspend(self, spec: "Spec", seed: int, engine: str, state: State) -> None:
        """Keep the state of an unfinished run, so that its engine can resume it."""
        self.suspend_all([(spec, seed, engine, state)])

    def suspend_all(self, cut: Iterable[tuple["Spec", int, str, State]]) -> None:
        """Keep the states of many runs, in one file."""
        rows = [row_of_state(*run) for run in cut]
        if rows:
            self._states.add(rows)

    def resume(self, spec: "Spec", seed: int, engine: str) -> State | None:
        """Return the last state of a suspended run, or None to start it again."""
        return self._states.get((spec.id, seed, engine))

    def forget(self, spec: "Spec", seed: int, engine: str) -> None:
        """Remove the states of a run; `append` does it for those that it stores."""
        self._states.forget((spec.id, seed, engine))

    def merge(self, *others: "Store | str | os.PathLike[str]") -> None:
        """Copy the runs of other stores, and the states of suspended ones, into this store."""
        stores = [other if isinstance(other, Store) else Store(other) for other in others]
        for other in stores:
            if not other.path.is_dir():
                raise FileNotFoundError(errno.ENOENT, "there is no store to merge", str(other.path))
        for other in stores:
            for mine, theirs in zip(self._folders, other._folders, strict=True):
                theirs.copy_to(mine)
        self._states.drop(self._finished())

    def pack(self, *, max_bytes: int = PACKED_BYTES, max_files: int = PACKED_FILES) -> None:
        """Write few files out of many, all of the current schema, and remove what killed writers left.

        Duplicate rows that say nothing of their own are removed; rows that conflict stay. New parts are in place before
        old ones are removed, so a kill at any moment, another writer or another pack lose nothing; at worst some rows
        are duplicated for a while. Files that are set aside stay.

        Args:
            max_bytes: largest size of a file.
            max_files: largest number of files, including those of suspended runs.

        Raises:
            ValueError: the store does not fit; nothing was changed.
        """
        runs = self._runs.tables(RUNS.names)
        states = self._states.folder.tables(STATES.names)
        table = concat([*runs.values()], RUNS)
        rows = (table.take(own_rows(table)), self._unfinished(concat([*states.values()], STATES)))
        packed = [fewest(table, folder.kind, max_bytes) for table, folder in zip(rows, self._folders, strict=True)]
        count = sum(map(len, packed))
        if count > max_files:
            raise ValueError(
                f"max_files {max_files} of max_bytes {max_bytes} do not hold this store, which takes {count}; "
                f"set max_files to {count}, or max_bytes higher"
            )
        for folder, old, table, new in zip(self._folders, (runs, states), rows, packed, strict=True):
            if len(new) != len(old) or len(table) != sum(map(len, old.values())) or folder.outdated(old):
                for data in new:
                    folder.place(data)
                folder.remove(old)
            folder.sweep()

    def table(self) -> pa.Table:
        """Return all columns of the runs, one row per run, as the files have them."""
        return self.snapshot(RUNS.names).table(RUNS.names)

    def add(self, rows: pa.Table) -> None:
        """Store rows of another store, except those that say nothing that a row of this store does not say."""
        there = concat([*self._runs.tables(RUNS.names).values()], RUNS)
        own = own_rows(pa.concat_tables([there, rows])) - len(there)
        for data in fewest(rows.take(own[own >= 0]), "part", PACKED_BYTES):
            self._runs.place(data)

    def _unfinished(self, states: pa.Table) -> pa.Table:
        states, finished = latest(states), self._finished()
        return states.filter(pa.array([not finished(key) for key in keys(states)], pa.bool_()))

    def check(self) -> tuple[tuple[str, str], ...]:
        """Verify every byte of every file again, and return the files that are set aside, with the reason."""
        for folder in self._folders:
            folder.check()
        return self._set_aside()

    def conflicts(self) -> tuple[RunKey, ...]:
        """Return the runs that have rows with different numbers, as (spec id, seed, engine)."""
        return self._runs.conflicts()

    @property
    def damaged(self) -> tuple[tuple[str, str], ...]:
        """Files that are set aside because they are damaged or foreign, with the reason."""
        self._runs.index()
        self._states.folder.rows()
        return self._set_aside()

    def _set_aside(self) -> tuple[tuple[str, str], ...]:
        found = {
            (folder.path / name).relative_to(self.path).as_posix(): reason
            for folder in self._folders
            for name, reason in folder.damaged.items()
        }
        return tuple(found.items())

    @property
    def duplicates(self) -> int:
        """Number of rows in excess of one per run: repeated work, or a pack in progress."""
        index = self._runs.index()
        return index.rows - index.runs

    @property
    def suspended(self) -> tuple[RunKey, ...]:
        """Runs that can be resumed, as (spec id, seed, engine)."""
        finished = self._finished()
        return tuple(key for key in self._states.latest() if not finished(key))

    def summary(self) -> Summary:
        """Return a summary of the store."""
        stamps = [stamp for folder in self._folders for stamp in folder.stamps()]
        return Summary(
            runs=len(self),
            specs=len(self._runs.index().ids),
            duplicates=self.duplicates,
            suspended=len(self.suspended),
            files=len(stamps),
            bytes=sum(size for _, size, _ in stamps),
            damaged=self.damaged,
        )

    def seeds(self) -> dict[tuple[str, str], set[int]]:
        """Return the stored seeds, by spec id and engine."""
        return self._runs.index().seeds

    def _finished(self) -> Callable[[RunKey], bool]:
        index = self.seeds()
        return lambda key: key[1] in index.get((key[0], key[2]), ())
