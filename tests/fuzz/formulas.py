"""Formulas as text."""

import random
from pathlib import Path

import sympy

from arithmos.formula.parse import parse

from . import named

NAMES = ["x1", "x2", "x3"]
ATOMS = [*NAMES, "2", "0.5", "1e3", ".5", "7."]
SIGNS = ["+", "-", "*", "/", "**2*", "^", "**", " - -"]
ODD = [
    "x4",
    "x1.real",
    "9**9**9",
    "__import__('os')",
    "\0",
    "é",
    "−",
    "[",
    "1e999",
    "(",
    ")",
    ",",
    "\n",
    "'",
    "sqrt",
    "",
]


def written(rng: random.Random, depth: int = 3) -> str:
    """A formula, or nearly one."""
    kind = rng.randrange(10 if depth else 4)
    if kind < 4:
        return rng.choice(ATOMS if rng.random() < 0.97 else ODD)
    one, other = written(rng, depth - 1), written(rng, depth - 1)
    if kind < 8:
        return f"{one}{rng.choice(SIGNS)}{other}"
    return rng.choice([f"({one})", f"-{one}", f"sqrt({one})", f"Abs({one})", f"Max({one}, {other})", f"Min({one}, 1)"])


def formula(rng: random.Random, folder: Path) -> str:
    """Is read as a formula in its names only, or refused with the place."""
    text = written(rng)
    try:
        found = parse(text, NAMES)
    except ValueError as error:
        return named(error, ["at character"])
    assert isinstance(found, sympy.Expr)
    assert {symbol.name for symbol in found.free_symbols} <= {*NAMES}
    return "accepted"
