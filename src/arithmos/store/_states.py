"""Suspended runs: the checkpoints from which engines resume.

They are in a subfolder whose name starts with an underscore, so that readers of Parquet folders skip it. A checkpoint
is a convenience: one that is damaged, or was made by other code, is not used, and its run starts again.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from .. import __version__
from ..engines.code import CODE
from ..engines.contract import State
from ._folder import Folder, Row, RunKey
from ._schema import STATES, now, state_of_row

Latest = dict[RunKey, tuple[int, str, int]]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class States:
    """Suspended runs of a store; of several states of one run, the last counts."""

    def __init__(self, path: Path) -> None:
        self.folder = Folder(path, "state", STATES)
        self._part: tuple[str, pa.Table] | None = None

    def latest(self) -> Latest:
        """Return for each suspended run the time, part and row of its last state."""
        return _latest(self.folder.rows())

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write states as one part, and remove the parts in which no state counts any more."""
        before = self.latest()
        stamped = []
        for row in rows:
            known = before.get(_key(row))
            # Later than the state it came from, even if the clock was set back in between.
            least = EPOCH + timedelta(microseconds=known[0] + 1) if known else EPOCH
            stamped.append(row | {"written": max(now(), least)})
        self.folder.add(pa.Table.from_pylist(stamped, schema=STATES))
        if before:
            self.drop(lambda key: False)

    def get(self, key: RunKey) -> State | None:
        """Return the last state of a run, or None if it cannot be resumed."""
        found = self.latest().get(key)
        if found is None:
            return None
        _, name, row = found
        try:
            values = self._table(name).slice(row, 1).to_pylist()[0]
        except FileNotFoundError:  # packed in the meantime, or damaged
            return self.get(key)
        version, _, code = (values["version"] or "").partition(" ")
        if version != __version__:
            warnings.warn(f"runs suspended by arithmos {version} start again in arithmos {__version__}", stacklevel=3)
            return None
        if code != CODE:
            why = "the code of arithmos, or a library it computes with, has changed since"
            warnings.warn(f"suspended runs start again: {why}", stacklevel=3)
            return None
        try:
            return state_of_row(values["names"], values["arrays"])
        except ValueError as error:
            warnings.warn(f"run {key} starts again: its state cannot be read ({error})", stacklevel=3)
            return None

    def _table(self, name: str) -> pa.Table:
        # One part holds the states of many runs, which are read one after the other.
        if self._part is None or self._part[0] != name:
            self._part = name, self.folder.table(name)
        return self._part[1]

    def drop(self, finished: Callable[[RunKey], bool]) -> None:
        """Remove the parts in which no state counts any more, because a later one has come or the run is finished.

        Of two copies of a state, neither is removed: a pack may have written one and be about to remove the other.
        """
        parts = self.folder.rows()
        latest = _latest(parts)

        def counts(key: RunKey, written: int) -> bool:
            return written == latest[key][0] and not finished(key)

        with suppress(OSError):  # they may stay: they do not count
            self.folder.remove(name for name, rows in parts.items() if not any(counts(*row) for row in rows))

    def forget(self, key: RunKey) -> None:
        """Remove all states of a run."""
        holding = [name for name, rows in self.folder.rows().items() if any(held == key for held, _ in rows)]
        for name in holding:
            with suppress(FileNotFoundError):
                rest = [row for row in self.folder.table(name).to_pylist() if _key(row) != key]
                if rest:
                    self.folder.add(pa.Table.from_pylist(rest, schema=STATES))
                self.folder.remove([name])


def _latest(parts: dict[str, list[Row]]) -> Latest:
    found: Latest = {}
    for name, rows in parts.items():
        for row, (key, written) in enumerate(rows):
            found[key] = max(found.get(key, (written, name, row)), (written, name, row))
    return found


def _key(row: dict[str, Any]) -> RunKey:
    return row["spec_id"], row["seed"], row["engine"]
