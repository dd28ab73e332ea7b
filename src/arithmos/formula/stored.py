"""Stored runs before the exact judge: what their canonical JSON says of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..engines.contract import layout
from ..nn import UNITS
from ..spec import Layer, Spec
from ..tasks import Arithmetic, Task
from .recovered import recovered_runs


@dataclass(frozen=True)
class Described:
    """What a spec says of its networks.

    Args:
        layers: from input to output.
        sizes: width of the input, between the layers, and of the output.
        task: what they learn; None if it is not told in full, such as a user's data.
    """

    layers: tuple[Layer, ...]
    sizes: tuple[int, ...]
    task: Task | None

    @property
    def length(self) -> int:
        """How many effective weights there are; 0 if a layer does not say what it is made of."""
        pairs = zip(self.layers, pairwise(self.sizes), strict=True)
        known = [(layer.parts, size) for layer, size in pairs]
        if any(parts is None for parts, _ in known):
            return 0
        return sum(prod(shape) for parts, size in known if parts is not None for _, shape in layout(parts, *size))


def described(spec: Spec | str) -> Described:
    """A spec, or the canonical JSON of one, as far as networks are concerned.

    Raises:
        ValueError: the JSON is that of a task of another kind than arithmetic or rows, or names a layer or a version
            of one that this arithmos does not have.
    """
    if isinstance(spec, Spec):
        return Described(spec.model.layers, spec.sizes, spec.task)
    plain = json.loads(spec)
    task, layers = plain["task"], []
    if task["kind"] not in ("arithmetic", "rows"):
        raise ValueError(f"a network that learns from {task['kind']} is more than its layers")
    for entry in plain["layers"]:
        if entry["unit"] not in UNITS or UNITS[entry["unit"]].version != int(entry["version"]):
            raise ValueError(f"there is no unit {entry['unit']!r} of version {entry['version']} in this arithmos")
        layers.append(Layer(entry["unit"], tuple(sorted(entry["options"].items()))))
    sizes = (task["input_size"], *[plain["hidden_size"]] * (len(layers) - 1), task.get("output_size", 1))
    return Described(tuple(layers), sizes, _arithmetic(task))


def _arithmetic(plain: dict[str, object]) -> Arithmetic | None:
    if plain["kind"] != "arithmetic" or plain["version"] != Arithmetic.version:
        return None
    values = {name: _frozen(value) for name, value in plain.items() if name not in ("kind", "version")}
    return Arithmetic(**values)  # type: ignore[arg-type]


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def judge(spec: Spec | str, seeds: Sequence[int], weights: Sequence[NDArray[np.float32] | None]) -> list[bool | None]:
    """Whether each run of a spec found the task's formula exactly; None if that cannot be told.

    Args:
        spec: the spec, or its canonical JSON.
        seeds: of the runs.
        weights: effective weights of each run at its best record; None where they are not kept.
    """
    verdicts: list[bool | None] = [None] * len(seeds)
    try:
        known = described(spec)
    except ValueError:
        return verdicts
    length = known.length
    if not isinstance(known.task, Arithmetic) or not length:
        return verdicts
    judged = [run for run, row in enumerate(weights) if row is not None and len(row) == length]
    if judged:
        rows = np.stack([np.asarray(weights[run], np.float64) for run in judged])
        found = recovered_runs(known.layers, known.sizes, known.task, [seeds[run] for run in judged], rows)
        for run, exact in zip(judged, found.tolist(), strict=True):
            verdicts[run] = exact
    return verdicts
