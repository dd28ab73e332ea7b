"""`Model` and its layers, and `MODELS`, the networks that tables compare."""

import dataclasses
import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .. import _checks
from ..nn import CELLS
from ..nn._unit import Catalogue, Unit
from ..optim import SparsitySchedule
from .loading import load_unit, read_unit, source
from .optimizers import Penalty
from .options import Plain, checked

NO_SCHEDULE = SparsitySchedule(0.0, 0, 1)

GENERATOR = threading.Lock()
"""Lock for drawing from torch's global generator, which all threads share."""


@dataclass(frozen=True)
class Layer:
    """Layer of a network.

    A user's file is read when the layer is created, and run only when its class is needed: `name`, `label` and
    `version` come from its path and text.

    Args:
        unit: a name of `CELLS`, `path/to/file.py:Class` for a user's class, or a `Unit`.
        options: keyword arguments of the unit, as sorted pairs.
    """

    unit: str | Unit
    options: tuple[tuple[str, Plain], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.unit, Unit):
            if CELLS.get(self.unit.name) == self.unit:
                object.__setattr__(self, "unit", self.unit.name)
        else:
            _checks.text("unit", self.unit)
            if self.file is None:
                object.__setattr__(self, "unit", self.record.name)
            _ = self.file and self._text  # a missing file is an error here
        object.__setattr__(self, "options", checked(self.unit, self.options))

    @property
    def file(self) -> Path | None:
        """The user's file that defines the unit, if any."""
        path, colon, _ = self.unit.rpartition(":") if isinstance(self.unit, str) else ("", "", "")
        return Path(path) if colon else None

    @cached_property
    def _text(self) -> str:
        return read_unit(str(self.unit))

    @cached_property
    def record(self) -> Unit:
        """The unit's record. A user's file is run for it, as it was when the layer was created."""
        if isinstance(self.unit, Unit):
            return self.unit
        return load_unit(self.unit, self._text) if self.file else CELLS[self.unit]

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs: the text of the user's file too, which it may not have."""
        state: dict[str, object] = {"unit": self.unit, "options": self.options}
        return state | {"_text": self._text} if self.file else state

    @property
    def name(self) -> str:
        """The unit's name; a user's file is identified by its name, in any folder."""
        return Path(self.unit.name if isinstance(self.unit, Unit) else self.unit).name

    @property
    def label(self) -> str:
        """The unit's name in a printed table; for a user's file, the name of the class."""
        return str(self.unit).rpartition(":")[2] if self.file else self.record.label

    @property
    def own(self) -> bool:
        """Whether the unit is a user's and not one of `CELLS`."""
        return self.file is not None or CELLS.get(self.record.name) != self.record

    @property
    def version(self) -> str:
        """The unit's version; for one that is not in `CELLS`, the digest of its source."""
        if not self.own:
            return str(self.record.version)
        text = self._text if self.file else source(self.record)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def build(self, in_features: int, out_features: int) -> nn.Module:
        """Build the layer."""
        return self.record.build(in_features, out_features, **dict(self.options))

    def blank(self, in_features: int, out_features: int) -> nn.Module:
        """Build the layer for its form, not its initial values; torch's global generator stays as it is."""
        unit, options = self.record, dict(self.options)  # a user's file may import what builds layers
        with GENERATOR, torch.random.fork_rng(devices=[]):
            return unit.build(in_features, out_features, **options)

    def plain(self) -> dict[str, Any]:
        """Return the layer as values that JSON can hold; a user's unit is a name and the digest of its source."""
        name = (self.file is None and self.record.former) or self.name
        return {"unit": name, "options": dict(self.options), "version": self.version}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Layer":
        """Return the layer with this plain form.

        Raises:
            ValueError: the unit is a user's, or unknown, or of another version.
        """
        known = _checks.table("layer", plain, ("unit", "options", "version"))
        unit, version = _checks.text("unit", known["unit"]), _checks.text("version", known["version"])
        if ":" in unit:
            raise ValueError(f"unit {unit!r} with digest {version} is in a user's file, which a spec does not hold")
        if unit not in CELLS or version != str(CELLS[unit].version):
            raise ValueError(f"this version of arithmos has no unit {unit!r} of version {version}")
        return cls(unit, tuple(sorted(_checks.table("options", known["options"]).items())))


@dataclass(frozen=True)
class InputRegularizer:
    """Regularizer that pulls a cell's unused inputs towards its neutral value (sequences of digits).

    Args:
        strength: weight of `input_regularizer_add` or `input_regularizer_mul`, depending on the cell's aggregation.
        logs: whether an exp-log cell is regularized on the logarithms of its inputs, as in the published runs, and not
            on the inputs, as in the paper.
    """

    strength: float = 0.0
    logs: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", float(_checks.number("strength", self.strength)))
        if self.strength < 0:
            raise ValueError(f"strength must not be negative, got {self.strength}")
        if not isinstance(self.logs, bool):
            raise ValueError(f"logs must be True or False, got {_checks.shown(self.logs)}")


@dataclass(frozen=True)
class Model:
    """Network that a table compares: its layers, and the schedule of their sparsity regularizer.

    Args:
        name: name in code, JSON and on the command line; not part of a run's identity.
        layers: layers from input to output.
        schedule: strength and ramp of the regularizer; strength 0 for none.
        label: name in a printed table.
        inputs: regularizer of a cell's inputs.
        penalties: regularizers of the parameters, besides the schedule's.
    """

    name: str = field(compare=False)
    layers: tuple[Layer, ...]
    schedule: SparsitySchedule = NO_SCHEDULE
    label: str = field(default="", compare=False)
    inputs: InputRegularizer = InputRegularizer()
    penalties: tuple[Penalty, ...] = ()

    def __post_init__(self) -> None:
        _checks.text("name", self.name)
        if not isinstance(self.layers, tuple) or not all(isinstance(layer, Layer) for layer in self.layers):
            raise ValueError(f"layers must be a tuple of Layer, got {_checks.shown(self.layers)}")
        if not self.layers:
            raise ValueError(f"layers of model {self.name!r} must be at least one, got none")
        if not isinstance(self.schedule, SparsitySchedule):
            raise ValueError(f"schedule must be a SparsitySchedule, got {_checks.shown(self.schedule)}")
        if not isinstance(self.inputs, InputRegularizer):
            raise ValueError(f"inputs must be an InputRegularizer, got {_checks.shown(self.inputs)}")
        if not isinstance(self.penalties, tuple) or not all(isinstance(one, Penalty) for one in self.penalties):
            raise ValueError(f"penalties must be a tuple of Penalty, got {_checks.shown(self.penalties)}")
        unnamed = isinstance(self.label, str) and not self.label
        object.__setattr__(self, "label", self.name if unnamed else _checks.text("label", self.label))

    def with_options(self, **options: Plain) -> "Model":
        """Return the model with these options on every layer, as for an ablation."""
        layers = (replace_options(layer, options) for layer in self.layers)
        return dataclasses.replace(self, layers=tuple(layers))


def replace_options(layer: Layer, options: Mapping[str, Plain]) -> Layer:
    """Return the layer with these options added to its own."""
    return Layer(layer.unit, tuple(sorted({**dict(layer.options), **options}.items())))


def _model(name: str, layers: str, label: str, schedule: SparsitySchedule | None = None) -> Model:
    return Model(name, tuple(Layer(unit) for unit in layers.split(">")), schedule or NO_SCHEDULE, label)


_LATE = SparsitySchedule(10.0, 1_000_000, 2_000_000)
_EARLY = SparsitySchedule(0.01, 5_000, 50_000)

TABLE_MODELS: Catalogue[Model] = Catalogue(
    "model",
    _model("NACMulNMU", "NAU>NACMulNMU", "NAC•,NMU", _LATE),
    _model("NACMulSigma", "NACAdd>NACMulSigma", "NAC•,σ"),
    _model("NACMul", "NACAdd>NACMul", "NAC•"),
    _model("NACAdd", "NACAdd>NACAdd", "NAC₊"),
    _model("GatedNAUNMU", "GatedNAUNMU>GatedNAUNMU", "Gated NAU/NMU", _LATE),
    _model("Linear", "Linear>Linear", "Linear"),
    _model("NALU", "NALU>NALU", "NALU"),
    _model("NAU", "NAU>NAU", "NAU", _EARLY),
    _model("NMU", "NAU>NMU", "NMU", _LATE),
    _model("ReLU", "LinearReLU>Linear", "ReLU"),
    _model("ReLU6", "LinearReLU6>Linear", "ReLU6"),
)
"""Models of the paper's large tables, in the order of printing."""

MODELS = TABLE_MODELS.add(
    _model("GateNAUNMU", "NAU>GatedNAUNMU", "Gated NAU/NMU", _LATE),
    _model("GateNALUSeparate", "NACAdd>NALUSeparate", "NALU (separate)"),
    _model("GateNALUShared", "NACAdd>NALU", "NALU (shared)"),
)
"""All published models: those of the tables and those of the gate experiment."""


def model(name: str) -> Model:
    """Return a model by its name in `MODELS`, or by its layers joined by `>`.

    Layers that are not a published model have the schedule of the model NMU.

    Example:
        >>> model("NAU>NMU") == model("NMU")
        True
    """
    if ">" not in name and ":" not in name:
        return MODELS[name]
    layers = tuple(Layer(unit.strip()) for unit in name.split(">"))
    known = next((known for known in MODELS.values() if known.layers == layers), None)
    return known or Model(name, layers, _LATE, ">".join(layer.label for layer in layers))
