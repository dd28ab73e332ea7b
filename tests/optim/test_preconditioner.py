"""The preconditioner is the inverse root of the second moments, and makes Adam fast where inputs have a large mean."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import arithmos
from arithmos.nn import NAU
from arithmos.optim.preconditioner import input_weights, precondition, preconditioner


@given(st.integers(1, 6), st.integers(1, 3), st.floats(-50, 50), st.integers(0, 2**32 - 1))
def test_it_is_the_inverse_root_of_the_second_moments(inputs, outputs, mean, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, inputs)) * rng.uniform(0.1, 3, inputs) + mean
    gradient = rng.normal(size=(outputs, inputs))
    found = precondition(torch.from_numpy(gradient), *preconditioner(torch.from_numpy(x))).numpy()
    d = np.diag(x.var(0) ** -0.5)
    values, vectors = np.linalg.eigh(np.eye(inputs) + d @ np.outer(x.mean(0), x.mean(0)) @ d)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    np.testing.assert_allclose(found, gradient @ d @ root @ d * x.var(0).mean(), rtol=1e-5, atol=1e-8)


def test_a_constant_input_is_allowed_and_constant_inputs_are_not():
    x = torch.tensor([[1.0, 5.0], [2.0, 5.0]])
    assert torch.isfinite(torch.stack(preconditioner(x))).all()
    with pytest.raises(ValueError, match="the inputs must vary to precondition the gradient, got a mean variance of 0"):
        preconditioner(torch.ones(3, 2))


def test_only_weights_of_inputs():
    assert input_weights(nn.Linear(3, 2), 3) == ["weight"]
    assert input_weights(nn.Linear(3, 2), 2) == []


def trained(precondition):
    """Largest error of the weights of a sum after some steps."""
    torch.manual_seed(0)
    model = NAU(10, 1)

    def batch(step):
        x = 5 + torch.rand(64, 10, generator=torch.Generator().manual_seed(step))
        return x, x[:, :3].sum(1, keepdim=True)

    options = {"validation": batch(10**6), "scale_loss": True, "schedule": lambda step: 0.0, "learning_rate": 5e-3}
    arithmos.train(model, batch, 1500, precondition=precondition, **options)
    return (model.weight.detach() - torch.tensor([[1.0] * 3 + [0.0] * 7])).abs().max()


def test_adam_finds_a_sum_of_inputs_with_a_large_mean_sooner():
    assert trained(True) < 0.2 < 0.5 < trained(False)


def test_a_model_without_weights_of_its_inputs_is_refused():
    batch = torch.rand(8, 2), torch.rand(8, 1)
    with pytest.raises(ValueError, match="precondition needs a first layer with a weight per input, got NAU"):
        arithmos.train(nn.Sequential(nn.Flatten(), NAU(3, 1)), [batch], 2, validation=batch, precondition=True)
