import numpy as np
import pytest

from arithmos.regression import ArithmeticRegressor
from arithmos.regression.terms import Column, PowerProduct, TermSum, product
from arithmos.regression.units import UnitError, Units, parse_unit, read_units

LENGTH, MASS = parse_unit("m"), parse_unit("kg")
A, B, C = Column(0), Column(1), Column(2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("N", "kg m/s^2"),
        ("J/(kg K)", "m2 s-2 K^-1"),
        ("V*A", "W"),
        ("1/s", "Hz"),
        ("m^1/2 * m**1/2", "m"),
        ("kg/kg", "1"),
        ("", "1"),
        ("€/h", "€*h^-1"),
    ],
)
def test_the_same_unit_may_be_written_in_many_ways(one, other):
    assert parse_unit(one) == parse_unit(other)


@pytest.mark.parametrize("text", ["m+s", "kg)", "(m", "3 m", "^2", "__import__('os')"])
def test_what_is_no_unit_is_refused(text):
    with pytest.raises(UnitError):
        parse_unit(text)


@pytest.mark.parametrize(
    ("node", "allowed"),
    [
        (TermSum((1.0, -1.0), (A, B)), True),
        (TermSum((1.0, 1.0), (A, C)), False),
        (TermSum((1.0, 9.81), (A, C)), True),
        (TermSum((1.0,), (A,), 1.0), False),
        (TermSum((1.0,), (PowerProduct((A, B), (1.0, -1.0)),), 1.0), False),
        (product([(A, 2.0), (B, -1.0)]), True),
        (product([(TermSum((1.0, 1.0), (product([(A, 2.0)]), product([(B, 2.0)]))), 0.5)]), True),
        (product([(A, 1.0), (C, 1.0)]), False),
        (TermSum((2.5,), (product([(A, 1.0), (C, 1.0)]),)), True),
    ],
)
def test_terms_must_have_one_unit_and_the_formula_that_of_the_target(node, allowed):
    assert Units([LENGTH, LENGTH, MASS], LENGTH).allow(node) is allowed


def test_units_decide_between_columns_that_fit_alike():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, (300, 3))
    x[:, 2] = x[:, 1] * (1 + 0.001 * rng.normal(size=300))
    y = (x[:, 0] + x[:, 1]) * (1 + 0.01 * rng.normal(size=300))
    for two, three, formula in (("m", "kg", "x1 + x2"), ("kg", "m", "x1 + x3")):
        model = ArithmeticRegressor(units={"x1": "m", "x2": two, "x3": three, "y": "m"}, random_state=0)
        assert str(model.fit(x, y).formula_) == formula


def test_a_unit_of_an_unknown_column_is_named():
    x = np.ones((5, 2)).cumsum(0)
    with pytest.raises(ValueError, match="units has 'mass', which is none of x1, x2, y"):
        ArithmeticRegressor(units={"mass": "kg"}).fit(x, x[:, 0])


def test_text_of_units_is_read():
    assert read_units("net price (EUR)=EUR, speed = m/s,") == {"net price (EUR)": "EUR", "speed": "m/s"}
    with pytest.raises(UnitError, match="mass"):
        read_units("mass")
