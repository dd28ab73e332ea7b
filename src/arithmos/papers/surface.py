"""`Surface`: a figure of a function over a plane, with no runs behind it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        paper: key of its paper, which sets it.
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
    paper: str = ""
