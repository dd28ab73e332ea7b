"""`Spec`: everything that determines a run except its seed.

A spec consists of plain values. Its id is the hash of its canonical JSON, which includes the versions of task and
units, so a stored number is never attributed to a changed task. Names and labels are not part of it.
"""

import dataclasses
import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import torch
from torch import nn

from .. import _checks
from ..nn import CELLS, LSTM, DigitReader, Euler, Recurrent
from ..optim import SparsitySchedule
from ..tasks import KINDS, DigitSequences, Observations, Task, from_plain
from . import memory, optimizers
from .models import GENERATOR, MODELS, InputRegularizer, Layer, Model
from .optimizers import ADAM, LM, Adam, Optimizer, Penalty, RMSprop
from .options import try_options

T = TypeVar("T", SparsitySchedule, InputRegularizer)

COUNTS = {"hidden_size": 1, "iterations": 0, "batch_size": 1, "evaluate_every": 1}
"""Whole numbers of a spec, with the smallest value of each."""

SECOND_ORDER = (("NAU",), ("NAU", "NAU"), ("NAU", "NMU"), ("NAU", "RealNPU"))
"""Units of the networks that the second-order recipe trains."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything that determines a run except its seed.

    Args:
        task: source of the observations.
        model: layers and schedule.
        hidden_size: width between the layers.
        iterations: the last iteration T; the loop runs t = 0 … T, so there are T + 1 updates.
        batch_size: observations per iteration.
        evaluate_every: iterations between two records; the first record is that of t = 0.
        optimizer: optimizer with its settings.

    Example:
        >>> from arithmos.spec import MODELS
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
    optimizer: Optimizer = ADAM

    def __post_init__(self) -> None:
        kinds = ("task", (*KINDS.values(),), "a task of arithmos.tasks"), ("model", Model, "a Model")
        known = tuple(optimizers.OPTIMIZERS.values())
        for name, kind, wanted in (*kinds, ("optimizer", known, "an optimizer of arithmos.spec")):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be {wanted}, got {_checks.shown(getattr(self, name))}")
        for name, least in COUNTS.items():
            object.__setattr__(self, name, _checks.whole(name, getattr(self, name), least))
        for layer, i, o in zip(self.model.layers, self.sizes[:-1], self.sizes[1:], strict=True):
            if layer.options and isinstance(layer.unit, str) and layer.unit in CELLS:
                try_options(layer.unit, layer.options, i, o)
        self._check_optimizer()
        if self.task.sequential:
            self._check_cell()
        elif self.model.inputs.strength:
            raise ValueError(
                f"inputs of {self.model.name!r} can only be regularized on sequences of digits; strength must be 0"
            )
        elif self.model.inputs != InputRegularizer():  # an unused field is not part of a spec
            object.__setattr__(self, "model", dataclasses.replace(self.model, inputs=InputRegularizer()))
        memory.check(self)

    def _check_optimizer(self) -> None:
        layers = self.model.layers
        if last := getattr(self.optimizer, "lbfgs", 0):
            self._check_equation(last)
        if not isinstance(self.optimizer, LM):
            rates = self.optimizer.layer_rates
            if rates and len(rates) != len(layers):
                raise ValueError(f"layer_rates must be one per layer, {len(layers)} of them, got {len(rates)}")
        elif (units := tuple(layer.name for layer in layers)) not in SECOND_ORDER or self.task.output_size != 1:
            known = ", ".join(">".join(one) for one in SECOND_ORDER)
            raise ValueError(f"networks that lm trains must be one of {known} with one output, got {'>'.join(units)}")

    def _check_equation(self, last: int) -> None:
        """Check that a run ends with L-BFGS for what can be trained so."""
        if not self.task.times or last > self.iterations:
            raise ValueError(f"lbfgs must be 0, or at most iterations for a differential equation, got {last}")
        own = [*self.optimizer.added, *(["schedule"] if self.model.schedule.strength else [])]
        if own != ["lbfgs"] or any(one.kind != "l1" or one.below for one in self.model.penalties):
            raise ValueError(f"with lbfgs there must be no other settings but l1 penalties, got {', '.join(own)}")

    def _check_cell(self) -> None:
        if added := self.beyond_adam:
            raise ValueError(f"sequences of digits must be trained with Adam alone, got {', '.join(added)}")
        if len(self.model.layers) != 1:
            raise ValueError(
                f"layers of model {self.model.name!r} must be one, the cell of a sequence, got {len(self.model.layers)}"
            )
        if self.model.layers[0].file is None:
            self._check_inputs()

    def _check_inputs(self) -> None:
        if not self.model.inputs.strength:
            return
        unit = self.model.layers[0].record.module
        gated = hasattr(unit, "gate_value") or not hasattr(unit, "weights")
        if gated or getattr(unit, "identity", None) is None:
            raise ValueError(f"the inputs of {self.model.name!r} have no regularizer; strength must be 0")

    def load(self) -> None:
        """Load the users' files with its units; a spec and its id are known without them.

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
        """The task, if it is one of single observations."""
        if self.task.sequential:
            raise TypeError("the task must be one of single observations, got sequences of digits")
        return cast(Observations, self.task)

    @property
    def sequences(self) -> DigitSequences:
        """The task, if it is one of sequences of digits."""
        if not self.task.sequential:
            raise TypeError(f"the task must be one of sequences of digits, got {self.task!r}")
        return cast(DigitSequences, self.task)

    @property
    def records(self) -> int:
        """Number of evaluations of a run that is not cut short."""
        return self.iterations // self.evaluate_every + 1

    @property
    def adam(self) -> Adam:
        """The optimizer, if it is Adam."""
        if not isinstance(self.optimizer, Adam):
            raise TypeError(f"the optimizer must be Adam, got {self.optimizer.name}")
        return self.optimizer

    @property
    def first_order(self) -> Adam | RMSprop:
        """The optimizer, if it is a first-order one."""
        if isinstance(self.optimizer, LM):
            raise TypeError(f"the optimizer must be a first-order one, got {self.optimizer.name}")
        return self.optimizer

    @property
    def beyond_adam(self) -> tuple[str, ...]:
        """Names of the settings that go beyond Adam as in the published runs."""
        own = () if isinstance(self.optimizer, Adam) else (self.optimizer.name,)
        return (*own, *self.optimizer.added, *(["penalties"] if self.model.penalties else []))

    def plain(self) -> dict[str, Any]:
        """Return the spec as values that JSON can hold, with the versions of task and units."""
        return {
            **{name: getattr(self, name) for name in COUNTS},
            **({"inputs": dataclasses.asdict(self.model.inputs)} if self.task.sequential else {}),
            "layers": [layer.plain() for layer in self.model.layers],
            "optimizer": self.optimizer.plain(),
            **(
                {"penalties": [dataclasses.asdict(one) for one in self.model.penalties]} if self.model.penalties else {}
            ),
            "schedule": _floats(dataclasses.asdict(self.model.schedule)),
            "task": self.task.plain(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> "Spec":
        """Return the spec with a plain form: `Spec.from_plain(spec.plain()) == spec`.

        A model that is not one of `MODELS` is named by its layers.

        Args:
            plain: result of `plain`, or the canonical JSON as `json.loads` reads it.
            data: arguments of the task that its plain form only names by a digest, as in `tasks.from_plain`.

        Raises:
            ValueError: a value is wrong, the task or a unit is of another version, a unit is a user's, or data is
                missing.

        Example:
            >>> from arithmos.spec import MODELS
            >>> from arithmos.tasks import TEN_PARAMETERS
            >>> spec = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"])
            >>> Spec.from_plain(json.loads(spec.json())) == spec
            True
        """
        task = from_plain(_checks.table("spec", plain).get("task", {}), data)
        cell = ("inputs",) if task.sequential else ()
        added = ("penalties",) if "penalties" in plain else ()
        known = _checks.table("spec", plain, (*COUNTS, *cell, *added, "layers", "optimizer", "schedule", "task"))
        for name in ("layers", *added):
            if not isinstance(known[name], list):
                raise ValueError(f"{name} must be a list, got {_checks.shown(known[name])}")
        layers = tuple(map(Layer.from_plain, known["layers"]))
        model = Model(
            ">".join(layer.name for layer in layers) or "none",
            layers,
            _made(SparsitySchedule, "schedule", known["schedule"]),
            inputs=_made(InputRegularizer, "inputs", known["inputs"]) if cell else InputRegularizer(),
            penalties=tuple(map(Penalty.from_plain, known.get("penalties", ()))),
        )
        return cls(
            task=task,
            model=next((named for named in MODELS.values() if named == model), model),
            optimizer=optimizers.from_plain(known["optimizer"]),
            **{name: known[name] for name in COUNTS},
        )

    def json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, versions of task and units within."""
        return json.dumps(self.plain(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def id(self) -> str:
        """Identifier of this spec, 16 hexadecimal digits."""
        return hashlib.blake2b(self.json().encode(), digest_size=8).hexdigest()

    def network(self, seed: int) -> nn.Sequential:
        """Return the network with the initial weights of a run: those of the published run of the same seed.

        The generator is seeded with the run's seed and fills all layers twice; the second pass counts. A user's layer
        whose `reset_parameters` takes no generator keeps what it drew when it was built, from torch's global generator
        with the same seed. For images, the global generator fills all layers, those of torch a third time.
        """
        if self.task.sequential:
            return self._reading(seed, self.sequences.initial)
        pairs = zip(self.sizes[:-1], self.sizes[1:], strict=True)
        self.load()  # a user's file may import what builds layers
        with GENERATOR, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers = [layer.build(*pair) for layer, pair in zip(self.model.layers, pairs, strict=True)]
        generator = torch.Generator().manual_seed(seed)
        for _ in range(2):
            for layer in layers:
                reset = getattr(layer, "reset_parameters", None)
                if reset is not None and "generator" in inspect.signature(reset).parameters:
                    reset(generator=generator)
        return Euler(layers, self.task.times, self.task.dt) if self.task.times else nn.Sequential(*layers)

    def _reading(self, seed: int, initial: float | None) -> nn.Sequential:
        """Return the network that reads images; torch's own layers also draw when they are built."""
        with GENERATOR, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            cell = self._cell(initial)
            torch.manual_seed(seed)
            reader = DigitReader()
            if isinstance(cell, LSTM):  # the only cell that was torch's own, and so drew when built
                cell.reset_parameters()
            for layer in (*reader.children(), getattr(cell, "unit", cell)) * 2:
                if callable(reset := getattr(layer, "reset_parameters", None)):
                    reset()
        return nn.Sequential(reader, cell)

    def _cell(self, initial: float | None) -> nn.Module:
        """Return the one layer as the cell of a sequence; a layer that handles sequences itself stays as it is."""
        layer = self.model.layers[0].build(*self.sizes)
        if callable(getattr(layer, "initial_state", None)):
            if initial is not None:
                layer.initial = initial  # type: ignore[assignment]
            return layer
        return Recurrent(layer, initial=initial)


def _floats(values: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers as floats, so that 1 and 1.0 are the same."""
    return {name: float(value) for name, value in values.items()}


def _made(kind: type[T], name: str, plain: object) -> T:
    """Return the dataclass with these fields."""
    return kind(**_checks.table(name, plain, [field.name for field in dataclasses.fields(kind)]))
