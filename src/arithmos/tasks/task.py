"""Protocol of tasks: everything that the rest of the package asks of one.

A task is one class in one file, listed in `KINDS`. Its batches are described as data: engines can draw from
`UniformDraws` and `TableDraws`, and the torch engine also takes the batches of any other task from its `batch`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._keys import Key

Floats = NDArray[np.float32]
Operation = Literal["add", "sub", "mul", "div", "squared", "root", "reciprocal"]
DIVIDING: tuple[Operation, ...] = ("div", "reciprocal")
"""Operations whose inputs are drawn without 0."""
Range = tuple[tuple[float, float], ...]
Subset = tuple[int, int]
Columns = Mapping[str, tuple[type, str]]
"""Type and meaning of columns, by name; a list holds whole numbers."""


@dataclass(frozen=True)
class UniformDraws:
    """New uniform inputs at each iteration; the target is an operation on sums over subsets of them.

    Args:
        operation: one of `OPERATIONS`.
        input_size: length of the input.
        subsets: inputs that are summed, as (start, stop); their lengths are the same for every seed.
        interpolation: range of training and validation inputs, one interval or two.
        extrapolation: range of test inputs.
    """

    operation: Operation
    input_size: int
    subsets: tuple[Subset, ...]
    interpolation: Range
    extrapolation: Range


@dataclass(frozen=True, eq=False)
class TableDraws:
    """Rows of data, drawn with replacement; the same for every seed.

    Args:
        rows: returns inputs `[rows, input_size]` and targets `[rows, output_size]`; called when they are asked for.
    """

    rows: Callable[[], tuple[Floats, Floats]]

    @cached_property
    def _pair(self) -> tuple[Floats, Floats]:
        return self.rows()

    @property
    def inputs(self) -> Floats:
        """Inputs, `[rows, input_size]`."""
        return self._pair[0]

    @property
    def targets(self) -> Floats:
        """Targets, `[rows, output_size]`."""
        return self._pair[1]


@dataclass(frozen=True)
class ReferenceRule:
    """Rule that derives a threshold from reference runs.

    Args:
        freedom: degrees of freedom of t; None for the number of runs minus one.
        seeds: seeds of the runs that count; None for all.
    """

    freedom: int | None = None
    seeds: tuple[int, ...] | None = None


class Task(Protocol):
    """Task that a network learns.

    Tasks are hashable and compare by value. Static methods take the plain form of any version, as a store may hold it.
    A task that inherits from the protocol need not say what has a default.
    """

    kind: str
    """Name in the plain form."""
    version: int
    """Version, which changes when the same task and seed give other numbers."""
    sequential: bool = False
    """Whether a cell learns sequences of images, instead of a network single observations."""
    operation: str = ""
    """Name of the operation that is learned; empty for data of the user's."""
    length: int = 0
    """Length of the training sequences; 0 for single observations."""
    test_lengths: tuple[int, ...] = ()
    """Lengths of the sequences of each test; empty for single observations."""
    dt: float = 0.0
    """Step of the solver, if a network is the right-hand side of a differential equation."""

    def __hash__(self) -> int:
        return hash(str(self.plain()))

    @property
    def input_size(self) -> int:
        """Width of the network's input."""

    @property
    def output_size(self) -> int:
        """Width of the network's output."""

    @property
    def times(self) -> tuple[float, ...]:
        """Times at which the states of such an equation are the network's output; empty for no equation."""
        return ()

    @property
    def images_per_observation(self) -> int:
        """Images that a network reads for one observation, which decide what a run costs; 0 for numbers."""
        return 0

    @property
    def criteria(self) -> tuple[str, ...]:
        """Names of the thresholds below which the test error of a solved run is; the first is the default."""
        return (*self.thresholds(), *self.references())

    def thresholds(self) -> dict[str, float]:
        """Return the thresholds by name; those that are made of reference runs are left out."""
        return {}

    def references(self) -> dict[str, ReferenceRule]:
        """Return how thresholds, one for each test length, are made of reference runs, by name; empty if none is."""
        return {}

    def plain(self) -> dict[str, Any]:
        """Return the task as values that JSON can hold."""

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Task":
        """Return the task with a plain form; data that it only names by a digest are further keyword arguments."""

    @classmethod
    def version_of(cls, plain: Mapping[str, Any]) -> int:
        """Return the version that the task with a plain form, of any version, has in this arithmos."""
        return cls.version

    @staticmethod
    def keys() -> tuple[Key, ...]:
        """Return the keys of the task in an experiment file.

        One of them is the kind, which distinguishes the task from arithmetic ones.
        """

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], folder: Path) -> Self:
        """Return the task with settings of an experiment file in a folder; by default they are its arguments."""
        return cls(**settings)

    def settings(self) -> dict[str, Any]:
        """Return the settings of an experiment file for this task.

        Raises:
            ValueError: a file cannot hold its data.
        """
        return {key.name: getattr(self, key.name) for key in self.keys()}

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        """Return the width of input and output."""

    @staticmethod
    def columns() -> Columns:
        """Return the columns of a store, besides the widths of input and output."""

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of `columns` that are not null.

        Raises:
            LookupError, TypeError, ValueError: the argument is not the plain form of a task.
        """

    @staticmethod
    def extra_sizes(plain: Mapping[str, Any], records: int) -> dict[str, int]:
        """Return what a run of so many records reports besides: how many numbers, by name."""
        return {}

    @staticmethod
    def words(plain: Mapping[str, Any]) -> str:
        """Describe the task in a few words."""

    def draws(self, seed: int) -> UniformDraws | TableDraws | None:
        """Return how batches of a run are drawn; None if only `batch` says so."""
        return None

    def formula(self, seed: int) -> str:
        """Return the target as an expression in x1, x2, …; empty if there is none."""
        return ""

    def epoch(self, batch_size: int) -> int:
        """Return the iterations that see every training observation once; 0 if there is no such number."""
        return 0

    def memory(self, batch_size: int, records: int) -> dict[str, int]:
        """Return the bytes that a run needs at least, beside its network, by the arguments that they depend on."""
        return {}


class Observations(Task, Protocol):
    """Task of single observations, inputs and targets."""

    def batch(self, seed: int, step: int, size: int) -> tuple[Floats, Floats]:
        """Return inputs and targets of one training iteration."""

    def validation(self, seed: int) -> tuple[Floats, Floats]:
        """Return inputs and targets of the validation set; the inputs are the same for every seed."""

    def test(self, seed: int) -> tuple[Floats, Floats]:
        """Return inputs and targets of the test set; the inputs are the same for every seed."""


def values(task: type[Task], plain: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the values of a plain form by name, without its kind and version.

    Raises:
        ValueError: the plain form is of another kind or version, or has other names.
    """
    table = _checks.table("task", plain)
    kind, version = table.pop("kind", None), table.pop("version", None)
    _checks.one_of("kind of the task", kind, [task.kind])
    if version != (current := task.version_of(table)):
        raise ValueError(
            f"version of the task {kind!r} must be {current} in this arithmos, got {_checks.shown(version)}"
        )
    return _checks.table("task", table, names)
