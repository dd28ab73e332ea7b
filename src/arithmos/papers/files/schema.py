"""The keys of an experiment file: one table of them, from which files are read and the documentation is written."""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...spec import Adam, InputRegularizer, Spec
from ...tasks import OPERATIONS, Arithmetic, DigitSequences
from ..experiment import LENGTH

REQUIRED = object()
"""Default of a key that every file must have."""


@dataclass(frozen=True)
class Kind:
    """What a value may be.

    Args:
        wanted: what it is, in words.
        read: the value as it is used; raises ValueError or TypeError if it is something else. None for a kind with
            tables in it, which have keys of their own.
        lists: how deep lists go within one value; a list that goes deeper is a sweep.
    """

    wanted: str
    read: Callable[[Any], Any] | None
    lists: int = 0


def _unfit(value: object) -> None:
    raise ValueError(value)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 5e6 is written as readily as 5_000_000
    return value if isinstance(value, int) and not isinstance(value, bool) else _unfit(value)


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else _unfit(value)


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else _unfit(value)


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else _unfit(value)


def _wholes(value: Any) -> Any:
    return tuple(map(_whole, value)) if isinstance(value, list) else _unfit(value)


def _pairs(value: Any) -> Any:
    pairs = value if value and isinstance(value, list) and isinstance(value[0], list) else [value]
    return tuple((_number(low), _number(high)) for low, high in pairs)


WHOLE = Kind("a whole number", _whole)
NUMBER = Kind("a number", _number)
TEXT = Kind("text", _text)
PATH = Kind("a path", _text)
FLAG = Kind("true or false", _flag)
WHOLES = Kind("a list of whole numbers", _wholes, lists=1)
PAIRS = Kind("a pair of numbers or a list of pairs", _pairs, lists=2)
TABLE = Kind("a table", None)
PARTS = Kind("tables, each headed [[parts]]", None)
MODELS = Kind("a name, a table, or a list of both", None)
LAYERS = Kind("units joined by >, or a list of units and tables", None)
OPTION = Kind("as the unit has it", None)


@dataclass(frozen=True)
class Key:
    """A key that a table of an experiment file may have.

    Args:
        name: the key.
        kind: what its value is.
        meaning: what it decides.
        default: its value where it is not given; None for nothing, `REQUIRED` for none.
        sweep: it may be a list, each value of which is run.
    """

    name: str
    kind: Kind
    meaning: str
    default: object = None
    sweep: bool = False

    @property
    def value(self) -> str:
        """What its value is, in words."""
        return f"{self.kind.wanted}, or a list" if self.sweep else self.kind.wanted


def _fields(owner: type, *keys: tuple[str, Kind, str], sweep: bool = True) -> tuple[Key, ...]:
    """Keys that are fields of a spec or its parts, with their defaults there."""
    defaults = {
        field.name: REQUIRED if field.default is dataclasses.MISSING else field.default
        for field in dataclasses.fields(owner)
    }
    return tuple(Key(name, kind, meaning, defaults[name], sweep) for name, kind, meaning in keys)


TABLES: dict[str, tuple[Key, ...]] = {
    "experiment": (
        Key("title", TEXT, "What it shows, in a line; the name of the file unless told."),
        Key("seeds", WHOLE, "How many seeds of each spec: 0, 1, …", 100),
        Key(
            "axis",
            TEXT,
            "The key along the axis of a figure: the one list, if there is one; test_length for sequences.",
        ),
        Key("parts", PARTS, "Parts of the experiment that differ in some keys."),
    ),
    "part": (
        Key("models", MODELS, "What is compared.", REQUIRED),
        Key("task", TABLE, "What is learned.", REQUIRED),
        *_fields(
            Spec,
            ("hidden_size", WHOLE, "Width between the layers."),
            ("iterations", WHOLE, "The last iteration; the first is 0."),
            ("batch_size", WHOLE, "Observations an iteration."),
            ("evaluate_every", WHOLE, "Iterations between two records."),
        ),
        Key("optimizer", TABLE, "Adam's settings."),
    ),
    "task": _fields(
        Arithmetic,
        ("operation", TEXT, f"One of {', '.join(OPERATIONS)}."),
        ("input_size", WHOLE, "Length of the input."),
        ("subset_ratio", NUMBER, "Length of a subset as a share of the input, rounded down."),
        ("overlap_ratio", NUMBER, "Overlap of neighboring subsets as a share of the subset, rounded down."),
        ("subset_count", WHOLE, "How many subsets."),
        ("fixed", PAIRS, "The subsets as [start, stop], the same for every seed, instead of the three keys above."),
        ("interpolation", PAIRS, "Range of training and validation inputs: [low, high], or two such parts."),
        ("extrapolation", PAIRS, "Range of test inputs, likewise."),
    ),
    "rows": (
        Key("rows", PATH, "Your own data: a .csv file, whose first line may be names, or an .npy file.", REQUIRED),
        Key("targets", WHOLE, "How many of the last columns are targets; the others are inputs.", 1),
        Key("test", PATH, "A file of rows to test on; without it some rows of the data are kept for that."),
        Key("validation_share", NUMBER, "Share of the rows kept for validation.", 0.2, sweep=True),
        Key("test_share", NUMBER, "Share of the rows kept for the test.", 0.2, sweep=True),
        Key("threshold", NUMBER, "Test error below which a run is solved.", sweep=True),
    ),
    "digits": _fields(
        DigitSequences,
        ("operation", TEXT, "mul or add."),
        ("length", WHOLE, "Images in a training sequence."),
        ("initial", NUMBER, "State of the cell before the first image; as published unless told."),
    )
    + _fields(
        DigitSequences,
        ("digits", WHOLES, "The digits that occur."),
        ("test_lengths", WHOLES, "Images in the sequences of each test; the length is one of them."),
        ("images", WHOLE, "Training images of these digits: 55,000 of all digits, 49,566 without the zeros."),
        ("validation_size", WHOLE, "How many of the last training images are for validation."),
        ("fixed", FLAG, "A training sequence holds the same images for a whole run."),
        ("every_step", FLAG, "The loss counts every step of a sequence, not its last only."),
        sweep=False,
    ),
    "optimizer": _fields(
        Adam,
        ("lr", NUMBER, "Learning rate."),
        ("beta1", NUMBER, "Decay of the mean of the gradient."),
        ("beta2", NUMBER, "Decay of the mean of its square."),
        ("eps", NUMBER, "What is added to the root."),
    ),
    "model": (
        Key("name", TEXT, "Its name: of a published model, or of your own; the layers joined by > unless told."),
        Key("label", TEXT, "Its name in a printed table; that of the published model, or its own name."),
        Key("layers", LAYERS, "From input to output; those of the published model unless told."),
        Key("schedule", TABLE, "Strength of its sparsity regularizer; as published, or that of the model NMU."),
        Key("inputs", TABLE, "Regularizer of a cell's inputs, for sequences of digits."),
    ),
    "layer": (
        Key("unit", TEXT, "A unit: a name that `arithmos models` shows, or path/to/file.py:Class.", REQUIRED),
        Key("…", OPTION, "Options of the unit, such as init, project and clip of the NMU."),
    ),
    "schedule": (
        Key("strength", NUMBER, "Strength of the sparsity loss in the end.", sweep=True),
        Key("start", NUMBER, "Iteration until which it is 0.", sweep=True),
        Key("end", NUMBER, "Iteration from which it has its full strength.", sweep=True),
    ),
    "inputs": _fields(
        InputRegularizer,
        ("strength", NUMBER, "How strongly unused inputs are pulled to what changes nothing."),
        ("logs", FLAG, "An exp-log cell is regularized on the logarithms of its inputs."),
        sweep=False,
    ),
}
"""By table of a file; a file is an experiment and, at the same time, its first part."""

SWEPT = [key.name for keys in TABLES.values() for key in keys if key.sweep]
AXES = [*(name for name in SWEPT if name != "operation"), LENGTH]
"""What can be the axis of a figure: keys, and the lengths that sequences of digits are tested on."""


def markdown(keys: Iterable[Key]) -> str:
    """A table of keys, for the documentation."""
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| `{key.name}` | {key.value} | {_default(key)} | {key.meaning} |" for key in keys)])


def _default(key: Key) -> str:
    from .write import written  # which reads these tables

    return "required" if key.default is REQUIRED else "" if key.default is None else f"`{written(key.default)}`"
