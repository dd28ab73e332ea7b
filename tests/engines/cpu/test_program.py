"""Programs of layers against torch in float64: at most twice the error of float32 torch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from tests.engines.cpu.programs import Lines, check, draw
from tests.engines.random_units import RANDOM, Random
from torch import nn

from arithmos.engines.cpu.updates import adam, corrections
from arithmos.nn import NALU, NAU, NMU, NRU, SNMU, GatedNAUNMU, Linear, LinearReLU6, NACMul, NACMulSigma, noise
from arithmos.nn._layer import sparsity


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e19, 1e20])
def test_a_step_of_adam_is_torch_s(size):
    """The square of a gradient of 10^20 is infinite in float32, and its share in the second moment is not."""
    rng = np.random.default_rng(1)
    g = (size * rng.uniform(-1, 1, 64)).astype(np.float32)
    p, m, v = rng.normal(size=64).astype(np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    theirs = torch.from_numpy(p.copy()).requires_grad_()
    theirs.grad = torch.from_numpy(g.copy())
    optimizer = torch.optim.Adam([theirs])
    optimizer.step()
    step_size, correction, _ = corrections(0, 1e-3, 0.9, 0.999)
    adam(step_size, correction, 0.9, 0.999, 1e-8, g, p, m, v)
    assert_allclose(v, optimizer.state[theirs]["exp_avg_sq"], rtol=1e-6)
    assert_allclose(m, optimizer.state[theirs]["exp_avg"], rtol=1e-6)
    assert_allclose(p, theirs.detach(), rtol=1e-6)


def compare(paths, mix, sizes, seed, alone):
    unit = lambda i, o: Random(i, o, paths, mix)  # noqa: E731
    lines = Lines([unit], (sizes[0], sizes[2])) if alone else Lines([Linear, unit], sizes)
    check(lines, *(draw(lines, seed + k, 0.1, 0.2) for k in range(3)), strength=0.5)


@settings(max_examples=30, deadline=None)
@given(*RANDOM)
def test_random_units(paths, mix, sizes, seed, alone):
    compare(paths, mix, sizes, seed, alone)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(*RANDOM)
def test_many_random_units(paths, mix, sizes, seed, alone):
    compare(paths, mix, sizes, seed, alone)


@pytest.mark.parametrize("layer", [NAU, NACMul, NMU])
@pytest.mark.parametrize("inputs", [1, 4, 37])
def test_many_inputs(layer, inputs):
    lines = Lines([layer, Linear], (inputs, 3, 2))
    p, x, t = draw(lines, 1)
    check(lines, (p * 0.05, x, t))


def test_products_with_zeros_among_their_factors():
    lines = Lines([NMU, Linear], (6, 2, 1))
    p, x, t = draw(lines, 3)
    p[:12] = np.tile([1.0, 0.5, 0.0], 4)
    x[:20, 0], x[10:30, 1], x[5:25, 3] = 0.0, -1.0, 0.0  # factors w x + 1 - w that are 0, up to three at once
    check(lines, (p, x, t))
    second = Lines([NAU, NMU], (3, 2, 1))
    p, x, t = draw(second, 4)
    p[:6], p[6:], x[:10] = 0.0, 1.0, 0.0
    check(second, (p, x, t))


@pytest.mark.parametrize("layer", [NAU, NMU])
def test_slopes_of_the_regularizer_are_those_of_torch(layer):
    w = np.array([-1.5, -1, -0.75, -0.5, -0.25, -0.0, 0, 0.25, 0.5, 0.75, 1, 1.5], np.float32)
    lines = Lines([layer], (12, 1))
    x, t = np.zeros((64, 12), np.float32), np.zeros((64, 1), np.float32)
    alone, both = (lines.run(w, x, t, strength)[1] for strength in (0.0, 3.0))
    stored = torch.tensor(w[None], requires_grad=True)
    (3.0 * sparsity(stored, signed=layer is NAU)).backward()
    g = both - alone
    assert_allclose(g, stored.grad[0], atol=1e-6)
    assert_array_equal(g[[3, 8]] == 0, [layer is NAU, True])
    assert_array_equal(g[[5, 6, 10]], 0)


class Clipped(nn.Linear):
    def forward(self, x):
        return x @ self.weight.clamp(-1, 1).T


def test_a_clip_passes_the_gradient_on_its_boundary_only():
    for layer in (NAU, lambda i, o: Clipped(i, o, bias=False)):
        lines = Lines([layer], (5, 1))
        x, t = np.ones((64, 5), np.float32), np.full((64, 1), -1.0, np.float32)
        _, g, _ = lines.run(np.array([-1.1, -1, 0.3, 1, 1.1], np.float32), x, t)
        assert_array_equal(g != 0, [False, True, True, True, False])


def test_a_range_is_kept_only_where_the_unit_projects():
    for project, expected in ((True, [0, 1]), (False, [-1.2, 1.2])):
        lines = Lines([lambda i, o, project=project: NMU(i, o, project=project)], (1, 2))
        _, x, t = draw(lines, 0)
        *_, p = lines.run(np.array([-1.2, 1.2], np.float32), x, t)
        assert_allclose(p, expected)


def test_nan_passes_everywhere():
    for layers in ([LinearReLU6, GatedNAUNMU], [NAU, NACMulSigma]):
        lines = Lines(layers, (3, 2, 1))
        p, x, t = draw(lines, 0)
        p[:] = np.nan
        y, _, after = lines.run(p, x, t, 0.5)
        assert np.isnan(y).all()
        assert np.isnan(after).all()


def test_noise_is_an_input_of_its_own():
    lines = Lines([NAU, SNMU], (5, 3, 2))
    rng = np.random.default_rng(0)
    check(lines, draw(lines, 1, 0.1, 0.2), noises=[rng.uniform(1, 5, (64, 3)).astype(np.float32)])
    assert [entry.call for entry in lines.program.noises.values()] == [0]


class TwoNoises(NAU):
    def forward(self, x):
        if not self.training:
            return super().forward(x)
        return super().forward(x * noise(x)) + noise(x).sum(-1, keepdim=True)


def test_calls_for_noise_are_counted_over_the_network():
    lines = Lines([TwoNoises, SNMU], (5, 3, 2))
    assert [entry.call for entry in lines.program.noises.values()] == [0, 1, 2]


def test_sums_over_the_batch_that_are_added_up_are_folded_once():
    lines = Lines([NALU], (5, 3)).program
    assert [line.partition("(")[0] for line in lines.backward].count("add_weight_gradient") == 3
    assert [line.partition("(")[0] for line in lines.gradient].count("fold") == 2  # of W and of G


def test_logarithms_of_a_network_s_inputs_are_of_finite_numbers():
    first, second = (text for text in Lines([NALU, NALU], (5, 3, 2)).program.functions if "log(" in text)
    assert "maths.finite_log(" in first
    assert "maths.log(" in second


def test_evaluation_has_lines_of_its_own_only_where_it_differs():
    assert not Lines([NAU, NMU], (5, 3, 2)).program.judge
    assert Lines([NAU, NRU], (5, 3, 2)).program.judge
