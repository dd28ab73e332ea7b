"""Specs in flat columns, made from their canonical JSON when a run is stored, and compared with it when it is read."""

import hashlib
import json
from functools import lru_cache
from typing import Any

from .. import _checks
from ..tasks import KINDS

Columns = dict[str, Any]

OF_TASKS: dict[str, tuple[type, str]] = {}
"""Type and meaning of the columns of tasks."""
for _kind, _task in KINDS.items():
    for _name, (_type, _meaning) in _task.columns().items():
        _before = f"{OF_TASKS[_name][1]}; " if _name in OF_TASKS else ""
        OF_TASKS[_name] = _type, f"{_before}{_kind}: {_meaning}"

TYPES: dict[str, type] = {
    **dict.fromkeys(("layers", "options", "task"), str),
    **dict.fromkeys(("input_size", "output_size", "hidden_size", "iterations", "batch_size", "evaluate_every"), int),
    **dict.fromkeys(("input_strength", "learning_rate", "sparsity_strength", "sparsity_start", "sparsity_end"), float),
    **{name: type_ for name, (type_, _) in OF_TASKS.items()},
}

FLAT = ("spec_id", *TYPES)
"""Columns that follow from a spec."""


def _text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {_checks.shown(value)}")


_CHECKS: dict[type, Any] = {str: _text, int: _checks.whole, float: _checks.number, list: _checks.wholes}


@lru_cache(maxsize=2**13)
def flat(spec: str) -> Columns:
    """Return the columns that follow from a spec; each has a value of its type, or None.

    Raises:
        ValueError: the text is not the JSON of a spec.
    """
    try:
        plain = json.loads(spec)
        kind = KINDS[plain["task"]["kind"]]
        columns = _network(plain) | kind.column_values(plain["task"])
        columns |= zip(("input_size", "output_size"), kind.sizes(plain["task"]), strict=True)
        if kind.sequential:
            columns["input_strength"] = plain["inputs"]["strength"]
        for name in columns.keys() & TYPES.keys():
            _CHECKS[TYPES[name]](name, columns[name])
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"spec {spec[:60]!r} is not that of a run ({type(error).__name__}: {error})") from error
    return dict.fromkeys(FLAT) | columns | {"spec_id": hashlib.blake2b(spec.encode(), digest_size=8).hexdigest()}


@lru_cache(maxsize=2**13)
def weights(spec: str) -> int:
    """Return the number of weights of a spec's networks; 0 if its units are not all known here."""
    from ..engines.stored import described  # loads torch

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
        **({"learning_rate": plain["optimizer"]["lr"]} if "lr" in plain["optimizer"] else {}),
        **{f"sparsity_{name}": schedule[name] for name in ("strength", "start", "end")},
    }
