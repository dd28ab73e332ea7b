"""Each unit computes its printed formula, and its gradient is the appendix's."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from arithmos import functional, theory
from arithmos.nn import UNITS

EPSILON = 1e-7


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def rows(formula):
    """A formula of one row and one output, for all of both."""

    def layer(x, *weights):
        return np.array([[formula(row, *(w[o] for w in weights)) for o in range(len(weights[0]))] for row in x])

    return layer


def total(x, w):
    return sum(wi * xi for wi, xi in zip(w, x, strict=True))


def power(x, w):
    return np.prod([(abs(xi) + EPSILON) ** wi for wi, xi in zip(w, x, strict=True)])


def chosen(x, w):
    return np.prod([wi * xi + 1 - wi for wi, xi in zip(w, x, strict=True)])


def nac(w_hat, m_hat):
    return np.tanh(w_hat) * sigmoid(m_hat)


def gated(x, g, add, mul):
    open_ = sigmoid(total(x, g))
    return open_ * add + (1 - open_) * mul


def clip(w, low):
    return np.minimum(np.maximum(w, low), 1)


FORMULAS = {
    "NACMulNMU": lambda x, w: power(x, clip(w, 0)),
    "NACMulSigma": lambda x, w: power(x, sigmoid(w)),
    "NACMul": lambda x, w, m: power(x, nac(w, m)),
    "NACAdd": lambda x, w, m: total(x, nac(w, m)),
    "GatedNAUNMU": lambda x, a, m, g: gated(x, g, total(x, clip(a, -1)), chosen(x, clip(m, 0))),
    "Linear": lambda x, w, b: total(x, w) + b,
    "NALU": lambda x, w, m, g: gated(x, g, total(x, nac(w, m)), power(x, nac(w, m))),
    "NALUSeparate": lambda x, w, m, v, n, g: gated(x, g, total(x, nac(w, m)), power(x, nac(v, n))),
    "NAU": lambda x, w: total(x, clip(w, -1)),
    "NMU": lambda x, w: chosen(x, clip(w, 0)),
    "LinearReLU": lambda x, w, b: max(0, total(x, w) + b),
    "LinearReLU6": lambda x, w, b: min(6, max(0, total(x, w) + b)),
}

values = st.floats(-8, 8) | st.sampled_from([0.0, -0.0, 1e-7, -1e-12, 1e-300, 1.0])
sizes = st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(1, 3))


@st.composite
def problems(draw):
    batch, i, o = draw(sizes)
    return draw(hnp.arrays(np.float64, (batch, i), elements=values)), o, draw(st.integers(0, 2**32 - 1))


def layer(unit, i, o, seed):
    """A layer with parameters in and somewhat out of its range, and a bias that is not 0."""
    built = unit.build(i, o, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    for parameter in built.parameters():
        torch.nn.init.uniform_(parameter, -1.5, 1.5, generator=generator)
    return built.eval()


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
@given(problem=problems())
@settings(max_examples=30)
def test_the_formula(unit, problem):
    x, o, seed = problem
    built = layer(unit, x.shape[1], o, seed)
    expected = rows(FORMULAS[unit.name])(x, *(p.detach().numpy() for p in built.parameters())).reshape(len(x), o)
    np.testing.assert_allclose(built(torch.from_numpy(x)).detach().numpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_gradcheck(unit):
    built = unit.build(3, 2, dtype=torch.float64)
    built.reset_parameters(torch.Generator().manual_seed(1))
    x = torch.tensor([[0.5, -1.5, 2.0], [3.0, 0.7, -0.2]], dtype=torch.float64, requires_grad=True)
    names, parameters = zip(*built.named_parameters(), strict=True)

    def output(x, *parameters):
        return torch.func.functional_call(built, dict(zip(names, parameters, strict=True)), (x,))

    assert torch.autograd.gradcheck(output, (x, *parameters))
    assert torch.autograd.gradgradcheck(output, (x, *parameters))


@pytest.mark.parametrize(
    ("name", "analytic"),
    [
        ("NAU", theory.nac_add_gradient),
        ("NACAdd", theory.nac_add_gradient),
        ("NACMul", theory.nac_mul_gradient),
        ("NACMulSigma", theory.nac_mul_gradient),
        ("NACMulNMU", theory.nac_mul_gradient),
        ("NMU", theory.nmu_gradient),
    ],
)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_the_gradient_is_the_appendix(name, analytic, seed):
    built = UNITS[name].build(4, 3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    built.reset_parameters(generator)
    x, upstream = (torch.empty(5, n, dtype=torch.float64).uniform_(-2, 2, generator=generator) for n in (4, 3))
    x.requires_grad_()
    weight = built.weights()["weight"]
    found = torch.autograd.grad(built(x), (x, *built.parameters()), upstream)
    by_x, by_weight = analytic(x.detach(), weight.detach(), upstream)
    if name in ("NACAdd", "NACMul"):
        by_parameters = theory.nac_weight_gradient(built.W_hat.detach(), built.M_hat.detach(), by_weight)
    elif name == "NACMulSigma":
        by_parameters = (by_weight * (weight * (1 - weight)).detach(),)
    else:
        by_parameters = (by_weight,)
    for a, b in zip(found, (by_x, *by_parameters), strict=True):
        torch.testing.assert_close(a, b)


def test_the_layers_are_the_pure_functions():
    x = torch.randn(5, 4)
    for name, pure in {
        "NACMulNMU": functional.nac_mul_nmu,
        "NACMulSigma": functional.nac_mul_sigma,
        "NACMul": functional.nac_mul,
        "NACAdd": functional.nac_add,
        "GatedNAUNMU": functional.gated_nau_nmu,
        "Linear": functional.linear,
        "NAU": functional.nau,
        "NMU": functional.nmu,
        "LinearReLU": functional.linear_relu,
        "LinearReLU6": functional.linear_relu6,
    }.items():
        built = UNITS[name].build(4, 2)
        torch.testing.assert_close(pure(x, *built.parameters()), built(x), rtol=0, atol=0)
    w, m, v, n, g = (separate := UNITS["NALUSeparate"].build(4, 2)).parameters()
    torch.testing.assert_close(functional.nalu(x, (w, m), g, (v, n)), separate(x), rtol=0, atol=0)
    w, m, g = (shared := UNITS["NALU"].build(4, 2)).parameters()
    torch.testing.assert_close(functional.nalu(x, (w, m), g), shared(x), rtol=0, atol=0)


@pytest.mark.parametrize("name", ["NALU", "NALUSeparate", "GatedNAUNMU"])
def test_the_gate_chooses(name):
    built = UNITS[name].build(2, 1)
    x = torch.tensor([3.0, 0.5])
    for logit, side in ((50.0, "add"), (-50.0, "mul")):
        torch.nn.init.constant_(built.gate.weight, logit)
        assert built.gate_value(x).round().item() == (side == "add")
        leaf = UNITS[{"GatedNAUNMU": {"add": "NAU", "mul": "NMU"}}.get(name, {"add": "NACAdd", "mul": "NACMul"})[side]]
        alone = leaf.build(2, 1)
        source = built.add if side == "add" or name == "NALU" else built.mul
        alone.load_state_dict(source.state_dict())
        torch.testing.assert_close(built(x), alone(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("function", [functional.exp_log, functional.product])
def test_half_precision_is_computed_in_single(function, dtype):
    x, w = torch.rand(3, 100).to(dtype) + 1, torch.full((2, 100), 0.05, dtype=dtype)
    found = function(x, w)
    assert found.dtype == dtype
    torch.testing.assert_close(found, function(x.float(), w.float()).to(dtype), rtol=0, atol=0)
