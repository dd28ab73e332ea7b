"""Division by single modules (Mistry et al., 2022): with two inputs, among ten, and without parts of the units."""

import dataclasses

from ...spec import Adam, Spec
from .. import single_module
from ..experiment import Experiment

UNITS = ("RealNPU", "RealNPUModified", "NRU", "NMRU")
SIZES = {"two": 2, "ten": 10}
NORM = 1.0
"""Largest norm of the NMRU's gradient."""


def _variant(name: str, label: str, *, signed: bool, clipped: bool) -> tuple[Spec, ...]:
    """Return the NMRU with or without its sign and the limit of its gradient, with ten inputs."""
    own = single_module.recipe("NMRU", "div", 10)
    own = dataclasses.replace(own, optimizer=Adam(lr=own.optimizer.lr, clip_norm=NORM if clipped else 0.0))
    model = single_module.module(
        "NMRU", own, single_module.LONG, name=name, label=label, **({} if signed else {"signed": False})
    )
    return tuple(
        Spec(
            task=single_module.task("div", 10, inside, outside),
            model=model,
            iterations=single_module.LONG.iterations,
            optimizer=own.optimizer,
        )
        for inside, outside in single_module.NINE
    )


VARIANTS = (
    ("NMRUNeither", "neither", False, False),
    ("NMRUClip", "gradient clip", False, True),
    ("NMRUSign", "sign", True, False),
    ("NMRUBoth", "both", True, True),
)

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
    Experiment(
        name="nmru-parts",
        item="Figure: ablation of the NMRU",
        title="Division of 2 of 10 inputs by the NMRU without its parts",
        specs=tuple(
            spec
            for name, label, signed, clipped in VARIANTS
            for spec in _variant(name, label, signed=signed, clipped=clipped)
        ),
        seeds=single_module.SEEDS,
        axis="interpolation",
    ),
)
