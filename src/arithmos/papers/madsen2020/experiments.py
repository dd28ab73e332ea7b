"""Madsen & Johansen, "Neural Arithmetic Units", ICLR 2020: its tables and figures, in the order of the paper.

The published numbers come from the authors' program, so its settings are used here, even where the text differs.
"""

import dataclasses
from pathlib import Path

from ...optim import SparsitySchedule
from ...spec import MODELS, TABLE_MODELS, Model, Spec
from ...tasks import TEN_PARAMETERS, Arithmetic
from ...tasks.arithmetic import Operation, Range
from ..experiment import Experiment
from ..published import Published

MULTIPLY = Arithmetic(operation="mul")

MULTIPLIERS = [MODELS[name] for name in ("NACMulNMU", "NACMulSigma", "NACMul", "NALU", "NMU")]
ALL_MODELS = list(TABLE_MODELS.values())
ALL_OPERATIONS: tuple[Operation, ...] = ("mul", "div", "add", "sub", "root", "squared")
GATED = [MODELS[name] for name in ("GateNAUNMU", "GateNALUSeparate", "GateNALUShared")]

RANGES: list[tuple[Range, Range]] = [
    (((-2.0, -1.0),), ((-6.0, -2.0),)),
    (((-2.0, 2.0),), ((-6.0, -2.0), (2.0, 6.0))),
    (((0.0, 1.0),), ((1.0, 5.0),)),
    (((0.1, 0.2),), ((0.2, 2.0),)),
    (((1.0, 2.0),), ((2.0, 6.0),)),
    (((1.1, 1.2),), ((1.2, 6.0),)),
    (((10.0, 20.0),), ((20.0, 40.0),)),
]
ADDERS = ("NACAdd", "Linear", "NALU", "NAU")
TABLE_2: list[tuple[Operation, str]] = [
    *[("mul", name) for name in ("NACMul", "NALU", "NMU")],
    *[(operation, name) for operation in ("add", "sub") for name in ADDERS],
]
SIZES = [4, 10, *range(25, 301, 25)]
OVERLAPS = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]
SUBSETS = [0.05, 0.10, 0.25, 0.50]
HIDDEN = range(2, 11)
STRENGTHS = [0.0, 0.01, 0.1, 1.0, 10.0, 100.0]


SEEDS_OF_FIGURES = 50
"""Stated number of seeds behind a point of a figure; a point with more runs has second logs of some of them."""


def printed(name: str, *, gates: str = "", stated: int | None = None) -> Published:
    """Return the published values of a table or figure, by the names of their files."""
    folder = Path(__file__).with_name("published")
    return Published(folder / f"{name}.csv", folder / f"{gates}.csv" if gates else None, stated)


def drawn(name: str) -> Published:
    """Return the published values of a figure."""
    return printed(name, stated=SEEDS_OF_FIGURES)


def _task(operation: Operation) -> Arithmetic:
    return Arithmetic(operation=operation)


def _long(size: int) -> int:
    """Return the iterations for an input size, which the paper does not state."""
    return 5_000_000 if size <= 100 else 10_000_000 if size <= 200 else 15_000_000


def with_strength(model: Model, strength: float) -> Model:
    schedule = SparsitySchedule(strength, model.schedule.start, model.schedule.end)
    return dataclasses.replace(model, schedule=schedule)


def _without(model: Model, *, regularizer: bool, clamp: bool, name: str, label: str) -> Model:
    """Return the model without its regularizer, without the projection of its parameters, or without both."""
    model = with_strength(model, 0.0) if regularizer else model
    model = model.with_options(project=False) if clamp else model
    return dataclasses.replace(model, name=name, label=label)


ABLATIONS = [
    MODELS["NMU"],
    _without(MODELS["NMU"], regularizer=True, clamp=False, name="NMUNoSparsity", label="no R_sparse"),
    _without(MODELS["NMU"], regularizer=False, clamp=True, name="NMUNoClamp", label="no W-clamp"),
    _without(MODELS["NMU"], regularizer=True, clamp=True, name="NMUNeither", label="no R_sparse, no W-clamp"),
]


def _strengths(name: str, operation: Operation, model: str, symbol: str) -> Experiment:
    return Experiment(
        name=name,
        item="Figure: regularizer strength (appendix)",
        title=f"Strength of the sparsity regularizer, {model} on {symbol}",
        specs=tuple(
            Spec(task=_task(operation), model=with_strength(MODELS[model], strength)) for strength in STRENGTHS
        ),
        seeds=50,
        axis="strength",
        published=drawn(f"figure_{name.replace('-', '_')}"),
    )


CONTENTS = [
    Experiment(
        name="table-1",
        item="Table 1",
        title="Learning a 10 parameter function",
        specs=tuple(
            Spec(task=TEN_PARAMETERS, model=MODELS[name], iterations=200_000) for name in ("NACMul", "NALU", "NMU")
        ),
        published=printed("table_10param"),
    ),
    Experiment(
        name="table-2",
        item="Table 2",
        title="Multiplication, addition and subtraction",
        specs=tuple(Spec(task=_task(operation), model=MODELS[name]) for operation, name in TABLE_2),
        published=printed("table_static"),
    ),
    Experiment(
        name="hidden-size",
        item="Figure: hidden size",
        title="Multiplication with more hidden units than needed",
        specs=tuple(Spec(task=MULTIPLY, model=model, hidden_size=hidden) for model in MULTIPLIERS for hidden in HIDDEN),
        seeds=50,
        axis="hidden_size",
        published=drawn("figure_hidden_size"),
    ),
    Experiment(
        name="input-range",
        item="Figure: input range",
        title="Multiplication of inputs from other ranges",
        specs=tuple(
            Spec(task=dataclasses.replace(MULTIPLY, interpolation=inside, extrapolation=outside), model=model)
            for model in MULTIPLIERS
            for inside, outside in RANGES
        ),
        seeds=50,
        axis="interpolation",
        published=drawn("figure_input_range"),
    ),
    Experiment(
        name="ablation",
        item="Figure: ablation (appendix)",
        title="The NMU without its regularizer, without its clamp, without both",
        specs=tuple(Spec(task=MULTIPLY, model=model, hidden_size=hidden) for model in ABLATIONS for hidden in HIDDEN),
        seeds=50,
        axis="hidden_size",
        published=drawn("figure_ablation_hidden_size"),
    ),
    Experiment(
        name="input-size",
        item="Figure: dataset parameters, first row (appendix)",
        title="Multiplication of sums over more inputs",
        specs=tuple(
            Spec(task=dataclasses.replace(MULTIPLY, input_size=size), model=model, iterations=_long(size))
            for model in [*MULTIPLIERS, MODELS["GatedNAUNMU"]]
            for size in SIZES
        ),
        seeds=50,
        axis="input_size",
        published=drawn("figure_input_size"),
    ),
    Experiment(
        name="overlap",
        item="Figure: dataset parameters, second row (appendix)",
        title="Multiplication of sums that share inputs",
        specs=tuple(
            Spec(task=dataclasses.replace(MULTIPLY, overlap_ratio=ratio), model=model)
            for model in [*MULTIPLIERS, MODELS["GatedNAUNMU"]]
            for ratio in OVERLAPS
        ),
        seeds=50,
        axis="overlap_ratio",
        published=drawn("figure_overlap_ratio"),
    ),
    Experiment(
        name="subset",
        item="Figure: dataset parameters, third row (appendix)",
        title="Multiplication of shorter and longer sums",
        specs=tuple(
            Spec(task=dataclasses.replace(MULTIPLY, subset_ratio=ratio), model=model)
            for model in [*MULTIPLIERS, MODELS["GatedNAUNMU"]]
            for ratio in SUBSETS
        ),
        seeds=50,
        axis="subset_ratio",
        published=drawn("figure_subset_ratio"),
    ),
    Experiment(
        name="gate",
        item="Table and figure: gating (appendix)",
        title="Choice of a gate between addition and multiplication",
        specs=tuple(Spec(task=_task(operation), model=model) for operation in ("mul", "add") for model in GATED),
        published=printed("table_gate", gates="figure_gate_histogram"),
    ),
    _strengths("regularizer-add", "add", "NAU", "+"),
    _strengths("regularizer-sub", "sub", "NAU", "−"),
    _strengths("regularizer-mul", "mul", "NMU", "×"),
    Experiment(
        name="all-models",
        item="Table: comparing all models (appendix)",
        title="All models on all operations",
        specs=tuple(Spec(task=_task(operation), model=model) for operation in ALL_OPERATIONS for model in ALL_MODELS),
        published=printed("table_all_models"),
    ),
]
