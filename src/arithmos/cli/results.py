"""Verbs that show what stored runs say about a paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from .._files import check_place
from .completion import experiments as experiment_names
from .options import (
    all_or,
    command_of,
    formatted,
    judged_by,
    new_file,
    of_papers,
    of_store,
    path,
    pick,
    selection,
    with_papers,
)
from .program import Verb, asked, echo, extra

if TYPE_CHECKING:
    from ..papers import Experiment, Paper, Surface


@click.command(cls=Verb, epilog="arithmos table table-1\narithmos table table-2 --ops mul --format latex")
@click.argument("experiment", shell_complete=experiment_names)
@with_papers
@selection
@judged_by
@of_store
@formatted
def table(experiment: str, criterion: Any, store: Path, format: Any, width: Any, **chosen: Any) -> None:
    """Print the table of an experiment.

    Published numbers are below ours. If only a part was run, give the options that chose it.
    """
    from ..report import render, summarize
    from ..store import Store

    [part] = pick([experiment], **chosen)
    with asked():
        frame = summarize(Store(store), part, criterion=criterion)
    echo(render(frame, part, format, width=width, command=command_of(experiment, store, **chosen)))


@click.command(
    cls=Verb,
    epilog="arithmos figure hidden-size\narithmos figure all-models -o all-models.pdf\n"
    "arithmos figure loss-surface --format png",
)
@click.argument("name", shell_complete=experiment_names)
@with_papers
@selection
@judged_by
@click.option(
    "--estimator",
    metavar="NAME",
    help="Criterion whose estimators of means to use [default: as --criterion].",
)
@click.option("-o", "--output", type=path, metavar="FILE", help="File to write [default: NAME.html].")
@click.option(
    "--format",
    type=click.Choice(["html", "svg", "png", "pdf", "json"]),
    help="Output format [default: by the suffix of the file].",
)
@of_store
def figure(
    name: str, criterion: Any, estimator: Any, output: Path | None, format: str | None, store: Path, **chosen: Any
) -> None:
    """Draw an experiment, with published values beside ours.

    Figures that need no runs, such as loss-surface, are drawn too.
    """
    with extra("report"):
        from ..report.charts.draw import draw
        from ..report.charts.files import check_path, save
    from ..store import Store

    item = drawn(name, **chosen)
    file = output or Path(f"{Path(item.name).stem}.html")
    file = file.with_suffix(f".{format}") if format else file
    with asked():
        check_path(file)
        check_place(file)
        echo(save(draw(item, Store(store), criterion=criterion, estimator=estimator), file))


def drawn(name: str, **chosen: Any) -> "Experiment | Surface":
    """Return what a figure shows: a part of an experiment, or a surface."""
    from ..papers import FIGURES, SUFFIX, Surface

    with asked():
        item = None if name.endswith(SUFFIX) else FIGURES[name]
    return item if isinstance(item, Surface) else pick([name], **chosen)[0]


@click.command(cls=Verb, epilog="arithmos verdict\narithmos verdict table-1 all-models --format markdown")
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT…]", shell_complete=experiment_names)
@of_papers
@judged_by
@of_store
@formatted
def verdict(
    experiments: Sequence[str], papers: "Sequence[Paper]", criterion: Any, store: Path, format: Any, width: Any
) -> None:
    """Judge the published numbers.

    Each agrees with ours, differs, or cannot be told apart: a number agrees only if the test would have found a
    difference. If experiments are named, all their numbers are shown; by default, all numbers that differ.
    """
    from ..report import render_verdicts, verdicts
    from ..store import Store

    with asked():
        frame = verdicts(Store(store), all_or(experiments, papers), criterion=criterion)
    echo(render_verdicts(frame, format, every=bool(experiments), width=width))


@click.command(cls=Verb, epilog="arithmos claims\narithmos claims ablation-1 square-nmu")
@click.argument("claims", nargs=-1, metavar="[CLAIM…]")
@of_papers
@judged_by
@of_store
@formatted
def claims(
    claims: Sequence[str], papers: "Sequence[Paper]", criterion: Any, store: Path, format: Any, width: Any
) -> None:
    """Test the claims of a paper on the stored runs."""
    from ..report import claims as decide
    from ..report import render_claims
    from ..store import Store

    with asked():
        names = claims or [f"{claim.paper}/{claim.name}" for paper in papers for claim in paper.claims]
        frame = decide(Store(store), names, criterion=criterion)
    echo(render_claims(frame, format, width=width))


@click.command(cls=Verb, epilog="arithmos judges\narithmos judges table-2 --format markdown")
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT…]", shell_complete=experiment_names)
@of_papers
@judged_by
@of_store
@formatted
def judges(
    experiments: Sequence[str], papers: "Sequence[Paper]", criterion: Any, store: Path, format: Any, width: Any
) -> None:
    """Compare the paper's judge with the exact one.

    A run can be solved although its network, with rounded weights, is not the task's formula, or the other way round.
    """
    from ..report import judges as compare
    from ..report import render_judges
    from ..store import Store

    with asked():
        frame = compare(Store(store), all_or(experiments, papers), criterion=criterion)
    echo(render_judges(frame, format, width=width))


@click.command(cls=Verb, epilog="arithmos report\narithmos report --store results -o report.html")
@click.option(
    "-o",
    "--output",
    type=path,
    callback=new_file,
    is_eager=True,  # before papers are loaded
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="File to write.",
)
@of_papers
@judged_by
@of_store
@click.pass_context
def report(ctx: click.Context, /, output: Path, papers: "Sequence[Paper]", criterion: Any, store: Path) -> None:
    """Write the report: a page with every table and figure of a paper.

    Verdicts and claims come first, single runs last. The file opens from disk and loads nothing from the network. By
    default it covers the papers that have runs in the store. If there are several, each has its own page, and the file
    is their index.
    """
    with extra("report"):
        from ..report.page.html import write
    from ..store import Store

    chosen = papers if ctx.get_parameter_source("papers") is not ParameterSource.DEFAULT else None
    with asked():
        files = write(output, Store(store), papers=chosen, criterion=criterion)
    for file in files:
        echo(file)
