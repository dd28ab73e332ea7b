"""Keys of an experiment file, from which files are read and the documentation is written."""

from collections.abc import Iterable

from ..._keys import (
    FLAG,
    LAYERS,
    MODELS,
    NUMBER,
    NUMBERS,
    OPTION,
    PARTS,
    REQUIRED,
    TABLE,
    TABLES,
    TEXT,
    WHOLE,
    Key,
    fields,
)
from ...spec import LM, OPTIMIZERS, Adam, InputRegularizer, Penalty, RMSprop, Spec
from ...spec.optimizers import PENALTIES
from ...tasks import KINDS
from ..experiment import INIT, LENGTH

_FIRST_ORDER = (
    ("layer_rates", NUMBERS, "Factor of the learning rate for each layer; empty for 1 everywhere."),
    ("clip_value", NUMBER, "Largest magnitude of a gradient's entry; 0 for no limit."),
    ("clip_norm", NUMBER, "Largest norm of the gradient; 0 for no limit."),
    ("scale_loss", FLAG, "Whether the squared error is divided by the variance of the targets."),
    ("reinitialize", WHOLE, "Iterations of a stagnating run after which it starts again; 0 for never."),
    ("precondition", FLAG, "Whether the gradient of the first layer is freed of the mean of the inputs."),
)

_TABLES: dict[str, tuple[Key, ...]] = {
    "experiment": (
        Key("title", TEXT, "Title on one line; by default, the name of the file."),
        Key("seeds", WHOLE, "Number of seeds of each spec: 0, 1, …", 100),
        Key(
            "axis",
            TEXT,
            "Key along the axis of a figure; by default the only list, if there is one; also init, test_length.",
        ),
        Key("parts", PARTS, "Parts of the experiment that differ in some keys."),
    ),
    "part": (
        Key("models", MODELS, "Models to compare.", REQUIRED),
        Key("task", TABLE, "Task to learn.", REQUIRED),
        *fields(
            Spec,
            ("hidden_size", WHOLE, "Width between the layers."),
            ("iterations", WHOLE, "The last iteration; the first is 0."),
            ("batch_size", WHOLE, "Observations per iteration."),
            ("evaluate_every", WHOLE, "Iterations between two records."),
        ),
        Key("optimizer", TABLE, "Optimizer with its settings."),
    ),
    "optimizer": (Key("name", TEXT, f"One of {', '.join(OPTIMIZERS)}.", Adam.name),),
    "adam": fields(
        Adam,
        ("lr", NUMBER, "Learning rate."),
        ("beta1", NUMBER, "Decay rate of the first moment."),
        ("beta2", NUMBER, "Decay rate of the second moment."),
        ("eps", NUMBER, "Term added to the denominator."),
        *_FIRST_ORDER,
    ),
    "rmsprop": fields(
        RMSprop,
        ("lr", NUMBER, "Learning rate."),
        ("alpha", NUMBER, "Decay rate of the mean square."),
        ("eps", NUMBER, "Term added to the denominator."),
        ("lbfgs", WHOLE, "Iteration in which L-BFGS ends the training of a differential equation; 0 for never."),
        *_FIRST_ORDER,
    ),
    "lm": fields(
        LM,
        ("damping", NUMBER, "Initial damping."),
        ("factors", WHOLE, "Most factors of a product, or terms of a quotient, that are tried."),
        ("fresh", FLAG, "Whether every iteration has a new batch; otherwise all have the first one."),
        ("single", FLAG, "Whether observations are rounded to float32."),
        ("noise", NUMBER, "Standard deviation of noise in the training targets, as a share of their own."),
    ),
    "model": (
        Key("name", TEXT, "Name of a published model, or of your own; by default, the layers joined by >."),
        Key("label", TEXT, "Name in a printed table; by default that of the published model, or its own name."),
        Key("layers", LAYERS, "Layers from input to output; by default those of the published model."),
        Key("schedule", TABLE, "Schedule of the sparsity regularizer; by default as published, or that of model NMU."),
        Key("inputs", TABLE, "Regularizer of a cell's inputs, for sequences of digits."),
        Key("penalties", TABLES, "Regularizers of the parameters, besides the schedule's."),
    ),
    "layer": (
        Key("unit", TEXT, "Name of a unit, as in `arithmos models`, or path/to/file.py:Class.", REQUIRED),
        Key("…", OPTION, "Options of the unit, such as init, project and clip of the NMU."),
    ),
    "schedule": (
        Key("strength", NUMBER, "Final strength of the sparsity loss.", sweep=True),
        Key("start", NUMBER, "Iteration until which it is 0.", sweep=True),
        Key("end", NUMBER, "Iteration from which it has its full strength.", sweep=True),
    ),
    "inputs": fields(
        InputRegularizer,
        ("strength", NUMBER, "Strength of the pull of unused inputs towards the neutral value."),
        ("logs", FLAG, "Whether an exp-log cell is regularized on the logarithms of its inputs."),
        sweep=False,
    ),
    "penalty": fields(
        Penalty,
        ("kind", TEXT, f"One of {', '.join(PENALTIES)}."),
        ("strength", NUMBER, "Strength at the start."),
        ("most", NUMBER, "Final strength; 0 for that at the start."),
        ("every", WHOLE, "Iterations after which the strength is multiplied by ten, until it is final."),
        ("after", WHOLE, "Last iteration without it."),
        ("below", NUMBER, "Validation error below which it acts; 0 for any."),
        sweep=False,
    ),
}


def tables() -> dict[str, tuple[Key, ...]]:
    """Return the keys of each table of a file, and of each kind of task.

    A file is an experiment and, at the same time, its first part.
    """
    return _TABLES | {kind: task.keys() for kind, task in KINDS.items()}


def axes() -> list[str]:
    """Return the possible axes of a figure: keys, initial weights, and the lengths that sequences are tested on."""
    swept = (key.name for keys in tables().values() for key in keys if key.sweep)
    return [*(name for name in swept if name != "operation"), INIT, LENGTH]


def markdown(keys: Iterable[Key]) -> str:
    """Return a Markdown table of keys, for the documentation."""
    lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *(f"| `{key.name}` | {key.value} | {_default(key)} | {key.meaning} |" for key in keys)])


def _default(key: Key) -> str:
    from .write import written  # it reads these tables

    return "required" if key.default is REQUIRED else "" if key.default is None else f"`{written(key.default)}`"
