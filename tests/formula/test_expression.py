from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formula.layers import EVERY, chosen, filled, nac, network
from tests.own_units import EvalBroken
from torch import nn

from arithmos.engines.weights import kept_weights
from arithmos.formula import Expression, expression, from_weights
from arithmos.nn import NAU, NMU, UNITS, GatedNAUNMU, Linear, NACAdd, NACMul, Recurrent
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic, Rows


@pytest.mark.parametrize("name", EVERY)
def test_is_what_the_network_computes(name):
    made = network(name)
    x = torch.randn(50, 5, dtype=torch.float64)
    found = expression(made, snap=0)
    expected = made(x).detach()
    np.testing.assert_allclose(found.numpy()(x.numpy()), expected.numpy(), rtol=1e-9)
    torch.testing.assert_close(found.torch()(x), expected, rtol=1e-9, atol=1e-12)
    assert not found.rounded
    assert found.largest_rounding == 0


@pytest.mark.parametrize("name", EVERY)
def test_effective_weights_say_the_same_as_the_network(name):
    spec = Spec(task=Arithmetic(operation="mul", input_size=5, subset_ratio=0.5), model=chosen(name))
    made = spec.network(3)
    flat = torch.cat([p.detach().flatten() for p in made.parameters()]).numpy()
    found = from_weights(spec, kept_weights(spec.model.layers, spec.sizes, flat), snap=0)
    x = np.random.default_rng(0).uniform(1, 2, (20, 5))
    np.testing.assert_allclose(found.numpy()(x), expression(made, snap=0).numpy()(x), rtol=1e-5)


def test_torch_function_has_gradients():
    made = network("NMU")
    x = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    [expected] = torch.autograd.grad(made(x).sum(), x)
    [found] = torch.autograd.grad(expression(made, snap=0).torch()(x).sum(), x)
    torch.testing.assert_close(found, expected)


def test_weights_near_integers_are_integers_and_the_report_says_so():
    made = filled(NAU(4, 1), [[0.995, -1.0, 0.004, 0.3]])
    found = expression(made)
    assert str(found) == "x1 - x2 + 0.3*x4"
    moved = {rounding.where: rounding.exact for rounding in found.rounded}
    assert moved == {"layer 1, NAU, weight[0, 0]": 1, "layer 1, NAU, weight[0, 2]": 0}
    assert found.largest_rounding == pytest.approx(0.005, abs=1e-6)
    assert found.approximate == ("layer 1, NAU, weight[0, 3]",)
    assert str(expression(made, snap=0.5)) == "x1 - x2"
    assert expression(made, snap=0.5).approximate == ()


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6), st.floats(0, 0.5))
@settings(max_examples=30)
def test_nothing_moves_further_than_it_may(weights, snap):
    found = expression(filled(NAU(3, 2).double(), torch.tensor(weights, dtype=torch.float64).view(2, 3)), snap=snap)
    assert found.largest_rounding <= snap
    x = np.full(3, 2.0)
    change = np.abs(found.numpy()(x) - np.reshape(weights, (2, 3)) @ x)
    assert (change <= sum(rounding.distance for rounding in found.rounded) * 2 + 1e-12).all()


def test_exp_log_shows_its_absolute_values_and_its_epsilon():
    made = nn.Sequential(filled(NAU(2, 2), [[1.0, 1.0], [0.0, -1.0]]), nac(NACMul(2, 1), [[1.0, -1.0]]))
    assert str(expression(made)) == "(Abs(x1 + x2) + 1.0e-7)/(Abs(x2) + 1.0e-7)"
    assert r"\left|{x_{2}}\right| + 1.0 \cdot 10^{-7}" in expression(made).latex()


def test_exponents_may_be_halves_and_weights_may_not():
    half = filled(NACMul(1, 1), [[np.arctanh(0.501)]], [[40.0]])
    assert str(expression(half)) == "sqrt(Abs(x1) + 1.0e-7)"
    assert expression(half).rounded[0].exact == Fraction(1, 2)
    assert str(expression(filled(NACAdd(1, 1), [[np.arctanh(0.501)]], [[40.0]]))) == "0.501*x1"


def test_relu_and_bias_are_shown():
    made = filled(UNITS["ReLU6"].build(2, 1), [[2.0, -1.0]], [3.0])
    assert str(expression(made)) == "Min(6, Max(0, 2*x1 - x2 + 3))"
    assert str(expression(filled(Linear(2, 1), [[0.0, 0.0]], [3.0]))) == "3"
    assert expression(filled(Linear(2, 1), [[0.0, 0.0]], [3.0])).numpy()(np.ones((7, 2))).tolist() == [[3.0]] * 7


def test_gates_are_shown_unless_they_are_saturated_on_the_inputs():
    made = filled(GatedNAUNMU(2, 2), [[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0], [1.0, 1.0]], [[9.0, 9.0], [-4.0, -4.0]])
    assert str(expression(made)).splitlines()[1].count("exp(") == 2
    found = expression(made, ["a", "b"], inputs=[[1.0, 2.0], [1.5, 1.5]])
    assert str(found) == "y1 = a + b\ny2 = a*b"
    opened, closed = found.rounded
    assert (opened.where, opened.exact) == ("layer 1, GatedNAUNMU, gate of output 0", 1)
    assert (closed.exact, closed.value) == (0, pytest.approx(1 / (1 + np.exp(12))))
    here_and_there = expression(made, ["a", "b"], inputs=[[1.0, 2.0], [-1.5, -1.5]])
    assert "exp(" in str(here_and_there)
    assert len(here_and_there.approximate) == 2


def test_several_outputs_are_a_tuple_and_a_line_each():
    found = expression(filled(NAU(2, 2), [[1.0, 1.0], [1.0, -1.0]]))
    a, b = found.symbols
    assert found.sympy == sympy.Tuple(a + b, a - b)
    assert found.latex() == "y_{1} = x_{1} + x_{2} \\\\\ny_{2} = x_{1} - x_{2}"


def test_a_recurrent_cell_is_unrolled():
    product = Recurrent(filled(NMU(2, 1), [[1.0, 1.0]]))
    assert str(expression(product, length=3)) == "x1*x2*x3"
    sums = nn.Sequential(Recurrent(filled(NAU(3, 1), [[1.0, -1.0, 1.0]])), filled(NAU(1, 2), [[1.0], [-1.0]]))
    assert str(expression(sums, length=2)).splitlines()[0] == "y1 = x1_1 - x1_2 + x2_1 - x2_2"
    assert str(expression(sums, ["a", "b", "c", "d"], length=2)).splitlines()[1] == "y2 = -a + b - c + d"


@pytest.mark.parametrize("unit", ["NMU", "NALU", "NACMulSigma"])
def test_a_recurrent_network_is_what_it_computes(unit):
    torch.manual_seed(1)
    made = nn.Sequential(NAU(2, 3), Recurrent(UNITS[unit].build(5, 2)), NAU(2, 1)).double()
    x = torch.rand(10, 4, 2, dtype=torch.float64)
    found = expression(made, snap=0, length=4).numpy()(x.reshape(10, 8).numpy())
    np.testing.assert_allclose(found, made(x)[:, -1].detach().numpy(), rtol=1e-9)
    assert expression(made, length=4, inputs=x.numpy()).symbols[0].name == "x1_1"


def test_a_hundred_inputs_without_an_exact_weight():
    made = network("NACMul", (100, 3, 1))
    found = expression(made)
    assert len(found.symbols) == 100
    assert len(str(found)) > 1000


def two():
    return filled(NAU(2, 1), [[1.0, 1.0]])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (lambda: nn.Sequential(NAU(2, 2), nn.Dropout()), {}, "layer 2, Dropout, has no known formula"),
        (lambda: EvalBroken(2, 1), {}, "layer 1, EvalBroken, has no known formula"),
        (lambda: nn.Sequential(), {}, "model must have at least one layer, got Sequential without any"),
        (lambda: nn.Sequential(NAU(2, 3), NMU(2, 1)), {}, "layer 2, NMU, must take the 3 values that layer 1, NAU,"),
        (lambda: filled(NAU(2, 1), [[1.0, np.nan]]), {}, r"finite, got nan in layer 1, NAU, weight\[0, 1\]"),
        (two, {"snap": 0.6}, "snap must be from 0 to 0.5, got 0.6"),
        (two, {"names": ["a"]}, "names must be 2, one per input, got 1"),
        (two, {"names": ["a", "a"]}, "names must be different, got 'a' twice"),
        (two, {"names": ["a", " "]}, "names must be non-empty text, got ' '"),
        (two, {"names": ["a", "b\x1b[31m"]}, r"names must be a line of printable text, got 'b\\x1b\[31m'"),
        (two, {"names": ["a", "b\nc"]}, r"names must be a line of printable text, got 'b\\nc'"),
        (two, {"inputs": [1.0, 2.0]}, r"inputs must have the shape \[rows, 2\], got \[2\]"),
        (two, {"length": 3}, "length must be None for a network that is not recurrent"),
        (lambda: Recurrent(NMU(2, 1)), {}, "length must be the number of steps of the sequence, at least 1, got None"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        expression(arguments(), **options)


def test_weights_that_are_not_those_of_the_spec_are_refused():
    spec = Spec(task=Rows([[1, 2]] * 5, [3] * 5), model=MODELS["NMU"])
    with pytest.raises(
        ValueError, match=r"weights must be 6 numbers for NAU>NMU of sizes \(2, 2, 1\), got shape \(5,\)"
    ):
        from_weights(spec, np.ones(5))


def test_functions_refuse_inputs_of_another_width():
    found = expression(two())
    for function, x in ((found.numpy(), np.ones((4, 3))), (found.torch(), torch.ones(4, 3))):
        with pytest.raises(ValueError, match="last axis of the input must have size 2"):
            function(x)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("mass", "mass"),
        ("alpha_1", r"\alpha_{1}"),
        ("speed [m/s]", r"\mbox{speed [m/s]}"),
        (r"\input{/etc/passwd}", r"\mbox{\textbackslash{}input\{/etc/passwd\}}"),
        (r"}\write18{ls}{", r"\mbox{\}\textbackslash{}write18\{ls\}\{}"),
        ("50% of $x_1$", r"\mbox{50\% of \$x\_1\$}"),
        ("a^^5cinput b", r"\mbox{a\textasciicircum{}\textasciicircum{}5cinput b}"),
    ],
)
def test_names_in_latex_are_no_commands(name, written):
    assert expression(filled(NAU(1, 1), [[1.0]]), names=[name]).latex() == written


def test_a_number_next_to_an_integer_is_not_written_as_one():
    x = sympy.Symbol("x")
    formula = sympy.Float(1.0000271) * x + sympy.Float(2.34567) + sympy.Float(1223.4) * x**2
    assert Expression((formula,), (x,)).text() == "1223.4*x**2 + 1.00003*x + 2.346"
