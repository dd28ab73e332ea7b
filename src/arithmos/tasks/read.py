"""Tables of numbers from files: CSV, and NumPy's format without pickles."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks

EXACT = 2**53
"""Largest integer up to which float64 holds all integers."""

SUFFIXES = (".csv", ".npy")
MOST_BYTES = 2**30
"""Largest size of a CSV file."""
MOST_HEAD = 2**20
"""Most characters in the first line of a CSV file."""
_LONG = re.compile(r"(?:^|(?<=,))\s*[+-]?0*([1-9]\d{15,})\s*(?=,|$)")
"""Field with an integer of 16 digits or more."""


def read_numbers(path: str | Path) -> NDArray[np.floating[Any] | np.integer[Any]]:
    """Read the table in a file: comma-separated values, whose first line may be names, or an `.npy` file.

    Raises:
        ValueError: the file is not a table of numbers; the message says where.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"must end in {' or '.join(SUFFIXES)}, got {str(path)!r}")
    if "\0" in str(path) or not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        table = _csv(path) if path.suffix.lower() == ".csv" else np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # NumPy evaluates the header of its files as Python, which may raise anything
        raise ValueError(f"{str(path)!r} is not a table of numbers: {error}") from error
    if table.ndim != 2 or table.dtype.kind not in "fiu":
        raise ValueError(f"{str(path)!r} must be a table of numbers, got {table.dtype} of shape {table.shape}")
    return table


def first_line(path: Path) -> str:
    """Return the first line of a CSV file.

    Raises:
        ValueError: the file or its first line is too large to be read.
    """
    _checks.file_size(path, MOST_BYTES)
    with path.open(encoding="utf-8-sig") as file:
        line = file.readline(MOST_HEAD + 1)
    if len(line) > MOST_HEAD:
        size = path.stat().st_size
        raise ValueError(f"the first line of {path}, of {size:,} bytes, must have at most {MOST_HEAD:,} characters")
    return line


def _csv(path: Path) -> NDArray[np.float64]:
    first_line(path)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    rows = [line for line in lines if line.strip()]
    rows = rows[0 if rows and _numbers(rows[0]) else 1 :]
    if not rows:
        raise ValueError("it has no rows")
    table = np.loadtxt(rows, delimiter=",", ndmin=2, comments=None)
    for row in np.flatnonzero((np.abs(table) >= EXACT).any(axis=1)):
        for found in _LONG.finditer(rows[row]):
            if len(found[1]) > 16 or int(found[1]) > EXACT:
                integer = _checks.shown(found[0].strip())
                raise ValueError(f"row {row + 1} has {integer}; beyond 2^53 float64 does not hold every integer")
    return table


def _numbers(line: str) -> bool:
    """Return whether a line has any number; a line of names has none."""
    return any(_is_number(field) for field in line.split(","))


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
