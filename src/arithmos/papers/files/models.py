"""Models of an experiment file: published ones by name, others by their layers, with options and a schedule."""

import dataclasses
from pathlib import Path

from ... import _checks
from ..._keys import LAYERS, TABLES, TEXT, at
from ...spec import MODELS, Layer, Model, Penalty
from .values import KeyValues, read, settings, table


def models(value: object, where: str, folder: Path) -> list[tuple[Model, KeyValues]]:
    """Return models, each with its position in the sweeps of its schedule.

    Args:
        value: a name, a table, or a list of both.
        where: the key, for messages.
        folder: folder in which to look for files of units.
    """
    if not isinstance(value, list):
        return _model(value, where, folder)
    if not value:
        raise ValueError(f"{where} must name at least one model, got []")
    return [model for number, one in enumerate(value) for model in _model(one, f"{where}[{number}]", folder)]


def _model(value: object, where: str, folder: Path) -> list[tuple[Model, KeyValues]]:
    if isinstance(value, str):
        with at(f"{where}: "):
            value = {"layers": value} if ">" in value or ":" in value else {"name": MODELS[value].name}
    [(names, _)] = settings(given := table(value, where), "model", f"{where}.")
    with at(f"{where}."):
        for name, text in names.items():
            _checks.text(name, text)
        if "layers" in given:
            base = _of_layers(*_layers(given["layers"], "layers", folder), names)
        elif "name" in names:
            with at("name without layers: "):
                base = dataclasses.replace(MODELS[names["name"]], **names)
        else:
            raise ValueError("layers is missing, and so is the name of a published model")
    ramps = settings(given.get("schedule", {}), "schedule", f"{where}.schedule.")
    with at(f"{where}.schedule."):
        schedules = [(dataclasses.replace(base.schedule, **values), swept) for values, swept in ramps]
    [(pulled, _)] = settings(given.get("inputs", {}), "inputs", f"{where}.inputs.")
    with at(f"{where}.inputs."):
        inputs = dataclasses.replace(base.inputs, **pulled)
    penalties = _penalties(given.get("penalties", []), f"{where}.penalties")
    whole = dataclasses.replace(base, inputs=inputs, penalties=penalties)
    return [(dataclasses.replace(whole, schedule=schedule), swept) for schedule, swept in schedules]


def _penalties(value: object, where: str) -> tuple[Penalty, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{where} must be {TABLES.wanted}, got {_checks.shown(value)}")
    penalties = []
    for number, one in enumerate(value):
        [(values, _)] = settings(table(one, f"{where}[{number}]"), "penalty", f"{where}[{number}].")
        with at(f"{where}[{number}]."):
            penalties.append(Penalty(**values))
    return tuple(penalties)


def _of_layers(layers: tuple[Layer, ...], written: str, names: KeyValues) -> Model:
    same = published(layers)
    if same.layers == layers and names.get("name", same.name) == same.name:
        return dataclasses.replace(same, **names)
    name = names.get("name", written)
    joined = ">".join(layer.label for layer in layers)
    return Model(name, layers, same.schedule, str(names.get("label", names.get("name", joined))))


def published(layers: tuple[Layer, ...]) -> Model:
    """Return the published model whose schedule these layers have by default: that of the same units, or the NMU."""
    units = [layer.unit for layer in layers]
    return next((model for model in MODELS.values() if [layer.unit for layer in model.layers] == units), MODELS["NMU"])


def _layers(value: object, where: str, folder: Path) -> tuple[tuple[Layer, ...], str]:
    """Return the layers, and their units as written."""
    listed = value.split(">") if isinstance(value, str) else value
    if not (isinstance(listed, list) and listed):
        raise ValueError(f"{where} must be {LAYERS.wanted}, got {_checks.shown(value)}")
    layers, units = [], []
    for number, one in enumerate(listed):
        place = where if isinstance(value, str) else f"{where}[{number}]"
        options = dict(table({"unit": one} if isinstance(one, str) else one, place))
        if "unit" not in options:
            raise ValueError(f"{place}.unit is missing")
        units.append(read(TEXT, options.pop("unit"), f"{place}.unit").strip())
        with at(f"{place}: "):
            layers.append(Layer(_found(units[-1], folder), tuple(options.items())))
    return tuple(layers), ">".join(units)


def _found(unit: str, folder: Path) -> str:
    """Return a unit; one of a user's file is looked for next to the experiment file."""
    path, colon, attribute = unit.rpartition(":")
    return f"{folder / path}:{attribute}" if colon else unit
