"""Division by single modules (Mistry et al., 2022): with two inputs, among ten, and without parts of the units."""

import dataclasses

from ...spec import Adam, Penalty, Spec
from .. import single_module
from ..experiment import Experiment
from .inputs import DISTRIBUTIONS, MIXED_SIGNS, NEAR_ZERO, near_zero, on_inputs

UNITS = ("RealNPU", "RealNPUModified", "NRU", "NMRU")
SIZES = {"two": 2, "ten": 10}
NORM = 1.0
"""Largest norm of the NMRU's gradient."""
PARTS = (
    ("NMRUNeither", "neither", False, False),
    ("NMRUClip", "gradient clip", False, True),
    ("NMRUSign", "sign", True, False),
    ("NMRUBoth", "both", True, True),
)
"""Name and label of the NMRU with or without its sign and the limit of its gradient."""
L1 = ((1e-11, 1e-9), (1e-9, 1e-7), (1e-8, 1e-6), (1e-7, 1e-5), (1e-5, 1e-3), (1e-3, 1e-1), (1e-1, 10.0))
"""Strength of the RealNPU's L1 penalty, at the start and at the end."""
NRU_RATES = (1e-3, 1e-2, 1e-1, 1.0)
NMRU_RATES = (1e-3, 1e-2, 1e-1)


def _part(name: str, label: str, signed: bool, clipped: bool) -> tuple[Spec, ...]:
    own = single_module.recipe("NMRU", "div", 10)
    own = dataclasses.replace(own, optimizer=Adam(lr=own.optimizer.lr, clip_norm=NORM if clipped else 0.0))
    options = {} if signed else {"signed": False}
    return single_module.variant("NMRU", own, "div", 10, name=name, label=label, **options)


def _penalized(strengths: tuple[float, float] | None) -> tuple[Spec, ...]:
    """Return the RealNPU with an L1 penalty; None for no penalty."""
    own = single_module.recipe("RealNPU", "div", 2)
    if strengths is None:
        return single_module.variant(
            "RealNPU", dataclasses.replace(own, penalties=()), "div", name="RealNPUFree", label="no L1"
        )
    first, last = strengths
    own = dataclasses.replace(own, penalties=(Penalty(kind="l1", strength=first, most=last),))
    return single_module.variant("RealNPU", own, "div", name=f"RealNPU{first:g}", label=f"{first:g} to {last:g}")


def _rated(unit: str, rate: float, inputs: int) -> tuple[Spec, ...]:
    """Return a unit with another learning rate."""
    own = single_module.recipe(unit, "div", inputs)
    own = dataclasses.replace(own, optimizer=dataclasses.replace(own.optimizer, lr=rate))
    return single_module.variant(unit, own, "div", inputs, name=f"{unit}{rate:g}", label=f"rate {rate:g}")


def _ablation(name: str, item: str, title: str, variants: list[tuple[Spec, ...]]) -> Experiment:
    specs = tuple(spec for variant in variants for spec in variant)
    return Experiment(name, item, title, specs, single_module.SEEDS, "interpolation")


CONTENTS = (
    *[
        Experiment(
            name=f"{word}-inputs",
            item="Figures: no redundancy" if inputs == 2 else "Figures: with redundancy",
            title="Division of two inputs" if inputs == 2 else "Division of 2 of 10 inputs",
            specs=tuple(spec for unit in UNITS for spec in single_module.specs(unit, "div", inputs)),
            seeds=single_module.SEEDS,
            axis="interpolation",
        )
        for word, inputs in SIZES.items()
    ],
    *[
        Experiment(
            name=f"mixed-signs-{word}",
            item="Figures: mixed signs",
            title=f"Division of inputs with mixed signs, 2 of {inputs} inputs",
            specs=on_inputs(MIXED_SIGNS, inputs),
            seeds=single_module.SEEDS,
            axis="interpolation",
        )
        for word, inputs in SIZES.items()
    ],
    Experiment(
        name="distributions",
        item="Figures: distributions",
        title="Division of two inputs of other distributions",
        specs=on_inputs(DISTRIBUTIONS, 2),
        seeds=single_module.SEEDS,
        axis="interpolation",
    ),
    *[
        Experiment(
            name=name,
            item="Figures: near zero",
            title=title,
            specs=near_zero(name),
            seeds=single_module.SEEDS,
            axis="interpolation",
        )
        for name, (title, _, _, _) in NEAR_ZERO.items()
    ],
    _ablation(
        "nmru-parts",
        "Figure: ablation of the NMRU",
        "Division of 2 of 10 inputs by the NMRU without its parts",
        [_part(*part) for part in PARTS],
    ),
    _ablation(
        "realnpu-l1",
        "Figure: L1 of the RealNPU",
        "Division of two inputs by the RealNPU with other penalties",
        [_penalized(strengths) for strengths in (None, *L1)],
    ),
    _ablation(
        "nru-rates",
        "Figure: learning rate of the NRU",
        "Division of two inputs by the NRU with other learning rates",
        [_rated("NRU", rate, 2) for rate in NRU_RATES],
    ),
    _ablation(
        "nmru-rates",
        "Figure: learning rate of the NMRU",
        "Division of 2 of 10 inputs by the NMRU with other learning rates",
        [_rated("NMRU", rate, 10) for rate in NMRU_RATES],
    ),
)
