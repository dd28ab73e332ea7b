import pickle
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from arithmos.engines import Engines
from arithmos.engines.cpu import CpuEngine
from arithmos.regression import ArithmeticRegressor
from arithmos.regression.candidates import Output
from arithmos.regression.search import Budget, Effort, search

SMALL = {"iterations": 50, "n_seeds": 1, "rounds": 1, "max_factors": 2, "n_jobs": 1}


@parametrize_with_checks([ArithmeticRegressor(**SMALL, random_state=0)])
def test_keeps_to_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def rows(columns, function, count=300, noise=0.0, low=1.0, high=2.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, (count, columns))
    y = np.asarray(function(*x.T))
    return x, y + noise * y.std() * rng.normal(size=y.shape)


def fit(x, y, **options):
    return ArithmeticRegressor(**{"random_state": 0, "n_jobs": 1, "budget_s": 1e6, "rounds": 2, **options}).fit(x, y)


@pytest.mark.parametrize(
    ("columns", "function", "formula"),
    [
        (4, lambda a, b, c, d: (a + b) * (a + b + c + d), "(x1 + x2)*(x1 + x2 + x3 + x4)"),
        (3, lambda a, b, c: a - b, "x1 - x2"),
        (3, lambda a, b, c: (a + b) ** 2, "(x1 + x2)**2"),
        (4, lambda a, b, c, d: (a - b) * (c - d), "(x1 - x2)*(x3 - x4)"),
        (5, lambda a, b, c, d, e: a * b * c * d, "x1*x2*x3*x4"),
        (3, lambda a, b, c: 2.5 * a * (b - c), "2.5*x1*(x2 - x3)"),
    ],
)
def test_finds_the_formula(columns, function, formula):
    x, y = rows(columns, function)
    model = fit(x, y)
    assert str(model.formula_) == formula
    assert model.certificate_.exact
    far, expected = rows(columns, function, low=20, high=60)
    np.testing.assert_allclose(model.predict(far), expected, rtol=1e-6)
    np.testing.assert_allclose(model.formula_.numpy()(far)[:, 0], model.predict(far), rtol=1e-9)


def test_finds_the_columns_that_matter_among_a_hundred():
    x, y = rows(100, lambda *x: (x[3] - x[70]) * (x[8] + x[41]), 600)
    model = fit(x, y)
    assert str(model.formula_) == "(x4 - x71)*(x42 + x9)"
    assert len(model.certificate_.unused) == 96


def test_noise_is_not_part_of_the_formula():
    x, y = rows(5, lambda a, b, c, d, e: (a + b) * (c - d), noise=0.01)
    model = fit(x, y)
    assert str(model.formula_) == "(x1 + x2)*(x3 - x4)"
    certificate = model.certificate_
    assert certificate.verdict == "noise"
    assert certificate.agreeing > 1
    assert 0.001 < certificate.residual_after < 0.05


def test_sums_of_products_take_a_second_round():
    x, y = rows(4, lambda a, b, c, d: a * b * c + 2 * d)
    model = fit(x, y)
    assert str(model.formula_) == "x1*x2*x3 + 2*x4"
    assert model.certificate_.rounds == 2


def test_several_outputs():
    x, y = rows(4, lambda a, b, c, d: np.stack([(a + b) * c, a - d, np.full(len(a), 3.0)], 1))
    with pytest.warns(UserWarning, match="output 3 of y is 3 in every row"):
        model = fit(pd.DataFrame(x, columns=["mass", "b c", "d", "e"]), y)
    assert str(model.formula_) == "y1 = d*(b c + mass)\ny2 = -e + mass\ny3 = 3"
    assert model.predict(pd.DataFrame(x, columns=["mass", "b c", "d", "e"])).shape == (300, 3)
    assert model.score(pd.DataFrame(x, columns=["mass", "b c", "d", "e"]), y) == pytest.approx(1)


def test_without_constants_there_are_integers_only():
    x, y = rows(3, lambda a, b, c: 2.5 * a * b)
    model = fit(x, y, constants=False, rounds=1, n_seeds=2)
    assert all(value == int(value) for value in model.certificate_.constants)
    assert model.certificate_.verdict == "unexplained"
    assert "does not explain the data" in str(model.certificate_)


def test_columns_of_very_different_sizes_are_scaled_when_asked():
    x, _ = rows(3, lambda a, b, c: a)
    x *= [1e4, 1.0, 1e-3]
    model = fit(x, x[:, 0] * (x[:, 1] + x[:, 2]), scale=True)
    assert str(model.formula_) == "x1*(x2 + x3)"
    assert model.certificate_.exact


def test_the_same_random_state_gives_the_same_fit():
    x, y = rows(3, lambda a, b, c: a * b + c, 60, noise=0.2)
    one, other = fit(x, y, rounds=1), fit(x, y, rounds=1, n_jobs=2)
    assert str(one.formula_) == str(other.formula_)
    assert [str(a.formula) for a in one.alternatives_] == [str(a.formula) for a in other.alternatives_]


def test_alternatives_are_simpler_or_better():
    x, y = rows(3, lambda a, b, c: a * b + c, 60, noise=0.2)
    alternatives = fit(x, y, rounds=1).alternatives_
    assert alternatives
    by_complexity = sorted(alternatives, key=lambda a: a.complexity)
    residuals = [a.residual for a in by_complexity]
    assert residuals == sorted(residuals, reverse=True)


def test_rows_beyond_the_limit_count_for_the_verdict():
    x, y = rows(3, lambda a, b, c: a * b, 400)
    assert fit(x, y, max_rows=100).certificate_.exact
    y[np.argmax(y)] += 1
    model = fit(x, y, max_rows=100, random_state=1)
    assert str(model.formula_) == "x1*x2"
    assert not model.certificate_.exact


def test_the_verdict_on_noise_is_on_all_rows():
    x, y = rows(3, lambda a, b, c: a * b, 20_000, noise=0.1)
    assert fit(x, y, max_rows=100).certificate_.verdict == "noise"
    model = fit(x, y + 0.02 * (x[:, 2] - 1.5), max_rows=100)  # a hundred rows cannot tell, and all of them can
    assert str(model.formula_) == "x1*x2"
    assert model.certificate_.verdict == "unexplained"


class Narrow(CpuEngine):
    """An engine with room for two hidden units, as a GPU has for many columns."""

    name = "cuda"

    def refuses(self, spec):
        return "it does not fit" if spec.hidden_size > 2 else None


def test_an_engine_takes_the_widest_network_or_none():
    x, y = rows(4, lambda a, b, c, d: a * b * c * d)
    output = Output(x[:200], y[:200], x[200:], y[200:], True, np.ones(4), 1.0)
    engines = Engines(threads=1, makers={"cuda": lambda: Narrow(1)}, say=lambda line: None)
    plan = Effort(iterations=200, seeds=1, rounds=1, factors=3, constants=True, budget_s=1e6)
    assert search([output], plan, engines, seed=0).engine == "cpu"


def test_few_rows_do():
    x, y = rows(2, lambda a, b: a * b, 12)
    assert str(fit(x, y).formula_) == "x1*x2"


def test_integers_that_float64_does_not_hold_are_refused():
    x = np.array([[2**53 + 1, 1], [2**53, 2], [5, 3]])
    frame = pd.DataFrame({"id": x[:, 0], "a": [0.5, 1.5, 2.5]})
    model = ArithmeticRegressor(**SMALL)
    with pytest.raises(ValueError, match=r"X must have integers within ±2\^53, .* got 9007199254740993"):
        model.fit(x, [1, 2, 3])
    with pytest.raises(ValueError, match=r"y must have integers within ±2\^53"):
        model.fit([[1], [2], [3]], x[:, 0].tolist())
    with pytest.raises(ValueError, match=r"column 'id' of X must have integers within ±2\^53"):
        model.fit(frame, [1, 2, 3])


def test_a_constant_target_is_fitted_with_a_warning():
    x = np.random.default_rng(0).uniform(1, 2, (20, 2))
    with pytest.warns(UserWarning, match="y is 7 in every row: there is nothing to explain"):
        model = ArithmeticRegressor(**SMALL).fit(x, np.full(20, 7.0))
    assert str(model.formula_) == "7"
    with pytest.warns(UserWarning, match="output 2 of y is -1 in every row"):
        ArithmeticRegressor(**SMALL).fit(x, np.stack([x[:, 0], np.full(20, -1.0)], 1))


def test_a_constant_column_plays_no_part():
    x, y = rows(3, lambda a, b, c: a * b)
    x[:, 2] = 4
    with pytest.warns(UserWarning, match="the same in every row are not used: x3"):
        model = fit(x, y)
    assert str(model.formula_) == "x1*x2"
    assert model.certificate_.unused == ("x3",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_factors": 0}, "max_factors must be a whole number of at least 1, got 0"),
        ({"iterations": 1.5}, "iterations must be a whole number"),
        ({"budget_s": 0}, "budget_s must be above 0, got 0"),
        ({"validation_share": 1.0}, "validation_share must be above 0 and below 1, got 1.0"),
        ({"n_jobs": 0}, "n_jobs must be -1 for all cores, or at least 1, got 0"),
        ({"engine": "gpu"}, "engine must be auto, cuda, cpu, torch, got 'gpu'"),
    ],
)
def test_bad_options_are_named(change, message):
    x, y = rows(2, lambda a, b: a * b, 20)
    with pytest.raises(ValueError, match=message):
        fit(x, y, **change)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[1.0, np.nan]] * 5, [1.0] * 5, "Input X contains NaN"),
        ([["a", "b"]] * 5, [1.0] * 5, "could not convert string to float"),
        ([[1.0, 2.0]], [1.0], "minimum of 3 is required"),
        ([[1.0, 2.0]] * 5, [1e30] * 5, "y must be within ±1e\\+15, got 1e\\+30"),
    ],
)
def test_bad_data_are_named(x, y, message):
    with pytest.raises(ValueError, match=message):
        fit(np.array(x), np.array(y))


def test_works_with_the_tools_of_scikit_learn():
    x, y = rows(3, lambda a, b, c: a * b, 60)
    model = fit(x, y)
    assert min(cross_val_score(clone(model), x, y, cv=2)) == pytest.approx(1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))


def test_budget_runs_from_the_first_iteration():
    budget = Budget(0.0)
    assert not budget.spent()
    budget.begin()
    assert budget.spent()


def test_a_spent_budget_ends_the_fit_with_what_there_is():
    rng = np.random.default_rng(0)
    begun = time.monotonic()
    model = fit(rng.normal(size=(200, 8)), np.sin(9 * rng.normal(size=200)), rounds=50, budget_s=0.2)
    assert model.certificate_.rounds < 50
    assert time.monotonic() - begun < 600


def test_tells_how_it_goes(capfd):
    x, y = rows(2, lambda a, b: a * b, 30)
    fit(x, y, verbose=1)
    assert "round 1: 24 networks trained, 1 of 1 outputs settled" in capfd.readouterr().err


def test_names_of_columns_that_cannot_be_printed_are_refused_before_the_search():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "b\x1b[31m": [2.0, 1, 4, 3]})
    with pytest.raises(ValueError, match=r"a name of a column must be a line of printable text, got 'b\\x1b\[31m'"):
        ArithmeticRegressor().fit(frame, frame["a"])
