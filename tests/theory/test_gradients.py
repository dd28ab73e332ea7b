import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from arithmos.theory import nac_add_gradient, nac_mul_gradient, nac_weight_gradient, nmu_gradient

EPSILON = 1e-3  # large enough for slopes at x = 0 that leave digits to compare


def naive_sum(x: Tensor, weight: Tensor) -> Tensor:
    return (weight * x.unsqueeze(-2)).sum(-1)


def naive_exp_log(x: Tensor, weight: Tensor) -> Tensor:
    return (weight * (x.unsqueeze(-2).abs() + EPSILON).log()).sum(-1).exp()


def naive_product(x: Tensor, weight: Tensor) -> Tensor:
    return (weight * x.unsqueeze(-2) + 1 - weight).prod(-1)


def nac_mul_gradient_at_epsilon(x: Tensor, weight: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    return nac_mul_gradient(x, weight, gradient, epsilon=EPSILON)


UNITS = [
    (naive_sum, nac_add_gradient),
    (naive_exp_log, nac_mul_gradient_at_epsilon),
    (naive_product, nmu_gradient),
]


@st.composite
def layers(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, weights, output gradients; x = 0, w = 1 and x = -1, w = 1/2 are zero factors of the NMU."""
    batch = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    i, o = draw(st.integers(1, 5)), draw(st.integers(1, 4))

    def tensor(values: st.SearchStrategy[float], *shape: int) -> Tensor:
        n = torch.Size(shape).numel()
        drawn = draw(st.lists(values, min_size=n, max_size=n))
        return torch.tensor(drawn, dtype=torch.float64).reshape(shape)

    x = tensor(st.sampled_from([0.0, -1.0, 1.0, 1e-9]) | st.floats(-3, 3), *batch, i)
    weight = tensor(st.sampled_from([0.0, 0.5, 1.0]) | st.floats(-1, 1), o, i)
    return x, weight, tensor(st.floats(-2, 2), *batch, o)


@pytest.mark.parametrize(("forward", "gradient"), UNITS, ids=["NACAdd", "NACMul", "NMU"])
@given(layer=layers())
def test_agrees_with_autograd(forward, gradient, layer):
    x, weight, delta = layer
    x.requires_grad_()
    weight.requires_grad_()
    expected = torch.autograd.grad(forward(x, weight), (x, weight), delta)
    actual = gradient(x.detach(), weight.detach(), delta)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


@given(st.floats(-12, 12), st.floats(-12, 12), st.floats(-2, 2))
def test_weight_construction_agrees_with_autograd(w_hat, m_hat, delta):
    parameters = [torch.tensor([[v]], dtype=torch.float64, requires_grad=True) for v in (w_hat, m_hat)]
    gradient = torch.full((1, 1), delta, dtype=torch.float64)
    expected = torch.autograd.grad(parameters[0].tanh() * parameters[1].sigmoid(), parameters, gradient)
    actual = nac_weight_gradient(parameters[0].detach(), parameters[1].detach(), gradient)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-12)


def test_nmu_gradient_by_inputs_needs_the_loss_s_factor():
    generator = torch.Generator().manual_seed(3)
    x, weight, delta = (torch.rand(shape, generator=generator, dtype=torch.float64) for shape in ((3,), (2, 3), (2,)))

    def loss(v: Tensor) -> Tensor:
        return delta @ naive_product(v, weight)

    step = 1e-5 * torch.eye(3, dtype=torch.float64)
    differences = torch.stack([(loss(x + h) - loss(x - h)) / 2e-5 for h in step])
    factors = weight * x + 1 - weight
    quotients = naive_product(x, weight).unsqueeze(-1) / factors * weight
    torch.testing.assert_close(nmu_gradient(x, weight, delta)[0], differences, rtol=1e-8, atol=0)
    torch.testing.assert_close(delta @ quotients, differences, rtol=1e-8, atol=0)
    as_printed = quotients.sum(0)
    assert (as_printed - differences).abs().min() > 0.05


@pytest.mark.parametrize(
    ("x", "by_x", "by_weight"),
    [
        ([0.0, 3.0, 5.0], [15.0, 0.0, 0.0], [-15.0, 0.0, 0.0]),
        ([0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([2.0, 3.0, 5.0], [15.0, 10.0, 6.0], [15.0, 20.0, 24.0]),
    ],
    ids=["one zero", "two zeros", "none"],
)
def test_nmu_gradient_at_zero_factors(x, by_x, by_weight):
    actual = nmu_gradient(torch.tensor(x), torch.ones(1, 3), torch.ones(1))
    torch.testing.assert_close(actual, (torch.tensor(by_x), torch.tensor([by_weight])))


def test_nac_mul_gradient_is_zero_at_zero_inputs():
    by_x, _ = nac_mul_gradient(torch.zeros(1), torch.ones(1, 1), torch.ones(1))
    assert by_x.item() == 0
