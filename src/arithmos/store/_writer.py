"""`Writer`: a buffer between an engine and a store."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from ..engines.contract import Run, State
from ._folder import RunKey

if TYPE_CHECKING:
    from ..spec import Spec
    from ._store import Store

RunJudge = Callable[[Sequence[Run]], Iterable[Run]]
"""Function that returns runs with their verdicts."""


class Writer:
    """Buffer that stores runs every few seconds, however fast they come.

    On exit, also by Ctrl-C or another exception, the rest is stored. Runs that could not be stored stay in the buffer,
    and the next `add` or the exit tries again.

    Args:
        store: where the runs go.
        flush_s: a run waits no longer than this.
        flush_runs: no more runs than this wait.
        judge: what to do with runs before they are stored, such as to judge them exactly.

    Example:
        >>> import tempfile
        >>> from arithmos.store import Store
        >>> with Store(tempfile.mkdtemp()).writer(flush_s=5) as writer:
        ...     for run in []:
        ...         writer.add(run)
        >>> writer.stored, writer.unsaved
        (0, 0)
    """

    def __init__(self, store: "Store", *, flush_s: float = 5.0, flush_runs: int = 1000, judge: RunJudge = list) -> None:
        self.store = store
        self.flush_s = flush_s
        self.flush_runs = flush_runs
        self._judge = judge
        self.stored = 0
        self._runs: list[Run] = []
        self._states: dict[RunKey, tuple[Spec, int, str, State]] = {}
        self._flushed = -float("inf")
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    @property
    def unsaved(self) -> int:
        """Number of runs that wait to be stored."""
        return len(self._runs)

    def __enter__(self) -> "Writer":
        self.store.prepare()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()

    def add(self, run: Run) -> None:
        """Store a run, at once or soon.

        Raises:
            OSError: runs could not be stored; the message says how many.
        """
        self._runs.append(run)
        self._states.pop((run.spec.id, run.seed, run.engine), None)
        if len(self._runs) >= self.flush_runs or time.monotonic() - self._flushed >= self.flush_s:
            self.flush()
        else:
            self._flush_later()

    def suspend(self, spec: "Spec", seed: int, engine: str, state: State) -> None:
        """Keep the last state of an unfinished run; it is stored with the next runs, all states in one file."""
        self._states[spec.id, seed, engine] = (spec, seed, engine, state)
        self._flush_later()

    def flush(self) -> None:
        """Store everything that waits."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            # Removed from the buffer only once they are stored: a second Ctrl-C may come in between, and a run stored
            # twice does no harm.
            count, states = len(self._runs), dict(self._states)
            try:
                self.store.append(self._judge(self._runs[:count]))
                self.stored += count
                del self._runs[:count]
                self.store.suspend_all(states.values())
                for key, state in states.items():
                    if self._states.get(key) is state:  # no later one came meanwhile
                        del self._states[key]
            except OSError as error:
                note = f"{error.strerror}; {len(self._runs)} finished runs are not stored"
                raise OSError(error.errno, note, error.filename) from error
            self._flushed = time.monotonic()

    def _flush_later(self) -> None:
        timer = threading.Timer(self.flush_s, self._flush_quietly)
        timer.daemon = True
        with self._lock:
            if self._timer is None:
                with suppress(RuntimeError):  # the system cannot start a thread
                    timer.start()
                    self._timer = timer
        if self._timer is None:
            self.flush()

    def _flush_quietly(self) -> None:
        with suppress(Exception):  # the next `add`, or the exit, raises it again
            self.flush()
