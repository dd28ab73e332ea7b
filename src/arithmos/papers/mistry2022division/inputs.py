"""Inputs beyond the nine ranges: halves of unlike sign, other distributions, and divisors near 0."""

import csv
from functools import lru_cache
from pathlib import Path

from ...spec import Spec
from ...tasks import Sampled
from .. import single_module
from ..single_module import Length, Recipe

UNITS = ("RealNPUModified", "NRU", "NMRU")
ROWS = 2**18
"""Training rows; the released program draws new ones at every iteration."""

MIXED_SIGNS = (
    ("U[-2,2]", "U[-6,-2]∪U[2,6]"),
    ("U[-2,-0.1] | U[0.1,2]", "U[-6,-2] | U[2,6]"),
    ("U[0.1,2] | U[-2,-0.1]", "U[2,6] | U[-6,-2]"),
    ("U[-2,-1] | U[1,2]", "U[-6,-2] | U[2,6]"),
    ("U[1,2] | U[-2,-1]", "U[2,6] | U[-6,-2]"),
)
"""Distributions of training and test; two halves are those of the first and of the other inputs."""
DISTRIBUTIONS = (
    ("Benford(10,100)", "Benford(100,1000)"),
    ("N(-1,3)[-5,10]", "N(-10,3)[-15,-5]"),
    ("N(1,3)[-10,5]", "N(10,3)[5,15]"),
    ("N(0,1)[-5,5]", "N(10,1)[5,15]"),
    ("U[-50,50]", "U[-100,-50]∪U[50,100]"),
    ("U[-100,100]", "U[-200,-100]∪U[100,200]"),
)
NEAR_ZERO = {
    "near-zero": ("1/a, the only input", "1/a from [a]", "reciprocal", 1),
    "near-zero-redundant": ("1/a, one of two inputs", "1/a from [a,b]", "reciprocal", 2),
    "near-zero-quotient": ("a/b of inputs near 0", "a/b from [a,b]", "div", 2),
}
"""Title, name in the file of thresholds, operation and number of inputs of each task."""
BOUNDS = ("0.0001", "0.001", "0.01", "0.1", "1")
"""Upper ends of the inputs' ranges."""
BRIEF = Length(5000, 5000, 5000)
"""Length of the runs with one input, which end before the regularizers' ramps start."""


def on_inputs(distributions: tuple[tuple[str, str], ...], inputs: int) -> tuple[Spec, ...]:
    """Return the specs of all units on some distributions.

    Among ten inputs the operands are the fifth and the sixth, one from each half. In the released runs they are
    neighbors that the seed chooses, and from different halves for 2 of 25 seeds only.
    """
    return tuple(
        _spec(unit, "div", inputs, ends, single_module.recipe(unit, "div", inputs))
        for unit in UNITS
        for ends in distributions
    )


def _spec(
    unit: str,
    operation: str,
    inputs: int,
    ends: tuple[str, str],
    own: Recipe,
    length: Length | None = None,
    absolute: float = 1e-5,
) -> Spec:
    length = length or single_module.length_of(unit, inputs)
    return Spec(
        task=Sampled(
            operation=operation,
            interpolation=ends[0],
            extrapolation=ends[1],
            input_size=inputs,
            first=(inputs - 1) // 2 if inputs > 2 else 0,
            size=ROWS,
            absolute=absolute,
        ),
        model=single_module.module(unit, own, length),
        iterations=length.iterations,
        optimizer=own.optimizer,
    )


def near_zero(name: str) -> tuple[Spec, ...]:
    """Return the specs of a task near 0, tested on its own range; a run with one input has no regularizer."""
    _, written, operation, inputs = NEAR_ZERO[name]
    found = []
    for unit in UNITS:
        own = single_module.recipe(unit, "div", 2)
        if inputs == 1:
            own = Recipe(optimizer=own.optimizer, options=own.options)
        length = BRIEF if inputs == 1 else None
        for bound in BOUNDS:
            limit = thresholds()[written, unit, float(bound)]
            found.append(_spec(unit, operation, inputs, (f"U[0,{bound}]",) * 2, own, length, limit))
    return tuple(found)


@lru_cache(maxsize=1)
def thresholds() -> dict[tuple[str, str, float], float]:
    """Return the published thresholds of the tasks near 0: the error of exact weights in float32, plus 2⁻²³."""
    names = {"RealNPU_modified": "RealNPUModified"}
    with (Path(__file__).with_name("published") / "near_zero_thresholds.csv").open(encoding="utf-8") as file:
        return {
            (row["task"], names.get(row["model"], row["model"]), float(row["upper_bound"])): float(row["threshold_mse"])
            for row in csv.DictReader(file)
        }
