import copy
import itertools

import pytest
import torch
from torch import nn

from arithmos.nn import NAU, NMU, UNITS
from arithmos.optim import LevenbergMarquardt
from arithmos.optim.levenberg_marquardt import _ClosureProblem

D = torch.float64


def network(seed, dtype=D):
    """A network that multiplies two sums, with data for it."""
    torch.manual_seed(seed)
    model = nn.Sequential(NAU(6, 2), NMU(2, 1)).to(dtype)
    nn.init.constant_(model[1].weight, 0.9)
    x = torch.rand(60, 6, dtype=dtype) * 4 - 2
    return model, x, x[:, :3].sum(1, keepdim=True) * x[:, 2:].sum(1, keepdim=True)


def steps(model, optimizer, x, t, count):
    return [optimizer.step(lambda: model(x) - t).item() for _ in range(count)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_finds_a_product_of_sums_within_bounds(dtype):
    model, x, t = network(0, dtype)
    optimizer = LevenbergMarquardt(model)
    losses = steps(model, optimizer, x, t, 40)
    assert all(after <= before for before, after in itertools.pairwise(losses))
    assert losses[-1] < (1e-8 if dtype == torch.float32 else 1e-16)
    assert model[0].weight.round().abs().sum(1).sort().values.tolist() == [3, 4]
    assert (model[0].weight.abs() <= 1).all()
    assert model[0].weight.dtype == dtype


def test_accounts_for_what_happened():
    model, x, t = network(0)
    optimizer = LevenbergMarquardt(model)
    assert optimizer.account.iterations == 0
    steps(model, optimizer, x, t, 3)
    assert optimizer.account.iterations == 3
    assert optimizer.account.stopped is None
    assert optimizer.account.loss == pytest.approx((model(x) - t).square().sum().item() / 2)
    steps(model, optimizer, x, t, 60)
    assert optimizer.account.stopped in ("exact", "gradient", "stuck")


def test_resumed_equals_undisturbed():
    model, x, t = network(1)
    optimizer = LevenbergMarquardt(model)
    steps(model, optimizer, x, t, 4)
    other = copy.deepcopy(model)
    resumed = LevenbergMarquardt(other)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert steps(model, optimizer, x, t, 5) == steps(other, resumed, x, t, 5)
    assert optimizer.account == resumed.account
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)


def test_a_fresh_optimizer_would_go_another_way():
    """Without the state the test above could not fail."""
    model, x, t = network(1)
    optimizer = LevenbergMarquardt(model)
    steps(model, optimizer, x, t, 4)
    other = copy.deepcopy(model)
    assert steps(model, optimizer, x, t, 5) != steps(other, LevenbergMarquardt(other), x, t, 5)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_jacobians_of_every_unit_agree_with_finite_differences(unit):
    torch.manual_seed(0)
    layer = unit.build(3, 2).double().eval()
    x = torch.rand(9, 3, dtype=D) + 0.5
    names, parameters = zip(*layer.named_parameters(), strict=True)
    problem = _ClosureProblem(layer, list(names), list(parameters), lambda: layer(x))
    point = torch.cat([p.detach().flatten() for p in parameters]).unsqueeze(0)
    _, jacobian = problem.linearize(point)
    for column in range(point.shape[1]):
        step = torch.zeros_like(point)
        step[0, column] = 1e-6
        difference = (problem.residuals(point + step) - problem.residuals(point - step)) / 2e-6
        torch.testing.assert_close(jacobian[0, :, column], difference[0], rtol=1e-4, atol=1e-6)


def test_takes_fewer_rows_than_parameters():
    _, x, t = network(0)
    model = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    optimizer = LevenbergMarquardt(model)
    losses = steps(model, optimizer, x[:7], t[:7], 30)
    assert losses[-1] < 1e-12


def test_leaves_frozen_parameters_alone():
    model, x, t = network(0)
    model[1].weight.requires_grad_(False)
    before = model[1].weight.clone()
    optimizer = LevenbergMarquardt(model)
    steps(model, optimizer, x, t, 3)
    assert torch.equal(model[1].weight, before)


def test_nan_leaves_the_parameters_and_says_so():
    model, x, t = network(0)
    before = copy.deepcopy(model.state_dict())
    optimizer = LevenbergMarquardt(model)
    steps(model, optimizer, x, t * torch.nan, 1)
    assert optimizer.account.stopped == "not finite"
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_refuses_what_it_cannot_step():
    model, x, t = network(0)
    with pytest.raises(ValueError, match="module must have trainable parameters, got Identity"):
        LevenbergMarquardt(nn.Identity())
    with pytest.raises(ValueError, match="damping must be above 0, got 0"):
        LevenbergMarquardt(model, damping=0)
    with pytest.raises(TypeError, match="step needs a closure"):
        LevenbergMarquardt(model).step()
    with pytest.raises(ValueError, match="closure must return a tensor with at least one residual"):
        LevenbergMarquardt(model).step(lambda: model(x[:0]) - t[:0])


def test_refuses_a_jacobian_that_does_not_fit_in_memory():
    model = nn.Linear(30_000, 1, bias=False)
    with pytest.raises(ValueError, match="the Jacobian of 40,000 residuals and 30,000 parameters needs"):
        LevenbergMarquardt(model).step(lambda: model.weight.sum().expand(40_000))
