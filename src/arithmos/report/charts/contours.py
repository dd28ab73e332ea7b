"""Data of a heat map with contour lines: cells, and lines of equal value by marching squares."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...papers import Surface

Floats = NDArray[np.float64]
Edge = tuple[int, int, int]
"""Edge from the node (row, column) one step along axis 0 or 1."""

FINE = 401
"""Grid points along each axis for the search of contour lines."""
TOLERANCE = 1 / 1000
"""Largest deviation of a thinned line, as a share of the plane."""
APART = (1 / 7, 1 / 16)
"""Smallest distance of two labels along either axis, as a share of the plane."""


def cells(surface: Surface) -> pd.DataFrame:
    """Return the cells of a surface: `panel`, edges `x` to `x2` and `y` to `y2`, clipped `value` and `full` value."""
    x, y = surface.x.places(), surface.y.places()
    grid_x, grid_y = (grid.ravel() for grid in np.meshgrid(x, y))
    half_x, half_y = surface.x.step / 2, surface.y.step / 2
    frames = []
    for panel, function in surface.panels:
        full = function(x, y[:, None]).ravel()
        columns = {"center_x": grid_x, "x": grid_x - half_x, "x2": grid_x + half_x}
        columns |= {"center_y": grid_y, "y": grid_y - half_y, "y2": grid_y + half_y}
        columns |= {"value": np.minimum(full, surface.limit), "full": full}
        frames.append(pd.DataFrame({"panel": panel, **columns}))
    return pd.concat(frames, ignore_index=True)


def lines(surface: Surface) -> pd.DataFrame:
    """Return the contour lines of a surface, one row per point: `panel`, `level`, `line`, `order`, `x` and `y`.

    `tag` marks the points at which the level is written, no two of them close to each other.
    """
    x, y = surface.x.places(FINE), surface.y.places(FINE)
    size = np.array([x[-1] - x[0], y[-1] - y[0]])
    number, frames = 0, []
    for panel, function in surface.panels:
        z = function(x, y[:, None])
        tags: list[Floats] = []  # placed so far
        for level in surface.levels:
            for line in contour(x, y, z, level):
                tag = _tag(line / size, tags)
                kept = thin(line / size, TOLERANCE, always=tag or 0)
                columns = {"order": kept, "x": line[kept, 0], "y": line[kept, 1], "tag": kept == tag}
                frames.append(pd.DataFrame({"panel": panel, "level": level, "line": number, **columns}))
                number += 1
    return pd.concat(frames, ignore_index=True)


def _tag(line: Floats, tags: list[Floats]) -> int | None:
    """Return the point of a line for its label, away from other labels; None for a short or crowded line."""
    for share in (1 / 2, 1 / 3, 2 / 3, 1 / 5, 4 / 5) if len(line) > FINE / 10 else ():
        place = int(share * len(line))
        if all((np.abs(line[place] - tag) > APART).any() for tag in tags):
            tags.append(line[place])
            return place
    return None


def thin(line: Floats, tolerance: float, always: int) -> NDArray[np.int64]:
    """Return the indices of the points that keep a line within a tolerance (Douglas-Peucker).

    Args:
        line: [point, 2].
        tolerance: largest distance of an omitted point from the thinned line.
        always: index of a point to keep, besides the ends.
    """
    keep = {0, always, len(line) - 1}
    stretches = [(0, always), (always, len(line) - 1)]
    while stretches:
        first, last = stretches.pop()
        if last - first < 2:
            continue
        chord, inner = line[last] - line[first], line[first + 1 : last] - line[first]
        length = np.hypot(*chord)
        across = np.abs(inner @ [-chord[1], chord[0]]) / length if length > 0 else np.hypot(*inner.T)
        farthest = int(across.argmax())
        if across[farthest] > tolerance:
            middle = first + 1 + farthest
            keep.add(middle)
            stretches += [(first, middle), (middle, last)]
    return np.array(sorted(keep))


def contour(x: Floats, y: Floats, z: Floats, level: float) -> list[Floats]:
    """Return the lines along which a function has a given value, by marching squares.

    Args:
        x: positions of the columns.
        y: positions of the rows.
        z: values of the function.
        level: the value.

    Shape:
        x is [column], y is [row], z is [row, column]; each line is [point, 2], closed if its ends are the same point.

    Example:
        >>> axis = np.array([0.0, 1.0, 2.0])
        >>> contour(axis, axis, axis + np.zeros((3, 1)), 0.5)
        [array([[0.5, 0. ],
           [0.5, 1. ],
           [0.5, 2. ]])]
    """
    neighbors: dict[Edge, list[Edge]] = {}
    for one, other in _segments(z, level):
        neighbors.setdefault(one, []).append(other)
        neighbors.setdefault(other, []).append(one)

    def place(edge: Edge) -> tuple[float, float]:
        row, column, axis = edge
        next_row, next_column = (row + 1, column) if axis == 0 else (row, column + 1)
        share = (level - z[row, column]) / (z[next_row, next_column] - z[row, column])
        return x[column] + share * (x[next_column] - x[column]), y[row] + share * (y[next_row] - y[row])

    found = []
    ends = [edge for edge, others in neighbors.items() if len(others) == 1]
    for start in (*ends, *neighbors):
        if neighbors[start]:
            found.append(np.array([place(edge) for edge in _walk(neighbors, start)]))
    return found


def _segments(z: Floats, level: float) -> Iterator[tuple[Edge, Edge]]:
    """Yield pairs of edges of a cell that a line connects."""
    above = z > level
    corners = above[:-1, :-1].astype(int) + above[:-1, 1:] + above[1:, :-1] + above[1:, 1:]
    for row, column in zip(*(axis.tolist() for axis in np.nonzero(corners % 4)), strict=True):
        bottom, top = (row, column, 1), (row + 1, column, 1)
        left, right = (row, column, 0), (row, column + 1, 0)
        a, b = above[row, column], above[row, column + 1]
        d, c = above[row + 1, column], above[row + 1, column + 1]
        crossed = [edge for edge, cut in ((bottom, a != b), (right, b != c), (top, c != d), (left, d != a)) if cut]
        if len(crossed) == 2:
            yield crossed[0], crossed[1]
        elif (z[row : row + 2, column : column + 2].mean() > level) == a:  # a saddle, open from a to c
            yield from ((bottom, right), (top, left))
        else:
            yield from ((left, bottom), (right, top))


def _walk(neighbors: dict[Edge, list[Edge]], edge: Edge) -> Iterator[Edge]:
    """Yield the edges along a line, removing each step."""
    yield edge
    while neighbors[edge]:
        following = neighbors[edge].pop()
        neighbors[following].remove(edge)
        edge = following
        yield edge
