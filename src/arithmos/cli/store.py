"""Verbs that inspect and maintain a store."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from .options import new_store, of_store, path
from .program import Program, asked, echo


@click.group("store", cls=Program, epilog="arithmos store info\narithmos store merge from-the-cluster --store runs")
def store() -> None:
    """Inspect and maintain a store."""


def size_of(folder: Path) -> str:
    """Return in a line how much there is in a store."""
    from ..store import Store

    found = Store(folder).summary()
    return f"{found.runs} runs of {found.specs} specs in {folder}: {found.files} files, {found.bytes / 1e6:.1f} MB"


def name_damaged(files: Iterable[tuple[str, str]]) -> None:
    """Print the files that a store does not use, and why."""
    for file, reason in files:
        echo(f"set aside: {file}: {reason}")


@store.command(epilog="arithmos store info --store runs")
@of_store
def info(store: Path) -> None:
    """Print a summary of a store."""
    from ..store import Store

    found = Store(store).summary()
    echo(f"{size_of(store)}\n{found.suspended} suspended runs, {found.duplicates} duplicate rows")
    name_damaged(found.damaged)


@store.command(epilog="arithmos store merge from-the-cluster --store runs")
@click.argument("others", nargs=-1, required=True, type=path, metavar="OTHER…")
@new_store()
def merge(others: Sequence[Path], store: Path) -> None:
    """Copy the runs of other stores into a store."""
    from ..store import Store

    merged = Store(store)
    before = len(merged)
    merged.merge(*others)
    echo(f"Added {len(merged) - before} runs; {store} now holds {len(merged)}.")


@store.command(epilog="arithmos store pack --store runs\narithmos store pack --max-files 100")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), metavar="N", help="Size of the largest file, in bytes [default: 16 MiB]."
)
@click.option("--max-files", type=click.IntRange(min=1), metavar="N", help="Number of files in all [default: 8].")
@of_store
def pack(store: Path, **limits: int | None) -> None:
    """Merge the files of a store into a few."""
    from ..store import Store

    packed = Store(store)
    before = packed.summary().files
    with asked():
        packed.pack(**{name: limit for name, limit in limits.items() if limit is not None})
    echo(f"Packed {before} files into {packed.summary().files}.")


@store.command(epilog="arithmos store thin --into results\narithmos store thin --into small --keep 0 --store runs")
@click.option("--into", type=path, required=True, metavar="DIR", help="Folder of the small store.")
@click.option(
    "--keep",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="N",
    help="For each spec, number of solved runs and of other runs that keep their weights and curves.",
)
@of_store
def thin(into: Path, keep: int, store: Path) -> None:
    """Write a small copy of a store.

    The copy has every run with the numbers that its verdicts need, and the weights and thinned curves of a few runs of
    each spec. The original store is not changed.
    """
    from ..judging.thin import thin as write
    from ..store import Store

    with asked():
        write(Store(store), into, keep=keep)
    echo(size_of(into))


@store.command(epilog="arithmos store check --store runs")
@of_store
@click.pass_context
def check(ctx: click.Context, /, store: Path) -> None:
    """Verify every file of a store.

    Each file is read to its last byte, and those that are damaged are named. So are runs that are stored several times
    with different numbers.
    """
    from ..store import Store

    checked = Store(store)
    damaged, conflicts = checked.check(), checked.conflicts()
    name_damaged(damaged)
    for spec_id, seed, engine in conflicts:
        echo(f"conflict: spec {spec_id}, engine {engine}, seed {seed} is stored with different numbers")
    echo(f"{len(checked)} sound runs, {len(damaged)} damaged files")
    ctx.exit(1 if damaged or conflicts else 0)
