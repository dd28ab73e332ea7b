"""Folder of parts of one kind: its contents, and which of its files can be trusted.

Other processes may add parts and pack them at any time. A part never changes, so what was verified or read of it is
kept. A part that vanishes between listing and reading was packed into another: the folder is listed again.
"""

import errno
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from .._files import TEMPORARY
from .._platform import remove
from . import _migrations, _part

RunKey = tuple[str, int, str]
"""Spec id, seed and engine: the identity of a run."""

Row = tuple[RunKey, int]
"""Run with the time it was written, in microseconds."""

Stamp = tuple[str, int, int]
"""Name, size and modification time of a file."""

RETRY_S = 0.01
ABANDONED_S = 24 * 3600
"""Age from which a temporary file belongs to a writer that was killed."""

T = TypeVar("T")


class Folder:
    """Parts of one kind.

    Args:
        path: the folder; it need not exist.
        kind: prefix of the names of its parts.
        schema: schema of its parts.
    """

    def __init__(self, path: Path, kind: str, schema: pa.Schema) -> None:
        self.path = path
        self.kind = kind
        self.schema = schema
        self.damaged: dict[str, str] = {}
        self._distrust()

    def _distrust(self) -> None:
        self._verified: dict[Stamp, set[str]] = {}
        self._refused: dict[Stamp, str] = {}
        self._warned: set[Stamp] = set()
        self._rows: dict[Stamp, list[Row]] = {}

    def add(self, table: pa.Table) -> str:
        """Write a table as a new part and return its name."""
        return self.place(_part.encode(table, self.kind))

    def place(self, data: bytes) -> str:
        """Write the bytes of a part and return its name."""
        return _part.place(self.path, self.kind, data)

    def outdated(self, names: Iterable[str]) -> bool:
        """Return whether some parts have an older version of the schema."""
        with suppress(FileNotFoundError):
            return any(_part.version(pq.read_schema(self.path / name).metadata) < _migrations.VERSION for name in names)
        return False  # another pack has written them anew

    def remove(self, names: Iterable[str]) -> None:
        """Remove parts; one that is already gone was removed by another process."""
        for name in names:
            with suppress(FileNotFoundError):
                remove(self.path / name)

    def sweep(self) -> None:
        """Remove unfinished files of killed writers."""
        for path in self.path.glob(f"{TEMPORARY}*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > ABANDONED_S:
                    remove(path)

    def stamps(self) -> list[Stamp]:
        """Return the files of the folder, by name.

        A listing is not a snapshot: during one, a pack may add a part that it has passed and remove one that it has not
        reached. So a listing is accepted only if nothing of the previous one is missing.
        """
        before = self._list()
        while not before.keys() <= (after := self._list()).keys():
            before = after
        return sorted(after.values())

    def _list(self) -> dict[str, Stamp]:
        listed = {}
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    if not entry.name.startswith((".", "_")) and entry.is_file():
                        with suppress(FileNotFoundError):
                            stat = entry.stat()
                            listed[entry.name] = (entry.name, stat.st_size, stat.st_mtime_ns)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _part.explain(error, "read", self.path) from error
        return listed

    def tables(
        self, columns: Sequence[str], *, then: Callable[[pa.Table], pa.Table] = lambda table: table
    ) -> dict[str, pa.Table]:
        """Read columns of every sound part, by name; `then` is applied to each as it is read."""
        return self._each(lambda stamp: then(self._read(stamp, columns)))

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Read columns of one part, by default all.

        Raises:
            FileNotFoundError: the part was packed into another, removed, or set aside as damaged.
        """
        try:
            stat = (self.path / name).stat()
        except OSError as error:
            raise _part.fault(error, self.path / name) from error
        stamp = (name, stat.st_size, stat.st_mtime_ns)
        try:
            return self._read(stamp, self.schema.names if columns is None else columns)
        except _part.Damaged as reason:  # in a column that does not identify its rows
            self._set_aside(stamp, reason)
            raise FileNotFoundError(errno.ENOENT, "set aside", str(self.path / name)) from reason

    def rows(self) -> dict[str, list[Row]]:
        """Return the run of each row of every sound part, by name of the part."""
        fresh: dict[Stamp, list[Row]] = {}

        def rows(stamp: Stamp) -> list[Row]:
            fresh[stamp] = self._rows[stamp] if stamp in self._rows else _rows(self._read(stamp, ROW_COLUMNS))
            return fresh[stamp]

        found = self._each(rows)
        self._rows = fresh
        return found

    def copy_to(self, other: "Folder") -> None:
        """Copy every sound part that the other folder does not have."""
        there = {name for name, *_ in other.stamps()}

        def copy(stamp: Stamp) -> None:
            if stamp[0] not in there:
                other.place(self._whole(stamp))

        self._each(copy)

    def check(self) -> None:
        """Verify every file again."""
        self._distrust()
        self._each(self._whole)

    def _whole(self, stamp: Stamp) -> bytes:
        data = self._verify(stamp)
        _part.read(pa.BufferReader(data), self.path / stamp[0], self.schema, self.schema.names)
        return data

    def _each(self, read: Callable[[Stamp], T]) -> dict[str, T]:
        while True:
            found: dict[str, T] = {}
            damaged: dict[str, str] = {}
            for stamp in self.stamps():
                try:
                    if stamp in self._refused:
                        raise _part.Damaged(self._refused[stamp])
                    found[stamp[0]] = read(stamp)
                except FileNotFoundError:
                    time.sleep(RETRY_S)  # a network disk may list removed files for a while
                    break
                except _part.Damaged as reason:
                    damaged[stamp[0]] = str(reason)
                    self._set_aside(stamp, reason)
            else:
                self.damaged = damaged
                return found

    def _set_aside(self, stamp: Stamp, reason: _part.Damaged) -> None:
        self._verified.pop(stamp, None)
        self._rows.pop(stamp, None)
        if not isinstance(reason, _part.Unreadable):
            self._refused[stamp] = str(reason)
        if stamp not in self._warned:
            self._warned.add(stamp)
            warnings.warn(f"{self.path / stamp[0]} is set aside ({reason})", stacklevel=2)

    def _read(self, stamp: Stamp, columns: Sequence[str]) -> pa.Table:
        path = self.path / stamp[0]
        source = path if stamp in self._verified else pa.BufferReader(self._verify(stamp))
        sound = self._verified[stamp]
        table = _part.read(source, path, self.schema, columns, sound)
        sound.update(columns)
        return table

    def _verify(self, stamp: Stamp) -> bytes:
        data = _part.verified_bytes(self.path / stamp[0], self.kind)
        self._verified[stamp] = set()
        return data


ROW_COLUMNS = ("spec_id", "seed", "engine", "written")


def _rows(table: pa.Table) -> list[Row]:
    spec_id, seed, engine = (table[name].to_pylist() for name in ROW_COLUMNS[:3])
    written = table["written"].cast(pa.int64()).to_pylist()
    return list(zip(zip(spec_id, seed, engine, strict=True), written, strict=True))
