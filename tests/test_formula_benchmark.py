"""The cases and the judge of `benchmarks/formulas`, without any fit."""

import numpy as np
import pytest

pytest.importorskip("benchmarks.formulas.cases", reason="a source distribution has no benchmarks")

from benchmarks.formulas.cases import CASES, CLEAN, KINDS, without_formula
from benchmarks.formulas.judge import judge, refit
from benchmarks.formulas.physics import EQUATIONS

BY_KEY = {case.key: case for case in CASES}


def test_the_benchmark_is_as_large_as_it_says():
    assert len(CASES) == len(BY_KEY)
    assert len({case.formula for case in CLEAN}) >= 120
    assert len(EQUATIONS) >= 60
    assert {case.noise for case in CASES} == {0.0, 0.001, 0.01, 0.05}


def test_every_case_has_values_within_its_ranges_and_beyond():
    for case in CLEAN:
        for far in (False, True):
            x, y = case.rows_of(0, rows=50, far=far)
            assert x.shape == (50, len(case.columns))
            assert np.isfinite(y).all()
            assert (np.ptp(y, axis=0) > 0).all(), case.key


def test_rows_are_those_of_their_seed():
    case = BY_KEY["ratios | a*b/c | 0.01"]
    np.testing.assert_array_equal(case.data(1)[1], case.data(1)[1])
    assert not np.array_equal(case.data(1)[1], case.data(2)[1])
    clean = case.rows_of(0)[1][:, 0]
    assert (case.data(0)[1] - clean).std() == pytest.approx(0.01 * clean.std(), rel=0.2)


def found(text):
    return lambda x: eval(text, {"sqrt": np.sqrt}, {f"x{i}": column for i, column in enumerate(x.T, 1)})


@pytest.mark.parametrize(
    ("key", "text", "recovered"),
    [
        ("ratios | a*b/c", "x1*x2/x3", True),
        ("ratios | a*b/c", "1.0000001*x1*x2/x3", True),
        ("ratios | a*b/c", "x1*x2/x3 + 0.001*x4", False),
        ("ratios | a*b/c | 0.01", "1.003*x1*x2/x3", True),
        ("ratios | a*b/c | 0.01", "0.004 + 0.997*x1*x2/x3", True),
        ("ratios | a*b/c | 0.01", "1.003*x1*x2/x3 + 0.0002*x4", False),
        ("ratios | a*b/c | 0.01", "x1*x2/(x3 + 1)", False),
        ("powers and roots | a**1.5", "x1**1.4996", True),
        ("sums of products, constants | 3.7*x1*(x2 + x3), of 6 | 0.01", "3.71*x1*x2 + 3.69*x1*x3", True),
        ("sums of products, constants | 3.7*x1*(x2 + x3), of 6 | 0.01", "4*x1*(x2 + x3)", False),
    ],
)
def test_the_form_decides(key, text, recovered):
    """Constants are fitted again, exact numbers are not, and no useless part is forgiven but an intercept."""
    assert judge(BY_KEY[key], found(text), [text]).recovered == recovered


def test_constants_are_compared_with_what_was_meant():
    case = BY_KEY["sums of products, constants | 0.5*x1*x2**2 + 9.81*x1*x3, of 4 | 0.01"]
    near, far = case.rows_of(0), case.rows_of(1, far=True)
    pairs = refit("0.4981*x1*x2**2 + 9.814*x1*x3", near[0], near[1][:, 0], far[0], far[1][:, 0])
    assert sorted(meant for _, meant in pairs) == pytest.approx([0.5, 9.81])


@pytest.mark.parametrize("kind", KINDS)
def test_targets_without_a_formula_vary(kind):
    x, y = without_formula(kind, 0)
    assert x.shape == (300, 3)
    assert y.std() > 0.1
