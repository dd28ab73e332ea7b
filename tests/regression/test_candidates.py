import numpy as np
import pytest

from arithmos.regression.candidates import Candidate, Output, choose
from arithmos.regression.products import Products

RNG = np.random.default_rng(0)


def sum_of(columns, error, exact=False):
    noise = RNG.normal(size=200) ** 2
    formula = Products([np.ones((1, columns))], np.ones(1))
    return Candidate(formula, 0.0, 0.0, error * noise / noise.mean(), exact, frozenset())


def output(constants=True):
    x = RNG.uniform(1, 2, (50, 2))
    y = x[:, 0] * x[:, 1]
    return Output(x[10:], y[10:], x[:10], y[:10], constants, np.ones(2), 1.0)


def test_the_simplest_of_those_that_do_as_well_is_chosen():
    worse, good, better = sum_of(2, 9.0), sum_of(3, 1.005), sum_of(7, 1.0)
    assert choose([worse, better, good]) is good


def test_exact_goes_before_simple():
    simple, exact = sum_of(1, 1e-20), sum_of(5, 1e-16, exact=True)
    assert choose([simple, exact]) is exact


def test_coefficients_next_to_integers_are_tried_as_such():
    rows = output()
    rows.offer(Products([np.eye(2)], np.array([1.004])), 0.0, Products([np.eye(2)], np.ones(1)))
    assert len(rows.candidates) == 2
    assert rows.chosen.exact
    assert rows.chosen.formula.coefficients.tolist() == [1.0]


def test_without_constants_there_are_integers_only():
    rows = output(constants=False)
    rows.offer(Products([np.eye(2), np.eye(2)[:1]], np.array([0.8, 0.3]), 0.7), 0.0, Products([], np.empty(0)))
    [candidate] = rows.candidates.values()
    assert candidate.formula.constants == ()
    assert candidate.exact


def test_runs_that_lead_to_a_formula_count_once_each():
    rows = output()
    for run in (3, 3, 8):
        rows.offer(Products([np.eye(2)], np.ones(1)), 0.0, Products([], np.empty(0)), run)
    assert rows.chosen.runs == {3, 8}


def test_alternatives_do_better_than_all_simpler_ones():
    rows = output()
    for number, candidate in enumerate([sum_of(1, 5.0), sum_of(2, 6.0), sum_of(3, 1.0), sum_of(8, 0.5)]):
        rows.candidates[number,] = candidate
    chosen, *rest = rows.ranked()
    assert [c.formula.complexity for c in [chosen, *rest]] == [8, 3, 1]


def test_a_formula_that_overflows_is_no_candidate():
    rows = output()
    with np.errstate(over="ignore", invalid="ignore"):
        rows.offer(Products([np.full((2, 2), 1e200)], np.ones(1)), 0.0, Products([], np.empty(0)))
    assert not rows.candidates


@pytest.mark.parametrize("size", [1, 5])
def test_few_held_out_rows_do(size):
    rows = output()
    rows.held_x, rows.held_y = rows.held_x[:size], rows.held_y[:size]
    rows.offer(Products([np.eye(2)], np.ones(1)), 0.0, Products([], np.empty(0)))
    assert rows.chosen.exact
