"""Progress of a campaign on stderr: a live bar in a terminal, a line now and then elsewhere."""

import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from ._formatting import duration
from ._text import printable

if TYPE_CHECKING:  # a fit shows its progress before it needs torch
    from .engines import Run

EVERY_S = 10.0
TOLD_FROM = 0.002
"""Share of the work that must be done before the rest is estimated: the first moments go into compilation."""


class Barred:
    """Owner of a progress bar, which is shown inside the context."""

    _bar: RichProgress

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


class Watch(Barred):
    """Progress observer of a campaign; as a context manager it removes its bar at the end.

    Args:
        console: where to write; stderr by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._bar = RichProgress(
            TextColumn("{task.fields[runs]}"),
            BarColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[solved]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, runs="", speed="", solved="")
        self._runs = self._finished = self._solved = self._open = self._iterations = 0
        self._work = self._done = 0.0
        self._begun = self._told = time.monotonic()

    def begin(self, runs: int, stored: int, work: float) -> None:
        """Start with a number of runs, of which some are stored, and the work to do, in estimated seconds."""
        self._runs, self._finished, self._work = runs, stored, work
        self._begun = self._told = time.monotonic()
        self._show()

    def advance(self, iterations: int, work: float) -> None:
        """Add finished iterations and the work that they were."""
        self._iterations += iterations
        self._done += work
        self._show()
        if not self._console.is_terminal and time.monotonic() - self._told >= EVERY_S:
            self._told = time.monotonic()
            self._console.print(self._line(), soft_wrap=True)

    def fewer(self, work: float) -> None:
        """Subtract work that need not be done, because another or an earlier campaign did it."""
        self._work -= work
        self._show()

    def finished(self, run: "Run") -> None:
        """Add a finished run."""
        from .judging.runs import is_solved

        self._finished += 1
        verdict = is_solved(run)
        self._open += verdict is None
        self._solved += bool(verdict)
        self._show()

    def spared(self) -> None:
        """Count a run that another campaign has made."""
        self._finished += 1
        self._show()

    def say(self, line: str) -> None:
        """Print a message above the bar."""
        self._bar.console.print(printable(line), soft_wrap=True, markup=False)

    def _show(self) -> None:
        self._bar.update(
            self._task,
            total=self._work,
            completed=self._done,
            runs=self._counted(),
            speed=self._speed(),
            solved=self._verdicts(),
        )

    def _line(self) -> str:
        elapsed_s, done = time.monotonic() - self._begun, self._done / self._work if self._work else 0.0
        left = f"{duration(max(0.0, 1 / done - 1) * elapsed_s)} left, " if done >= TOLD_FROM else ""
        return f"{self._counted()}, {self._speed()}, {left}{self._verdicts()}"

    def _verdicts(self) -> str:
        """Count solved runs, and runs without a threshold, which for digits comes from reference runs later."""
        solved = [f"{self._solved} solved"] if self._solved or not self._open else []
        return ", ".join(solved + [f"{self._open} without a threshold"] * (self._open > 0))

    def _counted(self) -> str:
        return f"{self._finished} of {self._runs} runs"

    def _speed(self) -> str:
        speed = self._iterations / max(time.monotonic() - self._begun, 1e-9)
        for size, unit in ((1e6, "M"), (1e3, "k")):
            if speed >= size:
                return f"{speed / size:.1f}{unit} iterations/s"
        return f"{speed:.0f} iterations/s"


class Downloads(Barred):
    """Progress observer of downloads: one bar per file in a terminal, one line per file elsewhere.

    Args:
        console: where to write; stderr by default.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._bar = RichProgress(*columns, console=self._console, disable=not self._console.is_terminal)
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, name: str, done: int, total: int) -> None:
        """Show that `done` of `total` bytes of a file have been downloaded."""
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name)
            if not self._console.is_terminal:
                self._console.print(f"fetching {name}, {total / 1e6:.1f} MB", soft_wrap=True)
        self._bar.update(self._tasks[name], completed=done, total=total)
