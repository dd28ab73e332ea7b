"""Formulas for spreadsheets, evaluated by the rules of Excel: a sign binds more than ^, and 2^3^2 is (2^3)^2."""

import math
import re

import numpy as np
import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

from arithmos.export import excel, save
from arithmos.export.excel import cells_of, letters, spreadsheet
from arithmos.formula import Expression

a, b, c = SYMBOLS = sympy.symbols("a b c", real=True)
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:E[+-]?\d+)?)|([A-Z]+\d+)|([A-Z]+)(?=\()|(.))")
FUNCTIONS = {
    "SQRT": math.sqrt,
    "ABS": abs,
    "EXP": math.exp,
    "MAX": max,
    "MIN": min,
    "TANH": math.tanh,
    "PI": lambda: math.pi,
}


def evaluate(formula, cells):
    """The value of a formula, by the precedence of Excel: sign, ^, * and /, + and -; all from left to right."""
    assert formula.startswith("=")
    tokens = [found.groups() for found in TOKEN.finditer(formula[1:])]
    at = 0

    def peek():
        return next(filter(None, tokens[at]), "") if at < len(tokens) else ""

    def take(expected=None):
        nonlocal at
        token = peek()
        assert expected in (None, token), f"{token} instead of {expected} in {formula}"
        at += 1
        return token

    def level(operators, below):
        value = below()
        while peek() in operators:
            operator, other = take(), below()
            value = operators[operator](value, other)
        return value

    def add():
        return level({"+": lambda x, y: x + y, "-": lambda x, y: x - y}, multiply)

    def multiply():
        return level({"*": lambda x, y: x * y, "/": lambda x, y: x / y}, power)

    def power():
        return level({"^": lambda x, y: x**y}, sign)

    def sign():
        if peek() == "-":
            take()
            return -sign()
        return atom()

    def atom():
        number, cell, function, _ = tokens[at]
        token = take()
        if number:
            return float(number)
        if cell:
            return cells[cell]
        if function:
            take("(")
            arguments = [] if peek() == ")" else [add()]
            while peek() == ",":
                take()
                arguments.append(add())
            take(")")
            return FUNCTIONS[function](*arguments)
        assert token == "(", formula
        value = add()
        take(")")
        return value

    value = add()
    assert at == len(tokens), formula
    return value


def test_the_evaluator_has_the_precedence_of_excel():
    assert evaluate("=-2^2", {}) == 4
    assert evaluate("=0-2^2", {}) == -4
    assert evaluate("=2^3^2", {}) == 64
    assert evaluate("=12/3*2-1+SQRT(A2)*PI()", {"A2": 4.0}) == 7 + 2 * math.pi


def of(node):
    return excel(Expression((sympy.sympify(node),), SYMBOLS))[0]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (a * b / c, "=A2*B2/C2"),
        (a / (b * c), "=A2/(B2*C2)"),
        (a / b**2, "=A2/B2^2"),
        (-(a**2), "=-1*A2^2"),
        (b - a**2, "=B2-A2^2"),
        (-a - b, "=-1*A2-B2"),
        ((a**b) ** c, "=(A2^B2)^C2"),
        (sympy.sqrt(a**2 + b**2), "=SQRT(A2^2+B2^2)"),
        (1 / sympy.sqrt(a), "=1/SQRT(A2)"),
        (a ** sympy.Rational(2, 3), "=A2^(2/3)"),
        (a ** sympy.Rational(-3, 2) * b, "=B2/A2^(3/2)"),
        (sympy.Rational(1, 2) * a * b**2, "=A2*B2^2/2"),
        (sympy.Rational(-3, 2) * a, "=-3*A2/2"),
        ((a + b) * (c - 1), "=(C2-1)*(A2+B2)"),
        (4 * sympy.pi * a, "=4*PI()*A2"),
        (sympy.Float(1.19) * a + sympy.Float(4.99), "=1.19*A2+4.99"),
        (sympy.Float(6.674e-11) * a, "=6.674E-11*A2"),
        (sympy.Float(-2.5) * a**2 * b, "=-2.5*B2*A2^2"),
        ((-2) ** a, "=(-2)^A2"),
        (sympy.Integer(7), "=7"),
        (sympy.Max(0, a, evaluate=False), "=MAX(0,A2)"),
        (1 / (1 + sympy.exp(-a)), "=1/(1+EXP(-1*A2))"),
    ],
)
def test_formulas_are_written_plainly(node, expected):
    found = of(node)
    assert found == expected
    x = {"A2": 1.7, "B2": 2.3, "C2": 0.6}
    values = {a: x["A2"], b: x["B2"], c: x["C2"]}
    expected_value = complex(sympy.N(sympy.sympify(node).subs(values)))
    assert complex(evaluate(found, x)) == pytest.approx(expected_value, rel=1e-12)


numbers = st.sampled_from([-2, -1, 0.5, 1, 2, 3, 1.19, -7.25, 1e-9, 6.02e23]) | st.fractions(-3, 3, max_denominator=7)
leaves = st.sampled_from(SYMBOLS) | numbers.map(sympy.sympify) | st.just(sympy.pi)
exponents = st.sampled_from([-3, -2, -1, 2, 3, sympy.Rational(1, 2), sympy.Rational(-1, 2), sympy.Rational(2, 3), 1.5])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: two[0] + two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] - two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] * two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] / two[1] if two[1] != 0 else two[0]),
        st.tuples(inner, exponents).map(lambda two: two[0] ** two[1] if two[0] != 0 else two[0]),
    ),
    max_leaves=8,
)


@given(trees)
def test_any_formula_computes_what_it_says(node):
    assume(not node.has(sympy.I, sympy.oo, sympy.zoo, sympy.nan))
    formula = Expression((node,), SYMBOLS)
    x = np.array([1.3, 2.9, 0.7])
    expected = formula.numpy()(x)[0]
    assume(np.isfinite(expected))
    try:
        found = evaluate(excel(formula)[0], dict(zip(("A2", "B2", "C2"), x.tolist(), strict=True)))
    except (OverflowError, ZeroDivisionError):
        assume(False)
    inner = [part for part in sympy.preorder_traversal(node) if part.args]
    parts = Expression((node, *inner), SYMBOLS).numpy()(x)
    largest = np.abs(parts[np.isfinite(parts)]).max(initial=1.0)  # differences of large terms lose digits in any order
    assert abs(found - expected) <= 1e-9 * max(abs(expected), largest)


def test_cells_follow_the_columns_of_the_file():
    formula = Expression((a * b, a - c), SYMBOLS)
    assert excel(formula, cells_of([27, 0, 3])) == ["=AB2*A2", "=AB2-D2"]
    assert [letters(number) for number in (0, 25, 26, 51, 52, 16_383)] == ["A", "Z", "AA", "AZ", "BA", "XFD"]
    with pytest.raises(ValueError, match="cells must be 3, one per input, got 1"):
        excel(formula, ["A2"])


@pytest.mark.parametrize("name", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(1)", "a\n=1+1", "-2", "A2"])
def test_names_reach_a_spreadsheet_as_text_only(name, tmp_path):
    """Only the lines of the formulas begin with a sign that a spreadsheet would obey, whatever the names are."""
    strange = sympy.Symbol(name, real=True)
    lines = spreadsheet(Expression((strange * b,), (strange, b))).splitlines()
    assert lines[0] == "=A2*B2"
    assert [line for line in lines[1:] if line[:1] in ("=", "+", "-", "@", "\t")] == []
    path = save(Expression((strange * b,), (strange, b)), tmp_path / "formula.txt")
    assert path.read_text(encoding="utf-8").startswith("=A2*B2\n")
