"""Values that somebody might hand in, right ones and wrong ones."""

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

NUMBERS = [
    *(0, 1, 2, 3, 10, 100, -1, 2**31, 2**32 - 1, 2**32, 2**63, -(2**64), 10**5000),
    *(0.0, -0.0, 0.1, 0.5, 1.0, 2.5, 1e-320, 1e-8, 1e38, 1e39, 1e308, -1e308, math.nan, math.inf, -math.inf),
]
TEXTS = [
    "",
    " ",
    "NMU",
    "NAU>NMU",
    "nmu",
    "mul",
    "mull",
    "released",
    "paper",
    "é",
    "𝔘",
    "×",
    "a" * 5000,
    "a\nb",
    "\0",
    "\ud800",
]
TEXTS += [
    "x.py:X",
    ">",
    ":",
    "NAU>",
    "%s",
    "{0}",
    "<script>alert(1)</script>",
    "'; drop",
    "\u202e",
    "true",
    "1",
]
JSON = [
    None,
    True,
    False,
    [],
    {},
    [1],
    [[1, 2]],
    [[2, 1]],
    [[1, 2], [3, 4], [5, 6]],
    [[math.nan, 1]],
    [[[1, 2]]],
    {"a": 1},
]
OBJECTS: list[Any] = [
    *((), ((1, 2),), ((0.0, 1e-9),), (1, 2), ("init", "paper"), (("init", "paper"),), b"x", object(), len, int, 3 + 4j),
    *(np.int64(3), np.float32(0.5), np.float64("nan"), np.array([1, 2]), np.array(["a"]), Decimal(1), Fraction(1, 2)),
]


def json_like(rng: random.Random) -> Any:
    """A value that a file might have in it."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice([-1, 1]) * rng.randrange(2 ** rng.randrange(1, 70))
    if kind == 1:
        return rng.choice([-1, 1]) * 10 ** rng.uniform(-10, 10)
    if kind == 2:
        return "".join(
            chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x3000)])) for _ in range(rng.randrange(12))
        )
    return rng.choice([NUMBERS, TEXTS, JSON][kind - 3])


def near(rng: random.Random, value: Any) -> Any:
    """A value that might do in the place of another."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([value - 1, value + 1, 2 * value, float(value), np.int64(value), -value])
    if isinstance(value, float) and math.isfinite(value):
        return rng.choice([value / 2, 2 * value, round(value), 1 - value, np.float64(value), -value])
    if isinstance(value, tuple | list):
        return rng.choice([list(value), tuple(value), value[:-1], [*value, *value], value[::-1]])
    return value


def anything(rng: random.Random) -> Any:
    """A value that Python code might hand in."""
    return rng.choice(OBJECTS) if rng.random() < 0.25 else json_like(rng)
