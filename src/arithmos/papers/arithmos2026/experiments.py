"""The arithmetic experiments of Madsen & Johansen (2020) again, by the second-order recipe and by a mended Adam.

Models named after their trainer have the layers of the first paper's NMU; its own runs, with Adam as published, are
part of the sweeps that it made.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...optim import SparsitySchedule
from ...spec import LM, MODELS, Adam, Layer, Model, Spec
from ...tasks import Arithmetic
from ...tasks.arithmetic import Operation, Range, symbol
from ..experiment import Experiment
from ..published import Published

ITERATIONS = 200
ROWS = 1024
"""Observations per iteration of the recipe; with 100 inputs it learns 200 weights or fewer."""
SEEDS, FEWER = 100, 20

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


MENDED_ADAM = Adam(lr=1e-2, layer_rates=(1.0, 0.3), scale_loss=True)
"""Ten times the published rate, a third of that for the NMU's weights, and a loss that does not depend on units."""

WELL_CONDITIONED = RANGES[1]


MENDED = {WELL_CONDITIONED: 100_000, RANGES[3]: 1_500_000}
"""Ranges of the mended Adam, with its iterations: inputs that do not vary around 0 take longer."""


def _mended(range_: tuple[Range, Range], length: int) -> Spec:
    """Return a spec of the mended Adam, which regularizes late: earlier, wrong weights would be rounded."""
    ramp = SparsitySchedule(0.03, 0.8 * length, 0.9 * length)
    model = dataclasses.replace(PUBLISHED_NMU, name="NMU-mended", label="NMU, mended Adam", schedule=ramp)
    return Spec(task=_on(range_), model=model, iterations=length, optimizer=MENDED_ADAM)


PRECONDITIONED_ADAM = Adam(layer_rates=(1.0, 0.3), scale_loss=True, precondition=True)
"""The published rate, a third of it for the NMU's weights, and gradients freed of the inputs' mean."""

PRECONDITIONED = 100_000
"""Iterations of the preconditioned Adam."""


def _late(range_: tuple[Range, Range], model: Model, adam: Adam, length: int = PRECONDITIONED) -> Spec:
    """Return a spec that regularizes in the last fifth of its run."""
    late = dataclasses.replace(model, schedule=SparsitySchedule(0.03, 0.8 * length, 0.9 * length))
    return Spec(task=_on(range_), model=late, iterations=length, optimizer=adam)


def _nmu(name: str, label: str, **options: str) -> Model:
    layers = (Layer("NAU"), Layer("NMU", tuple(options.items())))
    return dataclasses.replace(PUBLISHED_NMU, name=f"NMU-{name}", label=f"NMU, {label}", layers=layers)


NMU_PRECONDITIONED = _nmu("preconditioned", "preconditioned Adam")

_SCALED, _SLOW_RATES = Adam(scale_loss=True), (1.0, 0.3)
OPTIONS_OF_ADAM: list[tuple[Model, Adam]] = [
    (_nmu("scaled", "scaled loss"), _SCALED),
    (_nmu("slower", "lower rate"), dataclasses.replace(_SCALED, layer_rates=_SLOW_RATES)),
    (_nmu("near-one", "start near 1", init="near-one"), _SCALED),
    (_nmu("moments", "preconditioned"), dataclasses.replace(_SCALED, precondition=True)),
    (
        _nmu("moments-near-one", "preconditioned, start near 1", init="near-one"),
        dataclasses.replace(_SCALED, precondition=True),
    ),
    (
        _nmu("unscaled", "preconditioned, lower rate, loss not scaled"),
        dataclasses.replace(PRECONDITIONED_ADAM, scale_loss=False),
    ),
    (NMU_PRECONDITIONED, PRECONDITIONED_ADAM),
]
"""Options of Adam one by one and together; the last has all that help."""

_WIDE = [range_ for range_ in RANGES if range_[0] != ((1.1, 1.2),)]
"""Ranges of the first paper that Adam solves in the length of these runs."""


def _lm(task: Arithmetic, model: Model = NMU_LM, **changes: object) -> Spec:
    settings = {"iterations": ITERATIONS, "batch_size": ROWS, "evaluate_every": 1, "optimizer": LM()} | changes
    return Spec(task=task, model=model, **settings)  # type: ignore[arg-type]


def _product(**changes: Any) -> Arithmetic:
    return dataclasses.replace(MULTIPLY, **changes)


def _sweep(name: str, title: str, specs: Iterable[Spec], axis: str, seeds: int = SEEDS) -> Experiment:
    return Experiment(name=name, item="Second-order recipe", title=title, specs=tuple(specs), seeds=seeds, axis=axis)


def _beside_print(name: str, title: str, mended: Mapping[tuple[Range, Range], Spec], file: str) -> Experiment:
    """Return the experiment of a mended Adam on some ranges, with the NMU as published and its printed numbers."""
    published = [Spec(task=_on(range_), model=PUBLISHED_NMU) for range_ in mended]
    return Experiment(
        name=name,
        item="Mended Adam",
        title=title,
        specs=(*published, *mended.values()),
        seeds=50,
        axis="interpolation",
        published=Published(Path(__file__).with_name("published") / file),
    )


def _on(range_: tuple[Range, Range], operation: Operation = "mul") -> Arithmetic:
    return Arithmetic(operation=operation, interpolation=range_[0], extrapolation=range_[1])


OPERATIONS_LM: list[tuple[Operation, Model]] = [
    ("mul", NMU_LM),
    ("mul", POWER_LM),
    ("div", POWER_LM),
    ("add", SUM_LM),
    ("sub", SUM_LM),
    ("sub", POWER_LM),
    ("root", POWER_LM),
    ("squared", NMU_LM),
    ("squared", POWER_LM),
]

ON_RANGES: list[tuple[Operation, Model]] = [
    ("div", POWER_LM),
    ("add", SUM_LM),
    ("sub", SUM_LM),
    ("root", POWER_LM),
    ("squared", NMU_LM),
]
"""Operations besides × on every range; sums have a root where inputs are positive."""

SIZES = (4, 10, 30, 100, 300)
ENOUGH_ROWS = (110, 125, 150, 200, 250, 300, 500, 1000, 2000, 5000)
NOISE = (0.0, 0.001, 0.01, 0.1)

_SLOW = dataclasses.replace(PUBLISHED_NMU, name="NMU-slow", label="NMU, a tenth of the rate", schedule=RAMP)

CONTENTS = [
    _sweep(
        "lm-range",
        "Multiplication of inputs from ten ranges, by the second-order recipe",
        [_lm(_on(range_)) for range_ in (*RANGES, *NEGATIVE)],
        "interpolation",
    ),
    Experiment(
        name="lm-operations",
        item="Second-order recipe",
        title="Six operations by the second-order recipe",
        specs=tuple(_lm(Arithmetic(operation=operation), model) for operation, model in OPERATIONS_LM),
        seeds=SEEDS,
    ),
    *(
        _sweep(
            f"lm-{operation}",
            f"Operation {symbol(operation)} on sums of inputs from other ranges, by the second-order recipe",
            [
                _lm(_on(range_, operation), model)
                for range_ in (*RANGES, *NEGATIVE)
                if operation != "root" or range_[0][0][0] >= 0
            ],
            "interpolation",
        )
        for operation, model in ON_RANGES
    ),
    _sweep(
        "lm-float32",
        "Multiplication of inputs from ten ranges in float32, by the second-order recipe",
        [_lm(_on(range_), optimizer=LM(single=True)) for range_ in (*RANGES, *NEGATIVE)],
        "interpolation",
    ),
    _sweep(
        "lm-hidden",
        "Multiplication with more hidden units than needed, by the second-order recipe",
        [_lm(MULTIPLY, hidden_size=hidden) for hidden in (2, 3, 5, 10, 20, 64)],
        "hidden_size",
    ),
    _sweep(
        "lm-inputs",
        "Multiplication of sums over 4 to 300 inputs, by the second-order recipe",
        [_lm(_product(input_size=size)) for size in SIZES],
        "input_size",
    ),
    Experiment(
        name="lm-many-inputs",
        item="Second-order recipe",
        title="Multiplication of sums over 1,000 inputs, by the second-order recipe",
        specs=(_lm(_product(input_size=1000), batch_size=2000),),
        seeds=SEEDS,
    ),
    _sweep(
        "lm-overlap",
        "Multiplication of sums that share inputs, by the second-order recipe",
        [_lm(_product(overlap_ratio=ratio)) for ratio in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)],
        "overlap_ratio",
    ),
    _sweep(
        "lm-subset",
        "Multiplication of shorter and longer sums, by the second-order recipe",
        [_lm(_product(subset_ratio=ratio)) for ratio in (0.05, 0.1, 0.25, 0.5)],
        "subset_ratio",
    ),
    _sweep(
        "lm-batch",
        "Multiplication with smaller and larger batches, new at each iteration, by the second-order recipe",
        [_lm(MULTIPLY, batch_size=rows) for rows in (128, 256, 512, 1024, 2048, 4096)],
        "batch_size",
    ),
    _sweep(
        "lm-rows",
        "Multiplication from a fixed number of observations, by the second-order recipe",
        [_lm(MULTIPLY, batch_size=rows, optimizer=LM(fresh=False)) for rows in ENOUGH_ROWS],
        "batch_size",
    ),
    _sweep(
        "lm-fewer-rows",
        "Multiplication from fewer observations than inputs, by the second-order recipe",
        [_lm(MULTIPLY, batch_size=rows, optimizer=LM(fresh=False)) for rows in (50, 90)],
        "batch_size",
        FEWER,
    ),
    *(
        _sweep(
            name,
            f"Multiplication from 1,000 observations with noise, {where}, by the second-order recipe",
            [_lm(task, batch_size=1000, iterations=50, optimizer=LM(fresh=False, noise=noise)) for noise in levels],
            "noise",
            seeds,
        )
        for name, where, task, levels, seeds in (
            ("lm-noise", "U[1,2]", MULTIPLY, NOISE, SEEDS),
            ("lm-noise-centered", "U[-2,2]", _on(WELL_CONDITIONED), NOISE, SEEDS),
            ("lm-noise-long", "sums of half of the inputs", _product(subset_ratio=0.5), (0.0, 0.01), FEWER),
        )
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
    _beside_print(
        "mended",
        "Multiplication on the two ranges where Adam as published fails at times, by a mended Adam",
        {range_: _mended(range_, length) for range_, length in MENDED.items()},
        "mended.csv",
    ),
    _beside_print(
        "mended-ranges",
        "Multiplication on the ranges of the first paper, by a preconditioned Adam, 100,000 iterations",
        {range_: _late(range_, NMU_PRECONDITIONED, PRECONDITIONED_ADAM) for range_ in RANGES},
        "mended_ranges.csv",
    ),
    Experiment(
        name="mended-longer",
        item="Mended Adam",
        title="Multiplication on U[0.1, 0.2], by a preconditioned Adam, 200,000 iterations",
        specs=(_late(RANGES[3], NMU_PRECONDITIONED, PRECONDITIONED_ADAM, 2 * PRECONDITIONED),),
        seeds=50,
    ),
    Experiment(
        name="mended-options",
        item="Mended Adam",
        title="Multiplication on six ranges with options of Adam one by one and together, 100,000 iterations",
        specs=tuple(_late(range_, model, adam) for model, adam in OPTIONS_OF_ADAM for range_ in _WIDE),
        seeds=FEWER,
        axis="interpolation",
    ),
]
