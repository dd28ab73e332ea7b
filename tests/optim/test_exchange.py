"""Moving inputs between two sums: changes of the squared error, what is found in noise, and how sure it is."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arithmos.optim.exchange import _changes, exchanged, rounded_together

D = torch.float64


def noisy(noise, rows=400, inputs=30, seed=0):
    """Rows of a product of two sums of 15 with 5 in common, and its weights."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.zeros(2, inputs, dtype=D)
    weights[0, :15], weights[1, 10:25] = 1, 1
    x = torch.rand(rows, inputs, dtype=D, generator=generator) + 1
    t = (x @ weights.mT).prod(1)
    return x, t + noise * t.std() * torch.randn(rows, dtype=D, generator=generator), weights, noise * t.std().item()


def squares(weights, x, t):
    return ((x @ weights.mT).prod(1) - t).square().sum()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_changes_are_those_of_the_squared_error(seed):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randint(-1, 2, (2, 6), generator=generator).double()
    x, t = torch.rand(9, 6, dtype=D, generator=generator), torch.rand(9, dtype=D, generator=generator)
    movable = (weights.abs().sum(0) == 1).nonzero().squeeze(1)
    change = _changes(weights, movable, x, t)
    for row, i in enumerate(movable):
        for column, j in enumerate(movable):
            moved = weights.clone()
            both = [*{int(i), int(j)}]
            moved[:, both] = moved[:, both].flip(0)
            expected = squares(moved, x, t) - squares(weights, x, t)
            torch.testing.assert_close(change[row, column], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_sums_from_some_wrong_ones(seed):
    x, t, weights, deviation = noisy(0.01, seed=seed)
    wrong = weights.clone()
    wrong[:, [0, 3, 20]] = wrong[:, [0, 3, 20]].flip(0)
    found, odds = exchanged(wrong, x, t, deviation**2)
    assert torch.equal(found, weights) or torch.equal(found, weights.flip(0))
    assert odds < 1e-3


def test_odds_say_when_sums_cannot_be_told_apart():
    x, t, weights, deviation = noisy(0.3)
    assert exchanged(weights, x, t, deviation**2)[1] > 0.01


def test_sums_that_share_all_inputs_have_nothing_to_exchange():
    x, t, weights, deviation = noisy(0.01)
    same = weights[:1].expand(2, -1)
    found, odds = exchanged(same, x, t, deviation**2)
    assert torch.equal(found, same)
    assert odds == 0


def test_rounds_differences_more_boldly_than_sums():
    weights = torch.tensor([[1, 1, 1, 0.55, 0.6, -0.4], [1, 1, 1, 0.5, -0.6, -0.7]], dtype=D)
    whole, moved = rounded_together(weights)
    assert whole.tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, -1]]
    assert moved == pytest.approx(0.1, abs=1e-9)
