"""One ranking: all units on one protocol, which no publication has asked for.

A layer is to find an operation on two of its inputs, in nine ranges, and is trained as its authors trained it. Runs
that belong to a paper as well are made once.
"""

import dataclasses

from ...optim import SparsitySchedule
from ...spec import Adam, Layer, Model, Spec
from ...tasks.arithmetic import Operation
from .. import single_module
from ..experiment import Experiment
from ..paper import Criterion, Paper

CONTENDERS: dict[Operation, tuple[str, ...]] = {
    "add": ("NAU", "NACAdd", "NALU", "GNALU", "INALU", "MCFC"),
    "sub": ("NAU", "NACAdd", "NALU", "GNALU", "INALU"),
    "mul": (
        *("NMU", "SNMU", "NACMul", "NALU", "GNALU", "INALU", "NPU", "RealNPU", "RealNPUModified"),
        *("NRU", "NMRU", "MulMCFC"),
    ),
    "div": ("NACMul", "NALU", "GNALU", "INALU", "NPU", "RealNPU", "RealNPUModified", "NRU", "NMRU"),
}
"""Units that can compute each operation."""
WORDS: dict[Operation, str] = {"add": "Addition", "sub": "Subtraction", "mul": "Multiplication", "div": "Division"}


def contest(operation: Operation, inputs: int) -> Experiment:
    """Return the experiment of all units on an operation on two of some inputs."""
    return Experiment(
        name=operation if inputs == 2 else f"{operation}-{inputs}",
        item=f"{WORDS[operation]}, {inputs} inputs",
        title=f"{WORDS[operation]} by one layer of {inputs} inputs",
        specs=tuple(spec for unit in CONTENDERS[operation] for spec in single_module.specs(unit, operation, inputs)),
        seeds=single_module.SEEDS,
        axis="interpolation",
    )


def entry(experiment: Experiment, unit: str, *, lr: float, strength: float) -> Experiment:
    """Return the experiment for a unit of the user's: one layer on the same problems.

    Args:
        experiment: an experiment of the ranking.
        unit: `path/to/file.py:Class`.
        lr: learning rate of Adam.
        strength: strength of the sparsity regularizer, with the ramp of the other units.
    """
    layer = Layer(unit)
    specs: dict[str, Spec] = {}
    for spec in experiment.specs:
        length = single_module.length_of("", spec.task.input_size)
        model = Model(unit, (layer,), SparsitySchedule(strength, length.start, length.end), layer.label)
        own = dataclasses.replace(spec, model=model, optimizer=Adam(lr=lr))
        specs.setdefault(own.id, own)
    return dataclasses.replace(experiment, specs=tuple(specs.values()))


paper = Paper(
    key="ranking",
    title="All units on one protocol",
    reference="runs of this project",
    experiments=tuple(contest(operation, inputs) for inputs in (2, 10) for operation in CONTENDERS),
    criteria={
        "epsilon": Criterion(
            note="A run is solved if its test error at the record of lowest validation error is below that of a module "
            "with an error of 10⁻⁵ in every weight."
        ),
        "absolute": Criterion(note="A run is solved if that test error is below 10⁻⁵."),
    },
    introduction="One layer is to find an operation on two of its inputs, in nine ranges. Every unit is trained as its "
    "authors trained it, for the same number of iterations.",
)
