"""Search for products of powers of sums: every operation on every kind of range, stacked, resumed, noisy, hopeless."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from arithmos.nn import NMU, RealNPU
from arithmos.optim import train
from arithmos.optim.damped import Iterate, iterate
from arithmos.optim.forms import real_powers, whole_powers
from arithmos.optim.products import ProductsOfSums, errors, power, rounded
from arithmos.optim.search import Formula, FormulaSearch
from arithmos.optim.starts import start

D = torch.float64
OPERATIONS = {
    "mul": (lambda a, b: a * b, (1.0, 1.0)),
    "sub": (lambda a, b: a - b, (1.0,)),
    "div": (lambda a, b: a / b, (1.0, -1.0)),
    "squared": (lambda a, b: a * a, (2.0,)),
    "root": (lambda a, b: a.sqrt(), (0.5,)),
    "reciprocal": (lambda a, b: 1 / a, (-1.0,)),
}
RANGES = [(1, 2), (-2, -1), (-2, 2), (0, 1), (0.1, 0.2), (1.1, 1.2), (10, 20), (-20, -10)]


def data(operation, low, high, seeds=1, rows=240, inputs=12):
    """Rows of an operation on the sums of the inputs 0 to 3 and 2 to 6."""
    x = torch.rand(seeds, rows, inputs, dtype=D, generator=torch.Generator().manual_seed(0)) * (high - low) + low
    return x, OPERATIONS[operation][0](x[..., :4].sum(2), x[..., 2:7].sum(2))


def finish(search, *rows, limit=3000):
    for _ in range(limit):
        if all(run.ended for run in search.progress):
            return [search.formula(number) for number in range(len(search.seeds))]
        search.step(*rows)
    raise AssertionError("the search does not end")


def found(x, t, forms, seeds=None, held=40, **options):
    seeds = range(len(x)) if seeds is None else seeds
    search = FormulaSearch(forms, seeds, x.shape[2], **options)
    return finish(search, x[:, :-held], t[:, :-held], (x[:, -held:], t[:, -held:])), search


def is_right(formula, operation):
    a, b = torch.zeros(2, 12, dtype=D)
    a[:4], b[2:7] = 1, 1
    rows = {"mul": [a, b], "div": [a, b], "sub": [a - b]}.get(operation, [a])
    ours = sorted(formula.weights.abs().tolist())
    expected = sorted(row.abs().tolist() for row in rows)
    return ours == expected or (operation == "squared" and ours == expected * 2)


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_finds_every_operation_on_every_range(operation, low, high):
    if operation == "root" and low < 0:
        pytest.skip("the root of a negative sum is not real")
    x, t = data(operation, low, high)
    [formula], search = found(x, t, real_powers(2))
    assert is_right(formula, operation)
    assert formula.noise == 0
    assert search.progress[0].iterations < 2000


@pytest.mark.parametrize("hidden", [2, 3, 64])
def test_the_hidden_size_does_not_matter(hidden):
    x, t = data("mul", 1, 2, seeds=3)
    formulas, _ = found(x, t, whole_powers(hidden))
    assert all(is_right(formula, "mul") and formula.exponents == (1, 1) for formula in formulas)


def test_three_factors():
    x = torch.rand(1, 300, 8, dtype=D, generator=torch.Generator().manual_seed(1)) + 0.5
    t = x[..., :2].sum(2) * x[..., 3:5].sum(2) * (x[..., 5] - x[..., 7])
    [formula], _ = found(x, t, whole_powers(3))
    assert formula.exponents == (1, 1, 1)
    assert sorted(formula.weights.abs().sum(1).tolist()) == [2, 2, 2]


def test_a_stack_finds_what_its_members_find_alone():
    x, t = data("mul", -2, 2, seeds=4)
    stacked, search = found(x, t, whole_powers(2))
    for number in range(4):
        [alone], single = found(x[number : number + 1], t[number : number + 1], whole_powers(2), seeds=[number])
        assert torch.equal(alone.weights, stacked[number].weights)
        assert single.progress[0].iterations == search.progress[number].iterations


def test_resumed_equals_undisturbed():
    x, t = data("mul", -2, 2, seeds=2, rows=30)
    undisturbed, resumed = (FormulaSearch(whole_powers(2), [0, 1], 12) for _ in range(2))
    for _ in range(3):
        undisturbed.step(x, t)
    assert not any(run.ended for run in undisturbed.progress)
    for number in range(2):
        resumed.restore(number, undisturbed.state(number))
    one, other = finish(undisturbed, x, t), finish(resumed, x, t)
    assert undisturbed.progress == resumed.progress
    assert all(torch.equal(a.weights, b.weights) for a, b in zip(one, other, strict=True))


def test_fresh_rows_at_each_step_do_as_well():
    search, generator = FormulaSearch(whole_powers(2), [0], 12), torch.Generator().manual_seed(0)
    while not search.progress[0].ended:
        x = torch.rand(1, 60, 12, dtype=D, generator=generator) + 1
        search.step(x, x[..., :4].sum(2) * x[..., 2:7].sum(2))
    assert is_right(search.formula(0), "mul")


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_spectral_start_is_near_the_formula(low, high):
    """One iteration from there is enough if rows are many, on every range."""
    x, t = data("mul", low, high, rows=600)
    problem = ProductsOfSums(x, t, (1.0, 1.0))
    weights = start((1.0, 1.0), x[0], t[0], torch.Generator().manual_seed(0), 2)
    state = iterate(problem, Iterate.start(weights.flatten().unsqueeze(0)))
    whole, _ = rounded(state.point.view(1, 2, -1), (1.0, 1.0), x, t)
    assert sorted(whole.abs().sum(2).flatten().tolist()) == [4, 5]
    assert problem.residuals(whole.flatten(1)).abs().max() < 1e-12


@pytest.mark.parametrize(("low", "high"), [(1, 2), (-2, -1), (0.1, 0.2), (1.1, 1.2), (10, 20), (-20, -10)])
@pytest.mark.parametrize(("apart", "rows"), [(0, 105), (13, 105), (25, 250)])
def test_a_product_is_solved_for_from_few_rows(low, high, apart, rows):
    """The equations are for 100 unknowns, then for the 50 or fewer inputs that only one sum has."""
    x = torch.rand(rows, 100, dtype=D, generator=torch.Generator().manual_seed(0)) * (high - low) + low
    t = x[:, :25].sum(1) * x[:, apart : apart + 25].sum(1)
    weights = start((1.0, 1.0), x, t, torch.Generator().manual_seed(0), 0)
    if apart:
        assert sorted(row.nonzero().min().item() for row in weights) == [0, apart]
        assert weights.abs().sum(1).tolist() == [25, 25]
    else:  # the square of a sum: nothing tells two apart
        torch.testing.assert_close((x @ weights.mT).prod(1), t, rtol=1e-9, atol=0)


def test_a_row_that_has_no_logarithm_counts():
    x = torch.rand(40, 1, dtype=D, generator=torch.Generator().manual_seed(0)) + 1
    t = x.clone()
    assert train(NMU(1, 1).double(), (x, t), method="auto").exact
    t[28] = 0
    assert not train(NMU(1, 1).double(), (x, t), method="auto").exact


@pytest.mark.parametrize("layer", [NMU, RealNPU])
@pytest.mark.parametrize("values", [2, 5])
def test_factors_that_are_zero(layer, values):
    """With twenty columns of counts, hardly a row is without a 0."""
    x = torch.randint(values, (400, 20), generator=torch.Generator().manual_seed(0)).double()
    model = layer(20, 1).double()
    assert train(model, (x, x[:, 3:4] * x[:, 7:8]), method="auto").exact
    assert [w.nonzero()[:, 1].tolist() for w in model.weights().values()] == [[3, 7]]


def test_one_row_is_enough_for_a_start():
    """A spec may have batches of one row."""
    x = torch.rand(1, 3, dtype=D, generator=torch.Generator().manual_seed(0)) + 1
    weights = start((1.0, 1.0), x, x[:, 0] * x[:, 1], torch.Generator().manual_seed(0), 0)
    assert weights.shape == (2, 3)
    assert weights.isfinite().all()


@pytest.mark.parametrize("longer", [0, 1, 2])
def test_sums_of_unequal_length_are_told_apart(longer):
    """The longer one sum, the more often the difference of the sums has one sign."""
    x = torch.rand(60, 20, dtype=D, generator=torch.Generator().manual_seed(0)) + 1
    t = x[:, :5].sum(1) * x[:, 3 : 8 + longer].sum(1)
    weights = start((1.0, 1.0), x, t, torch.Generator().manual_seed(0), 0)
    assert sorted(weights.sum(1).tolist()) == [5, 5 + longer]


@pytest.mark.parametrize("rows", [3, 10, 40])
def test_a_start_exists_where_weights_are_not_whole(rows):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(rows, 10, dtype=D, generator=generator) + 1
    t = (x @ torch.rand(10, 2, dtype=D, generator=generator)).prod(1)
    weights = start((1.0, 1.0), x, t, generator, 0)
    assert weights.shape == (2, 10)
    assert weights.isfinite().all()


def test_a_noisy_formula_is_a_converged_fit():
    """Whole weights that were never fitted are near to whole numbers whatever the noise, which proves nothing."""
    x, t = data("mul", 1, 2, rows=240)
    noisy = t + 0.1 * t.std() * torch.randn(t.shape, dtype=D, generator=torch.Generator().manual_seed(2))
    weights = start((1.0, 1.0), x[0], noisy[0], torch.Generator().manual_seed(0), 0)
    assert is_right(Formula(weights, (1.0, 1.0), 0.0), "mul")
    [formula], _ = found(x, noisy, whole_powers(2), rounds=2)
    assert formula is None


@pytest.mark.parametrize("operation", ["mul", "sub", "div"])
def test_noise_does_not_hide_the_formula(operation):
    x, t = data(operation, 1, 2, rows=600)
    noise = 0.003 * t.std()
    t = t + noise * torch.randn(t.shape, dtype=D, generator=torch.Generator().manual_seed(2))
    [formula], _ = found(x, t, real_powers(2))
    assert is_right(formula, operation)
    assert formula.noise == pytest.approx(noise.item(), rel=0.2)


@pytest.mark.parametrize("seed", range(4))
def test_noise_in_which_single_weights_cannot_be_rounded(seed):
    """Weights have large standard errors here, but other whole ones fit far worse."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(1, 500, 40, dtype=D, generator=generator) + 1
    t = x[..., :20].sum(2) * x[..., 10:30].sum(2)
    t = t + 0.012 * t.std() * torch.randn(1, 500, dtype=D, generator=generator)
    [formula], _ = found(x, t, whole_powers(2), held=100, rounds=1)
    starts = sorted(row.nonzero().min().item() for row in formula.weights)
    assert starts == [0, 10]
    assert formula.weights.sum(1).tolist() == [20, 20]


def test_says_nothing_where_there_is_no_formula():
    x = torch.rand(1, 200, 4, dtype=D, generator=torch.Generator().manual_seed(0))
    [formula], search = found(x, x.square().sum(2).cos(), whole_powers(2), rounds=2)
    assert formula is None
    assert search.progress[0].best < 100


def test_a_formula_must_hold_for_the_rows_held_out():
    x, t = data("mul", 1, 2)
    t[:, -5:] += 0.1
    [formula], _ = found(x, t, whole_powers(2), rounds=1)
    assert formula is None


@pytest.mark.parametrize(
    ("forms", "formula"),
    [
        (whole_powers(2), lambda x: x[..., 0] * x[..., 1]),
        (whole_powers(2), lambda x: (x[..., 0] + x[..., 1]) * (x[..., 1] - x[..., 2])),
        (whole_powers(3), lambda x: (x[..., 0] - x[..., 1]) ** 3),
        (real_powers(2), lambda x: (x[..., 0] + x[..., 1]) ** 0.5),
        (real_powers(2), lambda x: (x[..., 0] - x[..., 1]) / (x[..., 2] + x[..., 3])),
    ],
)
def test_sums_that_are_zero(forms, formula):
    """Counts have zeros, where the relative error of a sum is not defined."""
    x = torch.randint(4, (1, 240, 6), generator=torch.Generator().manual_seed(0)).double()
    x[..., 3] += 1
    [formula_found], _ = found(x, formula(x), forms)
    assert formula_found.noise == 0


def test_a_pole_is_not_explained_by_rounding():
    x = torch.tensor([[[1.0, -1.0], [1.0, 2.0]]], dtype=D)
    error, explained = errors(torch.ones(1, 1, 2, dtype=D), (-1.0,), x, torch.ones(1, 2, dtype=D), 2.0**-52)
    assert error[0, 0] > explained[0, 0]


@pytest.mark.parametrize("exponents", [(1.0,), (2.0,), (1.0, 1.0), (1.0, -1.0), (0.5, 3.0), (1.0, -2.0, 1.5)])
def test_derivatives_agree_with_finite_differences(exponents):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(2, 5, 3, dtype=D, generator=generator) + 0.5
    problem = ProductsOfSums(x, torch.ones(2, 5, dtype=D), exponents)
    point = torch.rand(2, 3 * len(exponents), dtype=D, generator=generator) + 0.2
    residual, jacobian = problem.linearize(point)
    torch.testing.assert_close(residual, problem.residuals(point))
    for column in range(point.shape[1]):
        step = torch.zeros_like(point)
        step[:, column] = 1e-6
        difference = (problem.residuals(point + step) - problem.residuals(point - step)) / 2e-6
        torch.testing.assert_close(jacobian[..., column], difference, rtol=1e-6, atol=1e-7)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([(1.0,), (1.0, 1.0), (1.0, -1.0), (0.5, 1.0), (2.0,)]))
def test_rounding_undoes_scale_and_sign(seed, exponents):
    """Weights that give the same product are rounded to a product with the same values."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randint(0, 2, (1, len(exponents), 5), generator=generator).double()
    weights[..., 0] = 1
    x = torch.rand(1, 30, 5, dtype=D, generator=generator) + 0.1
    t = torch.stack([power((x @ weights.mT)[..., h], p) for h, p in enumerate(exponents)]).prod(0)
    scales = 0.1 + torch.rand(1, len(exponents), 1, dtype=D, generator=generator) if len(exponents) > 1 else 1.0
    whole, moved = rounded(weights * scales, exponents, x, t)
    assert torch.equal(whole, weights)
    assert moved.item() < 1e-12
    whole, _ = rounded(-weights * scales, exponents, x, t)
    y = torch.stack([power((x @ whole.mT)[..., h], p) for h, p in enumerate(exponents)]).prod(0)
    torch.testing.assert_close(y, t)
