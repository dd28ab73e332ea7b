import numpy as np
import pytest

from arithmos.regression.finish import expand, flip, refine, refit, settle, snap, unexplained
from arithmos.regression.products import Products, ordered

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (300, 5))
W = ordered(np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, -1, 0]]))
Y = Products([W], np.ones(1))(X)


def columns(count=5):
    return list(np.eye(count)[:, None, :])


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_refine_goes_to_the_optimum_and_snap_takes_the_scale_out():
    near = refine([W + RNG.normal(0, 0.2, W.shape)], None, X, Y)
    np.testing.assert_allclose(near(X), Y, rtol=1e-6, atol=1e-8)
    whole, furthest = snap(near.factors[0])
    same([ordered(whole)], [W])
    assert furthest < 1e-6


def test_refine_learns_products_a_sum_and_an_intercept_together():
    y = Y + 2 * X[:, 4] - 3
    start = [W + RNG.normal(0, 0.1, W.shape), np.zeros((1, 5))]
    near = refine(start, 0.0, X, y)
    np.testing.assert_allclose(near(X), y, rtol=1e-6, atol=1e-7)
    assert near.intercept == pytest.approx(-3, abs=1e-5)


def test_refine_stops_where_there_is_nothing_to_gain():
    noise = RNG.normal(size=len(X))
    assert np.isfinite(refine([np.ones((2, 5))], None, X, noise)(X)).all()


def test_snap_of_a_factor_of_nothing_is_nothing():
    whole, furthest = snap(np.zeros((2, 3)))
    assert not whole.any()
    assert furthest == 0


def test_snap_says_how_far_it_went():
    assert snap(np.array([[1.0, 1.0, 0.3]]))[1] == pytest.approx(0.3)


def test_settle_finds_coefficients_and_drops_what_plays_no_part():
    y = 2.5 * Y - X[:, 4] + 1
    found = settle([W, *columns()], X, y, intercept=True)
    same(found.factors, sorted([W, np.eye(5)[4:]], key=lambda w: w.tobytes()))
    assert sorted(found.coefficients) == pytest.approx([-1, 2.5])
    assert found.intercept == pytest.approx(1)


def test_settle_keeps_what_noise_does_not_hide():
    y = 2.5 * Y + RNG.normal(0, 0.1, len(Y))
    found = settle([W, *columns()], X, y, intercept=True)
    same(found.factors, [W])
    assert found.coefficients[0] == pytest.approx(2.5, abs=0.05)


def test_settle_takes_terms_that_are_sums_of_others_once():
    found = settle(
        [np.eye(5)[:1], np.eye(5)[:1], np.array([[1.0, 1, 0, 0, 0]]), np.eye(5)[1:2]], X, X[:, 0], intercept=True
    )
    np.testing.assert_allclose(found(X), X[:, 0], atol=1e-9)


def test_flip_repairs_a_wrong_weight():
    wrong = W.copy()
    wrong[0, 4], wrong[1, 3] = 1.0, 0.0
    same([ordered(flip(Products([wrong], np.ones(1)), X, Y).factors[0])], [W])


def test_expand_is_the_same_function():
    two = Products([W, np.array([[1.0, 1, 0, 0, 0], [1, -1, 0, 0, 0]])], np.array([2.0, -1.0]), 0.5)
    flat = expand(two)
    np.testing.assert_allclose(flat(X), two(X))
    assert all(np.count_nonzero(row) == 1 for w in flat.factors for row in w)
    assert len(flat.factors) == 6  # x1², x2², and four products of two; x1 x2 cancels
    assert expand(two, most=2) is two


@pytest.mark.parametrize("noise", [0.001, 0.1])
def test_noise_is_told_from_what_a_formula_left_out(noise):
    y = Y + RNG.normal(0, noise * Y.std(), len(Y))
    assert not unexplained(Products([W], np.ones(1)), X, y)
    assert unexplained(settle(columns(), X, y, intercept=True), X, y)


def test_refit_changes_constants_alone():
    y = 2.5 * Y - X[:, 4] + 1
    found = refit(Products([W, np.eye(5)[4:]], np.array([2.4, -1.0]), 0.3), X, y)
    assert found.coefficients.tolist() == [pytest.approx(2.5), -1]
    assert found.intercept == pytest.approx(1)
    whole = Products([W], np.ones(1))
    assert refit(whole, X, y) is whole
