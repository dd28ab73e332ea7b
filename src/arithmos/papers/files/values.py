"""Values of an experiment file: typed by their keys, with lists as sweeps and errors that name the key."""

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from ... import _checks
from ..._keys import REQUIRED, Kind
from .schema import tables

MOST_SPECS = 10_000

TomlTable = Mapping[str, Any]
KeyValues = dict[str, Any]
Point = tuple[KeyValues, KeyValues]
"""Settings, and those of them that come from a list: the position of a spec in the sweeps of its file."""


def table(value: object, where: str) -> TomlTable:
    """Return a table, or raise."""
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a table, got {_checks.shown(value)}")
    return value


def known(value: object, where: str, *names: str) -> TomlTable:
    """Return a table whose keys are all known: those of the named tables.

    Args:
        value: the table.
        where: prefix of its keys in messages: empty, or dotted keys with a dot at the end.
        names: names of tables.
    """
    found = table(value, where.removesuffix("."))
    keys = [key.name for name in names for key in tables()[name]]
    for key in found:
        if key not in keys:
            raise ValueError(f"{where}{key} is unknown{_checks.nearest(key, keys)}; known are {', '.join(keys)}")
    return found


def points(values: TomlTable, name: str, where: str) -> list[Point]:
    """Return every combination of the settings in a table, without the tables in it.

    Args:
        values: the table.
        name: its name in `tables`.
        where: prefix of its keys in messages.
    """
    columns: list[list[tuple[str, Any]]] = []
    lists: set[str] = set()
    for key in tables()[name]:
        if key.kind.read is None:
            continue
        if key.name not in values:
            if key.default is REQUIRED:
                raise ValueError(f"{where}{key.name} is missing")
            continue
        value = values[key.name]
        swept = key.sweep and _depth(value) > key.kind.lists
        if swept:
            lists.add(key.name)
        if swept and not value:
            raise ValueError(f"{where}{key.name} must be {key.kind.wanted}, or a list with at least one, got []")
        columns.append([(key.name, read(key.kind, one, f"{where}{key.name}")) for one in (value if swept else [value])])
    if math.prod(map(len, columns)) > MOST_SPECS:
        raise ValueError(f"{where}{min(lists)} and other lists ask for more than {MOST_SPECS:,} specs")
    settings = [dict(point) for point in product(*columns)]
    return [(point, {name: value for name, value in point.items() if name in lists}) for point in settings]


def settings(value: object, name: str, where: str) -> list[Point]:
    """Return every combination of the settings in a table that has no other keys."""
    return points(known(value, where, name), name, where)


def _depth(value: object) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def read(kind: Kind, value: object, where: str) -> Any:
    """Return a value of a kind, or raise."""
    assert kind.read is not None, "tables are read key by key"
    try:
        return kind.read(value)
    except (ValueError, TypeError):
        raise ValueError(f"{where} must be {kind.wanted}, got {_checks.shown(value)}") from None
