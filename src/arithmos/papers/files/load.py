"""`load`: read an experiment from a TOML file, so that a sweep needs no Python.

The keys are those of `schema.tables`; any other is an error. A list in place of one value is a sweep: each of its
values is combined with each of the other lists'. Errors name the key, its value and what would be right.
"""

import dataclasses
import re
import tomllib
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from ... import _checks
from ..._keys import at
from ...spec import OPTIMIZERS, Adam, Spec
from ...spec.optimizers import Optimizer
from ...tasks import KINDS, Task
from ..experiment import Experiment, axis_value
from .models import models
from .schema import axes, tables
from .values import MOST_SPECS, KeyValues, TomlTable, known, points, settings, table

SUFFIX = ".toml"

MOST_BYTES = 2**20
MOST_NAMES = 16
"""Most names in a dotted key; tomllib's memory for a key grows with the square of their number."""

_NAME = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*+(?:{_NAME}[ \t]*+\.[ \t]*+){{{MOST_NAMES}}}", re.MULTILINE)

SpecCell = tuple[Spec, KeyValues]
"""Spec with its position in the sweeps of its file."""


def load(path: str | Path) -> Experiment:
    r"""Load the experiment that a file describes; its name is the path, as on the command line.

    Paths in the file are relative to it.

    Raises:
        ValueError: the file is wrong; the message names the file and the key.
        FileNotFoundError: there is no such file.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp(), "wide.toml")
        >>> _ = path.write_text("models = ['NMU', 'NALU']\nhidden_size = [2, 4, 8]\ntask.operation = 'mul'")
        >>> load(path).axis, len(load(path).specs)
        ('hidden_size', 6)
    """
    if "\0" in str(path) or not Path(path).is_file():
        raise FileNotFoundError(f"there is no experiment file {str(path)!r}")
    _checks.file_size(path, MOST_BYTES)
    try:
        text = Path(path).read_text(encoding="utf-8")
        long = _LONG_KEY.search(text)
        document = {} if long else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for numbers of many digits and very deep lists
        raise ValueError(f"{path} is not valid TOML: {error}") from error
    with at(f"{path}: "):
        if long:
            raise ValueError(f"a key must have at most {MOST_NAMES} names, got {_checks.shown(long[0].strip())}")
        return _experiment(document, Path(path), str(path))


def _experiment(document: TomlTable, path: Path, name: str) -> Experiment:
    shared = known(document, "", "experiment", "part")
    [(head, _)] = points(document, "experiment", "")
    parts = document.get("parts", [{}])
    if not (isinstance(parts, list) and parts):
        raise ValueError(f"parts must be tables, each headed [[parts]], got {_checks.shown(parts)}")
    cells: list[SpecCell] = []
    for number, part in enumerate(parts):
        where = f"parts[{number}]." if "parts" in document else ""
        own = known(part, where, "part")
        cells += _cells({**shared, **own, **_merged(shared, own)}, where, path.parent)
        if len(cells) > MOST_SPECS:
            raise ValueError(f"{where}models and lists make more than {MOST_SPECS:,} specs")
    axis = _axis(head, cells)
    title, seeds = _checks.text("title", head.get("title", path.stem)), head.get("seeds", 100)
    return Experiment(name=name, item="", title=title, specs=_named(cells, axis), axis=axis, seeds=seeds)


def _merged(shared: TomlTable, own: TomlTable) -> TomlTable:
    """Merge the tables of a part, key by key, over those of the whole file."""
    both = {name: (shared.get(name), own.get(name)) for name in ("task", "optimizer")}
    return {name: {**a, **b} for name, (a, b) in both.items() if isinstance(a, dict) and isinstance(b, dict)}


def _cells(part: TomlTable, where: str, folder: Path) -> list[SpecCell]:
    """Return the specs of a part: every model on every task with every setting."""
    for name in ("models", "task"):
        if name not in part:
            raise ValueError(f"{where}{name} is missing")
    tasks = _tasks(table(part["task"], f"{where}task"), f"{where}task.", folder)
    chosen = models(part["models"], f"{where}models", folder)
    optimizers = _optimizers(table(part.get("optimizer", {}), f"{where}optimizer"), f"{where}optimizer.")
    counts = points(part, "part", where)
    if len(tasks) * len(chosen) * len(optimizers) * len(counts) > MOST_SPECS:
        raise ValueError(f"{where}models and lists make more than {MOST_SPECS:,} specs")
    cells = []
    for (task, a), (model, b), (optimizer, c), (count, d) in product(tasks, chosen, optimizers, counts):
        with at(where):
            cells.append((Spec(task=task, model=model, optimizer=optimizer, **count), a | b | c | d))
    return cells


def _optimizers(values: TomlTable, where: str) -> list[tuple[Optimizer, KeyValues]]:
    """Return the optimizers of a table, with the settings of the one that it names."""
    with at(where):
        name = _checks.one_of("name", values.get("name", Adam.name), OPTIMIZERS)
    own = {key: value for key, value in values.items() if key != "name"}
    optimizers = []
    for point, swept in settings(own, name, where):
        with at(where):
            optimizers.append((OPTIMIZERS[name](**point), swept))
    return optimizers


def _tasks(values: TomlTable, where: str, folder: Path) -> list[tuple[Task, KeyValues]]:
    """Return the tasks of a table: of the first kind, or of another that is a key of the table."""
    usual, *others = KINDS
    kind = next((kind for kind in others if kind in values), usual)
    own = {key.name for key in tables()[kind]}
    for other in others if kind == usual else ():
        if extra := [key.name for key in tables()[other] if key.name in values and key.name not in own]:
            raise ValueError(f"{where}{extra[0]} is for a task with the key {other}")
    if kind == usual and "operation" not in values:
        raise ValueError(f"{where}operation is missing, and so are {' and '.join(others)}")
    tasks = []
    for point, swept in settings(values, kind, where):
        with at(where):
            tasks.append((KINDS[kind].from_settings(point, folder), swept))
    return tasks


def _axis(head: KeyValues, cells: Sequence[SpecCell]) -> str:
    """Return the axis of the file, on which every spec has a position."""
    lists = [*dict.fromkeys(name for _, swept in cells for name in swept if name != "operation")]
    if "axis" in head:
        axis = _checks.one_of("axis", head["axis"], axes())
    elif len(lists) > 1:
        raise ValueError(f"axis must name one of the lists, got none: {', '.join(lists)}")
    else:
        axis = lists[0] if lists else ""
    for spec, _ in cells if axis else ():
        axis_value(spec, axis)
    return axis


def _named(cells: Sequence[SpecCell], axis: str) -> tuple[Spec, ...]:
    """Return the specs by operation, then by model, then along the axis, each in the order of the file.

    The values of a list that is not the axis become part of the models' names, so that these stay distinct.
    """
    operations: dict[str, set[str]] = {}
    for spec, _ in cells:
        operations.setdefault(spec.model.name, set()).add(spec.task.operation)
    groups: dict[str, dict[str, dict[float | str, Spec]]] = {}
    for spec, swept in cells:
        extra = {name: _place(spec, name) for name in swept if name not in (axis, "operation")}
        if axis and len(operations[spec.model.name]) > 1:  # a figure shows all operations in one panel
            extra["operation"] = spec.task.operation
        if extra:
            spec = _renamed(spec, extra)
        places = groups.setdefault(spec.task.operation, {}).setdefault(spec.model.name, {})
        place = axis_value(spec, axis) if axis else ""
        if place in places:
            cell = " ".join(filter(None, [spec.task.operation, spec.model.name, axis, str(place)]))
            raise ValueError(f"models has {cell} twice: leave one out, rename it, or set axis to the key that differs")
        places[place] = spec
    return tuple(spec for by_model in groups.values() for places in by_model.values() for spec in places.values())


def _renamed(spec: Spec, extra: dict[str, str]) -> Spec:
    name = " ".join([spec.model.name, *(f"{key}={place}" for key, place in extra.items())])
    label = ", ".join([spec.model.label, *(f"{key.replace('_', ' ')} {place}" for key, place in extra.items())])
    return dataclasses.replace(spec, model=dataclasses.replace(spec.model, name=name, label=label))


def _place(spec: Spec, name: str) -> str:
    place = axis_value(spec, name)
    return place if isinstance(place, str) else f"{place:g}"
