"""Verbs that make networks for others: a formula for data, a stored run for another program."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from .options import Names, chart_file, engines, export_files, in_threads, names, of_store, path, seconds, snapped
from .program import Verb, asked, complain, echo, extra


@click.command(
    cls=Verb,
    epilog="arithmos fit data.csv --target y\n"
    "arithmos fit data.csv --target force --columns mass,speed -o fit.svg\n"
    "arithmos fit data.csv --target force --complexity 5 --export force.py --export force.txt",
)
@click.argument("file", type=path)
@click.option("--target", callback=names, multiple=True, required=True, metavar="NAME,…", help="Columns to explain.")
@click.option(
    "--columns", callback=names, multiple=True, metavar="NAME,…", help="Columns to use [default: all but the targets]."
)
@click.option(
    "--complexity",
    type=click.IntRange(min=1),
    metavar="N",
    help="Largest number of columns, constants and exponents in the formula.",
)
@click.option("--integers", is_flag=True, help="Allow no constants except integers.")
@click.option(
    "--budget", "budget_s", callback=seconds, default="60s", show_default=True, metavar="TIME", help="Time limit."
)
@click.option("--seed", "random_state", type=int, default=0, show_default=True, metavar="N", help="Random seed.")
@in_threads("n_jobs", help="Number of targets to search for at a time [default: 1].")
@click.option("--json", "as_json", is_flag=True, help="Print the fit as JSON.")
@click.option(
    "--export",
    "exports",
    type=path,
    callback=export_files,
    multiple=True,
    metavar="FILE",
    help="Also write the formula for another program, by the suffix: .txt for a spreadsheet, .py, .tex, .c or .onnx.",
)
@click.option(
    "-o",
    "--output",
    type=path,
    callback=chart_file,
    metavar="FILE",
    help="Page (.html) or chart (.svg, .png, .pdf, .json) to write [default: NAME-fit.html, none with --json].",
)
def fit(
    file: Path,
    target: Sequence[str],
    integers: bool,
    as_json: bool,
    exports: Sequence[Path],
    output: Path | None,
    **options: Any,
) -> None:
    """Find the formula behind a column of a CSV file.

    The formula is made of + − × ÷, powers and roots of the other columns, and constants. The verdict says how far to
    trust it: "exact", "noise" for exact up to noise, or "not found". The rows furthest from the center are held out,
    and show how well it extrapolates.
    """
    with extra("formula"):
        from ..regression.from_csv import fit_csv
    with extra("report"):
        from ..report.page.fit import save_fit
    with asked():
        found = fit_csv(file, target, verbose=1, constants=not integers, **options)
    for line in found.table.remarks:
        complain(line)
    echo(json.dumps(found.plain(), indent=1, ensure_ascii=False) if as_json else f"{found}\n")
    page = output or (None if as_json else Path(f"{file.stem}-fit.html"))
    written = [*(found.export(one) for one in exports), *([save_fit(found, page, file.name)] if page else [])]
    for one in written:
        echo(one, err=as_json)


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
