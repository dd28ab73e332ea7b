import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from arithmos.regression import ArithmeticRegressor


@parametrize_with_checks([ArithmeticRegressor(budget_s=0.5, random_state=0)])
def test_keeps_to_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


FIVE = "(x1 + x2)*(x10 + x9)*(x3 + x4)*(x5 + x6)*(x7 + x8)"


def rows(columns, function, count=300, noise=0.0, low=1.0, high=2.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, (count, columns))
    y = np.asarray(function(*x.T))
    return x, y + noise * y.std() * rng.normal(size=y.shape)


def fit(x, y, **options):
    return ArithmeticRegressor(**{"random_state": 0, "budget_s": 600.0, **options}).fit(x, y)  # for slow machines too


@pytest.mark.parametrize(
    ("columns", "function", "formula"),
    [
        (4, lambda a, b, c, d: (a + b) * (a + b + c + d), "(x1 + x2)*(x1 + x2 + x3 + x4)"),
        (3, lambda a, b, c: a - b, "x1 - x2"),
        (3, lambda a, b, c: (a + b) ** 2, "(x1 + x2)**2"),
        (4, lambda a, b, c, d: (a - b) * (c - d), "(x1 - x2)*(x3 - x4)"),
        (5, lambda a, b, c, d, e: a * b * c * d, "x1*x2*x3*x4"),
        (3, lambda a, b, c: 2.5 * a * (b - c), "2.5*x1*(x2 - x3)"),
        (3, lambda a, b, c: a / b, "x1/x2"),
        (3, lambda a, b, c: (a + b) / (1 + a * b / c**2), "x3**2*(x1 + x2)/(x1*x2 + x3**2)"),
        (3, lambda a, b, c: a / np.sqrt(1 - b**2 / (4 * c) ** 2), "x1*x3/sqrt(-0.0625*x2**2 + x3**2)"),
        (3, lambda a, b, c: 4 / 3 * np.pi * a**1.5 * b, "4*pi*x1**(3/2)*x2/3"),
        (4, lambda a, b, c, d: np.hypot(a - b, c - d), "sqrt((x1 - x2)**2 + (x3 - x4)**2)"),
        (4, lambda a, b, c, d: a + np.hypot(b, c), "x1 + sqrt(x2**2 + x3**2)"),
        (3, lambda a, b, c: np.sqrt(3 * a**2 + b) + 2, "sqrt(3*x1**2 + x2) + 2"),
        (3, lambda a, b, c: np.sqrt(a**2 + 2 * b**2) + c, "x3 + sqrt(x1**2 + 2*x2**2)"),
        (3, lambda a, b, c: a / np.sqrt((3 * c) ** 2 - b**2), "x1/sqrt(-x2**2 + 9*x3**2)"),
        (3, lambda a, b, c: np.sqrt(c**2 + 9 * b / a) - c, "-x3 + sqrt(x3**2 + 9*x2/x1)"),
        (3, lambda a, b, c: (a * b - c) / (a + c), "(x1*x2 - x3)/(x1 + x3)"),
        (3, lambda a, b, c: a * b + 4.905 * b**2, "x2*(x1 + 4.905*x2)"),
        (3, lambda a, b, c: np.sqrt(2 * a * b), "sqrt(2)*sqrt(x1*x2)"),
        (3, lambda a, b, c: (a / b) ** (1 / 3) - 1, "(x1/x2)**(1/3) - 1"),
        (6, lambda a, b, c, d, e, f: (a - b) / np.sqrt(c / e + d / f), "sqrt(x5*x6/(x3*x6 + x4*x5))*(x1 - x2)"),
        (10, lambda *x: np.prod([x[2 * k] + x[2 * k + 1] for k in range(5)], 0), FIVE),
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


def test_multiplies_sums_of_many_columns():
    x, y = rows(12, lambda *x: sum(x[:6]) * (sum(x[5:9]) - 3 * x[9]))
    model = fit(x, y)
    assert model.certificate_.exact
    assert str(model.formula_) == "(-3*x10 + x6 + x7 + x8 + x9)*(x1 + x2 + x3 + x4 + x5 + x6)"


def test_noise_is_not_part_of_the_formula():
    x, y = rows(5, lambda a, b, c, d, e: (a + b) * (c - d), noise=0.01)
    model = fit(x, y)
    assert str(model.formula_) == "(x1 + x2)*(x3 - x4)"
    certificate = model.certificate_
    assert certificate.verdict == "noise"
    assert certificate.sigma == pytest.approx(0.01 * y.std(), rel=0.2)


@pytest.mark.parametrize(
    ("columns", "function", "formula"),
    [
        (3, lambda a, b, c: a * c**3 / np.hypot(b, c), "x1*x3**3/sqrt(x2**2 + x3**2)"),
        (4, lambda a, b, c, d: a / (b * c**4) * np.hypot(c, d), "x1*sqrt(x3**2 + x4**2)/(x2*x3**4)"),
        (3, lambda a, b, c: (a * b * c) ** (1 / 3), "(x1*x2*x3)**(1/3)"),
        (6, lambda a, b, c, d, e, f: (a + b) * (b + c) * (c + a), "(x1 + x2)*(x1 + x3)*(x2 + x3)"),
        (8, lambda a, b, c, d, e, f, g, h: (a + b) * (c - d) * (e + f) * g * h, "x7*x8*(x1 + x2)*(x3 - x4)*(x5 + x6)"),
    ],
)
def test_finds_products_of_powers_in_noisy_data(columns, function, formula):
    x, y = rows(columns, function, 500, noise=0.01)
    model = fit(x, y)
    assert str(model.formula_) == formula
    assert model.certificate_.verdict == "noise"


@pytest.mark.parametrize("seed", range(3))
def test_finds_a_distance_that_comes_near_zero(seed):
    x = np.random.default_rng(seed).uniform(1, 5, (500, 7))
    g, m, n, a, b, c, d = x.T
    model = fit(x, g * m * n / ((a - b) ** 2 + (c - d) ** 2))
    assert str(model.formula_) == "x1*x2*x3/((x4 - x5)**2 + (x6 - x7)**2)"
    assert model.certificate_.exact


def test_several_outputs():
    x, y = rows(4, lambda a, b, c, d: np.stack([(a + b) / c, a - d, np.full(len(a), 3.0)], 1))
    frame = pd.DataFrame(x, columns=["mass", "b c", "d", "e"])
    with pytest.warns(UserWarning, match="output 3 of y is 3 in every row"):
        model = fit(frame, y, n_jobs=2)
    assert str(model.formula_) == "y1 = (b c + mass)/d\ny2 = -e + mass\ny3 = 3"
    assert [one.verdict for one in model.certificates_] == ["exact"] * 3
    assert model.predict(frame).shape == (300, 3)
    assert model.score(frame, y) == pytest.approx(1)


def test_without_constants_there_are_integers_only():
    x, y = rows(3, lambda a, b, c: 2.5 * a * b)
    model = fit(x, y, constants=False)
    assert all(constant.value == int(constant.value) for constant in model.certificate_.constants)
    assert model.certificate_.verdict == "not found"
    assert "no formula found in reach" in str(model.certificate_)


def test_columns_may_have_very_different_sizes():
    x, _ = rows(3, lambda a, b, c: a)
    x *= [1e9, 1.0, 1e-6]
    model = fit(x, x[:, 0] * x[:, 2] / x[:, 1] + 3)
    assert str(model.formula_) == "x1*x3/x2 + 3"
    assert model.certificate_.exact


def test_the_same_random_state_gives_the_same_fit():
    x, y = rows(3, lambda a, b, c: a * b + c, 60, noise=0.02)
    one, other = fit(x, y), fit(x, y)
    assert str(one.formula_) == str(other.formula_)
    assert [str(a.formula) for a in one.formulas_] == [str(a.formula) for a in other.formulas_]


def test_formulas_are_a_front():
    x, y = rows(3, lambda a, b, c: a * b + c, 100, noise=0.1)
    model = fit(x, y)
    front = model.formulas_
    assert len(front) > 1
    assert [one.complexity for one in front] == sorted(one.complexity for one in front)
    assert [one.residual for one in front] == sorted((one.residual for one in front), reverse=True)
    assert [str(one.formula) for one in front if one.chosen] == [str(model.formula_)]


def test_complexity_limits_the_formula():
    x, y = rows(3, lambda a, b, c: a * b + c)
    assert str(fit(x, y).formula_) == "x1*x2 + x3"
    model = fit(x, y, complexity=2)
    assert next(one.complexity for one in model.formulas_ if one.chosen) <= 2
    assert model.certificate_.verdict == "not found"


def test_weights_decide_between_rows():
    x, y = rows(2, lambda a, b: a / b, 200)
    wrong = np.arange(200) % 4 == 0
    y = np.where(wrong, 5 * y, y)
    assert not fit(x, y).certificate_.exact
    model = ArithmeticRegressor(random_state=0).fit(x, y, sample_weight=np.where(wrong, 0.0, 2.0))
    assert str(model.formula_) == "x1/x2"
    assert model.certificate_.exact


def test_an_interrupt_keeps_the_best_so_far(monkeypatch):
    def interrupt(pool):
        raise KeyboardInterrupt

    monkeypatch.setattr("arithmos.regression.search.powers_of", lambda *_: interrupt(None))
    x, y = rows(2, lambda a, b: np.sin(3 * a) + b, 100)
    model = fit(x, y)
    assert not model.certificate_.complete
    assert model.certificate_.r2 > 0.2
    assert "ended early" in str(model.certificate_)


@pytest.mark.parametrize(
    "target",
    [
        lambda x, rng: rng.normal(size=len(x)),
        lambda x, rng: np.sin(3 * x[:, 0]),
        lambda x, rng: rng.normal(size=10)[(x[:, 0] * 5).astype(int) % 10],
    ],
    ids=["random", "sine", "table"],
)
def test_no_formula_is_found_where_there_is_none(target):
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 3, (150, 3))
    model = fit(x, target(x, rng), budget_s=1.5)
    assert model.certificate_.verdict == "not found"
    assert model.certificate_.reason


@pytest.mark.parametrize(("function", "high"), [(np.exp, 1.8), (np.exp, 1.9), (np.sin, 1.6)], ids=str)
def test_a_ratio_that_comes_near_a_function_to_rounding_is_not_exact(function, high):
    x = np.random.default_rng(0).uniform(1, high, (200, 1))
    model = fit(x, function(x[:, 0]))
    assert model.certificate_.residual < 2e-13
    assert model.certificate_.verdict == "not found"


@pytest.mark.parametrize("columns", [8, 40])
def test_a_random_target_of_many_columns_has_no_formula(columns):
    rng = np.random.default_rng(0)
    model = fit(rng.normal(size=(100, columns)), rng.normal(size=100), budget_s=1.5)
    assert model.certificate_.verdict == "not found"


def test_a_table_of_a_few_values_is_no_polynomial():
    rng = np.random.default_rng(0)
    x = rng.integers(1, 6, (200, 1)).astype(float)
    assert fit(x, rng.normal(size=6)[x[:, 0].astype(int)], budget_s=1.5).certificate_.verdict == "not found"


def test_three_rows_prove_nothing():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, (3, 2))
    assert fit(x, x[:, 0] * x[:, 1]).certificate_.verdict == "not found"


def test_rounding_to_cents_is_no_noise():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(100, 9999, 200) / 100, rng.integers(1, 50, 200)])
    model = fit(x, np.round(1.19 * x[:, 0] * x[:, 1], 2))
    assert str(model.formula_) == "1.19*x1*x2"
    assert model.certificate_.exact


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
    assert model.certificate_.verdict == "not found"
    assert "depends on x3" in model.certificate_.reason


def test_constants_have_intervals():
    x, y = rows(2, lambda a, b: 2.7182 * a / b + 1.0833, noise=0.05)
    certificate = fit(x, y).certificate_
    assert len(certificate.constants) == 2
    for constant, true in zip(sorted(certificate.constants, key=lambda c: -c.value), (2.7182, 1.0833), strict=True):
        assert constant.low < true < constant.high


def test_few_rows_do():
    x, y = rows(2, lambda a, b: a * b, 12)
    assert str(fit(x, y).formula_) == "x1*x2"


def test_integers_that_float64_does_not_hold_are_refused():
    x = np.array([[2**53 + 1, 1], [2**53, 2], [5, 3]])
    frame = pd.DataFrame({"id": x[:, 0], "a": [0.5, 1.5, 2.5]})
    model = ArithmeticRegressor()
    with pytest.raises(ValueError, match=r"X must have integers within ±2\^53, .* got 9007199254740993"):
        model.fit(x, [1, 2, 3])
    with pytest.raises(ValueError, match=r"y must have integers within ±2\^53"):
        model.fit([[1], [2], [3]], x[:, 0].tolist())
    with pytest.raises(ValueError, match=r"column 'id' of X must have integers within ±2\^53"):
        model.fit(frame, [1, 2, 3])


def test_a_constant_target_is_fitted_with_a_warning():
    x = np.random.default_rng(0).uniform(1, 2, (20, 2))
    with pytest.warns(UserWarning, match="y is 7 in every row: there is nothing to explain"):
        model = ArithmeticRegressor().fit(x, np.full(20, 7.0))
    assert str(model.formula_) == "7"
    with pytest.warns(UserWarning, match="output 2 of y is -1 in every row"):
        ArithmeticRegressor().fit(x, np.stack([x[:, 0], np.full(20, -1.0)], 1))


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
        ({"complexity": 0}, "complexity must be a whole number of at least 1, got 0"),
        ({"max_rows": 1.5}, "max_rows must be a whole number"),
        ({"budget_s": 0}, "budget_s must be above 0, got 0"),
        ({"check_share": 1.0}, "check_share must be above 0 and below 1, got 1.0"),
        ({"n_jobs": 0}, "n_jobs must be -1 for one per core, or at least 1, got 0"),
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
        ([[1.0, 2.0]] * 5, [1e130] * 5, "y must be within ±1e\\+100, got 1e\\+130"),
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


def test_a_spent_budget_ends_the_fit_with_what_there_is():
    rng = np.random.default_rng(0)
    model = fit(rng.normal(size=(200, 8)), np.sin(9 * rng.normal(size=200)), budget_s=0.01)
    assert not model.certificate_.complete


def test_tells_how_it_goes(capfd):
    x, y = rows(2, lambda a, b: a * b, 30)
    fit(x, y, verbose=1)
    assert "round 1: " in capfd.readouterr().err


def test_names_of_columns_that_cannot_be_printed_are_refused_before_the_search():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], "b\x1b[31m": [2.0, 1, 4, 3]})
    with pytest.raises(ValueError, match=r"a name of a column must be a line of printable text, got 'b\\x1b\[31m'"):
        ArithmeticRegressor().fit(frame, frame["a"])
