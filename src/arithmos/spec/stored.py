"""Specs in stored JSON: tasks may be of an older version, and units a user's."""

import json

from ..tasks import KINDS, Task, from_plain
from .models import Layer


def networks(spec: str) -> tuple[tuple[Layer, ...], tuple[int, ...], Task | None]:
    """Return a spec's layers, sizes and task; the task is None if it is of an older version or its data is missing.

    Raises:
        ValueError: a layer is a user's, unknown or of another version, or the text is not the JSON of a spec.
    """
    try:
        plain = json.loads(spec)
        layers = tuple(map(Layer.from_plain, plain["layers"]))
        inputs, outputs = KINDS[plain["task"]["kind"]].sizes(plain["task"])
        sizes = (inputs, *[plain["hidden_size"]] * (len(layers) - 1), outputs)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"{spec[:60]!r} is not the JSON of a spec") from error
    try:
        return layers, sizes, from_plain(plain["task"])
    except ValueError:
        return layers, sizes, None


def sequential(spec: str) -> bool:
    """Return whether the networks of a spec are cells along a sequence."""
    return KINDS[json.loads(spec)["task"]["kind"]].sequential


def problem(spec: str) -> str:
    """Return the part of a spec that models on the same problem share."""
    plain = json.loads(spec)
    return json.dumps(
        {name: plain[name] for name in plain if name not in ("layers", "schedule", "inputs", "penalties")}
    )


def describe(spec: str) -> str:
    """Return the task and the number of iterations in a few words.

    Example:
        >>> from arithmos.spec import MODELS, Spec
        >>> from arithmos.tasks import TEN_PARAMETERS
        >>> describe(Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=5000).json())
        '×, 4 inputs, 2 hidden, 5,000 iterations'
    """
    plain = json.loads(spec)
    task = plain["task"]
    kind = KINDS[task["kind"]]
    words = [kind.words(task)]
    if not kind.sequential:
        words.append(f"{plain['hidden_size']} hidden")
    elif plain["inputs"]["strength"]:
        words.append("R_z")
    words.append(f"{plain['iterations']:,} iterations")
    if task["version"] != kind.version_of(task):
        words.append(f"version {task['version']} of the task")
    return ", ".join(words)
