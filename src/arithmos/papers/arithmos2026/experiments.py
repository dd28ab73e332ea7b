"""The arithmetic experiments of Madsen & Johansen (2020) again, by the second-order recipe and by a mended Adam.

Models named after their trainer have the layers of the first paper's NMU; its own runs, with Adam as published, are
part of the sweeps that it made.
"""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from ...optim import SparsitySchedule
from ...spec import LM, MODELS, Adam, Layer, Model, Spec
from ...tasks import Arithmetic
from ...tasks.arithmetic import Operation, Range
from ..experiment import Experiment
from ..published import Published

ITERATIONS = 200
ROWS = 1024
"""Observations per iteration of the recipe; with 100 inputs it learns 200 weights or fewer."""

PUBLISHED_NMU = MODELS["NMU"]
NMU_LM = dataclasses.replace(PUBLISHED_NMU, name="NMU-LM", label="NMU, LM")
SUM_LM = Model("NAU-LM", (Layer("NAU"), Layer("NAU")), label="NAU, LM")
POWER_LM = Model("RealNPU-LM", (Layer("NAU"), Layer("RealNPU")), label="RealNPU, LM")

MULTIPLY = Arithmetic(operation="mul")

RANGES: list[tuple[Range, Range]] = [
    (((-2.0, -1.0),), ((-6.0, -2.0),)),
    (((-2.0, 2.0),), ((-6.0, -2.0), (2.0, 6.0))),
    (((0.0, 1.0),), ((1.0, 5.0),)),
    (((0.1, 0.2),), ((0.2, 2.0),)),
    (((1.0, 2.0),), ((2.0, 6.0),)),
    (((1.1, 1.2),), ((1.2, 6.0),)),
    (((10.0, 20.0),), ((20.0, 40.0),)),
]
"""Ranges of the first paper."""

NEGATIVE: list[tuple[Range, Range]] = [
    (((-20.0, -10.0),), ((-40.0, -20.0),)),
    (((-1.2, -1.1),), ((-6.0, -1.2),)),
    (((-0.2, -0.1),), ((-2.0, -0.2),)),
]
"""The negatives of three of them."""

SHORT = 20_000
RAMP = SparsitySchedule(10.0, 10_000, 15_000)
"""A short run that regularizes in its second half: U[-2, 2] is well conditioned, and takes Adam no longer."""


def _lm(task: Arithmetic, model: Model = NMU_LM, **changes: object) -> Spec:
    settings = {"iterations": ITERATIONS, "batch_size": ROWS, "evaluate_every": 1, "optimizer": LM()} | changes
    return Spec(task=task, model=model, **settings)  # type: ignore[arg-type]


def _sweep(name: str, title: str, specs: Iterable[Spec], axis: str, seeds: int, published: str = "") -> Experiment:
    return Experiment(
        name=name,
        item="Second-order recipe",
        title=title,
        specs=tuple(specs),
        seeds=seeds,
        axis=axis,
        published=Published(Path(__file__).with_name("published") / f"{published}.csv") if published else None,
    )


def _on(range_: tuple[Range, Range], operation: Operation = "mul") -> Arithmetic:
    return Arithmetic(operation=operation, interpolation=range_[0], extrapolation=range_[1])


OPERATIONS_LM: list[tuple[Operation, Model]] = [
    ("mul", NMU_LM),
    ("mul", POWER_LM),
    ("div", POWER_LM),
    ("add", SUM_LM),
    ("sub", SUM_LM),
    ("root", POWER_LM),
    ("squared", NMU_LM),
    ("squared", POWER_LM),
]

_SLOW = dataclasses.replace(PUBLISHED_NMU, name="NMU-slow", label="NMU, a tenth of the rate", schedule=RAMP)

CONTENTS = [
    _sweep(
        "lm-range",
        "Multiplication of inputs from ten ranges, by the second-order recipe and by Adam as published",
        [
            *(Spec(task=_on(range_), model=PUBLISHED_NMU) for range_ in RANGES),
            *(_lm(_on(range_)) for range_ in (*RANGES, *NEGATIVE)),
        ],
        "interpolation",
        20,
        "ranges",
    ),
    Experiment(
        name="lm-operations",
        item="Second-order recipe",
        title="Six operations by the second-order recipe",
        specs=tuple(_lm(Arithmetic(operation=operation), model) for operation, model in OPERATIONS_LM),
        seeds=20,
    ),
    _sweep(
        "lm-rows",
        "Multiplication from a fixed number of observations, by the second-order recipe",
        [_lm(MULTIPLY, batch_size=rows, optimizer=LM(fresh=False)) for rows in (250, 300, 500, 1000)],
        "batch_size",
        20,
    ),
    Experiment(
        name="slow-nmu",
        item="Mended Adam",
        title="Multiplication on U[-2, 2] with a lower learning rate for the NMU's weights, 20,000 iterations",
        specs=tuple(
            Spec(task=_on(RANGES[1]), model=model, iterations=SHORT, evaluate_every=500, optimizer=adam)
            for model, adam in (
                (dataclasses.replace(PUBLISHED_NMU, name="NMU-short", label="NMU, short", schedule=RAMP), Adam()),
                (_SLOW, Adam(layer_rates=(1.0, 0.1))),
            )
        ),
        seeds=50,
    ),
]
