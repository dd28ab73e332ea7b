"""Single modules: one layer that is to find an operation on two of its inputs, and how each unit was trained on it.

Several papers use this task, so it stands beside them. The settings are those of the released programs of Mistry et
al. (2022): nine ranges, one layer, batches of 128, a record every 1,000 iterations.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from ..nn import NEWER, UNITS
from ..optim import SparsitySchedule
from ..spec import NO_SCHEDULE, Adam, Layer, Model, Penalty, Spec
from ..spec.options import Plain
from ..tasks import Arithmetic
from ..tasks.arithmetic import Operation, Range

NINE: tuple[tuple[Range, Range], ...] = (
    (((-20.0, -10.0),), ((-40.0, -20.0),)),
    (((-2.0, -1.0),), ((-6.0, -2.0),)),
    (((-1.2, -1.1),), ((-6.1, -1.2),)),
    (((-0.2, -0.1),), ((-2.0, -0.2),)),
    (((-2.0, 2.0),), ((-6.0, -2.0), (2.0, 6.0))),
    (((0.1, 0.2),), ((0.2, 2.0),)),
    (((1.0, 2.0),), ((2.0, 6.0),)),
    (((1.1, 1.2),), ((1.2, 6.0),)),
    (((10.0, 20.0),), ((20.0, 40.0),)),
)
"""Ranges of training and test; the mirror image of U[1.1, 1.2] is tested on U[-6.1, -1.2], as released."""

SEEDS = 25


@dataclass(frozen=True)
class Length:
    """Iterations of a run, and the ramp of its sparsity regularizer.

    Args:
        iterations: the last iteration.
        start: step at which the regularizer starts to rise.
        end: step at which it has its full strength.
    """

    iterations: int
    start: int
    end: int

    def ramp(self, strength: float) -> SparsitySchedule:
        """Return the schedule with a strength."""
        return SparsitySchedule(strength, self.start, self.end)


SHORT = Length(50_000, 20_000, 35_000)
"""Length of runs with two inputs."""
LONG = Length(100_000, 50_000, 75_000)
"""Length of runs with more inputs than operands."""


@dataclass(frozen=True)
class Recipe:
    """Training of a unit.

    Args:
        strength: strength of the sparsity regularizer.
        optimizer: settings of Adam.
        penalties: further regularizers.
        options: options of the unit.
    """

    strength: float = 0.0
    optimizer: Adam = Adam()  # noqa: RUF009 (frozen, safe to share)
    penalties: tuple[Penalty, ...] = ()
    options: tuple[tuple[str, Plain], ...] = ()


POWER = Recipe(optimizer=Adam(lr=5e-3), penalties=(Penalty(kind="l1", strength=1e-9, most=1e-7),))
RECIPES: Mapping[str, Recipe] = {
    "NAU": Recipe(0.01),
    "NMU": Recipe(10.0),
    "INALU": Recipe(
        optimizer=Adam(clip_value=0.1),
        penalties=(Penalty(kind="pull", strength=0.05, after=10_000, below=1.0),),
        options=(("init", "primer"),),
    ),
    "NPU": POWER,
    "RealNPU": POWER,
    "RealNPUModified": Recipe(1.0, POWER.optimizer, POWER.penalties),
    "NRU": Recipe(10.0, Adam(lr=1.0)),
    "NMRU": Recipe(10.0, Adam(lr=1e-2, clip_norm=1.0)),
    "SNMU": Recipe(10.0),
    "SNMUBatch": Recipe(10.0),
    **dict.fromkeys(("MCFC", "MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU"), Recipe(10.0)),
}
"""Training of each unit on two inputs, by its name; others are trained by Adam alone.

The iNALU's restarts are left out: with two inputs the released test for stagnation never fires (0 of 900 runs).
"""


def recipe(unit: str, operation: Operation, inputs: int) -> Recipe:
    """Return how a unit is trained, with what depends on the operation and on the number of inputs."""
    found = RECIPES.get(unit, Recipe())
    if unit in ("NPU", "RealNPU") and operation == "mul":
        return dataclasses.replace(found, penalties=(Penalty(kind="l1", strength=1e-7, most=1e-5),))
    if unit == "NRU" and inputs > 2:
        return dataclasses.replace(found, optimizer=Adam(lr=1e-3))
    return found


def task(operation: Operation, inputs: int, inside: Range, outside: Range) -> Arithmetic:
    """Return the task: an operation on two neighboring inputs, which the seed chooses, or on the first of them."""
    ratio = 1 / inputs if inputs > 2 else 0.5
    return Arithmetic(
        operation=operation,
        input_size=inputs,
        subset_ratio=ratio,
        overlap_ratio=0.0,
        interpolation=inside,
        extrapolation=outside,
        rule="module",
    )


def module(unit: str, own: Recipe, length: Length, *, name: str = "", label: str = "", **options: Plain) -> Model:
    """Return the network of one layer, with the regularizers of a recipe."""
    record = UNITS[unit] if unit in UNITS else NEWER[unit]
    chosen = tuple(sorted({**dict(own.options), **options}.items()))
    schedule = length.ramp(own.strength) if own.strength else NO_SCHEDULE
    return Model(name or unit, (Layer(unit, chosen),), schedule, label or record.label, penalties=own.penalties)


def length_of(unit: str, inputs: int) -> Length:
    """Return the length of a unit's runs; with two inputs, that of the modified RealNPU has a later ramp."""
    if inputs > 2:
        return LONG
    return Length(SHORT.iterations, 40_000, 50_000) if unit == "RealNPUModified" else SHORT


def specs(unit: str, operation: Operation, inputs: int = 2) -> tuple[Spec, ...]:
    """Return the specs of a unit on the ranges."""
    return variant(unit, recipe(unit, operation, inputs), operation, inputs)


def variant(
    unit: str,
    own: Recipe,
    operation: Operation,
    inputs: int = 2,
    *,
    name: str = "",
    label: str = "",
    **options: Plain,
) -> tuple[Spec, ...]:
    """Return the specs of a unit with a recipe and options of its own on the ranges, for roots the positive ones."""
    length = length_of(unit, inputs)
    model = module(unit, own, length, name=name, label=label, **options)
    ranges = [(inside, outside) for inside, outside in NINE if operation != "root" or inside[0][0] >= 0]
    return tuple(
        Spec(
            task=task(operation, inputs, inside, outside),
            model=model,
            iterations=length.iterations,
            optimizer=own.optimizer,
        )
        for inside, outside in ranges
    )
