"""Experiments of Heim et al. (2020). The simple task: four functions of two numbers, by two layers."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...spec import Adam, Layer, Model, Penalty, RMSprop, Spec
from ...spec.optimizers import Optimizer
from ...tasks import Sampled
from ..experiment import Experiment
from ..published import Published
from .large import LARGE
from .sir import SIR

Floats = NDArray[np.float64]

FUNCTIONS = ("add", "mul", "div", "root")
"""Outputs of the networks: a + b, a·b, a/b and √a."""
ROWS = 2**16
"""Training rows; the released program draws new ones at every iteration."""
HIDDEN, WIDER = 6, 10
"""Hidden units; of the dense network in each of two layers, as in the text: the released program has 50."""
LENGTH = 20_000
SEEDS = 20
RATE = 5e-3

FREE = Layer("NAU", (("clip", False), ("init", "paper"), ("project", False)))
"""Their NAU: a plain matrix."""
CLIPPED = Layer("NMU", (("init", "unit"), ("project", False)))
"""Their NMU: weights are clipped in the forward pass only."""
GATED = Layer("INALU", (("init", "glorot"), ("input_gate", True)))
"""Their iNALU: its gates depend on the input."""
PULL = Penalty(kind="pull", strength=6e-6, after=LENGTH // 2 - 1)
"""Its regularizer in the second half, 5·10⁻⁷ for each parameter and step away from 0, half of that in the last layer.

The released settings lack the magnitude up to which it acts; it is 20 in a line that is commented out.
"""
SIGMOID = Layer("LinearSigmoid")
NETWORKS: dict[Model, Optimizer] = {
    Model("NPU", (Layer("NPU"), FREE), label="NPU"): Adam(lr=RATE),
    Model("RealNPU", (Layer("RealNPU"), FREE), label="RealNPU"): Adam(lr=RATE),
    Model("NMU", (CLIPPED, FREE), label="NMU"): Adam(lr=RATE),
    Model("NALU", (Layer("NALU"), Layer("NALU")), label="NALU"): RMSprop(lr=RATE, alpha=0.9, eps=1e-8),
    Model("INALUGated", (GATED, GATED), label="iNALU, gated by inputs", penalties=(PULL,)): RMSprop(
        lr=1e-3, alpha=0.9, eps=1e-8
    ),
    Model("Dense", (SIGMOID, SIGMOID, Layer("Linear")), label="dense"): Adam(lr=RATE),
}
"""Networks with their optimizers."""


def targets(x: Floats) -> Floats:
    """Return the four functions of rows of two numbers; the root of a negative number is NaN."""
    a, b = x.T
    with np.errstate(invalid="ignore"):
        return np.stack([a + b, a * b, a / b, np.sqrt(a)], axis=-1)


def grid(ticks: Floats) -> Floats:
    """Return all pairs of some numbers, one per row."""
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


WIDE = grid(np.arange(-4.1, 4.0, 0.2).round(1))
"""Inputs on which sums, products and quotients are tested; none is 0."""
POSITIVE = grid(np.arange(0.1, 4.05, 0.1).round(1))
"""Inputs on which roots are tested."""


TASK = Sampled(operation="four", interpolation="U[0.1,2.1]", extrapolation="U[0.1,4]", size=ROWS)

CONTENTS = (
    Experiment(
        name="simple",
        item="Table 1",
        title="Four functions of two numbers at once",
        specs=tuple(
            Spec(
                task=TASK,
                model=model,
                hidden_size=WIDER if model.name == "Dense" else HIDDEN,
                iterations=LENGTH,
                batch_size=100,
                evaluate_every=1000,
                optimizer=optimizer,
            )
            for model, optimizer in NETWORKS.items()
        ),
        seeds=SEEDS,
        axis="hidden_size",
        published=Published(Path(__file__).with_name("published") / "simple.csv"),
        by_weights=True,
    ),
    *LARGE,
    SIR,
)
