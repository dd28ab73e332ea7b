"""Specs in flat columns, made from their canonical JSON when a run is stored, and compared with it when it is read."""

import hashlib
import json
from functools import lru_cache
from typing import Any

from .. import _checks
from ..formula.stored import described
from ..tasks import OPERATIONS

Columns = dict[str, Any]

TEXTS = ("layers", "options", "task", "operation", "interpolation", "extrapolation", "rows", "images")
COUNTS = (
    *("input_size", "output_size", "subset_count", "length"),
    *("hidden_size", "iterations", "batch_size", "evaluate_every"),
)
REALS = (
    *("subset_ratio", "overlap_ratio", "input_strength", "learning_rate"),
    *("sparsity_strength", "sparsity_start", "sparsity_end"),
)
LISTS = ("digits", "test_lengths")

FLAT = ("spec_id", *TEXTS, *COUNTS, *REALS, *LISTS)
"""The columns that follow from a spec."""


@lru_cache(maxsize=2**13)
def flat(spec: str) -> Columns:
    """Return the columns that follow from a spec; each has a value of its type, or None.

    Raises:
        ValueError: it is not the JSON of a spec.
    """
    try:
        plain = json.loads(spec)
        columns = _network(plain) | TASKS[plain["task"]["kind"]](plain["task"], plain)
        for names, check in ((TEXTS, _text), (COUNTS, _checks.whole), (REALS, _checks.number), (LISTS, _checks.wholes)):
            for name in set(names) & set(columns):
                check(name, columns[name])
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"spec {spec[:60]!r} is not that of a run ({type(error).__name__}: {error})") from error
    return dict.fromkeys(FLAT) | columns | {"spec_id": hashlib.blake2b(spec.encode(), digest_size=8).hexdigest()}


def _text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {_checks.shown(value)}")


@lru_cache(maxsize=2**13)
def weights(spec: str) -> int:
    """Return how many weights the networks of a spec have; 0 if its units are not all known here."""
    try:
        return described(spec).length
    except ValueError:
        return 0


def _network(plain: Columns) -> Columns:
    layers, schedule = plain["layers"], plain["schedule"]
    return {
        "layers": ">".join(layer["unit"] for layer in layers),
        "options": json.dumps([dict(layer["options"].items()) for layer in layers], sort_keys=True),
        "task": plain["task"]["kind"],
        **{name: plain[name] for name in ("hidden_size", "iterations", "batch_size", "evaluate_every")},
        "learning_rate": plain["optimizer"]["lr"],
        **{f"sparsity_{name}": schedule[name] for name in ("strength", "start", "end")},
    }


def _arithmetic(task: Columns, plain: Columns) -> Columns:
    columns = {name: task[name] for name in ("operation", "input_size", "subset_count")} | {"output_size": 1}
    columns |= {name: json.dumps(task[name]) for name in ("interpolation", "extrapolation")}
    _one_of(task["operation"], OPERATIONS)
    if task["fixed"] is not None:
        return columns | {"subset_count": len(task["fixed"])}
    return columns | {name: task[name] for name in ("subset_ratio", "overlap_ratio")}


def _digits(task: Columns, plain: Columns) -> Columns:
    columns = {name: task[name] for name in ("operation", "length", "digits", "test_lengths")}
    _one_of(task["operation"], ("mul", "add"))
    _one_of(task["length"], task["test_lengths"])
    _one_of(task["digits"][0], range(10))
    sizes = {"input_size": 2, "output_size": 1}
    return columns | sizes | {"images": task["data"], "input_strength": plain["inputs"]["strength"]}


def _rows(task: Columns, plain: Columns) -> Columns:
    return {"rows": task["digest"], **{name: task[name] for name in ("input_size", "output_size")}}


TASKS = {"arithmetic": _arithmetic, "digits": _digits, "rows": _rows}


def _one_of(value: object, known: Any) -> None:
    if value not in known:
        raise ValueError(f"{value!r} is none of {', '.join(map(str, known))}")
