"""`Surface`: a figure of a function of two variables, which needs no runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """Range of a variable, cut into cells around evenly spaced centers.

    Args:
        label: its label.
        low: center of the first cell.
        high: center of the last cell.
        cells: number of cells.
    """

    label: str
    low: float
    high: float
    cells: int

    @property
    def step(self) -> float:
        """Distance between neighboring centers."""
        return (self.high - self.low) / (self.cells - 1)

    def places(self, count: int | None = None) -> Floats:
        """Return `count` evenly spaced positions from low to high; by default, the centers of the cells."""
        return np.linspace(self.low, self.high, count or self.cells)


@dataclass(frozen=True)
class Surface:
    """Figure of a function of two variables, which needs no runs.

    Args:
        name: name on the command line.
        item: its place in the paper.
        title: title on one line.
        x, y: its axes.
        label: label of the function.
        panels: the function, or several, each with the title of its panel; they broadcast.
        levels: levels of the contour lines, increasing.
        limit: value at which it is clipped.
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
