"""The preconditioner is the inverse of the second moments, and makes Adam fast where inputs have a large mean."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import arithmos
from arithmos.nn import NAU, NMU
from arithmos.optim import constrain, sparsity_loss
from arithmos.optim.preconditioner import input_weights, precondition, preconditioner


@given(st.integers(1, 6), st.integers(1, 3), st.floats(-50, 50), st.integers(0, 2**32 - 1))
def test_it_is_the_inverse_of_the_second_moments(inputs, outputs, mean, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, inputs)) * rng.uniform(0.1, 3, inputs) + mean
    gradient = rng.normal(size=(outputs, inputs))
    moments = np.outer(x.mean(0), x.mean(0)) + np.diag(x.var(0))
    found = precondition(torch.from_numpy(gradient), *preconditioner(torch.from_numpy(x))).numpy()
    np.testing.assert_allclose(found, gradient @ np.linalg.inv(moments) * x.var(0).mean(), rtol=1e-5, atol=1e-8)


def test_a_constant_input_is_allowed_and_constant_inputs_are_not():
    x = torch.tensor([[1.0, 5.0], [2.0, 5.0]])
    assert torch.isfinite(torch.stack(preconditioner(x))).all()
    with pytest.raises(ValueError, match="the inputs must vary to precondition the gradient, got a mean variance of 0"):
        preconditioner(torch.ones(3, 2))


def test_only_weights_of_inputs():
    assert input_weights(nn.Linear(3, 2), 3) == ["weight"]
    assert input_weights(nn.Linear(3, 2), 2) == []


def batch(step):
    x = 5 + torch.rand(64, 10, generator=torch.Generator().manual_seed(step), dtype=torch.float64)
    return x, x[:, :3].sum(1, keepdim=True)


def network():
    torch.manual_seed(0)
    return nn.Sequential(NAU(10, 1), NMU(1, 1)).double()


def by_hand(steps, after, validation):
    """Weights after some steps of Adam whose gradient of the error is multiplied by the inverse of the moments."""
    model, x = network(), validation[0]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    constrain(optimizer, model)
    level = x.var(0, correction=0).mean()
    moments = torch.outer(x.mean(0), x.mean(0)) + torch.diag(x.var(0, correction=0))
    for step in range(steps):
        rows, t = batch(step)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(rows), t).backward()
        if step > after:
            model[0].weight.grad = torch.linalg.solve(moments, model[0].weight.grad, left=False) * level
        (0.1 * sparsity_loss(model)).backward()
        optimizer.step()
    return model[0].weight.detach()


@pytest.mark.parametrize("after", [5, 30])
def test_train_preconditions_the_error_and_not_the_regularizer(after):
    kept, model, validation = {}, network(), batch(10**6)
    arithmos.train(
        model,
        batch,
        20,
        validation=validation,
        schedule=lambda step: 0.1,
        every=20,
        callback=lambda step, error: kept.update({step: model[0].weight.detach().clone()}),
        precondition_after=after,
    )
    torch.testing.assert_close(kept[20], by_hand(20, after, validation))
    assert torch.allclose(kept[20], by_hand(20, 10**6, validation)) == (after >= 20)


def test_a_model_without_weights_of_its_inputs_is_refused():
    batch = torch.rand(8, 2), torch.rand(8, 1)
    with pytest.raises(ValueError, match="precondition_after needs a first layer with a weight per input, got NAU"):
        arithmos.train(nn.Sequential(nn.Flatten(), NAU(3, 1)), [batch], 2, validation=batch, precondition_after=1)
