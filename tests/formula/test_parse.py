import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from tests.formula.layers import filled

from arithmos.formula import recovered
from arithmos.formula.parse import DEEPEST, MOST_CHARACTERS, parse
from arithmos.nn import NAU

NAMES = ["x1", "x2"]
x1, x2 = map(sympy.Symbol, NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x1 + 2*x2 - 3", x1 + 2 * x2 - 3),
        ("-x1**2", -(x1**2)),
        ("x1 - -x2", x1 + x2),
        ("2^-1", sympy.Rational(1, 2)),
        ("x1**2**3", x1**8),
        ("x1/x2/2", x1 / x2 / 2),
        ("x1/(x2/2)", 2 * x1 / x2),
        ("0.1*x1 + 1.5e2 + .5", x1 / 10 + sympy.Rational(301, 2)),
        ("x1**0.5 - sqrt(x2)", sympy.sqrt(x1) - sympy.sqrt(x2)),
        ("Abs(x1)*Max(0, Min(6, x2))", sympy.Abs(x1) * sympy.Max(0, sympy.Min(6, x2))),
        (" ( x1 ) ", x1),
    ],
)
def test_formulas(text, expected):
    assert parse(text, NAMES) - expected == 0


formulas = st.recursive(
    st.sampled_from(["x1", "x2", "3", "0.25"]),
    lambda inner: st.one_of(
        st.builds("({}{}{})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("{}{}{}".format, inner, st.sampled_from("+-*"), inner),
        st.builds("({})**{}".format, inner, st.integers(0, 3)),
        st.builds("-{}".format, inner),
    ),
    max_leaves=12,
)


@given(formulas)
def test_agrees_with_python(text):
    """The meaning of a formula is Python's."""
    expected = eval(text.replace("0.25", "quarter"), {"x1": x1, "x2": x2, "quarter": sympy.Rational(1, 4)})
    assert sympy.expand(parse(text, NAMES) - expected) == 0


ALLOWED = "; allowed are numbers, x1 to x2, + - * / ** ^, parentheses, and sqrt, Abs, Max, Min"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got its end at character 1: a number or a name was expected"),
        ("x1 + y", "got 'y' at character 6: unknown name"),
        ("x1 x2", "got 'x2' at character 4: an operator was expected"),
        ("2x1", "got 'x1' at character 2: an operator was expected"),
        ("(x1", "got its end at character 4: a closing parenthesis was expected"),
        ("x1)", "got ')' at character 3: an operator was expected"),
        ("sqrt x1", "got 'x1' at character 6: sqrt must be followed by its arguments in parentheses"),
        ("Max(x1)", "got ')' at character 7: Max has 2 arguments"),
        ("x1 − x2", "got '−' at character 4: unknown character"),
        ("x1.real", "got '.' at character 3: unknown character"),
        ("x1**x2", "got 'x2' at character 5: an exponent must be a number"),
        ("x1/(x2 - x2)", "got '(' at character 4: division by zero"),
        ("0**-1", "got '-' at character 4: division by zero"),
        ("9**9**9", "got '9' at character 4: an exponent must be a fraction of whole numbers up to 100"),
        ("((x1**100)**100)**100", "got '100' at character 19: its numbers would have more than 100,000 bits"),
        ("x1" + "*x1**100" * 200, "got 'x1' at character 1: its numbers would have more than 100,000 bits"),
        ("1e99999999", "got '1e99999999' at character 1: a number must have at most 40 characters"),
        ("9" * 5000, "at character 1: a number must have at most 40 characters"),
        ("(" * 5000, f"got '(' at character {DEEPEST + 1}: it is nested deeper than {DEEPEST} levels"),
        ("x1" + "**1" * 5000, f"it is nested deeper than {DEEPEST} levels"),
    ],
)
def test_what_is_no_formula_is_refused_where_it_is_none(text, message):
    with pytest.raises(ValueError, match="target must be a formula in x1 to x2, got ") as refused:
        parse(text, NAMES)
    assert message in str(refused.value)
    assert str(refused.value).endswith(ALLOWED)


def test_long_text_and_other_types_are_refused():
    with pytest.raises(ValueError, match=r"target must have at most 20,000 characters, got 20,001"):
        parse("-" * MOST_CHARACTERS + "1", NAMES)
    with pytest.raises(ValueError, match="target must be a formula as text or a SymPy expression, got 3"):
        recovered(filled(NAU(1, 1), [[1.0]]), [3])


def test_absolute_values_roots_and_maxima_in_targets():
    network = filled(NAU(2, 1), [[1.0, 1.0]])
    assert not recovered(network, "Abs(x1) + Max(x2, 0)")
    assert recovered(network, "Abs(x1) + Max(x2, 0)", inputs=[[1.0, 2.0]])
    assert recovered(network, "sqrt(x1*x1) + (x2**4)**(1/4)", inputs=[[1.0, 2.0]])
    assert not recovered(network, "x1 + x2 + " + " + ".join(f"sqrt(x1 + {i})" for i in range(100)))
