"""`Spec`: all that decides a run but its seed; and `MODELS`, the networks that tables compare.

A spec is plain values. Its id is the hash of its canonical JSON, in which the versions of task and units stand too,
so a stored number is never mistaken for that of a changed task. Names and labels are not part of it.
"""

import dataclasses
import hashlib
import importlib.util
import inspect
import json
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch
from torch import nn

from . import _checks, _memory
from ._options import Plain, checked, try_options
from .nn import CELLS, LSTM, DigitReader, Recurrent
from .nn._parts import Leaf, Parts
from .nn._unit import Catalogue, Unit
from .tasks import DigitSequences, Observations, Rows, Task
from .training import SparsitySchedule

NO_SCHEDULE = SparsitySchedule(0.0, 0, 1)

LOADED = "__arithmos_loaded__"
"""Where the module of a user's file has the text that it was made from."""

GENERATOR = threading.Lock()
"""Held by whoever draws from torch's own generator, which all threads share."""


@dataclass(frozen=True)
class Layer:
    """One layer of a network.

    A user's file is read when the layer is made, and run only when its class is needed: `name`, `label` and `version`
    come from its path and text.

    Args:
        unit: a name of `CELLS`, `path/to/file.py:Class` for a class of the user's, or a `Unit`.
        options: arguments of the unit, as sorted pairs.
    """

    unit: str | Unit
    options: tuple[tuple[str, Plain], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.unit, Unit):
            _checks.text("unit", self.unit)
            _ = self._text if self.file else self.record  # what is not there is an error here
        object.__setattr__(self, "options", checked(self.unit, self.options))

    @property
    def file(self) -> Path | None:
        """The user's file that has the unit, if one has."""
        path, colon, _ = self.unit.rpartition(":") if isinstance(self.unit, str) else ("", "", "")
        return Path(path) if colon else None

    @cached_property
    def _text(self) -> str:
        return read_unit(str(self.unit))

    @cached_property
    def record(self) -> Unit:
        """The unit's record. A user's file is run for it, as it was when the layer was made."""
        if isinstance(self.unit, Unit):
            return self.unit
        return load_unit(self.unit, self._text) if self.file else CELLS[self.unit]

    def __getstate__(self) -> dict[str, object]:
        """What another process needs, which may not have the user's file."""
        return {"unit": self.unit, "options": self.options}

    @property
    def name(self) -> str:
        """The unit's name; a user's file is known by its name, wherever it lies."""
        return Path(self.unit.name if isinstance(self.unit, Unit) else self.unit).name

    @property
    def label(self) -> str:
        """The unit's name in a printed table; of a user's file, what is named in it."""
        return str(self.unit).rpartition(":")[2] if self.file else self.record.label

    @property
    def own(self) -> bool:
        """Whether the unit is a user's own, and not one of `CELLS`."""
        return self.file is not None or CELLS.get(self.record.name) != self.record

    @property
    def version(self) -> str:
        """The unit's version; for one that is not in `CELLS`, the digest of its source."""
        if not self.own:
            return str(self.record.version)
        text = self._text if self.file else source(self.record)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def build(self, in_features: int, out_features: int) -> nn.Module:
        """The layer itself."""
        return self.record.build(in_features, out_features, **dict(self.options))

    @property
    def parts(self) -> Parts | None:
        """What the layer is made of, its options applied; None if it has a part of its own."""
        if self.record.parts is None or not self.options:
            return self.record.parts
        return cast(Parts, self.record.build(1, 1, device="meta", **dict(self.options)).parts)


def source(unit: Unit) -> str:
    """The file, or cell of a notebook, in which a user's unit is written: whole, for a class may call on neighbours."""
    module = sys.modules.get(unit.module.__module__)
    if isinstance(loaded := getattr(module, LOADED, None), str):
        return loaded
    try:
        return Path(inspect.getfile(unit.module)).read_text(encoding="utf-8")
    except (OSError, TypeError):  # no file: in a notebook a class does not know its cell, but its functions do
        for member in vars(unit.module).values():
            if inspect.isfunction(member) and member.__module__ == unit.module.__module__:
                return "".join(inspect.findsource(member)[0])
    raise ValueError(f"unit {unit.name!r}: its source, by which runs are known, is not found; write it into a file")


def read_unit(name: str) -> str:
    """The text of the user's file in `path/to/file.py:Class`, which is not run."""
    path = name.rpartition(":")[0]
    if not Path(path).is_file():
        raise FileNotFoundError(f"unit {name!r}: there is no file {path!r}")
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"unit {name!r}: {path!r} is not text in UTF-8") from error


def load_unit(name: str, text: str | None = None) -> Unit:
    """A unit from a user's file, which is run.

    Args:
        name: `path/to/file.py:Class`, or `:record` for a `Unit` with parts of its own.
        text: of the file; read by default.
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
    raise ValueError(f"unit {name!r}: {attribute!r} is no nn.Module class or Unit of {path!r}; it has {classes}")


@lru_cache(maxsize=32)
def _module(path: Path, text: str) -> ModuleType:
    """A user's file as a module. One that was edited is another: its runs are known by the text that made them."""
    digest = hashlib.blake2b(f"{path}\0{text}".encode(), digest_size=8).hexdigest()
    module_spec = importlib.util.spec_from_file_location(f"arithmos_user_{digest}", path)
    if module_spec is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    setattr(module, LOADED, text)
    sys.modules[module.__name__] = module  # where inspect and pickle look for its classes
    exec(compile(text, path, "exec"), vars(module))
    return module


def as_unit(unit: Unit | type[nn.Module]) -> Unit:
    """A user's layer class as a unit; the `parts` that it declares, if it does, let the fast engines run it."""
    if isinstance(unit, Unit):
        return unit
    return Unit(unit, name=unit.__name__, label=unit.__name__, parts=_declared(unit))


def _declared(module: type[nn.Module]) -> Parts | None:
    """The parts of a class; None if it replaces a method of the class that declares them, which they describe."""
    parts = getattr(module, "parts", None)
    if not isinstance(parts, Parts):
        return None

    def owner(name: str) -> int:
        return next((place for place, base in enumerate(module.__mro__) if name in vars(base)), len(module.__mro__))

    methods = ("forward", "weights", "bounds", "sparsity", "gate_value")
    return parts if all(owner(name) >= owner("parts") for name in methods) else None


@dataclass(frozen=True)
class InputRegularizer:
    """How strongly a cell's unused inputs are pulled to the value that changes nothing (sequences of digits).

    Args:
        strength: weight of `input_regularizer_add` or `input_regularizer_mul`, as the cell's aggregation has it.
        logs: an exp-log cell is regularized on the logarithms of its inputs, as the published runs were, and not on
            the inputs, as the paper has it.
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
    """What a table compares: the layers of a network, and the schedule of their sparsity regularizer.

    Args:
        name: how it is spelled in code, JSON and on the command line; not part of a run's name.
        layers: from input to output.
        schedule: strength and ramp of the regularizer; strength 0 for none.
        label: how it is spelled in a printed table.
        inputs: regularizer of a cell's inputs.
    """

    name: str = field(compare=False)
    layers: tuple[Layer, ...]
    schedule: SparsitySchedule = NO_SCHEDULE
    label: str = field(default="", compare=False)
    inputs: InputRegularizer = InputRegularizer()

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
        unnamed = isinstance(self.label, str) and not self.label
        object.__setattr__(self, "label", self.name if unnamed else _checks.text("label", self.label))

    def with_options(self, **options: Plain) -> "Model":
        """The same model with these options on every layer, as an ablation has it."""
        layers = (replace_options(layer, options) for layer in self.layers)
        return dataclasses.replace(self, layers=tuple(layers))


def replace_options(layer: Layer, options: Mapping[str, Plain]) -> Layer:
    """The same layer with these options beside its own."""
    return Layer(layer.unit, tuple(sorted({**dict(layer.options), **options}.items())))


def _model(name: str, layers: str, label: str, schedule: SparsitySchedule | None = None) -> Model:
    return Model(name, tuple(Layer(unit) for unit in layers.split(">")), schedule or NO_SCHEDULE, label)


_LATE = SparsitySchedule(10.0, 1_000_000, 2_000_000)
_EARLY = SparsitySchedule(0.01, 5_000, 50_000)

MODELS: Catalogue[Model] = Catalogue(
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
    _model("ReLU", "ReLU>Linear", "ReLU"),
    _model("ReLU6", "ReLU6>Linear", "ReLU6"),
    _model("GateNAUNMU", "NAU>GatedNAUNMU", "Gated NAU/NMU", _LATE),
    _model("GateNALUSeparate", "NACAdd>NALUSeparate", "NALU (separate)"),
    _model("GateNALUShared", "NACAdd>NALU", "NALU (shared)"),
)
"""The published models in the order in which tables print; the last three are those of the gate experiment."""


def model(name: str) -> Model:
    """A model by its name in `MODELS`, or by its layers joined by `>`.

    Layers that are no published model have the schedule of the model NMU, for what there is to regularize in them.

    Example:
        >>> model("NAU>NMU") == model("NMU")
        True
    """
    if ">" not in name and ":" not in name:
        return MODELS[name]
    layers = tuple(Layer(unit.strip()) for unit in name.split(">"))
    known = next((known for known in MODELS.values() if known.layers == layers), None)
    return known or Model(name, layers, _LATE, ">".join(layer.label for layer in layers))


@dataclass(frozen=True)
class Adam:
    """The optimizer; its defaults are torch's."""

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8

    def __post_init__(self) -> None:
        for name in ("lr", "beta1", "beta2", "eps"):
            object.__setattr__(self, name, float(_checks.number(name, getattr(self, name))))
        least, most = torch.finfo(torch.float32).tiny, torch.finfo(torch.float32).max
        for name in ("lr", "eps"):
            if not least <= _checks.positive(name, getattr(self, name)) <= most:
                limits = f"from {least:.2g} to {most:.2g}, the range of float32"
                raise ValueError(f"{name} must be {limits}, got {getattr(self, name)}")
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")
        if self.lr / (1 - self.beta1) > most:
            raise ValueError(f"lr must be at most {most * (1 - self.beta1):.2g} with beta1 {self.beta1}, got {self.lr}")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """All that decides a run but its seed.

    Args:
        task: where observations come from.
        model: layers and schedule.
        hidden_size: width between the layers.
        iterations: the last iteration T; the loop runs t = 0 … T, so there are T + 1 updates.
        batch_size: observations an iteration.
        evaluate_every: iterations between two records; the first record is that of t = 0.
        optimizer: Adam's settings.

    Example:
        >>> from arithmos.tasks import TEN_PARAMETERS
        >>> Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=200_000).sizes
        (4, 2, 1)
    """

    task: Task
    model: Model
    hidden_size: int = 2
    iterations: int = 5_000_000
    batch_size: int = 128
    evaluate_every: int = 1000
    optimizer: Adam = Adam()

    def __post_init__(self) -> None:
        for name, kind in (("task", Task), ("model", Model), ("optimizer", Adam)):
            if not isinstance(getattr(self, name), kind):
                wanted = getattr(kind, "__name__", "task of arithmos.tasks")
                raise ValueError(f"{name} must be a {wanted}, got {_checks.shown(getattr(self, name))}")
        for name, least in (("hidden_size", 1), ("iterations", 0), ("batch_size", 1), ("evaluate_every", 1)):
            object.__setattr__(self, name, _checks.whole(name, getattr(self, name), least))
        for layer, i, o in zip(self.model.layers, self.sizes[:-1], self.sizes[1:], strict=True):
            if layer.options and isinstance(layer.unit, str) and layer.unit in CELLS:
                try_options(layer.unit, layer.options, i, o)
        if isinstance(self.task, DigitSequences):
            self._check_cell()
        elif self.model.inputs.strength:
            raise ValueError(
                f"inputs of {self.model.name!r} can be regularized on sequences of digits only; strength must be 0"
            )
        _memory.check(self)

    def _check_cell(self) -> None:
        if len(self.model.layers) != 1:
            raise ValueError(
                f"layers of model {self.model.name!r} must be one, the cell of a sequence, got {len(self.model.layers)}"
            )
        if self.model.layers[0].file is None:
            self._check_inputs()

    def _check_inputs(self) -> None:
        if self.model.inputs.strength and not isinstance(self.parts[0], Leaf):
            raise ValueError(f"the inputs of {self.model.name!r} have no regularizer; strength must be 0")

    def load(self) -> None:
        """Load the users' files with its units, which are not loaded to know a spec and its id.

        Raises:
            ValueError: a file does not load, or has no such unit; or the unit does not fit the spec.
        """
        for layer in self.model.layers:
            _ = layer.record
        self._check_inputs()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Width of the input, between the layers, and of the output."""
        return (
            self.task.input_size,
            *[self.hidden_size] * (len(self.model.layers) - 1),
            self.task.output_size,
        )

    @property
    def observations(self) -> Observations:
        """The task, where it is one of single observations."""
        if isinstance(self.task, DigitSequences):
            raise TypeError("the task must be one of single observations, got sequences of digits")
        return self.task

    @property
    def records(self) -> int:
        """Evaluations of a run that comes to its end."""
        return self.iterations // self.evaluate_every + 1

    @property
    def parts(self) -> tuple[Parts | None, ...]:
        """What each layer is made of."""
        return tuple(layer.parts for layer in self.model.layers)

    def json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, versions of task and units within."""
        return json.dumps(_plain(self), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def id(self) -> str:
        """Sixteen hexadecimal digits that name this spec."""
        return hashlib.blake2b(self.json().encode(), digest_size=8).hexdigest()

    def network(self, seed: int) -> nn.Sequential:
        """The network with the initial weights of a run: those of the published run of the same seed.

        The generator is seeded with the run's seed and fills all layers twice, of which the second pass stays. A
        user's layer whose `reset_parameters` takes no generator keeps what it drew when it was built, from torch's
        global generator seeded likewise. Where images are read, that one fills all layers, those of torch a third time.
        """
        if isinstance(self.task, DigitSequences):
            return self._reading(seed, self.task.initial)
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        with GENERATOR, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers = [layer.build(*pair) for layer, pair in zip(self.model.layers, pairs, strict=True)]
        generator = torch.Generator().manual_seed(seed)
        for _ in range(2):
            for layer in layers:
                reset = getattr(layer, "reset_parameters", None)
                if reset is not None and "generator" in inspect.signature(reset).parameters:
                    reset(generator=generator)
        return nn.Sequential(*layers)

    def _reading(self, seed: int, initial: float | None) -> nn.Sequential:
        """The network that reads images; layers of torch are filled when they are built, too."""
        with GENERATOR, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            cell = self._cell(initial)
            torch.manual_seed(seed)
            reader = DigitReader()
            if isinstance(cell, LSTM):  # the one cell that was torch's own, and so filled when built
                cell.reset_parameters()
            for layer in (*reader.children(), getattr(cell, "unit", cell)) * 2:
                if callable(reset := getattr(layer, "reset_parameters", None)):
                    reset()
        return nn.Sequential(reader, cell)

    def _cell(self, initial: float | None) -> nn.Module:
        """The one layer as the cell of a sequence; a layer that goes along sequences itself is taken as it is."""
        layer = self.model.layers[0].build(*self.sizes)
        if callable(getattr(layer, "initial_state", None)):
            if initial is not None:
                layer.initial = initial  # type: ignore[assignment]
            return layer
        return Recurrent(layer, initial=initial)


def _plain(spec: Spec) -> dict[str, Any]:
    counts = {name: getattr(spec, name) for name in ("hidden_size", "iterations", "batch_size", "evaluate_every")}
    layers = [
        {"unit": layer.name, "options": dict(layer.options), "version": layer.version} for layer in spec.model.layers
    ]
    cell = {"inputs": dataclasses.asdict(spec.model.inputs)} if isinstance(spec.task, DigitSequences) else {}
    return {
        **counts,
        **cell,
        "layers": layers,
        "optimizer": _floats(dataclasses.asdict(spec.optimizer)),
        "schedule": _floats(dataclasses.asdict(spec.model.schedule)),
        "task": _plain_task(spec.task),
    }


def _plain_task(task: Task) -> dict[str, Any]:
    if isinstance(task, Rows):
        names = ("version", "digest", "input_size", "output_size", "validation_share", "test_share", "threshold")
        return {"kind": "rows", **{name: getattr(task, name) for name in names}}
    if isinstance(task, DigitSequences):
        return {
            "kind": "digits",
            "version": task.version,
            "initial": None if task.initial is None else float(task.initial),
            **{name: list(getattr(task, name)) for name in ("test_lengths", "digits")},
            **{name: getattr(task, name) for name in ("data", "operation", "length", "images", "validation_size")},
            **{name: getattr(task, name) for name in ("fixed", "every_step")},
        }
    return {
        "kind": "arithmetic",
        "version": task.version,
        **{name: getattr(task, name) for name in ("operation", "input_size", "subset_count", "fixed")},
        **{name: float(getattr(task, name)) for name in ("subset_ratio", "overlap_ratio")},
        **{name: [[*map(float, part)] for part in getattr(task, name)] for name in ("interpolation", "extrapolation")},
    }


def _floats(values: Mapping[str, float]) -> dict[str, float]:
    """The same numbers whether they were written 1 or 1.0."""
    return {name: float(value) for name, value in values.items()}
