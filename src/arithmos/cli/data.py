"""Verbs that download data sets."""

from pathlib import Path

import click

from .options import path
from .program import Program, echo


@click.group(cls=Program, epilog="arithmos data mnist")
def data() -> None:
    """Download data sets."""


@data.command(epilog="arithmos data mnist\narithmos data mnist --root digits")
@click.option(
    "--root", type=path, metavar="DIR", help="Folder of the files [default: $ARITHMOS_DATA, or else the user's cache]."
)
def mnist(root: Path | None) -> None:
    """Download the handwritten digits of MNIST, and verify them.

    Files that are there already, gzipped or not, are only verified.
    """
    from ..data import fetch_mnist
    from ..data import mnist as read_mnist
    from ..progress import Downloads

    with Downloads() as downloads:
        folder = fetch_mnist(root, watch=downloads)
    digits = read_mnist(folder)
    counts = f"{len(digits.train_images)} training digits and {len(digits.test_images)} test digits"
    echo(f"Verified {counts} in {folder.resolve()}.")
