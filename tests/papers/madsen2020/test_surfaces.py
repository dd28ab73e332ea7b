import numpy as np
import pytest

from arithmos.papers import EXPERIMENTS, PAPERS

SURFACES = {surface.name: surface for surface in PAPERS["madsen2020"].surfaces}

LOSS, ERROR = SURFACES["loss-surface"], SURFACES["expectation-error"]


def test_names_are_not_those_of_experiments():
    assert list(SURFACES) == ["loss-surface", "expectation-error"]
    assert not {*SURFACES} & {*EXPERIMENTS}


def test_loss_surface_is_that_of_the_paper():
    assert [label for label, _ in LOSS.panels] == ["ε = 1e-7", "ε = 0.1", "ε = 1"]
    assert (LOSS.x.low, LOSS.x.high, LOSS.y.low, LOSS.y.high, LOSS.limit) == (-1, 1, -1, 1, 500)
    for (_, loss), epsilon in zip(LOSS.panels, (1e-7, 0.1, 1.0), strict=True):
        w1, w2 = 0.5, -0.25
        expected = ((2.2 * w1 + epsilon) ** w2 * (6 * w1 + epsilon) ** w2 - 13.2) ** 2
        assert loss(np.array([w1]), np.array([w2]))[0] == pytest.approx(expected)


def test_the_solution_is_at_both_corners():
    [_, loss], *_ = LOSS.panels
    assert loss(np.array([-1.0, 1.0]), np.array([1.0, 1.0])) == pytest.approx(0, abs=1e-9)


def test_expectation_error_is_on_the_grid_of_the_paper():
    np.testing.assert_allclose(ERROR.x.places(), 0.001 + 0.011 * np.arange(46))
    np.testing.assert_allclose(ERROR.y.places(), np.arange(1, 51))
    assert np.diff(ERROR.levels) == pytest.approx(0.01)


def test_expectation_error_has_the_range_of_the_paper():
    [(_, error)] = ERROR.panels
    values = error(ERROR.x.places(), ERROR.y.places()[:, None])
    assert values.shape == (50, 46)
    assert values.argmin() == 45  # the widest weights, the shortest range of inputs
    assert values.min() == pytest.approx(-0.075, abs=0.005)
    assert 0.005 < values.max() < 0.01
    assert ERROR.levels[0] - 0.01 < values.min() < ERROR.levels[0]
    assert ERROR.levels[-1] < values.max() < ERROR.levels[-1] + 0.01
