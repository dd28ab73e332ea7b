"""Verbs that show what there is: experiments, models, specs, runs."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .completion import experiments as experiment_names
from .kept import files, kept, machine
from .options import formatted, of_store, snapped, with_papers
from .program import Verb, asked, complain, echo

if TYPE_CHECKING:
    from ..spec import Spec


@click.command("list", cls=Verb, epilog="arithmos list --store runs\narithmos list --paper path/to/folder")
@click.option(
    "--paper",
    "papers",
    multiple=True,
    metavar="PAPER",
    help="Paper to use: its key or the path of its folder [default: all installed papers].",
)
@of_store
@formatted
def list_(papers: Sequence[str], store: Path, format: Any, width: Any) -> None:
    """List the experiments.

    For each: its place in the paper, its runs, how many of them are stored, and how long the others might take.
    """
    if papers:  # whose files are anywhere
        echo(catalogue_page(papers, store, format, width))
    else:
        made = partial(whole_catalogue, store, format, width)
        echo(kept("list", made, [format, width, str(store.resolve()), files(store), machine()]))


@click.command(cls=Verb, epilog="arithmos models")
@formatted
def models(format: Any, width: Any) -> None:
    """List the models.

    For each: its layers, its regularizer, and the engines that can run it on this machine.
    """
    from ..engines import Engines
    from ..report.tables import listing
    from ..spec import MODELS

    frame = listing.models(MODELS.values(), Engines(say=complain))
    echo(listing.write(frame, "Models", listing.MODELS, format, width=width))


@click.command(
    cls=Verb,
    epilog="arithmos show table-1\narithmos show table-1 --toml\narithmos show 76a4d084edf660e9\n"
    "arithmos show 76a4d084edf660e9 1\narithmos show 76a4d084edf660e9 1 --formula\n"
    "arithmos show 76a4d084edf660e9 --kernel cpu",
)
@click.argument("name", shell_complete=experiment_names)
@click.argument("seed", required=False, type=int)
@click.option("--toml", is_flag=True, help="Print the experiment as a file for `arithmos run`.")
@click.option("--formula", is_flag=True, help="Print the network of the run as a formula.")
@click.option("--json", "as_json", is_flag=True, help="Print a spec with its runs, or a run with its weights, as JSON.")
@click.option(
    "--kernel", type=click.Choice(["cpu", "cuda"]), help="Print the source that this engine generates for a spec."
)
@snapped
@with_papers
@of_store
def show(
    name: str, seed: int | None, toml: bool, formula: bool, as_json: bool, kernel: str | None, snap: float, store: Path
) -> None:
    """Show an experiment, a spec or a run.

    NAME is an experiment, or the id of a spec, which is shown with its runs. With SEED, one of these runs is shown.
    """
    from ..report.page.formula import formula_page
    from ..report.page.run import run_page, spec_page
    from ..store import Store

    with asked():
        if kernel:
            echo(kernel_page(name, kernel))
        elif formula:
            echo(formula_page(Store(store), name, seed, snap))
        elif re.fullmatch("[0-9a-f]{16}", name):
            made = Store(store), name
            echo(spec_page(*made, as_json=as_json) if seed is None else run_page(*made, seed, as_json=as_json))
        else:
            echo(experiment_page(name, toml))


def whole_catalogue(store: Path, format: Any, width: Any) -> str:
    """Return the experiments of all installed papers as a table, without loading them if their data suffices."""
    from .. import listed
    from ..report.tables import listing

    if not listed.suffices():
        return catalogue_page([], store, format, width)
    rows = listed.shipped_rows(store)
    return listing.write_rows(rows, "Experiments", listing.CATALOGUE, format, names=[*rows[0]], width=width)


def catalogue_page(papers: Sequence[str], store: Path, format: Any, width: Any) -> str:
    """Return the experiments of papers as a table; of all installed papers if none is named."""
    from .. import bench
    from ..papers import PAPERS
    from ..report.tables import listing

    with asked():
        chosen = [PAPERS.find(name) for name in papers]
    frame = bench.catalogue(store, papers=chosen or None)
    return listing.write(frame, "Experiments", listing.CATALOGUE, format, width=width)


def kernel_page(name: str, engine: str) -> str:
    """Return the source that an engine generates for a spec of the catalogue; for a GPU, that of an H200."""
    from ..papers import find_spec

    spec = find_spec(name)
    if spec is None:
        raise KeyError(f"spec {name!r} is not in the catalogue; `arithmos show EXPERIMENT` lists the ids of its specs")
    why, source = (_cpu_kernel if engine == "cpu" else _cuda_kernel)(spec)
    if why:
        raise ValueError(f"engine {engine!r} cannot run {name}: {why}")
    return source()


def _cpu_kernel(spec: "Spec") -> tuple[str | None, Callable[[], str]]:
    from ..engines.cpu import CpuEngine
    from ..engines.cpu.kernel import source
    from ..engines.cpu.run import program_of

    return CpuEngine().refuses(spec), lambda: source(program_of(spec), spec)


def _cuda_kernel(spec: "Spec") -> tuple[str | None, Callable[[], str]]:
    from ..engines.cuda import refusal
    from ..engines.cuda.plan import H200, make_plan

    return refusal(spec, H200), lambda: make_plan(spec, H200).source


def experiment_page(name: str, toml: bool) -> str:
    """Return an experiment as a list of specs, or as a file."""
    from .. import bench
    from ..papers import to_toml
    from ..report.tables import listing

    [experiment] = bench.select([name])
    return to_toml(experiment) if toml else listing.write(listing.specs(experiment), experiment.title, listing.SPECS)
