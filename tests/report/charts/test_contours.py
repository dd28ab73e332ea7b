from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from arithmos.papers import PAPERS
from arithmos.report.charts.contours import APART, cells, contour, lines, thin
from arithmos.theory import loss_surface, nac_mul_expectation_error

SURFACES = {surface.name: surface for surface in PAPERS["madsen2020"].surfaces}

LOSS, ERROR = SURFACES["loss-surface"], SURFACES["expectation-error"]
AXIS = np.linspace(-1.5, 1.5, 61)


def between(x, y, z, point):
    """The value of a grid's function at a point on one of its edges."""
    column, row = ((np.searchsorted(axis, place) - 1).clip(0) for axis, place in zip((x, y), point, strict=True))
    share_x, share_y = (point[0] - x[column]) / (x[column + 1] - x[column]), (point[1] - y[row]) / (y[row + 1] - y[row])
    corners = z[row : row + 2, column : column + 2]
    return np.array([1 - share_y, share_y]) @ corners @ np.array([1 - share_x, share_x])


def test_a_circle_is_one_closed_line():
    [line] = contour(AXIS, AXIS, np.hypot(AXIS, AXIS[:, None]), 0.99)
    assert (line[0] == line[-1]).all()
    np.testing.assert_allclose(np.hypot(*line.T), 0.99, atol=1e-3)
    angles = np.unwrap(np.arctan2(line[:, 1], line[:, 0]))
    assert abs(angles[-1] - angles[0]) == pytest.approx(2 * np.pi)
    assert (np.diff(angles) > 0).all() or (np.diff(angles) < 0).all()


def test_a_saddle_has_two_lines_that_do_not_cross():
    near, far = contour(AXIS, AXIS, AXIS * AXIS[:, None], 0.25)
    for line in (near, far):
        np.testing.assert_allclose(line.prod(axis=1), 0.25, atol=1e-3)
        assert (np.sign(line) == np.sign(line[0])).all()


def test_a_level_that_is_not_there_has_no_line():
    assert contour(AXIS, AXIS, AXIS * AXIS[:, None], 99.0) == []


heights = st.integers(-4, 4).map(float)


@given(arrays(np.float64, (5, 7), elements=heights), st.integers(-4, 3).map(lambda whole: whole + 0.5))
def test_lines_are_where_the_level_is(z, level):
    x, y = np.arange(7.0) ** 1.5, np.arange(5.0)
    found = contour(x, y, z, level)
    for point in (point for line in found for point in line):
        assert between(x, y, z, point) == pytest.approx(level)
    above = z > level
    crossed = (above[1:] != above[:-1]).sum() + (above[:, 1:] != above[:, :-1]).sum()
    places = {(round(x, 9), round(y, 9)) for line in found for x, y in line}
    assert len(places) == crossed  # each edge that the level crosses is on a line
    for line in found:
        if (line[0] != line[-1]).any():  # an open line ends at the border
            for end in (line[0], line[-1]):
                assert end[0] in (x[0], x[-1]) or end[1] in (y[0], y[-1])


@given(arrays(np.float64, (30, 2), elements=st.floats(0, 1, width=16)), st.integers(0, 29))
def test_thinned_lines_are_close(line, always):
    kept = thin(line, 0.1, always)
    assert {0, always, 29} <= set(kept)
    for first, last in pairwise(kept):
        chord = line[last] - line[first]
        for inner in line[first + 1 : last] - line[first]:
            along = np.dot(inner, chord) / (np.dot(chord, chord) or 1)
            assert np.hypot(*(inner - along * chord)) <= 0.1 + 1e-9


def test_a_straight_line_needs_no_point_between():
    line = np.stack([np.arange(9.0), 2 * np.arange(9.0)], axis=1)
    assert thin(line, 1e-9, always=0).tolist() == [0, 8]


def test_cells_of_the_loss_surface():
    frame = cells(LOSS)
    assert frame["panel"].value_counts().to_dict() == {"ε = 1e-7": 41**2, "ε = 0.1": 41**2, "ε = 1": 41**2}
    assert frame["value"].max() == 500
    assert frame["full"].max() > 1e27  # at w₁ = 0, w₂ = -1 for the smallest ε
    some = frame[frame["panel"] == "ε = 0.1"].iloc[[0, 100, 1000]]
    np.testing.assert_allclose(some["full"], loss_surface(some["center_x"], some["center_y"], 0.1))
    np.testing.assert_allclose(some["x2"] - some["x"], 0.05)
    np.testing.assert_allclose((some["y"] + some["y2"]) / 2, some["center_y"])


def test_cells_of_the_expectation_error():
    frame = cells(ERROR)
    assert len(frame) == 46 * 50
    low = frame.loc[frame["value"].idxmin()]
    assert (round(low["center_x"], 3), low["center_y"]) == (0.496, 1)
    assert low["value"] == pytest.approx(-0.075, abs=0.005)
    assert frame["value"].max() == pytest.approx(0.01, abs=0.005)
    rng = np.random.default_rng(0)
    for _, cell in frame.sample(5, random_state=0).iterrows():
        sampled = nac_mul_expectation_error(cell["center_x"], cell["center_y"], rng)
        assert cell["value"] == pytest.approx(sampled, abs=0.006)


@pytest.mark.parametrize("surface", SURFACES.values(), ids=lambda surface: surface.name)
def test_lines_of_a_surface(surface):
    frame = lines(surface)
    assert set(frame["level"]) == set(surface.levels)
    assert len(frame) < 1000
    for (panel, level), part in frame.groupby(["panel", "level"]):
        function = dict(surface.panels)[panel]
        if level < 200:  # beyond, the surface is too steep to be hit
            values = function(part["x"].to_numpy(), part["y"].to_numpy())
            assert np.median(np.abs(values - level)) < 0.02 * abs(level) + 1e-3
    size = [surface.x.high - surface.x.low, surface.y.high - surface.y.low]
    for _, tags in frame[frame["tag"]].groupby("panel"):
        places = tags[["x", "y"]].to_numpy() / size
        for number, place in enumerate(places):
            assert (np.abs(places[:number] - place) > APART).any(axis=1).all()
