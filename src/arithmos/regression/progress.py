"""Progress of a fit on stderr: a bar in a terminal, lines elsewhere, nothing by default."""

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .._text import printable
from ..progress import Barred


class Telling(Barred):
    """Progress observer of a search; as a context manager it removes its bar at the end.

    Args:
        verbose: 0 for silence.
        console: where to write; stderr by default.
    """

    def __init__(self, verbose: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._verbose = verbose
        self._bar = Progress(
            TextColumn("searching"),
            BarColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not (verbose and self._console.is_terminal),
        )
        self._task = self._bar.add_task("", total=None)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._verbose:
            self._console.print(printable(line), soft_wrap=True, markup=False)

    def advance(self, done: int, total: int) -> None:
        """Show that `done` of `total` iterations of the round are done."""
        self._bar.update(self._task, completed=done, total=total)
