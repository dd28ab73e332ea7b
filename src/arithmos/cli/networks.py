"""Verbs that make networks for others: a formula for data, a stored run for another program."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .options import Names, engines, in_threads, names, of_store, path, seconds, snapped
from .program import Verb, asked, complain, echo, extra


@click.command(
    cls=Verb,
    epilog="arithmos fit data.csv --target y\narithmos fit data.csv --target force --columns mass,speed -o fit.svg",
)
@click.argument("file", type=path)
@click.option("--target", callback=names, multiple=True, required=True, metavar="NAME,…", help="Columns to explain.")
@click.option(
    "--columns", callback=names, multiple=True, metavar="NAME,…", help="Columns to use [default: all but the targets]."
)
@click.option("--integers", is_flag=True, help="Allow no constants except integers.")
@click.option(
    "--budget", "budget_s", callback=seconds, default="60s", show_default=True, metavar="TIME", help="Time limit."
)
@click.option("--seed", "random_state", type=int, default=0, show_default=True, metavar="N", help="Random seed.")
@in_threads("n_jobs")
@click.option("-o", "--output", type=path, metavar="FILE", help="File for the chart [default: NAME-fit.html].")
def fit(file: Path, target: Sequence[str], integers: bool, output: Path | None, **options: Any) -> None:
    """Find the formula behind a column of a CSV file.

    The formula is made of + − × ÷, powers and roots of the other columns, and constants. The rows furthest from the
    center are held out, and show how well it extrapolates.
    """
    with extra("formula"):
        from ..regression.from_csv import fit_csv
    with extra("report"):
        from ..report.charts.draw import check_path, save
        from ..report.charts.fit import draw
    with asked():
        chart = check_path(output or Path(f"{file.stem}-fit.html"))
        found = fit_csv(file, target, verbose=1, constants=not integers, **options)
    for line in found.table.left_out:
        complain(f"left out: {line}")
    for line in found.table.notes:
        complain(f"note: {line}")
    echo(f"{found}\n")  # before anything can go wrong with the chart
    echo(save(draw(found), chart))


@click.command(
    cls=Verb,
    epilog="arithmos export d9b0a7f7de1ff8be 0 --to network.safetensors\narithmos export d9b0a7f7de1ff8be 0 --to nmu.c",
)
@click.argument("spec")
@click.argument("seed", type=int)
@click.option("--to", type=path, required=True, metavar="FILE", help="File to write.")
@click.option(
    "--as",
    "format",
    metavar="FORMAT",
    help="Format: safetensors, pt2, onnx, python, numpy, sympy, c, latex or excel [default: by the suffix of FILE].",
)
@click.option("--engine", type=Names(engines), help="Engine that made the run, if several did.")
@snapped
@of_store
def export(spec: str, seed: int, to: Path, format: str | None, engine: str | None, snap: float, store: Path) -> None:
    """Write the network of a run for other programs.

    It has the weights of the run's best record. It can be written as parameters, as a program, or as the source code
    of its formula.
    """
    from ..export import stored_network
    from ..store import Store

    with asked():
        echo(stored_network(Store(store), spec, seed, engine).save(to, format, snap=snap))
