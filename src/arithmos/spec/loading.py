"""Units of users, from a class or from a file, which is read first and run only when the unit is needed."""

import dataclasses
import hashlib
import importlib.util
import inspect
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from torch import nn

from ..nn._unit import Unit

LOADED = "__arithmos_loaded__"
"""Attribute of a user's module that holds its source."""


def source(unit: Unit) -> str:
    """Return the source file, or notebook cell, of a user's unit: all of it, for a class may use its neighbors."""
    module = sys.modules.get(unit.module.__module__)
    if isinstance(loaded := getattr(module, LOADED, None), str):
        return loaded
    try:
        return Path(inspect.getfile(unit.module)).read_text(encoding="utf-8")
    except (OSError, TypeError):  # in a notebook a class does not know its cell, but its functions do
        for member in vars(unit.module).values():
            if inspect.isfunction(member) and member.__module__ == unit.module.__module__:
                return "".join(inspect.findsource(member)[0])
    raise ValueError(f"unit {unit.name!r}: its source, which identifies its runs, was not found; define it in a file")


def read_unit(name: str) -> str:
    """Return the text of the user's file in `path/to/file.py:Class`, without running it."""
    path = name.rpartition(":")[0]
    if not Path(path).is_file():
        raise FileNotFoundError(f"unit {name!r}: there is no file {path!r}")
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"unit {name!r}: {path!r} is not text in UTF-8") from error


def load_unit(name: str, text: str | None = None) -> Unit:
    """Load a unit from a user's file by running it.

    Args:
        name: `path/to/file.py:Class`, or `:record` for a `Unit`.
        text: text of the file; read from it by default.
    """
    path, _, attribute = name.rpartition(":")
    text = read_unit(name) if text is None else text
    try:
        module = _module(Path(path).resolve(), text)
    except (Exception, SystemExit) as error:
        raise ValueError(f"unit {name!r}: {path!r} does not load: {type(error).__name__}: {error}") from error
    found = getattr(module, attribute, None)
    if isinstance(found, Unit):
        return dataclasses.replace(found, name=name)
    if isinstance(found, type) and issubclass(found, nn.Module):
        return dataclasses.replace(as_unit(found), name=name)
    classes = [key for key, value in vars(module).items() if isinstance(value, type | Unit)]
    raise ValueError(f"unit {name!r}: {attribute!r} must be an nn.Module class or Unit in {path!r}; it has {classes}")


@lru_cache(maxsize=32)
def _module(path: Path, text: str) -> ModuleType:
    """Return a user's file as a module. An edited file is a new module: runs are identified by the text."""
    digest = hashlib.blake2b(f"{path}\0{text}".encode(), digest_size=8).hexdigest()
    module_spec = importlib.util.spec_from_file_location(f"arithmos_user_{digest}", path)
    if module_spec is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    setattr(module, LOADED, text)
    sys.modules[module.__name__] = module  # inspect and pickle look for its classes here
    exec(compile(text, path, "exec"), vars(module))
    return module


def as_unit(unit: Unit | type[nn.Module]) -> Unit:
    """Return a user's layer class as a unit."""
    if isinstance(unit, Unit):
        return unit
    if not isinstance(unit, type):
        kind = type(unit).__name__
        raise TypeError(f"unit must be a class or a Unit, got an instance of {kind}; pass {kind} itself")
    return Unit(unit, name=unit.__name__, label=unit.__name__)
