"""The figures of Madsen & Johansen (2020) that need no training: functions over a plane."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ... import theory
from ...nn._unit import Catalogue

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """A stretch of the plane, cut into cells around evenly spaced centers.

    Args:
        label: what it measures.
        low: center of the first cell.
        high: center of the last cell.
        cells: how many.
    """

    label: str
    low: float
    high: float
    cells: int

    @property
    def step(self) -> float:
        """From one center to the next."""
        return (self.high - self.low) / (self.cells - 1)

    def places(self, count: int | None = None) -> Floats:
        """Evenly spaced places from low to high: the centers of the cells, or so many as one wants."""
        return np.linspace(self.low, self.high, count or self.cells)


@dataclass(frozen=True)
class Surface:
    """A figure of a function of two variables, with no runs behind it.

    Args:
        name: how it is spelled on the command line.
        item: where it stands in the paper.
        title: what it shows, in a line.
        x, y: its axes.
        label: what the function is.
        panels: the function, or several, each with what is written above it; they broadcast.
        levels: where contour lines run, in rising order.
        limit: value above which it is cut.
    """

    name: str
    item: str
    title: str
    x: Axis
    y: Axis
    label: str
    panels: tuple[tuple[str, Callable[[Floats, Floats], Floats]], ...]
    levels: tuple[float, ...]
    limit: float = math.inf


SURFACES: Catalogue[Surface] = Catalogue(
    "surface",
    Surface(
        name="loss-surface",
        item="Figure: loss curvature",
        title="Squared error of NAC₊ → NAC• with one weight a layer, for three values of ε",
        x=Axis("w₁", -1.0, 1.0, 41),
        y=Axis("w₂", -1.0, 1.0, 41),
        label="Squared error",
        panels=tuple(
            (f"ε = {text}", partial(theory.loss_surface, epsilon=float(text))) for text in ("1e-7", "0.1", "1")
        ),
        levels=(10.0, 50.0, 100.0, 150.0, 250.0, 500.0),
        limit=500.0,
    ),
    Surface(
        name="expectation-error",
        item="Figure: expectation error (appendix)",
        title="How far the expansion of E[z] for NAC• lies above the expectation",
        x=Axis("r_w", 0.001, 0.496, 46),
        y=Axis("r_z", 1.0, 50.0, 50),
        label="Error",
        panels=(("", theory.nac_mul_expectation_error_limit),),
        levels=tuple(round(0.01 * step, 2) for step in range(-7, 1)),
    ),
)
"""The figures without runs by name, in the order of the paper."""
