"""Additions to click: errors on one line, and examples in every help text."""

import io
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import click

from .._extras import needs
from .._text import printable

INTERRUPTED = 130


class _WithExamples:
    """Command whose epilog is a list of examples, one per line."""

    epilog: str | None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for line in (self.epilog or "").splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Verb(_WithExamples, click.Command):
    """Command with examples."""


class Program(_WithExamples, click.Group):
    """Group of verbs whose errors are one line: status 2 for wrong usage, 1 for a failure."""

    command_class = Verb

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            near = get_close_matches(name, self.commands, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.commands)}."
            raise click.UsageError(f"no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        command = shlex.join(["arithmos", *given])
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a terminal may not know every character of a path
                stream.reconfigure(errors="backslashreplace")
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *where, **more: complain(str(message))
                status = super().main(given, "arithmos", standalone_mode=False, obj=command)
        except click.Abort:
            complain("interrupted")
            status = INTERRUPTED
        except click.UsageError as error:
            hint = f" See '{error.ctx.command_path} --help'." if error.ctx else ""
            complain(error.format_message() + hint)
            status = error.exit_code
        except (ValueError, OSError) as error:
            status = _status(error)
            if status is None:
                raise
            complain(_words(error))
        sys.exit(status)


def complain(message: str) -> None:
    """Print a line on stderr."""
    echo(f"arithmos: {' '.join(message.split())}", err=True)


def echo(text: object, *, nl: bool = True, err: bool = False) -> None:
    """Print text with escapes for control characters, which names of files and stores may contain."""
    click.echo(printable(str(text)), nl=nl, err=err)


@contextmanager
def asked() -> Iterator[None]:
    """Report errors inside as wrong usage."""
    try:
        yield
    except KeyError as error:
        raise click.UsageError(f"{error.args[0]}.", click.get_current_context()) from error
    except (ValueError, FileNotFoundError, ImportError) as error:
        from ..store import NewerError

        if isinstance(error, NewerError):
            raise
        raise click.UsageError(f"{_words(error)}.", click.get_current_context()) from error


def _status(error: Exception) -> int | None:
    """Return the exit status for an error that its message explains; None for a fault of the program."""
    from ..data import BadFile
    from ..engines import Refused
    from ..store import NewerError

    return 2 if isinstance(error, Refused) else 1 if isinstance(error, BadFile | NewerError | OSError) else None


def _words(error: Exception) -> str:
    """Return the message of an error, without the system's number for it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{error.strerror}: {error.filename}" if error.filename else error.strerror


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Say which extra to install if an import inside fails."""
    try:
        with needs(name):
            yield
    except ModuleNotFoundError as error:
        raise click.UsageError(f"{error}.") from error
