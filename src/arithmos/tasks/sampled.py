r"""Operations on inputs of any distribution, from a fixed table of training rows.

.. math:: t = a \circ b \quad\text{or}\quad t = f(a), \qquad a = x_k,\; b = x_{k+1}

The operands can also be sums over scattered inputs: each input is a term of a with probability ½, of b with ¼, and of
neither with ¼, the same for every seed.

Training rows are drawn from a distribution once, the same for every seed, and batches take them with replacement. So
every engine that draws rows of a table runs the task at full speed.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as fields_of
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _checks, philox
from .._keys import FLAG, NUMBER, REQUIRED, TEXT, WHOLE, Key
from .._keys import fields as keys
from . import distributions
from .arithmetic import EVALUATION_SIZE, symbol
from .module_threshold import ABSOLUTE
from .task import Columns, Observations, TableDraws, values

Floats = NDArray[np.float32]
Pair = tuple[Floats, Floats]

TARGETS: dict[str, tuple[int, str, Callable[..., Any]]] = {
    "add": (2, "{} + {}", np.add),
    "sub": (2, "{} - {}", np.subtract),
    "mul": (2, "{}*{}", np.multiply),
    "div": (2, "{}/{}", np.divide),
    "reciprocal": (1, "1/{}", np.reciprocal),
    "four": (2, "", lambda a, b: np.stack([a + b, a * b, a / b, np.sqrt(a)], -1)),
}
"""Number of operands, formula and function of each operation; "four" has several outputs, and no single formula."""
OUTPUTS = {"four": 4}
"""Number of outputs of the operations that have more than one."""

MOST_ROWS = 2**24


@dataclass(frozen=True, kw_only=True)
class Sampled(Observations):
    """Operation on one or two inputs of any distribution; "four" is all of a + b, a·b, a/b and √a at once.

    Args:
        operation: one of `TARGETS`.
        interpolation: distribution of training and validation inputs; see `distributions`.
        extrapolation: distribution of test inputs.
        input_size: number of inputs.
        first: position of the first operand, counted from 0; the second one follows it.
        size: number of training rows.
        absolute: test error below which a run is solved.
        scattered: whether the operands are sums over scattered inputs, instead of inputs at `first`.

    Example:
        >>> task = Sampled(operation="div", interpolation="U[-2,-0.1] | U[0.1,2]", extrapolation="U[-6,-2] | U[2,6]")
        >>> task.formula(seed=0)
        'x1/x2'
    """

    kind = "sampled"
    version = 1
    """Version, which changes when the same task and seed give other numbers."""

    operation: str = field()
    interpolation: str = field()
    extrapolation: str = field()
    input_size: int = 2
    first: int = 0
    size: int = 64_000
    absolute: float = ABSOLUTE
    scattered: bool = False

    def __post_init__(self) -> None:
        operands = TARGETS[_checks.one_of("operation", self.operation, TARGETS)][0]
        for name in ("interpolation", "extrapolation"):
            distributions.checked(name, getattr(self, name))
        self._set("input_size", _checks.whole("input_size", self.input_size, operands))
        self._set("first", _checks.whole("first", self.first))
        if self.first + operands > self.input_size:
            raise ValueError(
                f"first must be at most {self.input_size - operands} with an input_size of {self.input_size}, "
                f"got {self.first}"
            )
        self._set("size", _checks.whole("size", self.size, 1, MOST_ROWS))
        self._set("absolute", float(_checks.positive("absolute", _checks.number("absolute", self.absolute))))
        if not isinstance(self.scattered, bool):
            raise ValueError(f"scattered must be True or False, got {_checks.shown(self.scattered)}")
        if not all(map(len, self.terms)):
            raise ValueError(f"input_size must leave inputs for all scattered operands, got {self.input_size}")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def plain(self) -> dict[str, Any]:
        """Return the task as values that JSON can hold."""
        own = {name: getattr(self, name) for name in _names(scattered=self.scattered)}
        return {"kind": self.kind, "version": self.version, **own}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Sampled":
        """Return the task with this plain form."""
        return cls(**values(cls, plain, _names(scattered="scattered" in plain)))

    @staticmethod
    def keys() -> tuple[Key, ...]:
        """Return the keys of the task in an experiment file."""
        return (
            Key("sampled", TEXT, f"Operation, one of {', '.join(TARGETS)}.", REQUIRED, sweep=True),
            *Sampled._others(),
        )

    @staticmethod
    def _others() -> tuple[Key, ...]:
        return keys(
            Sampled,
            ("interpolation", TEXT, 'Distribution of training inputs, such as "N(0,1)[-5,5]" or "U[-2,-1] | U[1,2]".'),
            ("extrapolation", TEXT, "Distribution of test inputs, in the same form."),
            ("input_size", WHOLE, "Number of inputs."),
            ("first", WHOLE, "Position of the first operand, counted from 0; the second one follows it."),
            ("size", WHOLE, "Number of training rows."),
            ("absolute", NUMBER, "Test error below which a run is solved."),
            ("scattered", FLAG, "Whether the operands are sums over scattered inputs."),
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], folder: Path) -> "Sampled":
        """Return the task with these settings of an experiment file."""
        return cls(operation=settings["sampled"], **{name: settings[name] for name in settings if name != "sampled"})

    def settings(self) -> dict[str, Any]:
        """Return the settings of an experiment file for this task."""
        return {"sampled": self.operation} | {key.name: getattr(self, key.name) for key in self._others()}

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        """Return the width of input and output from a plain form of any version."""
        return plain["input_size"], OUTPUTS.get(plain["operation"], 1)

    @staticmethod
    def columns() -> Columns:
        """Return the columns of a store, which arithmetic tasks have too."""
        return {
            "operation": (str, "add, sub, mul, div, reciprocal or four"),
            "interpolation": (str, "distribution of training inputs, a JSON string"),
            "extrapolation": (str, "distribution of test inputs, a JSON string"),
        }

    @staticmethod
    def column_values(plain: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a plain form of any version."""
        found = {"operation": _checks.one_of("operation", plain["operation"], TARGETS)}
        return found | {name: json.dumps(plain[name]) for name in ("interpolation", "extrapolation")}

    @staticmethod
    def words(plain: Mapping[str, Any]) -> str:
        """Describe a plain form of any version in a few words."""
        return f"{symbol(plain['operation'])}, {plain['input_size']} inputs from {plain['interpolation']}"

    def thresholds(self) -> dict[str, float]:
        """Return the test error below which a run is solved, by name."""
        return {"absolute": self.absolute}

    def memory(self, batch_size: int, records: int) -> dict[str, int]:
        """Return the bytes of the training rows."""
        return {"size": 4 * self.size * (self.input_size + self.output_size)}

    @property
    def output_size(self) -> int:
        """Width of the network's output."""
        return OUTPUTS.get(self.operation, 1)

    @property
    def terms(self) -> list[NDArray[np.intp]]:
        """Positions of the inputs that each operand is the sum of."""
        count = TARGETS[self.operation][0]
        if not self.scattered:
            return [np.array([self.first + place]) for place in range(count)]
        drawn = philox.words((0, philox.SHARED), philox.SPLIT, 0, self.input_size, 1)[:, 0] >> 30
        return [np.flatnonzero(part) for part in (drawn < 2, drawn == 2)][:count]

    def _observations(self, stream: int, text: str, rows: int) -> Pair:
        x = _inputs(stream, text, rows, self.input_size)
        operands = [x[:, terms].sum(axis=1, dtype=np.float64) for terms in self.terms]
        with np.errstate(divide="ignore"):
            t = TARGETS[self.operation][2](*operands)
        return x, t.astype(np.float32).reshape(rows, self.output_size)

    def training(self) -> Pair:
        """Return the rows from which batches are drawn."""
        return self._observations(philox.TRAIN, self.interpolation, self.size)

    def validation(self, seed: int) -> Pair:
        """Return the validation set, the same for every seed."""
        return self._observations(philox.VALIDATION, self.interpolation, EVALUATION_SIZE)

    def test(self, seed: int) -> Pair:
        """Return the test set, the same for every seed."""
        return self._observations(philox.TEST, self.extrapolation, EVALUATION_SIZE)

    def draws(self, seed: int) -> TableDraws:
        """Return the rows from which batches are drawn."""
        return TableDraws(self.training)

    def batch(self, seed: int, step: int, size: int) -> Pair:
        """Return the inputs and targets of one training iteration: rows floor(word · rows / 2³²)."""
        word = philox.words((seed, philox.RUN), philox.ROWS, step, size, 1)[:, 0].astype(np.uint64)
        chosen = ((word * np.uint64(self.size)) >> np.uint64(32)).astype(np.int64)
        x, t = self.training()
        return x[chosen], t[chosen]

    def formula(self, seed: int) -> str:
        """Return the target as an expression in x1, x2, …, readable for people and SymPy."""
        sums = [" + ".join(f"x{place + 1}" for place in terms) for terms in self.terms]
        return TARGETS[self.operation][1].format(*(f"({one})" if "+" in one else one for one in sums))


def _names(*, scattered: bool) -> list[str]:
    """Return the names of the fields in a plain form; older tasks have no scattered operands."""
    return [one.name for one in fields_of(Sampled) if scattered or one.name != "scattered"]


@lru_cache(maxsize=8)
def _inputs(stream: int, text: str, rows: int, columns: int) -> Floats:
    """Return inputs of a distribution; those of one stream are the same for all tasks."""
    x = distributions.sample(text, philox.words((0, philox.SHARED), stream, 0, rows, columns))
    x.flags.writeable = False
    return x
