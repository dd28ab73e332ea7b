"""The command line: each verb parses, calls its twin in Python, and prints."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from . import __version__, bench
from ._click import INTERRUPTED, Program, asked, complain, echo, extra, names, seconds, there
from .data import fetch_mnist
from .data import mnist as read_mnist
from .engines import ENGINES, Engines
from .papers import FIGURES, PAPERS, SUFFIX, Experiment, Paper, Surface, to_toml
from .progress import Downloads, Watch, duration
from .report import claims as decide_claims
from .report import judges, render, render_claims, render_judges, render_verdicts, summarize, verdicts
from .report.page.formula import formula_page
from .report.page.run import run_page, spec_page
from .report.tables import listing
from .report.tables.grid import FORMATS
from .spec import MODELS
from .store import PACKED_BYTES, PACKED_FILES, Store

Command = TypeVar("Command", bound=Callable[..., Any])


def selection(command: Command) -> Command:
    """Options that choose a part of an experiment."""
    for option in (
        click.option("--epochs", type=int, metavar="N", help="So many epochs instead, for sequences of digits."),
        click.option("--iterations", type=int, metavar="N", help="Last iteration, instead of the experiment's."),
        click.option("--seeds", type=int, metavar="N", help="How many seeds, instead of the experiment's number."),
        click.option("--ops", callback=names, multiple=True, metavar="OP,…", help="Only these operations."),
        click.option(
            "--models",
            callback=names,
            multiple=True,
            metavar="MODEL,…",
            help='Only these models: names, or layers joined by ">", such as "NAU>file.py:MyUnit".',
        ),
    ):
        command = option(command)
    return command


def all_of(papers: Sequence[Paper]) -> list[Experiment]:
    """All experiments of some papers."""
    return [experiment for paper in papers for experiment in paper.experiments]


def pick(
    experiments: Sequence[str], models: Sequence[str] | None, ops: Sequence[str] | None, **rest: int | None
) -> list[Experiment]:
    """The experiments that were asked for, or an error that says what was asked wrongly."""
    with asked():
        return bench.select(experiments, models=models, operations=ops, **rest)


def papers(ctx: click.Context, param: click.Parameter, value: Sequence[str]) -> list[Paper]:
    """The papers that were asked for by key or folder; all if none was."""
    with asked():
        return [PAPERS.find(name) for name in value] or list(PAPERS.values())


to_store = partial(
    click.option,
    "--store",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    metavar="DIR",
    help="Folder of the store.",
)
paper_option = partial(click.option, "--paper", "papers", callback=papers, multiple=True, metavar="PAPER")
of_papers = paper_option(help="Paper to use, by its key or the path of its folder [default: all that are installed].")
with_papers = paper_option(expose_value=False, help="Folder of a paper, to use its experiments.")
stored = to_store(callback=there)  # for what reads; run and merge may begin one
judged_by = click.option(
    "--criterion",
    type=click.Choice(["released", "corrected"]),
    default="released",
    show_default=True,
    help="Thresholds and estimators: those behind the published numbers, or the right ones.",
)
formatted = click.option(
    "--format", type=click.Choice([*FORMATS, "json"]), default="text", show_default=True, help="How to write it."
)


snapped = click.option(
    "--snap",
    type=click.FloatRange(0, 0.5),
    default=0.01,
    show_default=True,
    metavar="D",
    help="In a formula weights that are so close to an exact number are that number.",
)


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="arithmos list\narithmos run table-1\narithmos table table-1",
)
@click.version_option(__version__, prog_name="arithmos")
def main() -> None:
    """Measure what neural arithmetic units can do.

    Train networks by the thousand, judge each, and see the published numbers beside your own.
    """


@main.command("list", epilog="arithmos list --store runs\narithmos list --paper path/to/folder")
@of_papers
@stored
@formatted
def list_(papers: Sequence[Paper], store: Path, format: Any) -> None:
    """List the experiments.

    What they are in the paper, what they run, what is stored of it, and how long the rest might take.
    """
    echo(listing.write(bench.catalogue(store, papers=papers), "Experiments", listing.CATALOGUE, format))


@main.command(
    epilog="arithmos run table-1\n"
    "arithmos run table-2 --models 'NAU>my_unit.py:MyUnit' --ops mul --seeds 10\n"
    "arithmos run my-experiment.toml --dry-run\n"
    "arithmos run mnist-product --models NMU --seeds 1 --epochs 3\n"
    "arithmos run all-models --engine cpu --budget 1h30m"
)
@click.argument("experiments", nargs=-1, required=True, metavar="EXPERIMENT…")
@with_papers
@selection
@click.option("--engine", type=click.Choice(["auto", *ENGINES]), default="auto", show_default=True, help="Who runs it.")
@to_store()
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads of the cpu engine [default: all cores].")
@click.option("--budget", callback=seconds, metavar="TIME", help="Stop after 90s, 9m or 1h30m.")
@click.option(
    "--dask", metavar="ADDRESS", help="Run on a Dask cluster: its scheduler, or local:N for N workers on this machine."
)
@click.option("--all-records", is_flag=True, help="Store whole learning curves, not thinned ones.")
@click.option("--dry-run", is_flag=True, help="Only say what would be run, and how long it might take.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    experiments: Sequence[str],
    engine: str,
    store: Path,
    jobs: int | None,
    budget: float | None,
    dask: str | None,
    all_records: bool,
    dry_run: bool,
    **chosen: Any,
) -> None:
    """Run what is missing of some experiments, and store it.

    An experiment is a name that `arithmos list` shows, or a TOML file of your own, such as `arithmos show NAME --toml`
    prints. It can be stopped at any moment, and goes on where it was.

    A model with a unit that cannot be run, or that fails, is reported in one line, and the others are run. The exit
    status is 0 if all runs are in the store or were stopped by --budget, and 1 if some were refused or failed.
    """
    if dask is not None:
        with extra("cluster"):
            import distributed  # noqa: F401
    parts, runs = pick(experiments, **chosen), Store(store)
    with asked():
        bench.load_units(parts)
    if dry_run:
        text, whole = preview(parts, runs, engine, dask, jobs)
        echo(text)
        ctx.exit(0 if whole else 1)
    limit = math.inf if budget is None else budget
    with Watch() as watch:
        outcome = bench.run(
            parts,
            engine=engine,
            store=runs,
            threads=jobs,
            budget_s=limit,
            all_records=all_records,
            dask=dask,
            progress=watch,
        )
    for part in parts:
        if not part.axis:
            echo(render(summarize(runs, part), part) + "\n")
    echo(conclusion(outcome, store, ctx.obj))
    ctx.exit(INTERRUPTED if outcome.stopped == "interrupted" else 1 if outcome.missed else 0)


def preview(
    parts: Sequence[Experiment], store: Store, engine: str, dask: str | None, threads: int | None
) -> tuple[str, bool]:
    """What would be run, how long it might take, and whether that is all that was asked for."""
    stored = store.snapshot(bench.TIMES)
    pace = bench.clock(stored, parts, threads=1)
    with bench.workforce(engine, dask=dask, threads=threads, pace=pace, say=complain) as engines:
        todo = bench.plan(parts, stored, engines)
        frame = bench.estimate(todo, bench.clock(stored, parts, threads=engines.threads))
    title = f"{todo.missing} of {todo.runs} runs to make, {todo.stored} stored"
    title += f", {todo.impossible} refused" if todo.refused else ""
    return listing.write(frame, title, listing.PLAN) if todo.jobs else title, not todo.refused


def conclusion(outcome: bench.Outcome, store: Path, command: str) -> str:
    """What became of a campaign, and how to go on with it."""
    done = outcome.stored + outcome.finished
    counts = Counter(part.spec.model.name for part in outcome.missed for _ in part.seeds)
    missed = ", ".join(f"{count} of {model}" for model, count in counts.items())
    if outcome.stopped:
        return (
            f"{outcome.stopped}: {done} of {outcome.runs} runs are in {store}, {outcome.left} to go; what was under "
            f"way is kept.{f' Refused or failed: {missed}.' if missed else ''} To go on:\n  {command}"
        )
    made = f"{outcome.finished} runs made in {duration(outcome.elapsed_s)}"
    if missed:
        return f"{made}; {done} of {outcome.runs} are in {store}. Refused or failed: {missed}"
    if not outcome.finished:
        return f"nothing to do: all {outcome.runs} runs are in {store}"
    return f"{made}; all {outcome.runs} are in {store}"


@main.command(epilog="arithmos table table-1\narithmos table table-2 --ops mul --criterion corrected --format latex")
@click.argument("experiment")
@with_papers
@selection
@judged_by
@stored
@formatted
def table(experiment: str, criterion: Any, store: Path, format: Any, **chosen: Any) -> None:
    """Print the table of an experiment.

    Our numbers, and the published ones below them. Choose the same part of the experiment as when it was run.
    """
    [part] = pick([experiment], **chosen)
    echo(render(summarize(Store(store), part, criterion=criterion), part, format))


@main.command(
    epilog="arithmos figure hidden-size\narithmos figure all-models -o all-models.pdf\n"
    "arithmos figure loss-surface --format png"
)
@click.argument("name")
@with_papers
@selection
@judged_by
@click.option(
    "--estimator",
    type=click.Choice(["released", "corrected"]),
    help="Means of figures: by the estimators behind the published ones, or the right ones [default: as --criterion].",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="[default: NAME.html]")
@click.option(
    "--format", type=click.Choice(["html", "svg", "png", "pdf", "json"]), help="Instead of the file's ending."
)
@stored
def figure(
    name: str,
    criterion: Any,
    estimator: Any,
    output: Path | None,
    format: str | None,
    store: Path,
    **chosen: Any,
) -> None:
    """Draw an experiment, published values beside ours.

    Figures that need no runs, such as loss-surface, are drawn too.
    """
    with extra("report"):
        from .report.charts.draw import draw, save
    with asked():
        item = None if name.endswith(SUFFIX) else FIGURES[name]
        stem = Path(name).stem if item is None else item.name
        file = (output or Path(stem)).with_suffix(f".{format}") if format else output or Path(f"{stem}.html")
    if not isinstance(item, Surface):
        [item] = pick([name], **chosen)
    chart = draw(item, Store(store), criterion=criterion, estimator=estimator)
    with asked():
        echo(save(chart, file))


@main.command(epilog="arithmos verdict\narithmos verdict table-1 all-models --format markdown")
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT…]")
@of_papers
@judged_by
@stored
@formatted
def verdict(experiments: Sequence[str], papers: Sequence[Paper], criterion: Any, store: Path, format: Any) -> None:
    """Judge the published numbers.

    Each agrees with ours, differs, or cannot be told apart: a number agrees only if the test would have found a
    difference. Of the experiments named every number is shown; without a name, those of all experiments that differ.
    """
    parts = pick(experiments, None, None) if experiments else all_of(papers)
    frame = verdicts(Store(store), parts, criterion=criterion)
    echo(render_verdicts(frame, format, every=bool(experiments)))


@main.command(epilog="arithmos claims\narithmos claims ablation-1 square-nmu")
@click.argument("claims", nargs=-1, metavar="[CLAIM…]")
@of_papers
@judged_by
@stored
@formatted
def claims(claims: Sequence[str], papers: Sequence[Paper], criterion: Any, store: Path, format: Any) -> None:
    """Test the paper's claims on the stored runs."""
    with asked():
        names = claims or [f"{claim.paper}/{claim.name}" for paper in papers for claim in paper.claims]
        frame = decide_claims(Store(store), names, criterion=criterion)
    echo(render_claims(frame, format))


@main.command("judges", epilog="arithmos judges\narithmos judges table-2 --format markdown")
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT…]")
@of_papers
@judged_by
@stored
@formatted
def judges_(experiments: Sequence[str], papers: Sequence[Paper], criterion: Any, store: Path, format: Any) -> None:
    """Compare the paper's judge with the exact one.

    Runs may be solved and not the task's formula once their weights are rounded, or the other way round.
    """
    parts = pick(experiments, None, None) if experiments else all_of(papers)
    echo(render_judges(judges(Store(store), parts, criterion=criterion), format))


@main.command(epilog="arithmos report\narithmos report --store results -o report.html --criterion corrected")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="Where to write it.",
)
@of_papers
@judged_by
@stored
@click.pass_context
def report(ctx: click.Context, /, output: Path, papers: Sequence[Paper], criterion: Any, store: Path) -> None:
    """Write the report: a page with every table and figure of a paper.

    Verdicts and claims come first, single runs last. The file opens from disk and fetches nothing. By default it is on
    the papers of which the store has runs; several get a page each, and the file is their index.
    """
    with extra("report"):
        from .report.page.html import write
    chosen = papers if ctx.get_parameter_source("papers") is not ParameterSource.DEFAULT else None
    for file in write(output, Store(store), papers=chosen, criterion=criterion):
        echo(file)


@main.command(
    epilog="arithmos fit data.csv --target y\narithmos fit data.csv --target force --columns mass,speed -o fit.svg"
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--target", callback=names, multiple=True, required=True, metavar="NAME,…", help="Columns to explain.")
@click.option("--columns", callback=names, multiple=True, metavar="NAME,…", help="By these only [default: all others].")
@click.option("--integers", is_flag=True, help="No constants but integers, and no intercept.")
@click.option("--scale", is_flag=True, help="For columns of very different sizes: scale them while networks train.")
@click.option("--budget", callback=seconds, default="60s", show_default=True, metavar="TIME", help="Stop after that.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the rows drawn and the networks.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Threads of the cpu engine [default: all cores].")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="[default: NAME-fit.html]")
def fit(file: Path, target: Sequence[str], output: Path | None, **options: Any) -> None:
    """Find the formula behind a column of a CSV file.

    Sums, differences and products of the other columns are sought. The rows furthest from the middle are set aside,
    and show how the formula extrapolates.
    """
    with extra("formula"):
        from .regression.from_csv import fit_csv
    with extra("report"):
        from .report.charts.draw import check_path, save
        from .report.charts.fit import draw
    with asked():
        picture = check_path(output or Path(f"{file.stem}-fit.html"))
        found = fit_csv(file, target, verbose=1, **fit_options(**options))
    for line in found.table.left_out:
        complain(f"left out: {line}")
    echo(f"{found}\n")  # before anything can go wrong with the picture
    echo(save(draw(found), picture))


def fit_options(
    columns: Sequence[str] | None, integers: bool, scale: bool, budget: float, seed: int, jobs: int | None
) -> dict[str, Any]:
    """Options of the command as those of the estimator."""
    chosen = {"constants": not integers, "scale": scale, "budget_s": budget, "random_state": seed, "n_jobs": jobs}
    return {"columns": columns, **chosen}


@main.command(epilog="arithmos models")
@formatted
def models(format: Any) -> None:
    """List the models.

    Their layers, their regularizer, and the engines that can run them on this machine.
    """
    frame = listing.models(MODELS.values(), Engines(say=complain))
    echo(listing.write(frame, "Models", listing.MODELS, format))


@main.command(
    epilog="arithmos show table-1\narithmos show table-1 --toml\narithmos show d9b0a7f7de1ff8be\n"
    "arithmos show d9b0a7f7de1ff8be 0\narithmos show d9b0a7f7de1ff8be 0 --formula"
)
@click.argument("name")
@click.argument("seed", required=False, type=int)
@click.option("--toml", is_flag=True, help="Print an experiment as a file that `arithmos run` takes.")
@click.option("--formula", is_flag=True, help="Print the network of a run as a formula.")
@snapped
@with_papers
@stored
def show(name: str, seed: int | None, toml: bool, formula: bool, snap: float, store: Path) -> None:
    """Show an experiment, a spec or a run.

    What an experiment runs; or a spec, by its id, with its runs; or one of these, by its seed.
    """
    with asked():
        if formula:
            echo(formula_page(Store(store), name, seed, snap))
        elif re.fullmatch("[0-9a-f]{16}", name):
            echo(spec_page(Store(store), name) if seed is None else run_page(Store(store), name, seed))
        else:
            [experiment] = bench.select([name])
            text = listing.write(listing.specs(experiment), experiment.title, listing.SPECS)
            echo(to_toml(experiment) if toml else text)


@main.command(
    epilog="arithmos export d9b0a7f7de1ff8be 0 --to network.safetensors\narithmos export d9b0a7f7de1ff8be 0 --to nmu.c"
)
@click.argument("spec")
@click.argument("seed", type=int)
@click.option("--to", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where to write it.")
@click.option("--as", "format", metavar="FORMAT", help="safetensors, pt2, onnx, python, numpy or c [default: by FILE].")
@click.option("--engine", type=click.Choice([*ENGINES]), help="That made the run, if several have.")
@snapped
@stored
def export(spec: str, seed: int, to: Path, format: str | None, engine: str | None, snap: float, store: Path) -> None:
    """Write the network of a run for other programs.

    With the weights of its best record: its parameters, a program, or the source of its formula.
    """
    from .export import stored_network

    with asked():
        echo(stored_network(Store(store), spec, seed, engine).save(to, format, snap=snap))


@main.group(epilog="arithmos data mnist")
def data() -> None:
    """Fetch data sets."""


@data.command(epilog="arithmos data mnist\narithmos data mnist --root digits")
@click.option(
    "--root", type=click.Path(path_type=Path), metavar="DIR", help="[default: $ARITHMOS_DATA, or else the user's cache]"
)
def mnist(root: Path | None) -> None:
    """Fetch the handwritten digits of MNIST, and verify them.

    What is there already, gzipped or not, is only verified.
    """
    with Downloads() as downloads:
        folder = fetch_mnist(root, watch=downloads)
    digits = read_mnist(folder)
    echo(f"{len(digits.train_images)} digits to train on and {len(digits.test_images)} to test on")
    echo(f"verified, in {folder.resolve()}")


@main.group("store", epilog="arithmos store info\narithmos store merge from-the-cluster --store runs")
def store_() -> None:
    """Look after a store."""


@store_.command(epilog="arithmos store info --store runs")
@stored
def info(store: Path) -> None:
    """What is in a store."""
    found = Store(store).summary()
    echo(f"{found.runs} runs of {found.specs} specs in {store}: {found.files} files, {found.bytes / 1e6:.1f} MB")
    echo(f"{found.suspended} runs are suspended, {found.duplicates} rows are there twice")
    for file, reason in found.damaged:
        echo(f"set aside: {file}: {reason}")


@store_.command(epilog="arithmos store merge from-the-cluster --store runs")
@click.argument("others", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="OTHER…")
@to_store()
def merge(others: Sequence[Path], store: Path) -> None:
    """Copy into a store what others have."""
    merged = Store(store)
    before = len(merged)
    merged.merge(*others)
    echo(f"{len(merged) - before} runs came to {store}, which has {len(merged)}")


@store_.command(epilog="arithmos store pack --store runs\narithmos store pack --max-files 100")
@click.option("--max-bytes", type=click.IntRange(min=1), default=PACKED_BYTES, show_default=True, help="Largest file.")
@click.option("--max-files", type=click.IntRange(min=1), default=PACKED_FILES, show_default=True, help="Files in all.")
@stored
def pack(store: Path, max_bytes: int, max_files: int) -> None:
    """Write few files out of many."""
    packed = Store(store)
    before = packed.summary().files
    with asked():
        packed.pack(max_bytes=max_bytes, max_files=max_files)
    echo(f"{before} files became {packed.summary().files}")


@store_.command(epilog="arithmos store thin --into results\narithmos store thin --into small --keep 0 --store runs")
@click.option(
    "--into", type=click.Path(path_type=Path), required=True, metavar="DIR", help="Folder of the small store."
)
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="N",
    help="Solved runs of a spec, and others, that keep weights and curves.",
)
@stored
def thin(into: Path, keep: int, store: Path) -> None:
    """Write a small copy of a store.

    It has every run with what its verdicts rest on, and weights and thinned curves of a few runs of each spec. What is
    in the other store stays as it is.
    """
    with asked():
        Store(store).thin(into, keep=keep)
    found = Store(into).summary()
    echo(f"{found.runs} runs of {found.specs} specs in {into}: {found.files} files, {found.bytes / 1e6:.1f} MB")


@store_.command(epilog="arithmos store check --store runs")
@stored
@click.pass_context
def check(ctx: click.Context, /, store: Path) -> None:
    """Verify every file of a store.

    Each is read to its last byte, and those that cannot be trusted are named. So are runs that are stored several
    times, with different numbers.
    """
    checked = Store(store)
    damaged, conflicts = checked.check(), checked.conflicts()
    for file, reason in damaged:
        echo(f"set aside: {file}: {reason}")
    for spec_id, seed, engine in conflicts:
        echo(f"conflict: spec {spec_id}, engine {engine}, seed {seed} is stored with different numbers")
    echo(f"{len(checked)} runs are sound, {len(damaged)} files are not")
    ctx.exit(1 if damaged or conflicts else 0)
