"""One ranking: all units on one protocol, which no publication has asked for.

A layer is to find an operation on one or two of its inputs, in nine ranges, and is trained as its authors trained it.
Beside them stand networks that the second-order recipe trains. Runs that belong to a paper as well are made once.
"""

import dataclasses
from collections.abc import Iterable

from ...optim import SparsitySchedule
from ...spec import LM, Adam, Layer, Model, Spec
from ...tasks import Task, symbol
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
    "reciprocal": ("NACMul", "NALU", "GNALU", "INALU", "NPU", "RealNPU", "RealNPUModified", "NRU", "NMRU"),
    "root": ("NACMul", "NALU", "GNALU", "INALU", "NPU", "RealNPU", "RealNPUModified"),
    "squared": ("NPU", "RealNPU"),
}
"""Units whose single layer can compute each operation: a root needs an exponent of ½, a square one of 2."""
PRODUCT, POWER = ("NAU", "NMU"), ("NAU", "RealNPU")
SECOND_ORDER: dict[Operation, tuple[tuple[str, ...], ...]] = {
    "add": (("NAU",),),
    "sub": (("NAU",),),
    "mul": (PRODUCT, POWER),
    **dict.fromkeys(("div", "reciprocal", "root", "squared"), (POWER,)),
}
"""Layers of the networks that the second-order recipe trains: products only with sums before them."""
WORDS: dict[Operation, str] = {
    "add": "Addition",
    "sub": "Subtraction",
    "mul": "Multiplication",
    "div": "Division",
    "reciprocal": "Reciprocal",
    "root": "Square root",
    "squared": "Square",
}
BINARY: tuple[Operation, ...] = ("add", "sub", "mul", "div")
SEEDS = 100
"""Seeds with two and with ten inputs; contests with a hundred have those of the papers on single modules."""
ITERATIONS, ROWS = 200, 1024
"""Iterations of the second-order recipe, and observations of each."""


def contest(operation: Operation, inputs: int) -> Experiment:
    """Return the experiment of all units on an operation on one or two of some inputs."""
    adam = [spec for unit in CONTENDERS[operation] for spec in single_module.specs(unit, operation, inputs)]
    return Experiment(
        name=operation if inputs == 2 else f"{operation}-{inputs}",
        item=f"{symbol(operation)}, {inputs} inputs",
        title=f"{WORDS[operation]} by one layer of {inputs} inputs",
        specs=(*adam, *second_order(operation, [spec.task for spec in adam])),
        seeds=SEEDS if inputs < 100 else single_module.SEEDS,
        axis="interpolation",
    )


def second_order(operation: Operation, tasks: Iterable[Task]) -> tuple[Spec, ...]:
    """Return the specs of the second-order recipe on each of some tasks."""
    return tuple(
        Spec(
            task=task,
            model=Model(f"{units[-1]}-LM", tuple(map(Layer, units)), label=f"{' > '.join(units)}, LM"),
            iterations=ITERATIONS,
            batch_size=ROWS,
            evaluate_every=1,
            optimizer=LM(),
        )
        for units in SECOND_ORDER[operation]
        for task in dict.fromkeys(tasks)
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
        if isinstance(spec.optimizer, LM):
            continue
        length = single_module.length_of("", spec.task.input_size)
        model = Model(unit, (layer,), SparsitySchedule(strength, length.start, length.end), layer.label)
        own = dataclasses.replace(spec, model=model, optimizer=Adam(lr=lr))
        specs.setdefault(own.id, own)
    return dataclasses.replace(experiment, specs=tuple(specs.values()))


paper = Paper(
    key="ranking",
    title="All units on one protocol",
    reference="runs of this project",
    experiments=(
        *(contest(operation, inputs) for inputs in (2, 10) for operation in CONTENDERS),
        *(contest(operation, 100) for operation in BINARY),
    ),
    criteria={
        "epsilon": Criterion(
            note="A run is solved if its test error at the record of lowest validation error is below that of a module "
            "with an error of 10⁻⁵ in every weight."
        ),
        "absolute": Criterion(note="A run is solved if that test error is below 10⁻⁵."),
    },
    introduction="One layer is to find an operation on one or two of its inputs, in nine ranges; roots in the "
    "four that are positive. Every unit is trained as its authors trained it, for the same number of iterations. "
    "Networks marked LM are trained by the second-order recipe, products with a layer of sums before them. There are "
    "100 seeds per range with two and with ten inputs, and 25 with a hundred. Cells with ten and a hundred inputs for "
    "which the time on a GPU did not suffice have fewer, or none; each states its number of runs.",
)
