"""Verb that ranks units on one protocol."""

from typing import Any

import click

from .._choices import RULES
from .options import by_engine, formatted, in_threads, names, new_store, seconds
from .program import INTERRUPTED, Verb, asked, echo


@click.command(
    cls=Verb,
    epilog="arithmos rank\n"
    "arithmos rank --ops mul\n"
    "arithmos rank --mine my_unit.py:MyUnit --ops add,mul\n"
    "arithmos rank --models NMU,RealNPU --seeds 100\n"
    "arithmos rank --behind --inputs 10",
)
@click.option("--mine", multiple=True, metavar="FILE:CLASS", help="Your own unit to run and show.")
@click.option(
    "--models",
    callback=names,
    multiple=True,
    metavar="UNIT,…",
    help="Units to run and show [default: show all, run none].",
)
@click.option(
    "--ops", "operations", callback=names, multiple=True, metavar="OP,…", help="Operations to use [default: all]."
)
@click.option("--inputs", type=int, default=2, show_default=True, metavar="N", help="Number of inputs: 2, 10 or 100.")
@click.option("--behind", is_flag=True, help="Put a NAU before each unit.")
@click.option("--seeds", type=int, default=25, show_default=True, metavar="N", help="Number of seeds per range.")
@click.option("--lr", type=float, default=1e-3, show_default=True, help="Learning rate of your unit.")
@click.option(
    "--strength", type=float, default=10.0, show_default=True, help="Strength of your unit's sparsity regularizer."
)
@click.option(
    "--rule", type=click.Choice(RULES), default="epsilon", show_default=True, help="Rule by which a run is solved."
)
@by_engine
@in_threads("threads")
@click.option("--budget", "budget_s", callback=seconds, metavar="TIME", help="Time limit: 90s, 9m or 1h30m.")
@new_store()
@formatted
@click.pass_context
def rank(ctx: click.Context, /, rule: Any, format: Any, width: Any, **options: Any) -> None:
    """Rank units by the share of solved runs on each operation.

    Each unit is one layer that is to find an operation on one or two of its inputs, in nine ranges; with --behind, a
    NAU stands before it. Runs of this project come with the package; those of your own unit are made and shown beside
    them. It can be stopped at any time; the same command resumes it. With one operation, the table shows every range.
    """
    from .. import bench
    from ..progress import Watch
    from ..report.tables.ranking import render_ranking

    with asked(), Watch() as watch:
        ranked = bench.rank(progress=watch, **options)
    echo(render_ranking(ranked.frame, format, rule=rule, width=width))
    if ranked.outcome is not None:
        ctx.exit(INTERRUPTED if ranked.outcome.stopped == "interrupted" else 1 if ranked.outcome.missed else 0)
