"""Weights on their bounds go on learning, whatever the slope of `torch.clamp` there."""

import math

import pytest
import torch
from torch.func import grad, vmap

from arithmos.functional import clamp
from arithmos.nn import NAU, NMU, NACMulNMU

WEIGHT = torch.tensor([-math.inf, -0.5, 0.0, 0.5, 1.0, 1.5, math.inf])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_values_are_those_of_torch(dtype):
    weight = torch.cat([WEIGHT, torch.tensor([math.nan])]).to(dtype)
    found = clamp(weight, 0.0, 1.0)
    assert found.dtype == dtype
    assert torch.equal(found.nan_to_num(9), weight.clamp(0, 1).nan_to_num(9))


def test_slopes():
    weight = WEIGHT.clone().requires_grad_()
    clamp(weight, 0.0, 1.0).sum().backward()
    expected = torch.tensor([0.0, 0, 1, 1, 1, 0, 0])
    assert torch.equal(weight.grad, expected)
    assert torch.equal(vmap(grad(lambda w: clamp(w, 0.0, 1.0)))(WEIGHT), expected)


@pytest.mark.parametrize(("layer", "bounds"), [(NAU, (-1, 1)), (NMU, (0, 1)), (NACMulNMU, (0, 1))])
def test_a_weight_on_its_bound_can_leave_it(layer, bounds):
    x = torch.tensor([2.0, 3.0])
    for bound in bounds:
        module = layer(2, 1)
        with torch.no_grad():
            module.weight.fill_(bound)
        module(x).sum().backward()
        assert module.weight.grad.abs().min() > 0
