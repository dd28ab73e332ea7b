"""Weights that runs keep."""

import numpy as np
import pytest
import torch

from arithmos.engines.weights import are_effective, filled, kept_weights, layout
from arithmos.spec import Layer

EFFECTIVE = {
    ("NAU", "NMU"): [{"weight": (2, 3)}, {"weight": (1, 2)}],
    ("LinearReLU", "NACMul"): [{"weight": (2, 3), "bias": (2,)}, {"weight": (1, 2)}],
    ("NALU", "NALUSeparate"): [{"add": (2, 3), "gate": (2, 3)}, {"add": (1, 2), "mul": (1, 2), "gate": (1, 2)}],
}


@pytest.mark.parametrize("names", EFFECTIVE, ids=">".join)
def test_units_of_the_paper_keep_effective_weights(names):
    layers = [Layer(name) for name in names]
    assert are_effective(layers)
    assert layout(layers, (3, 2, 1)) == EFFECTIVE[names]


def test_other_units_keep_their_parameters():
    layers = [Layer("NAU"), Layer("RealNPU")]
    parameters = np.linspace(-2, 2, 10).astype(np.float32)
    assert layout(layers, (3, 2, 1)) == [{"weight": (2, 3)}, {"weight": (1, 2), "gate": (2,)}]
    assert kept_weights(layers, (3, 2, 1), parameters) is parameters
    first, second = filled(layers, (3, 2, 1), parameters)
    np.testing.assert_array_equal(first.weight.detach().numpy().ravel(), parameters[:6])
    np.testing.assert_array_equal(second.gate.detach().numpy(), parameters[8:])


def test_effective_weights_of_parameters():
    layers = [Layer("LinearReLU"), Layer("NACMulSigma"), Layer("NACAdd"), Layer("NAU")]
    parameters = np.random.default_rng(1).uniform(-3, 3, 6 + 2 + 4 + 8 + 4).astype(np.float32)
    w, b, s, hat, m, n = np.split(parameters.astype(np.float64), np.cumsum([6, 2, 4, 4, 4]))
    expected = [w, b, 1 / (1 + np.exp(-s)), np.tanh(hat) / (1 + np.exp(-m)), np.clip(n, -1, 1)]
    found = kept_weights(layers, (3, 2, 2, 2, 2), parameters)
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-6)
    assert found.dtype == np.float32


def test_the_global_generator_stays_as_it_is():
    before = torch.get_rng_state()
    kept_weights([Layer("NMU")], (2, 1), np.ones(2, np.float32))
    assert torch.equal(torch.get_rng_state(), before)
