"""Options that several verbs share, and their values."""

import math
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from .._choices import ENGINE_NAMES, FORMATS
from .._files import check_place
from . import completion
from .program import asked, extra

if TYPE_CHECKING:
    from ..papers import Experiment, Paper

Command = TypeVar("Command", bound=Callable[..., Any])


def names(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> list[str] | None:
    """Return names given in several options, or joined by commas, or both; None if there are none."""
    return [name.strip() for joined in value for name in joined.split(",") if name.strip()] or None


def papers(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> "list[Paper]":
    """Return papers by key or folder; all of them by default."""
    if ctx.resilient_parsing:  # a shell completes a line
        return []
    from ..papers import PAPERS

    with asked():
        return [PAPERS.find(name) for name in value] or list(PAPERS.values())


def existing(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Return a folder, which must exist if it was given; the default one may not exist yet."""
    if ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT and not value.is_dir():
        raise click.BadParameter(f"there is no folder {str(value)!r}; `arithmos run` creates one.", ctx, param)
    return value


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float:
    """Return the seconds of 90s, 9m or 1h30m; infinitely many by default."""
    if value is None:
        return math.inf
    parts = re.fullmatch(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?", value)
    try:
        hours, minutes, rest = (float(part or 0) for part in (parts.groups() if value and parts else ()))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a duration; write 90s, 9m or 1h30m.", ctx, param) from None
    return 3600 * hours + 60 * minutes + rest


def new_file(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Return a file to write, whose folder must exist: that is better said now than after the work."""
    with asked():
        check_place(value)
    return value


def chart_file(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Return the file of a chart or page, whose suffix must be a known format, or None."""
    if value is not None:
        with extra("report"):
            from ..report.charts.files import check_path
        with asked():
            check_path(value)
            check_place(value)
    return value


def export_files(ctx: click.Context, param: click.Parameter, value: Sequence[Path]) -> Sequence[Path]:
    """Return files for other programs, whose suffixes must be known formats."""
    if value:
        from ..export.save import format_of

        with asked():
            for path in value:
                format_of(path)
                check_place(path)
    return value


def units(ctx: click.Context, param: click.Parameter, value: str | None) -> dict[str, str] | None:
    """Return units of measurement by column, or None."""
    if value is None:
        return None
    from ..regression.units import read_units

    with asked():
        return read_units(value)


def selection(command: Command) -> Command:
    """Add the options that choose a part of an experiment."""
    for option in (
        click.option(
            "--epochs",
            type=int,
            metavar="N",
            help="Number of epochs, for sequences of digits [default: the experiment's].",
        ),
        click.option("--iterations", type=int, metavar="N", help="Last iteration [default: the experiment's]."),
        click.option("--seeds", type=int, metavar="N", help="Number of seeds [default: the experiment's]."),
        click.option("--ops", callback=names, multiple=True, metavar="OP,…", help="Operations to use [default: all]."),
        click.option(
            "--models",
            callback=names,
            multiple=True,
            metavar="MODEL,…",
            shell_complete=completion.models,
            help='Models to use: names, or layers joined by ">", such as "NAU>file.py:MyUnit" [default: all].',
        ),
    ):
        command = option(command)
    return command


def pick(
    experiments: Sequence[str], models: Sequence[str] | None, ops: Sequence[str] | None, **rest: int | None
) -> "list[Experiment]":
    """Return the selected parts of experiments, or raise a usage error."""
    from .. import bench

    with asked():
        return bench.select(experiments, models=models, operations=ops, **rest)


def command_of(experiment: str, store: Path, **chosen: Sequence[str] | int | None) -> str:
    """Return the command that makes the runs of a part of an experiment."""
    given = {name: value for name, value in chosen.items() if value is not None}
    given |= {"store": str(store)} if store != Path("runs") else {}
    words = {name: str(value) if isinstance(value, int | str) else ",".join(value) for name, value in given.items()}
    return shlex.join(["arithmos", "run", experiment, *chain(*((f"--{name}", word) for name, word in words.items()))])


def all_or(experiments: Sequence[str], papers: "Sequence[Paper]") -> "list[Experiment]":
    """Return the experiments of these names, or all experiments of the papers if there are none."""
    named = pick(experiments, None, None) if experiments else []
    return named or [experiment for paper in papers for experiment in paper.experiments]


path = click.Path(path_type=Path)
new_store = partial(
    click.option, "--store", type=path, default=Path("runs"), show_default=True, metavar="DIR", help="Store folder."
)
of_store = new_store(callback=existing)
by_engine = click.option(
    "--engine", type=click.Choice(("auto", *ENGINE_NAMES)), default="auto", show_default=True, help="Engine to use."
)
paper_option = partial(click.option, "--paper", "papers", callback=papers, multiple=True, metavar="PAPER")
of_papers = paper_option(help="Paper to use: its key or the path of its folder [default: all installed papers].")
with_papers = paper_option(expose_value=False, help="Folder of a paper whose experiments to add.")
judged_by = click.option(
    "--criterion",
    metavar="NAME",
    help="Name of the thresholds that decide which runs are solved [default: the first of the paper's].",
)


def fitting(ctx: click.Context, param: click.Parameter, value: bool) -> int | None:
    """Return the width that tables must fit: that of the terminal, or none with --wide and in files and pipes."""
    return None if value or not sys.stdout.isatty() else shutil.get_terminal_size().columns


widely = click.option(
    "--wide", "width", is_flag=True, callback=fitting, help="Show all columns, also where the terminal is too narrow."
)


def formatted(command: Command) -> Command:
    """Add the options for the format of a table."""
    format = click.option(
        "--format", type=click.Choice(FORMATS), default="text", show_default=True, help="Output format."
    )
    return format(widely(command))


snapped = click.option(
    "--snap",
    type=click.FloatRange(0, 0.5),
    default=0.01,
    show_default=True,
    metavar="D",
    help="In formulas, largest distance at which a weight is taken for an exact number.",
)
in_threads = partial(
    click.option,
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of threads of the cpu engine [default: all cores].",
)
