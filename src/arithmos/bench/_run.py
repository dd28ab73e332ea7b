"""Runs what is missing of some experiments into a store."""

import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

from ..engines import Control, Engines, Run
from ..experiments import Experiment
from ..spec import Model
from ..store import Store
from ._plan import plan, select


class Progress(Protocol):
    """Somebody who watches a campaign."""

    def begin(self, runs: int, stored: int, iterations: int) -> None:
        """There are so many runs, of which some are stored, and so many iterations to go."""

    def advance(self, iterations: int) -> None:
        """So many iterations were done."""

    def finished(self, run: Run) -> None:
        """A run came to its end."""

    def say(self, line: str) -> None:
        """Something slow or odd happens."""


class Silent:
    """Watches without a word."""

    def begin(self, runs: int, stored: int, iterations: int) -> None: ...

    def advance(self, iterations: int) -> None: ...

    def finished(self, run: Run) -> None: ...

    def say(self, line: str) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """What became of a campaign.

    Args:
        runs: runs that the experiments ask for.
        stored: how many of them were in the store before.
        finished: how many were run now.
        stopped: why it ended before all were run: "interrupted", "out of time", or empty.
        elapsed_s: seconds it took.
    """

    runs: int
    stored: int
    finished: int
    stopped: str
    elapsed_s: float

    @property
    def left(self) -> int:
        """Runs still missing."""
        return self.runs - self.stored - self.finished


def run(
    experiments: Sequence[str | Experiment],
    *,
    models: Collection[str | Model] | None = None,
    operations: Collection[str] | None = None,
    seeds: int | None = None,
    iterations: int | None = None,
    engine: str = "auto",
    store: str | Path | Store = "runs",
    threads: int | None = None,
    budget_s: float = math.inf,
    all_records: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Runs what is missing of some experiments, and stores each run as it finishes.

    Args:
        experiments: names of `EXPERIMENTS`, experiment files, or experiments.
        models: only these models, or a model of one's own in their place.
        operations: only these operations.
        seeds: how many seeds, instead of the experiment's number.
        iterations: a last iteration other than the experiment's.
        engine: "auto", "torch", "cpu" or "cuda".
        store: folder of the store.
        threads: threads of the cpu engine.
        budget_s: seconds after which to stop; what is in the air is suspended, and goes on next time.
        all_records: store every record of the curves.
        progress: who is told how it goes.
    """
    watch = progress or Silent()
    begun = time.monotonic()
    store = store if isinstance(store, Store) else Store(store)
    parts = select(experiments, models=models, operations=operations, seeds=seeds, iterations=iterations)
    todo = plan(parts, store, Engines(engine, threads=threads, say=watch.say))
    stored = todo.runs - todo.missing
    watch.begin(todo.runs, stored, todo.iterations)
    finished = 0
    with interruptible() as interrupted, store.writer() as writer:

        def late() -> bool:
            return time.monotonic() - begun > budget_s

        def control(name: str) -> Control:
            return Control(
                advance=watch.advance,
                stopped=lambda: interrupted() or late(),
                resume=lambda spec, seed: store.resume(spec, seed, name),
                suspend=lambda spec, seed, state: writer.suspend(spec, seed, name, state),
                say=watch.say,
                all_records=all_records,
            )

        for runner, jobs in todo.jobs:
            for made in runner.run(jobs, control(runner.name)):
                writer.add(made)
                finished += 1
                watch.finished(made)
        stopped = "interrupted" if interrupted() else "out of time" if late() else ""
    left = todo.missing - finished
    return Outcome(todo.runs, stored, finished, stopped if left else "", time.monotonic() - begun)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C or SIGTERM is only noted, so that work in the air can be saved; the second acts.

    A signal that the process was started to ignore, as behind a shell's `&`, is still ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted: list[int] = []  # and no event: a second signal inside its `set` would wait for the first for ever

    def note(number: int, frame: FrameType | None) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    heard = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, note) for number in heard}
    try:
        yield lambda: bool(noted)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
