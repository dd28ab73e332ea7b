"""Checks of user input; each error names the argument, the value and what would be right."""

import math
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any

WORD = 2**32 - 1
"""Largest count: seeds, steps and positions are 32-bit words of the random generator."""

_SHOWN = 80


def shown(value: object) -> str:
    """Return a value as quoted in a message: on one line, and shortened.

    Example:
        >>> shown("NMU"), shown(10**5000)
        ("'NMU'", 'a whole number of more than 4300 digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not convert longer numbers
        text = "a whole number of more than 4300 digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def whole(name: str, value: object, least: int = 0, most: int = WORD) -> int:
    """Return a whole number within bounds, or raise."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        limit = "2^32 - 1" if most == WORD else f"{most:,}"
        raise ValueError(f"{name} must be a whole number from {least} to {limit}, got {shown(value)}")
    return int(value)


def number(name: str, value: object) -> float:
    """Return a finite number, or raise; -0.0, which equals 0.0 but prints differently, becomes 0.0."""
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return int(value) if isinstance(value, Integral) else float(value) + 0.0
        except OverflowError:  # too large for a float
            pass
    raise ValueError(f"{name} must be a finite number, got {shown(value)}")


def positive(name: str, value: float) -> float:
    """Return a number above 0, which NaN is not, or raise."""
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {shown(value)}")
    return value


def text(name: str, value: object) -> str:
    """Return a nonempty line of printable text, or raise."""
    if not (isinstance(value, str) and value and value.isprintable()):
        raise ValueError(f"{name} must be a line of printable text, got {shown(value)}")
    return value


def file_size(path: str | Path, most: int) -> None:
    """Raise if a file is too large, before it is read."""
    size = os.path.getsize(path)
    if size > most:
        raise ValueError(f"{path} must have at most {most:,} bytes, got {size:,}")


def one_of(name: str, value: object, known: Iterable[str]) -> str:
    """Return a word of a list, or raise and suggest the nearest."""
    known = list(known)
    if isinstance(value, str) and value in known:
        return value
    raise ValueError(f"{name} must be one of {', '.join(known)}, got {shown(value)}{nearest(value, known)}")


def nearest(value: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known name, if one is near."""
    near = get_close_matches(value, list(known), n=1, cutoff=0.5) if isinstance(value, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def table(name: str, value: object, keys: Iterable[str] | None = None) -> dict[str, Any]:
    """Return a dictionary with these keys and no others (any keys by default), or raise."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name} must be a table of values by name, got {shown(value)}")
    keys = list(value if keys is None else keys)
    for key in value:
        one_of(f"a key of {name}", key, keys)
    if missing := [key for key in keys if key not in value]:
        raise ValueError(f"{name} must have {', '.join(keys)}, but {', '.join(missing)} is missing")
    return dict(value)


def wholes(name: str, value: object) -> tuple[int, ...]:
    """Return whole numbers from a list or tuple, or raise."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} must be a list of whole numbers, got {shown(value)}")
    return tuple(whole(name, one) for one in value)


def pairs(name: str, value: object, most: int | None = None) -> tuple[tuple[object, object], ...]:
    """Return pairs from a list or tuple, or raise."""
    limit = "" if most is None else f", at most {most}"
    wrong = f"{name} must be a list of pairs{limit}, got {shown(value)}"
    if not isinstance(value, list | tuple) or not value or (most is not None and len(value) > most):
        raise ValueError(wrong)
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        raise ValueError(wrong)
    return tuple((first, second) for first, second in value)
