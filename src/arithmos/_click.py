"""What our command line adds to click: errors in a line, examples in every help text, lists and durations."""

import io
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ._extras import needs
from ._text import printable
from .data import BadFile
from .engines import Refused
from .store import NewerError

INTERRUPTED = 130


class _WithExamples:
    """Shows its epilog as examples, a line each."""

    epilog: str | None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for line in (self.epilog or "").splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Verb(_WithExamples, click.Command):
    """A command."""


class Program(_WithExamples, click.Group):
    """A group of verbs whose errors are one line: status 2 for what was asked wrongly, 1 for what failed."""

    command_class = Verb
    group_class = type

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
        except Refused as error:
            complain(str(error))
            status = 2
        except (BadFile, NewerError) as error:
            complain(str(error))
            status = 1
        except OSError as error:
            complain(_words(error))
            status = 1
        sys.exit(status)


def complain(message: str) -> None:
    """A line on stderr."""
    echo(f"arithmos: {' '.join(message.split())}", err=True)


def echo(text: object, *, err: bool = False) -> None:
    """Print text, whatever names of files and stores are in it: what a terminal would obey is escaped."""
    click.echo(printable(str(text)), err=err)


@contextmanager
def asked() -> Iterator[None]:
    """What goes wrong inside was asked wrongly."""
    try:
        yield
    except NewerError:
        raise
    except KeyError as error:
        raise click.UsageError(f"{error.args[0]}.", click.get_current_context()) from error
    except (ValueError, FileNotFoundError, ImportError) as error:
        raise click.UsageError(f"{_words(error)}.", click.get_current_context()) from error


def _words(error: Exception) -> str:
    """What an error says, without the number that the system has for it."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{error.strerror}: {error.filename}" if error.filename else error.strerror


@contextmanager
def extra(name: str) -> Iterator[None]:
    """What is imported inside comes with an extra."""
    try:
        with needs(f"arithmos[{name}]"):
            yield
    except ModuleNotFoundError as error:
        raise click.UsageError(f"{error}.") from error


def names(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> list[str] | None:
    """Names given in several options, or joined by commas, or both; None if there are none."""
    return [name.strip() for joined in value for name in joined.split(",") if name.strip()] or None


def there(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """A folder that is there, if it was asked for by name; the one that is meant otherwise may be yet to come."""
    if ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT and not value.is_dir():
        raise click.BadParameter(f"there is no folder {str(value)!r}; `arithmos run` makes one.", ctx, param)
    return value


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Seconds of 90s, 9m or 1h30m."""
    if value is None:
        return None
    parts = re.fullmatch(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?", value)
    try:
        hours, minutes, rest = (float(part or 0) for part in (parts.groups() if value and parts else ()))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no duration; write 90s, 9m or 1h30m.", ctx, param) from None
    return 3600 * hours + 60 * minutes + rest
