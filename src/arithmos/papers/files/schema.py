"""The keys of an experiment file: one table of them, from which files are read and the documentation is written."""

from collections.abc import Iterable

from ..._keys import FLAG, LAYERS, MODELS, NUMBER, OPTION, PARTS, REQUIRED, TABLE, TEXT, WHOLE, Key, fields
from ...spec import Adam, InputRegularizer, Spec
from ...tasks import KINDS
from ..experiment import LENGTH

_TABLES: dict[str, tuple[Key, ...]] = {
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
        *fields(
            Spec,
            ("hidden_size", WHOLE, "Width between the layers."),
            ("iterations", WHOLE, "The last iteration; the first is 0."),
            ("batch_size", WHOLE, "Observations an iteration."),
            ("evaluate_every", WHOLE, "Iterations between two records."),
        ),
        Key("optimizer", TABLE, "Adam's settings."),
    ),
    "optimizer": fields(
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
    "inputs": fields(
        InputRegularizer,
        ("strength", NUMBER, "How strongly unused inputs are pulled to what changes nothing."),
        ("logs", FLAG, "An exp-log cell is regularized on the logarithms of its inputs."),
        sweep=False,
    ),
}


def tables() -> dict[str, tuple[Key, ...]]:
    """Return the keys of each table of a file, and of each kind of task.

    A file is an experiment and, at the same time, its first part.
    """
    return _TABLES | {kind: task.keys() for kind, task in KINDS.items()}


def axes() -> list[str]:
    """Return what can be the axis of a figure: keys, and the lengths that sequences of digits are tested on."""
    swept = (key.name for keys in tables().values() for key in keys if key.sweep)
    return [*(name for name in swept if name != "operation"), LENGTH]


def markdown(keys: Iterable[Key]) -> str:
    """A table of keys, for the documentation."""
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| `{key.name}` | {key.value} | {_default(key)} | {key.meaning} |" for key in keys)])


def _default(key: Key) -> str:
    from .write import written  # which reads these tables

    return "required" if key.default is REQUIRED else "" if key.default is None else f"`{written(key.default)}`"
