r"""The arithmetic task: an operation on sums over subsets of the input.

.. math:: t = s_1 \circ s_2 \circ \dots, \qquad s_j = \sum_{i \in \text{subset}_j} x_i

The subsets are contiguous and of equal length, each overlaps its neighbor, and they stay in place for a whole run;
their offset is drawn from the run's seed. Inputs are uniform: one range for training, another for extrapolation.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _checks, philox
from .._keys import NUMBER, PAIRS, TEXT, WHOLE, Key
from .._keys import fields as keys
from . import ranges
from .module_threshold import ABSOLUTE, MODULE_CRITERIA, module_threshold
from .task import DIVIDING, Columns, Observations, UniformDraws, values
from .task import Operation as Operation
from .task import Range as Range
from .task import Subset as Subset
from .threshold import CHUNK, known, threshold

Floats = NDArray[np.floating[Any]]

OPERATIONS: dict[Operation, tuple[str, Callable[[list[Floats]], Floats]]] = {
    "mul": ("×", lambda sums: reduce(np.multiply, sums)),
    "div": ("/", lambda sums: reduce(np.divide, sums)),
    "add": ("+", lambda sums: reduce(np.add, sums)),
    "sub": ("−", lambda sums: reduce(np.subtract, sums)),
    "root": ("√z", lambda sums: np.sqrt(sums[0])),
    "squared": ("z²", lambda sums: np.square(sums[0])),
    "reciprocal": ("1/z", lambda sums: np.reciprocal(sums[0])),
}
"""Symbol and function of each operation, in the order of tables; the last three take the first sum."""


def symbol(operation: str) -> str:
    """Return the symbol of an operation; empty if it is not one of `OPERATIONS`."""
    return next((written for name, (written, _) in OPERATIONS.items() if name == operation), "")


EVALUATION_SIZE = 10_000
"""Observations in the validation set, and in the test set."""

MOST_SUBSETS = 1000

RULES = ("network", "module")


@dataclass(frozen=True, kw_only=True)
class Arithmetic(Observations):
    """Operation on sums over subsets of uniform inputs.

    Args:
        operation: one of `OPERATIONS`.
        input_size: length of the input.
        subset_ratio: length of a subset as a share of the input, rounded down.
        overlap_ratio: overlap of neighboring subsets as a share of the subset, rounded down.
        subset_count: number of subsets.
        fixed: the subsets as (start, stop), the same for every seed; the three arguments above are then unused.
        interpolation: range of training and validation inputs, one interval or two.
        extrapolation: range of test inputs.
        rule: "network" for the thresholds of a network whose first layer is almost right; "module" for those of a
            single layer, see `module_threshold`, and an absolute one.

    Example:
        >>> task = Arithmetic(operation="mul", input_size=10)
        >>> task.subsets(seed=0)
        ((4, 6), (5, 7))
        >>> task.formula(seed=0)
        '(x5 + x6)*(x6 + x7)'
    """

    kind = "arithmetic"
    output_size = 1
    version = 1
    """Version, which changes when the same task and seed give other numbers; see `version_of`."""

    operation: Operation = field()
    input_size: int = 100
    subset_ratio: float = 0.25
    overlap_ratio: float = 0.5
    subset_count: int = 2
    fixed: tuple[Subset, ...] | None = None
    interpolation: Range = ((1.0, 2.0),)
    extrapolation: Range = ((2.0, 6.0),)
    rule: Literal["network", "module"] = "network"

    def __post_init__(self) -> None:
        _checks.one_of("operation", self.operation, OPERATIONS)
        self._set("input_size", _checks.whole("input_size", self.input_size, 1))
        self._set("subset_count", _checks.whole("subset_count", self.subset_count, 1, MOST_SUBSETS))
        for name in ("subset_ratio", "overlap_ratio"):
            self._set(name, _checks.number(name, getattr(self, name)))
        for name in ("interpolation", "extrapolation"):
            self._set(name, ranges.checked(name, getattr(self, name)))
        if self.fixed is None:
            self._check_ratios()
        else:
            self._set("fixed", self._subsets(self.fixed))
        if _checks.one_of("rule", self.rule, RULES) == "module":
            self._check_module()
        self._set("version", _version(self.operation, self.interpolation, self.extrapolation))

    def _set(self, name: str, value: object) -> None:
        """Keep a field in its plain form, so that its hash and JSON do not depend on how it was given."""
        object.__setattr__(self, name, value)

    def _check_ratios(self) -> None:
        if not 0 < self.subset_ratio <= 1:
            raise ValueError(f"subset_ratio must be above 0 and at most 1, got {self.subset_ratio}")
        if not 0 <= self.overlap_ratio <= 1:
            raise ValueError(f"overlap_ratio must be from 0 to 1, got {self.overlap_ratio}")
        if self.subset_length < 1:
            raise ValueError(
                f"subset_ratio {self.subset_ratio} of {self.input_size} inputs is less than one input; "
                f"it must be at least {1 / self.input_size:g}"
            )
        if self.used > self.input_size:
            raise ValueError(
                f"subset_count {self.subset_count}, subset_ratio {self.subset_ratio} and overlap_ratio "
                f"{self.overlap_ratio} need {self.used} inputs, but input_size is {self.input_size}"
            )

    def _check_module(self) -> None:
        lengths = [stop - start for start, stop in self.fixed or self.subsets_at(0)]
        if lengths != [1, 1]:
            given = "fixed" if self.fixed else f"input_size {self.input_size} and subset_ratio {self.subset_ratio}"
            raise ValueError(f"rule 'module' is for two subsets of one input each, got lengths {lengths} by {given}")

    def _subsets(self, fixed: object) -> tuple[Subset, ...]:
        pairs = _checks.pairs("fixed", fixed, MOST_SUBSETS)
        subsets = tuple((_checks.whole("fixed", start), _checks.whole("fixed", stop)) for start, stop in pairs)
        for start, stop in subsets:
            if not start < stop <= self.input_size:
                raise ValueError(
                    f"fixed subsets must lie within 0 and input_size {self.input_size} and hold at least one "
                    f"input, got ({start}, {stop})"
                )
        return subsets

    def plain(self) -> dict[str, Any]:
        """Return the task as values that JSON can hold."""
        names = ("kind", "version", "operation", "input_size", "subset_count")
        pairs = {name: getattr(self, name) for name in ("fixed", "interpolation", "extrapolation")}
        return {
            **{name: getattr(self, name) for name in names},
            **{name: float(getattr(self, name)) for name in ("subset_ratio", "overlap_ratio")},
            **{name: None if value is None else [list(pair) for pair in value] for name, value in pairs.items()},
            **({} if self.rule == "network" else {"rule": self.rule}),  # ids of older specs have no rule
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Arithmetic":
        """Return the task with this plain form."""
        known = [field.name for field in fields(cls) if field.name != "rule" or "rule" in plain]
        return cls(**values(cls, plain, known))

    @classmethod
    def version_of(cls, plain: Mapping[str, Any]) -> int:
        """Return the version of the task with a plain form: 2 for quotients whose divisor could be 0 in version 1."""
        try:
            drawn = [ranges.checked(name, plain[name]) for name in ("interpolation", "extrapolation")]
        except (LookupError, ValueError):  # of another version, or wrong
            return cls.version
        return _version(plain.get("operation"), *drawn)

    @staticmethod
    def keys() -> tuple[Key, ...]:
        """Return the keys of the task in an experiment file."""
        return keys(
            Arithmetic,
            ("operation", TEXT, f"One of {', '.join(OPERATIONS)}."),
            ("input_size", WHOLE, "Length of the input."),
            ("subset_ratio", NUMBER, "Length of a subset as a share of the input, rounded down."),
            ("overlap_ratio", NUMBER, "Overlap of neighboring subsets as a share of the subset, rounded down."),
            ("subset_count", WHOLE, "Number of subsets."),
            ("fixed", PAIRS, "The subsets as [start, stop], the same for every seed, instead of the three keys above."),
            ("interpolation", PAIRS, "Range of training and validation inputs: [low, high], or two such parts."),
            ("extrapolation", PAIRS, "Range of test inputs, in the same form."),
            ("rule", TEXT, "Thresholds: those of a network of two layers, or of a single module."),
        )

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        """Return the width of input and output from a plain form of any version."""
        return plain["input_size"], 1

    @staticmethod
    def columns() -> Columns:
        """Return the columns of a store."""
        return {
            "operation": (str, "add, sub, mul, div, squared, root or reciprocal"),
            "subset_ratio": (float, "length of a subset as a share of the input; null for fixed subsets"),
            "overlap_ratio": (float, "overlap as a share of the subset; null for fixed subsets"),
            "subset_count": (int, "number of subsets"),
            "interpolation": (str, "parts of the training range, a JSON list"),
            "extrapolation": (str, "parts of the test range, a JSON list"),
        }

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a plain form of any version."""
        found = {"operation": _checks.one_of("operation", plain["operation"], OPERATIONS)}
        found |= {name: json.dumps(plain[name]) for name in ("interpolation", "extrapolation")}
        if plain["fixed"] is not None:
            return found | {"subset_count": len(plain["fixed"])}
        return found | {name: plain[name] for name in ("subset_count", "subset_ratio", "overlap_ratio")}

    @staticmethod
    def words(plain: Mapping[str, Any]) -> str:
        """Describe a plain form of any version in a few words."""
        return f"{symbol(plain['operation'])}, {plain['input_size']} inputs"

    @property
    def subset_length(self) -> int:
        """Number of inputs in a subset that is not fixed."""
        return math.floor(self.subset_ratio * self.input_size)

    @property
    def overlap(self) -> int:
        """Number of inputs that neighboring subsets share."""
        return math.floor(self.overlap_ratio * self.subset_length)

    @property
    def used(self) -> int:
        """Number of inputs from the start of the first subset to the end of the last."""
        return self.subset_count * self.subset_length - (self.subset_count - 1) * self.overlap

    def subsets(self, seed: int) -> tuple[Subset, ...]:
        """Return the subsets of a run as (start, stop).

        The offset is the first number that NumPy's legacy generator gives for the seed, as in the published runs.
        """
        if self.fixed is not None:
            return self.fixed
        return self.subsets_at(_offset(seed, self.input_size - self.used + 1))

    def subsets_at(self, offset: int) -> tuple[Subset, ...]:
        """Return the subsets when the first one starts at `offset`."""
        stride = self.subset_length - self.overlap
        starts = (offset + j * stride for j in range(self.subset_count))
        return tuple((start, start + self.subset_length) for start in starts)

    def draws(self, seed: int) -> UniformDraws:
        """Return the description of a run's batches."""
        drawn = self._drawn(self.interpolation), self._drawn(self.extrapolation)
        return UniformDraws(self.operation, self.input_size, self.subsets(seed), *drawn)

    def _drawn(self, range_: Range) -> Range:
        """Return the range from which inputs are drawn: without 0 if they divide."""
        return ranges.without_zero(range_) if self.operation in DIVIDING else range_

    def memory(self, batch_size: int, records: int) -> dict[str, int]:
        """Return the bytes for simulating a threshold; the validation and test sets are smaller."""
        return {"input_size": 8 * CHUNK * self.input_size}

    @property
    def criteria(self) -> tuple[str, ...]:
        """Names of the thresholds."""
        return MODULE_CRITERIA if self.rule == "module" else tuple(known()["longer"])

    def thresholds(self) -> dict[str, float]:
        """Return the test errors below which a run is solved, by name; those of a new task are simulated first."""
        if self.rule == "module":
            size = module_threshold(self.operation, self.input_size, self.extrapolation)
            return dict(zip(MODULE_CRITERIA, (size, ABSOLUTE), strict=True))
        return {name: threshold(self, longer).value for name, longer in known()["longer"].items()}

    def combine(self, sums: list[Floats]) -> Floats:
        """Return the operation on the sums over the subsets."""
        return OPERATIONS[self.operation][1](sums)

    def target(self, x: Floats, seed: int) -> NDArray[np.float32]:
        """Return the targets `[rows, 1]` of inputs `[rows, input_size]`, summed in float64."""
        sums = [x[:, start:stop].sum(axis=1, dtype=np.float64) for start, stop in self.subsets(seed)]
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.combine(sums).astype(np.float32)[:, None]

    def batch(self, seed: int, step: int, size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the inputs and targets of one training iteration."""
        words = philox.words((seed, philox.RUN), philox.TRAIN, step, size, self.input_size)
        x = philox.uniform(words, self._drawn(self.interpolation))
        return x, self.target(x, seed)

    def validation(self, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the validation set of a run; runs with the same input size and range have the same inputs."""
        x = _fixed_inputs(philox.VALIDATION, self.input_size, self._drawn(self.interpolation))
        return x, self.target(x, seed)

    def test(self, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the test set of a run; runs with the same input size and range have the same inputs."""
        x = _fixed_inputs(philox.TEST, self.input_size, self._drawn(self.extrapolation))
        return x, self.target(x, seed)

    def formula(self, seed: int) -> str:
        """Return the target as an expression in x1, x2, …, readable for people and SymPy."""
        sums = [" + ".join(f"x{i + 1}" for i in range(start, stop)) for start, stop in self.subsets(seed)]
        if self.operation == "squared":
            return f"({sums[0]})**2"
        if self.operation == "root":
            return f"sqrt({sums[0]})"
        if self.operation == "reciprocal":
            return f"1/({sums[0]})"
        symbol = {"add": " + ", "sub": " - ", "mul": "*", "div": "/"}[self.operation]
        return symbol.join(f"({s})" for s in sums)


def _version(operation: object, *drawn: Range) -> int:
    return 2 if operation == "div" and any(map(ranges.has_zero, drawn)) else 1


@lru_cache(maxsize=2**16)
def _offset(seed: int, places: int) -> int:
    return int(np.random.RandomState(seed).randint(0, places))


@lru_cache(maxsize=8)
def _fixed_inputs(stream: int, columns: int, range_: Range) -> NDArray[np.float32]:
    words = philox.words((0, philox.SHARED), stream, 0, EVALUATION_SIZE, columns)
    inputs = philox.uniform(words, range_)
    inputs.flags.writeable = False
    return inputs


TEN_PARAMETERS = Arithmetic(operation="mul", input_size=4, fixed=((0, 4), (0, 2)))
"""t = (x1 + x2 + x3 + x4)(x1 + x2): a network of 4 inputs and 2 hidden units has ten weights to find."""
