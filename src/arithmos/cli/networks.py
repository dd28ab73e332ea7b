"""Verbs that make networks for others: a formula for data, a stored run for another program."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._choices import ENGINE_NAMES
from .._extras import installed
from .._files import check_place
from .options import chart_file, export_files, in_threads, names, new_file, of_store, path, seconds, snapped, units
from .program import Verb, asked, complain, echo, extra

if TYPE_CHECKING:
    from ..regression.from_csv import Fit


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
@click.option("--units", callback=units, metavar="NAME=UNIT,…", help="Units of measurement, such as mass=kg,speed=m/s.")
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
        installed("altair", "jinja2", "vl_convert")
    page = output or (None if as_json else Path(f"{file.stem}-fit.html"))
    with asked():
        if page is not None:
            check_place(page)
        found = fit_csv(file, target, verbose=1, constants=not integers, **options)
    for line in found.table.remarks:
        complain(line)
    echo(json.dumps(found.plain(), indent=1, ensure_ascii=False) if as_json else f"{found}\n")
    for written in _written(found, file, exports, page):
        echo(written, err=as_json)


def _written(found: "Fit", file: Path, exports: Sequence[Path], page: Path | None) -> Iterator[Path]:
    """Write the formula for other programs and the page of a fit; yield each path."""
    from ..report.page.fit import save_fit  # loaded while the formula is being read

    yield from (found.export(one) for one in exports)
    if page is not None:
        yield save_fit(found, page, file.name)


@click.command(
    cls=Verb,
    epilog="arithmos export 76a4d084edf660e9 1 --to network.safetensors\narithmos export 76a4d084edf660e9 1 --to nmu.c",
)
@click.argument("spec")
@click.argument("seed", type=int)
@click.option("--to", type=path, callback=new_file, required=True, metavar="FILE", help="File to write.")
@click.option(
    "--as",
    "format",
    metavar="FORMAT",
    help="Format: safetensors, pt2, onnx, python, numpy, sympy, c, latex or excel [default: by the suffix of FILE].",
)
@click.option("--engine", type=click.Choice(ENGINE_NAMES), help="Engine that made the run, if several did.")
@snapped
@of_store
def export(spec: str, seed: int, to: Path, format: str | None, engine: str | None, snap: float, store: Path) -> None:
    """Write the network of a run for other programs.

    It has the weights of the run's best record. It can be written as parameters, as a program, or as the source code
    of its formula.
    """
    from ..export import stored_network
    from ..judging.runs import unsolved
    from ..store import Store

    with asked():
        network = stored_network(Store(store), spec, seed, engine)
        echo(network.save(to, format, snap=snap))
    if limits := unsolved(network.error, network.thresholds):
        exact = "; with rounded weights it would be the formula" if network.exact else ""
        complain(f"the run did not solve its task: its test error is {network.error:.3g}, not below {limits}{exact}")
