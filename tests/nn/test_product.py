"""The product of many factors: in pieces or whole, it is the plain product, zeros included."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call, grad, jacrev, jvp, vmap

from arithmos import functional
from arithmos.nn import NMU, _product


def naive(x, weight):
    return (weight * x.unsqueeze(-2) + 1 - weight).prod(-1)


@pytest.fixture(params=[1, 10, 2**19], ids=["rows", "pieces", "whole"])
def piece(request, monkeypatch):
    """How many factors fit into a piece: one row at a time, a few rows, everything."""
    monkeypatch.setitem(_product.PIECE, "cpu", request.param)


@pytest.fixture
def pieces(monkeypatch):
    monkeypatch.setitem(_product.PIECE, "cpu", 10)


def problem(batch, i, o, zeros=0, seed=0):
    """Inputs and weights of which the first `zeros` make factors that are exactly 0, in every row and output."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.empty(batch, i, dtype=torch.float64).uniform_(-2, 2, generator=generator)
    weight = torch.empty(o, i, dtype=torch.float64).uniform_(0, 1, generator=generator)
    x[:, :zeros], weight[:, :zeros] = 0, 1
    return x.requires_grad_(), weight.requires_grad_()


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
@pytest.mark.parametrize("i", [3, 4, 5, 7, 8, 13])
@pytest.mark.usefixtures("piece")
def test_values_and_gradients(i, zeros):
    x, weight = problem(7, i, 3, zeros)
    z, expected = functional.product(x, weight), naive(x, weight)
    torch.testing.assert_close(z, expected)
    upstream = torch.linspace(-1, 1, z.numel(), dtype=z.dtype).view_as(z)
    found = torch.autograd.grad(z, (x, weight), upstream)
    for a, b in zip(found, torch.autograd.grad(expected, (x, weight), upstream), strict=True):
        torch.testing.assert_close(a, b)
    if zeros == 1:
        assert found[0][:, 0].count_nonzero() == len(x)  # the product of the others, not 0 / 0
    if zeros > 1:
        assert all(g.count_nonzero() == 0 for g in found)


@pytest.mark.parametrize("zeros", [0, 1, 2])
@pytest.mark.parametrize("i", [1, 2, 3])
@pytest.mark.usefixtures("piece")
def test_autograd_checks(i, zeros):
    x, weight = problem(4, i, 3, min(zeros, i))
    assert torch.autograd.gradcheck(functional.product, (x, weight))
    assert torch.autograd.gradgradcheck(functional.product, (x, weight))


@pytest.mark.usefixtures("pieces")
def test_double_backward_of_one_argument():
    x, weight = problem(4, 5, 3)
    assert torch.autograd.gradgradcheck(lambda x: functional.product(x, weight.detach()), (x,))
    assert torch.autograd.gradgradcheck(lambda weight: functional.product(x.detach(), weight), (weight,))


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("upstream", ["input", "weight"])
def test_double_backward_where_one_argument_depends_on_the_other(upstream):
    x, weight = problem(3, 5, 3)
    leaf = x if upstream == "input" else weight

    def gradient(product):
        arguments = (x, weight * x.sigmoid()) if upstream == "input" else (x * weight.sigmoid(), weight)
        return torch.autograd.grad(product(*arguments).sin().sum(), leaf, create_graph=True)[0]

    found, expected = gradient(functional.product), gradient(naive)
    torch.testing.assert_close(found, expected)
    for g in (found, expected):
        g.square().sum().backward(inputs=[leaf])
        leaf.grad, g.second = None, leaf.grad
    torch.testing.assert_close(found.second, expected.second)


@pytest.mark.usefixtures("pieces")
def test_a_tiny_product_still_has_gradients():
    """The product underflows, the product of the others does not: a quotient would be 0 here."""
    x = torch.full((20, 10), 1e-4)
    x[:, 0] = 1e-30
    x.requires_grad_()
    functional.product(x, torch.ones(2, 10)).sum().backward()
    torch.testing.assert_close(x.grad[:, 0], torch.full((20,), 2e-36), rtol=1e-5, atol=0)


@pytest.mark.usefixtures("pieces")
@given(shape=st.lists(st.integers(1, 4), max_size=3), i=st.integers(1, 9), o=st.integers(1, 5))
@settings(max_examples=50)
def test_any_leading_axes(shape, i, o):
    x, weight = torch.randn(*shape, i), torch.rand(o, i)
    torch.testing.assert_close(functional.product(x, weight), naive(x, weight))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # by forward-mode AD
@pytest.mark.usefixtures("pieces")
def test_transforms_of_a_large_problem():
    x, weight = problem(6, 5, 3)
    stacked = torch.stack([weight, weight / 2]).detach()
    torch.testing.assert_close(
        vmap(functional.product, (None, 0))(x, stacked), torch.stack([naive(x, w) for w in stacked])
    )
    torch.testing.assert_close(
        grad(lambda w: functional.product(x, w).sum())(weight), grad(lambda w: naive(x, w).sum())(weight)
    )
    torch.testing.assert_close(jacrev(functional.product)(x, weight), jacrev(naive)(x, weight))
    tangents = torch.randn_like(x), torch.randn_like(weight)
    torch.testing.assert_close(jvp(functional.product, (x, weight), tangents), jvp(naive, (x, weight), tangents))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach(), tangents[0])
        tangent = torch.autograd.forward_ad.unpack_dual(functional.product(dual, weight)).tangent
    torch.testing.assert_close(tangent, jvp(lambda x: naive(x, weight), (x,), tangents[:1])[1])


@pytest.mark.usefixtures("pieces")
def test_gradients_are_not_autocast():
    layer, x = NMU(8, 4), torch.rand(16, 8) + 0.5
    expected = torch.autograd.grad(layer(x).sum(), layer.weight)[0]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = torch.autograd.grad(layer(x).sum(), layer.weight)[0]
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("pieces")
def test_nan_stays_in_its_row():
    x, weight = problem(9, 5, 3)
    with torch.no_grad():
        x[4, 1] = torch.nan
    z = functional.product(x, weight)
    assert z.isnan().any(1).nonzero().flatten().tolist() == [4]
    assert functional_call(NMU(5, 3, dtype=x.dtype), {"weight": weight}, (x,)).isnan().sum() == 3
