"""Keys of experiment files: types and meanings of their values."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

REQUIRED = object()
"""Default of a key that every file must have."""


@dataclass(frozen=True)
class Kind:
    """Type of a value.

    Args:
        wanted: description of the value.
        read: function that returns the value as used; raises ValueError or TypeError if it is not one. None for a kind
            with tables in it, which have keys of their own.
        lists: depth of lists within one value; a deeper list is a sweep.
    """

    wanted: str
    read: Callable[[Any], Any] | None
    lists: int = 0


def _unfit(value: object) -> None:
    raise ValueError(value)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 5e6 is written as readily as 5_000_000
    return value if isinstance(value, int) and not isinstance(value, bool) else _unfit(value)


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _unfit(value)


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else _unfit(value)


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else _unfit(value)


def _wholes(value: Any) -> Any:
    return tuple(map(_whole, value)) if isinstance(value, list) else _unfit(value)


def _numbers(value: Any) -> Any:
    return tuple(map(_number, value)) if isinstance(value, list) else _unfit(value)


def _pairs(value: Any) -> Any:
    pairs = value if value and isinstance(value, list) and isinstance(value[0], list) else [value]
    return tuple((_number(low), _number(high)) for low, high in pairs)


WHOLE = Kind("a whole number", _whole)
NUMBER = Kind("a number", _number)
TEXT = Kind("text", _text)
PATH = Kind("a path", _text)
FLAG = Kind("true or false", _flag)
WHOLES = Kind("a list of whole numbers", _wholes, lists=1)
NUMBERS = Kind("a list of numbers", _numbers, lists=1)
PAIRS = Kind("a pair of numbers or a list of pairs", _pairs, lists=2)
TABLE = Kind("a table", None)
TABLES = Kind("a list of tables", None)
PARTS = Kind("tables, each headed [[parts]]", None)
MODELS = Kind("a name, a table, or a list of both", None)
LAYERS = Kind("units joined by >, or a list of units and tables", None)
OPTION = Kind("as the unit has it", None)


@dataclass(frozen=True)
class Key:
    """Key of a table of an experiment file.

    Args:
        name: the key.
        kind: type of its value.
        meaning: what it sets.
        default: default value; None for nothing, `REQUIRED` if there is none.
        sweep: whether it may be a list, each value of which is run.
    """

    name: str
    kind: Kind
    meaning: str
    default: object = None
    sweep: bool = False

    @property
    def value(self) -> str:
        """Description of the value."""
        return f"{self.kind.wanted}, or a list" if self.sweep else self.kind.wanted


def fields(owner: type, *keys: tuple[str, Kind, str], sweep: bool = True) -> tuple[Key, ...]:
    """Return keys for fields of a spec or its parts, with the fields' defaults."""
    defaults = {
        field.name: REQUIRED if field.default is dataclasses.MISSING else field.default
        for field in dataclasses.fields(owner)
    }
    return tuple(Key(name, kind, meaning, defaults[name], sweep) for name, kind, meaning in keys)


@contextmanager
def at(where: str) -> Iterator[None]:
    """Prefix errors raised inside with the place."""
    try:
        yield
    except (ValueError, KeyError, FileNotFoundError) as error:
        raise ValueError(f"{where}{error.args[0]}") from error
