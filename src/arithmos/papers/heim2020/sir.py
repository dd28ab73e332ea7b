"""The fractional SIR model of Heim et al. (2020): a network is the right-hand side of a differential equation.

No table is published. The figure shows, for each network, its number of parameters above 0.001 and its error.
"""

import numpy as np
from numpy.typing import NDArray

from ...engines.weights import filled, layer_weights
from ...spec import Layer, Model, Penalty, RMSprop, Spec
from ...tasks import FractionalSIR
from ..experiment import Experiment

SEEDS = 5
HIDDEN = (6, 9, 12, 15, 20)
PENALTIES = (0.0, 0.01, 0.1, 1.0)
"""Strengths of the L1 penalty."""
FIRST_ORDER = 3000
"""Iterations of RMSprop; L-BFGS is the next, and a record follows."""
RECORDS = 500
LARGE = 0.001
"""Magnitude above which a parameter counts."""

SUM = Layer("NAU", (("clip", False), ("init", "fifth"), ("project", False)))
"""Their NAU, a plain matrix."""
NETWORKS: dict[str, tuple[Layer, ...]] = {
    "NPU": (Layer("NPU", (("init", "fifth"),)), SUM),
    "RealNPU": (Layer("RealNPU", (("init", "fifth"),)), SUM),
    "Dense": (Layer("LinearTanh"), Layer("LinearTanh"), Layer("Linear")),
}


def model(unit: str, strength: float) -> Model:
    """Return a network with its penalty."""
    penalties = (Penalty(kind="l1", strength=strength),) if strength else ()
    return Model(f"{unit}-{strength:g}", NETWORKS[unit], label=f"{unit}, β = {strength:g}", penalties=penalties)


def spec(unit: str, strength: float, hidden: int) -> Spec:
    """Return the spec of a network."""
    return Spec(
        task=FractionalSIR(),
        model=model(unit, strength),
        hidden_size=hidden,
        iterations=FIRST_ORDER + RECORDS,
        batch_size=1,
        evaluate_every=RECORDS,
        optimizer=RMSprop(lr=5e-3, alpha=0.9, eps=1e-8, lbfgs=FIRST_ORDER),
    )


SIR = Experiment(
    name="sir",
    item="Figure 3",
    title="The fractional SIR model by a network in a solver",
    specs=tuple(spec(unit, strength, hidden) for unit in NETWORKS for strength in PENALTIES for hidden in HIDDEN),
    seeds=SEEDS,
    axis="hidden_size",
    by_weights=True,
)


def large(weights: NDArray[np.floating]) -> int:
    """Return the number of parameters of a network that count."""
    return int((np.abs(weights) > LARGE).sum())


def exponents(spec: Spec, weights: NDArray[np.floating]) -> tuple[float, float]:
    """Return the exponents of I and S in a network with a RealNPU, γ and κ of the model.

    They are those of the hidden unit that has both, and among several the largest weights behind it; NaN if none has.
    """
    layers = filled(spec.model.layers, spec.sizes, weights)
    powers, sums = (layer_weights(layer)["weight"].detach().numpy() for layer in layers)
    behind = np.abs(sums).sum(axis=0) * (powers[:, :2] > 0.1).all(axis=1)
    place = int(behind.argmax())
    return (float(powers[place, 1]), float(powers[place, 0])) if behind[place] else (np.nan, np.nan)
