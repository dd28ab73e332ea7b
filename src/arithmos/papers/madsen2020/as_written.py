"""Models as the text of Madsen & Johansen (2020) describes them, where the published runs differ from it.

Each follows the published model, and its label says where in the paper it is described.
"""

import dataclasses

from ...spec import MODELS, Layer, Model, Spec
from ...tasks import Arithmetic
from ...tasks.arithmetic import Operation
from ..experiment import Experiment
from .experiments import ABLATIONS, HIDDEN, MULTIPLY, with_strength


def _written(published: str, name: str, label: str, *layers: Layer) -> Model:
    """Return a published model with other layers and its own schedule."""
    return dataclasses.replace(MODELS[published], name=name, label=label, layers=layers)


AFTER_NAC = _written(
    "NACMulNMU", "NACAdd>NACMulNMU", "NAC•,NMU after NAC₊ (model table)", Layer("NACAdd"), Layer("NACMulNMU")
)
QUARTER = _written(
    "NMU", "NMUQuarter", "NMU, Var[W] = 1/4 (initialization)", Layer("NAU"), Layer("NMU", (("init", "paper"),))
)
UNCAPPED = _written(
    "NAU", "NAUUncapped", "NAU, Glorot uncapped (initialization)", *[Layer("NAU", (("init", "paper"),))] * 2
)
RELU = _written("ReLU", "ReLU>ReLU", "ReLU in both layers (model table)", *[Layer("LinearReLU")] * 2)
RELU6 = _written("ReLU6", "ReLU6>ReLU6", "ReLU6 in both layers (model table)", *[Layer("LinearReLU6")] * 2)

PAIRS: list[tuple[Operation, str, Model]] = [
    ("mul", "NACMulNMU", AFTER_NAC),
    ("mul", "NMU", QUARTER),
    *[(op, name, model) for op in ("mul", "add") for name, model in (("ReLU", RELU), ("ReLU6", RELU6))],
    *[(op, "NAU", UNCAPPED) for op in ("add", "sub")],
]


def _unclamped(model: Model, name: str, label: str) -> Model:
    """Return the model with unbounded weights: neither the parameters nor the forward pass clips them."""
    return dataclasses.replace(model.with_options(project=False, clip=False), name=name, label=label)


UNCLAMPED = [
    MODELS["NMU"],
    ABLATIONS[2],
    _unclamped(MODELS["NMU"], "NMUUnclamped", "W unclamped (ablation text)"),
    ABLATIONS[3],
    _unclamped(with_strength(MODELS["NMU"], 0.0), "NMUUnclampedNoSparsity", "no R_sparse, W unclamped (ablation text)"),
]

CONTENTS = [
    Experiment(
        name="as-written",
        item="Model table and initialization, as written",
        title="Models as the paper describes them, below those it ran",
        specs=tuple(
            Spec(task=Arithmetic(operation=operation), model=model)
            for operation, name, written in sorted(PAIRS, key=lambda pair: ("mul", "add", "sub").index(pair[0]))
            for model in (MODELS[name], written)
        ),
    ),
    Experiment(
        name="as-written-ablation",
        item="Figure: ablation (appendix), as written",
        title="The NMU with its weights truly unclamped; in the published runs the forward pass still clipped them",
        specs=tuple(Spec(task=MULTIPLY, model=model, hidden_size=hidden) for model in UNCLAMPED for hidden in HIDDEN),
        seeds=50,
        axis="hidden_size",
    ),
]
