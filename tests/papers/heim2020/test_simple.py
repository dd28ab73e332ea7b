"""The simple task of Heim et al. (2020): its data, the errors that its table prints, and the NPU's imaginary parts."""

import numpy as np
import pytest
import torch

from arithmos.judging.cells import Judged
from arithmos.nn import NPU
from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.papers.heim2020.estimators import COMPARISONS, errors
from arithmos.papers.heim2020.experiments import FUNCTIONS, POSITIVE, WIDE, targets

SIMPLE = EXPERIMENTS["heim2020/simple"]
EXPONENTS = [[1, 0], [0, 1], [1, 1], [1, -1], [0.5, 0], [0, 0]]
SUMS = [[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]


def exact(*, scale=1.0):
    """Parameters of a RealNPU and a matrix that are the four functions, times a factor: exponents, gates, sums."""
    return np.concatenate([np.ravel(EXPONENTS), [1, 1], scale * np.ravel(SUMS)])


def test_grids_and_training_rows():
    assert (WIDE.min(), WIDE.max(), len(WIDE)) == (-4.1, 3.9, 41**2)
    assert (POSITIVE.min(), POSITIVE.max(), len(POSITIVE)) == (0.1, 4.0, 40**2)
    assert np.abs(WIDE).min() == 0.1  # no divisor of 0
    x, t = SIMPLE.specs[0].task.training()
    assert (x.min() >= np.float32(0.1), x.max() <= np.float32(2.1), t.shape[1]) == (True, True, 4)
    np.testing.assert_allclose(t, targets(x.astype(np.float64)), rtol=1e-6)


def test_networks_are_those_of_the_released_program():
    specs = {spec.model.name: spec for spec in SIMPLE.specs}
    dense, inalu = specs.pop("Dense"), specs["INALUGated"]
    assert {(spec.sizes, spec.iterations, spec.batch_size) for spec in specs.values()} == {((2, 6, 4), 20_000, 100)}
    assert (dense.sizes, dense.iterations, dense.optimizer.name) == ((2, 10, 10, 4), 20_000, "adam")
    assert {name for name, spec in specs.items() if spec.model.penalties} == {"INALUGated"}
    assert [inalu.model.penalties[0].at(step) for step in (9_999, 10_000)] == [0.0, 6e-6]
    assert (specs["NPU"].optimizer.name, specs["NALU"].optimizer.name) == ("adam", "rmsprop")
    first, second = (layer.build(2, 6) for layer in specs["NMU"].model.layers)
    assert (first.bounds(), second.bounds()) == ({}, {})
    with torch.no_grad():
        second.weight.fill_(3.0)
        assert second(torch.ones(2)).tolist() == [6.0] * 6


def test_errors_of_exact_and_of_scaled_networks():
    found = errors("RealNPU", np.stack([exact(), exact(scale=2.0)]))
    np.testing.assert_allclose(found[0], 0, atol=1e-4)
    size = [np.abs(targets(WIDE)[:, :3]).mean(axis=0), np.abs(targets(POSITIVE)[:, 3:]).mean(axis=0)]
    np.testing.assert_allclose(found[1], np.concatenate(size), rtol=1e-4)


def test_networks_with_parts_are_read_from_effective_weights():
    weights = np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 0]], np.zeros((2, 2))])[:6].ravel()
    sums = [[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0] * 6, [0] * 6]
    found = errors("NMU", np.concatenate([weights, np.ravel(sums)])[None])
    np.testing.assert_allclose(found[0, :2], 0, atol=1e-9)
    assert (found[0, 2:] > 0.1).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_printed_mean_is_compared_with_the_mean_of_ours(name):
    rng = np.random.default_rng(0)
    cell = Judged(n=20, weights=np.stack([exact(scale=scale) for scale in rng.uniform(1.5, 2.5, 20)]))
    own = errors("RealNPU", cell.weights)[:, FUNCTIONS.index(name)].mean()
    printed = {"model": "RealNPU", "n": 20, "k": 0}
    same, other = (
        COMPARISONS[f"error_{name}"](cell, {**printed, f"error_{name}": value}, SIMPLE.published, 20_000)
        for value in (own, 4 * own)
    )
    assert same.ours.estimate == pytest.approx(own)
    assert same.p > 0.5
    assert other.p < 0.01


def test_imaginary_parts_never_move_on_positive_inputs():
    npu = NPU(2, 6)
    npu(torch.rand(100, 2) + 0.1).square().sum().backward()
    assert npu.imaginary.grad.abs().max() == 0
    assert npu.real.grad.abs().max() > 0
    npu.zero_grad()
    npu(torch.rand(100, 2) - 0.5).square().sum().backward()
    assert npu.imaginary.grad.abs().max() > 0


def test_what_is_printed_belongs_to_cells():
    assert {(spec.model.name, at) for spec, at in SIMPLE.places()} == set(SIMPLE.published.cells)
    assert [*PAPERS["heim2020"].comparisons][:4] == [f"error_{name}" for name in FUNCTIONS]
