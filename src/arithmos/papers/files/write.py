"""`to_toml`: an experiment as a file that `load` reads back."""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...spec import MODELS, InputRegularizer, Layer, Model, Spec
from ..experiment import Experiment
from .models import published
from .schema import tables

Values = dict[str, Any]


def to_toml(experiment: Experiment) -> str:
    """Return an experiment as an experiment file, with the same specs in the same order.

    Published values belong to the experiments of the catalogue and are dropped.

    Example:
        >>> from arithmos.papers import EXPERIMENTS
        >>> print(to_toml(EXPERIMENTS["table-1"]))
        title = "Learning a 10 parameter function"
        seeds = 100
        models = ["NACMul", "NALU", "NMU"]
        iterations = 200000
        <BLANKLINE>
        [task]
        operation = "mul"
        input_size = 4
        fixed = [[0, 4], [0, 2]]
    """
    swept = experiment.axis or "operation"
    blocks = _merged(_blocks(experiment.specs, swept), swept)
    common = {name: value for name, value in blocks[0].items() if all(block.get(name) == value for block in blocks)}
    head = {"title": experiment.title, "seeds": experiment.seeds}
    if experiment.axis:
        head["axis"] = experiment.axis
    usual = _defaults(experiment.specs[0])
    shown = {name: value for name, value in common.items() if value is not None and usual.get(name) != value}
    lines = _assignments({**head, **shown})
    for number, block in enumerate(blocks):
        own = {name: value for name, value in block.items() if name not in common and value is not None}
        if own:
            lines += ["", "[[parts]]", *(_assignment(name, value) for name, value in own.items())]
        elif number:
            raise ValueError(f"{experiment.name} runs the same twice: {written(block['models'])}")
    return "\n".join(lines)


def _blocks(specs: Iterable[Spec], swept: str) -> list[Values]:
    """Group the specs that differ only in their model, as far as that keeps their order.

    Where settings other than the swept one change, as from a model to one that is trained otherwise, groups start anew.
    """
    blocks: dict[tuple[int, str], tuple[Values, list[Any]]] = {}
    part, before = 0, None
    for spec in specs:
        values = _flat(spec)
        part, before = part + (before not in (None, _rest(values, swept))), _rest(values, swept)
        blocks.setdefault((part, json.dumps(values)), (values, []))[1].append(_model(spec.model))
    return [{"models": models, **values} for values, models in blocks.values()]


def _merged(blocks: list[Values], swept: str) -> list[Values]:
    """Merge neighbors that differ only in their position on the axis, or in their operation, into one block."""
    runs: list[list[Values]] = []
    for block in blocks:
        if not runs or _rest(runs[-1][0], swept) != _rest(block, swept):
            runs.append([])
        runs[-1].append(block)
    return [_united(run, swept) if len(run) > 1 else run[0] for run in runs]


def _united(blocks: list[Values], swept: str) -> Values:
    return {
        name: [block[name] for block in blocks] if name.rpartition(".")[2] == swept else value
        for name, value in blocks[0].items()
    }


def _rest(block: Values, swept: str) -> Values:
    return {name: value for name, value in block.items() if name.rpartition(".")[2] != swept}


def _flat(spec: Spec) -> Values:
    """Return the settings of a spec by dotted key."""
    settings = {name: getattr(spec, name) for name in ("hidden_size", "iterations", "batch_size", "evaluate_every")}
    settings |= {f"task.{name}": value for name, value in spec.task.settings().items()}
    keys = [key.name for name in ("optimizer", spec.optimizer.name) for key in tables()[name]]
    return settings | {f"optimizer.{key}": getattr(spec.optimizer, key) for key in keys}


def _defaults(spec: Spec) -> Values:
    """Return the settings that need not be written, by dotted key."""
    names = ("", "part"), ("task.", spec.task.kind), ("optimizer.", "optimizer"), ("optimizer.", spec.optimizer.name)
    return {f"{prefix}{key.name}": key.default for prefix, name in names for key in tables()[name]}


def _model(model: Model) -> Any:
    known = next(
        (known for known in MODELS.values() if known.name == model.name and known.layers == model.layers), None
    )
    if known == model and known.label == model.label:
        return model.name
    table: Values = {"name": model.name}
    if model.label != (known.label if known else model.name):
        table["label"] = model.label
    if known is None:
        layers = [_layer(layer) for layer in model.layers]
        plain = all(isinstance(layer, str) for layer in layers)
        table["layers"] = ">".join(layers) if plain else layers
    usual = dataclasses.asdict((known or published(model.layers)).schedule)
    own = {name: value for name, value in dataclasses.asdict(model.schedule).items() if value != usual[name]}
    inputs = {} if model.inputs == InputRegularizer() else {"inputs": dataclasses.asdict(model.inputs)}
    penalties = {"penalties": [dataclasses.asdict(one) for one in model.penalties]} if model.penalties else {}
    return table | ({"schedule": own} if own else {}) | inputs | penalties


def _layer(layer: Layer) -> Any:
    if not isinstance(layer.unit, str):
        raise ValueError(f"only units known by name or file can be written as TOML, got {layer.unit.name!r}")
    return {"unit": layer.unit, **dict(layer.options)} if layer.options else layer.unit


def _assignments(values: Values) -> list[str]:
    """Return top-level keys, then a table for each prefix."""
    lines = [_assignment(name, value) for name, value in values.items() if "." not in name]
    for table in ("task", "optimizer"):
        own = [name for name in values if name.startswith(f"{table}.")]
        lines += ["", f"[{table}]"] if own else []
        lines += [_assignment(name.partition(".")[2], values[name]) for name in own]
    return lines


def _assignment(name: str, value: Any) -> str:
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return "\n".join([f"{name} = [", *(f"  {written(item)}," for item in value), "]"])
    return f"{name} = {written(value)}"


def written(value: Any) -> str:
    """Format a value as TOML.

    Example:
        >>> print(written([True, 0.5, "a", {"b": (1, 2)}]))
        [true, 0.5, "a", {b = [1, 2]}]
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)  # strings, whole numbers, true and false are as in TOML


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
