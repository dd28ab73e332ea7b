"""Contests of the ranking: all units on one protocol, which no publication has asked for.

A layer, alone or behind a NAU, is to find an operation on one or two of its inputs, in nine ranges, and is trained as
its authors trained it. Beside them stand networks that the second-order recipe trains. Runs that belong to a paper as
well are made once.
"""

import dataclasses
from collections.abc import Iterable

from ..spec import LM, Adam, Layer, Model, Spec
from ..tasks import Task, symbol
from ..tasks.arithmetic import Operation
from . import single_module
from .experiment import Experiment
from .paper import Criterion

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
CONTENDERS_BEHIND: dict[Operation, tuple[str, ...]] = {**CONTENDERS, "squared": CONTENDERS["mul"]}
"""Units that can do so behind a NAU, which may pass an input on twice: then products are squares."""
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


def contest(operation: Operation, inputs: int, *, behind: bool = False) -> Experiment:
    """Return the experiment of all units on an operation on one or two of some inputs, alone or behind a NAU."""
    units = CONTENDERS_BEHIND if behind else CONTENDERS
    alone = [spec for unit in units[operation] for spec in single_module.specs(unit, operation, inputs)]
    first = [behind_nau(spec) for spec in alone] if behind else alone
    name = operation if inputs == 2 else f"{operation}-{inputs}"
    return Experiment(
        name=f"nau-{name}" if behind else name,
        item=f"{symbol(operation)}, {inputs} inputs{', behind a NAU' if behind else ''}",
        title=f"{WORDS[operation]} by one layer{' behind a NAU' if behind else ''} of {inputs} inputs",
        specs=(*first, *second_order(operation, [spec.task for spec in alone])),
        seeds=SEEDS if inputs < 100 else single_module.SEEDS,
        axis="interpolation",
    )


def contests(*, behind: bool = False) -> tuple[Experiment, ...]:
    """Return all contests: seven operations with two and with ten inputs, four with a hundred."""
    sizes: dict[int, Iterable[Operation]] = {2: CONTENDERS, 10: CONTENDERS, 100: BINARY}
    return tuple(contest(name, inputs, behind=behind) for inputs, names in sizes.items() for name in names)


def behind_nau(spec: Spec) -> Spec:
    """Return the spec of a layer behind a NAU, which has the learning rate that it has alone.

    The schedule of the sparsity regularizer is the layer's, or that of the NAU if the layer has none. The penalty of
    the iNALU, which pushes all parameters to 20, is left out: it would let no weight of the NAU be 0.
    """
    model, own = spec.model, spec.first_order
    of_nau = single_module.length_of("NAU", spec.task.input_size).ramp(single_module.RECIPES["NAU"].strength)
    rates = (Adam.lr / own.lr, 1.0) if own.lr != Adam.lr else ()
    return dataclasses.replace(
        spec,
        model=dataclasses.replace(
            model,
            layers=(Layer("NAU"), *model.layers),
            schedule=model.schedule if model.schedule.strength else of_nau,
            penalties=tuple(one for one in model.penalties if one.kind != "pull"),
        ),
        optimizer=dataclasses.replace(own, layer_rates=rates),
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
    """Return the experiment for a unit of the user's: one layer on the same problems, behind a NAU if the others are.

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
        model = Model(unit, (layer,), length.ramp(strength), layer.label)
        own = dataclasses.replace(spec, model=model, optimizer=Adam(lr=lr))
        own = behind_nau(own) if len(spec.model.layers) > 1 else own
        specs.setdefault(own.id, own)
    return dataclasses.replace(experiment, specs=tuple(specs.values()))


CRITERIA = {
    "epsilon": Criterion(
        note="A run is solved if its test error at the record of lowest validation error is below that of a module "
        "with an error of 10⁻⁵ in every weight."
    ),
    "absolute": Criterion(note="A run is solved if that test error is below 10⁻⁵."),
}
