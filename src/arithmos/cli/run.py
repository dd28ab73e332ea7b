"""Verb that runs experiments."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .completion import experiments as experiment_names
from .options import by_engine, in_threads, new_store, pick, seconds, selection, widely, with_papers
from .program import INTERRUPTED, Verb, asked, complain, echo, extra

if TYPE_CHECKING:
    from ..bench import Outcome
    from ..papers import Experiment
    from ..store import Store


@click.command(
    cls=Verb,
    epilog="arithmos run table-1\n"
    "arithmos run table-2 --models 'NAU>my_unit.py:MyUnit' --ops mul --seeds 10\n"
    "arithmos run my-experiment.toml --dry-run\n"
    "arithmos run mnist-product --models NMU --seeds 1 --epochs 3\n"
    "arithmos run all-models --engine cpu --budget 1h30m",
)
@click.argument("experiments", nargs=-1, required=True, metavar="EXPERIMENT…", shell_complete=experiment_names)
@with_papers
@selection
@by_engine
@widely
@new_store()
@in_threads("threads")
@click.option("--budget", "budget_s", callback=seconds, metavar="TIME", help="Time limit: 90s, 9m or 1h30m.")
@click.option(
    "--dask", metavar="ADDRESS", help="Scheduler of a Dask cluster to use, or local:N for N workers on this machine."
)
@click.option("--all-records", is_flag=True, help="Store complete learning curves instead of thinned ones.")
@click.option("--json", is_flag=True, help="Print the tables as JSON, and the conclusion on stderr.")
@click.option("--dry-run", is_flag=True, help="Run nothing; print what would be run, and how long it might take.")
@click.pass_context
def run(ctx: click.Context, /, experiments: Sequence[str], store: Path, dry_run: bool, **options: Any) -> None:
    """Run the missing runs of experiments, and store them.

    An experiment is a name that `arithmos list` shows, or a TOML file of your own, such as `arithmos show NAME --toml`
    prints. It can be stopped at any time; the same command resumes it.

    A model with a unit that cannot run, or that fails, is reported in one line, and the others are run. The exit status
    is 0 if all runs are in the store or were stopped by --budget, and 1 if some were refused or failed.
    """
    from .. import bench
    from ..store import Store

    if options["dask"] is not None:
        with extra("cluster"):
            import distributed  # noqa: F401
    named = ("engine", "threads", "budget_s", "all_records", "dask", "width", "json")
    how = {name: options.pop(name) for name in named}
    parts = pick(experiments, **options)
    with asked():
        bench.load_units(parts)
    ctx.exit((preview if dry_run else campaign)(parts, Store(store), ctx.obj, **how))


def campaign(
    parts: "Sequence[Experiment]", store: "Store", command: str, *, width: int | None, json: bool, **how: Any
) -> int:
    """Run what is missing, print the tables and a conclusion, and return the exit status."""
    import pandas as pd

    from .. import bench
    from ..progress import Watch
    from ..report import render, summarize
    from ..report.tables.grid import to_json

    with Watch() as watch:
        outcome = bench.run(parts, store=store, progress=watch, **how)
    shown = [part for part in parts if json or not part.axis]
    frames = {part: summarize(store, part) for part in shown}
    if json:
        echo(to_json(pd.concat([frame.assign(experiment=part.name) for part, frame in frames.items()])))
    else:
        echo("".join(render(frame, part, width=width) + "\n\n" for part, frame in frames.items()), nl=False)
    for line in (*(f"{line}." for line in bench.unequal(parts)), conclusion(outcome, store.path, command)):
        echo(line, err=json)
    return INTERRUPTED if outcome.stopped == "interrupted" else 1 if outcome.missed else 0


def preview(
    parts: "Sequence[Experiment]",
    store: "Store",
    command: str,
    *,
    engine: str,
    threads: int | None,
    dask: str | None,
    **unused: object,
) -> int:
    """Print what would be run and how long it might take, and return the exit status."""
    from .. import bench
    from ..report.tables import listing

    stored = store.snapshot(bench.TIMES)
    pace = bench.clock(stored, parts, threads=1)
    with bench.workforce(engine, dask=dask, threads=threads, pace=pace, say=complain) as engines:
        todo = bench.plan(parts, stored, engines)
        frame = bench.estimate(todo, bench.clock(stored, parts, threads=engines.threads))
    title = f"{todo.missing} of {todo.runs} runs to make, {todo.stored} stored"
    title += f", {todo.impossible} refused" if todo.refused else ""
    echo(listing.write(frame, title, listing.PLAN) if todo.jobs else title)
    return 1 if todo.refused else 0


def conclusion(outcome: "Outcome", store: Path, command: str) -> str:
    """Return what became of a campaign, and how to resume it."""
    from .._formatting import duration

    done = outcome.stored + outcome.finished
    counts = Counter(part.spec.model.name for part in outcome.missed for _ in part.seeds)
    missed = f" Refused or failed: {', '.join(f'{n} of {model}' for model, n in counts.items())}." if counts else ""
    if outcome.stopped:
        return (
            f"{outcome.stopped.capitalize()}: {done} of {outcome.runs} runs are in {store}, {outcome.left} left."
            f"{missed} Unfinished runs were saved. Resume with:\n  {command}"
        )
    if not outcome.finished and not missed:
        return f"Nothing to do: all {outcome.runs} runs are in {store}."
    share = f"{done} of {outcome.runs}" if missed else f"all {outcome.runs}"
    return f"Made {outcome.finished} runs in {duration(outcome.elapsed_s)}; {share} are in {store}.{missed}"
