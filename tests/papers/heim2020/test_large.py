"""The large task of Heim et al. (2020): its settings, and medians of the ten best runs."""

import numpy as np
import pytest

from arithmos.judging.cells import Judged
from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.papers.heim2020 import estimators
from arithmos.papers.heim2020.estimators import COMPARISONS, large_errors
from arithmos.papers.heim2020.large import BEST, LARGE, NETWORKS, SETTINGS, spec


def exact(*, scale=1.0):
    """Parameters of a NAU and a RealNPU that are a·b, times a factor: sums, exponents, gates."""
    sums = np.zeros((100, 100))
    sums[0, :50], sums[1, 38:88] = scale, 1
    return np.concatenate([sums.ravel(), [1, 1, *[0] * 98], [1, 1, *[0] * 98]])


def test_settings_are_those_of_the_released_program():
    assert [EXPERIMENTS[f"heim2020/large-{own.word}"].seeds for own in SETTINGS.values()] == [10, 20, 10, 10]
    specs = [spec(unit, operation) for unit in NETWORKS for operation in SETTINGS]
    assert {unit: spec(unit, "root").model.penalties[0].kind for unit in NETWORKS} == dict.fromkeys(NETWORKS, "l1")
    assert {one.sizes for one in specs} == {(100, 100, 1)}
    assert {one.optimizer.alpha for one in specs} == {0.9}
    lengths = {operation: spec("NMU", operation).iterations for operation in SETTINGS}
    assert lengths == {"add": 10_000, "mul": 20_000, "reciprocal": 100_000, "root": 100_000}
    [penalty] = spec("NMU", "mul").model.penalties
    assert [penalty.at(step) for step in (0, 10_000)] == [1e-9, 1e-8]
    assert penalty.kind == "norm"
    [penalty] = spec("RealNPU", "root").model.penalties
    assert penalty.at(99_999) == 1e-4


@pytest.mark.parametrize(("unit", "gate"), [("NPU", 1.0), ("RealNPU", 0.5), ("NMU", None), ("NaiveNPU", None)])
def test_weights_start_small(unit, gate):
    sums, last = spec(unit, "add").network(0)
    drawn = [sums.weight, last.weight if hasattr(last, "weight") else last.real]
    for weight in drawn:
        assert 0 <= weight.min() < 0.01
        assert 0.09 < weight.max() <= 0.1
    if gate is not None:
        assert set(last.gate.tolist()) == {gate}


def test_the_ten_best_by_test_error_count():
    scales = [1.0, *np.linspace(1.01, 1.1, 10), np.nan]
    inside, outside = large_errors("RealNPU", "mul", np.stack([exact(scale=scale) for scale in scales[::-1]]))
    assert outside.shape == (BEST,)
    assert outside[0] == pytest.approx(0, abs=1e-9)
    t = spec("RealNPU", "mul").task.test(0)[1]
    np.testing.assert_allclose(outside[1:], np.square((np.array(scales[1:10]) - 1) * t).mean(axis=0), rtol=1e-4)
    assert (np.diff(inside) > 0).all()
    assert (inside[1:] < outside[1:]).all()


def test_a_printed_median_is_compared_with_the_median_of_ours():
    cell = Judged(n=10, weights=np.stack([exact(scale=scale) for scale in np.linspace(1.01, 1.1, 10)]))
    own = np.median(large_errors("RealNPU", "mul", cell.weights)[1])
    printed = {"model": "RealNPU", "operation": "mul", "n": 10, "k": 0}
    same, other = (
        COMPARISONS["median_test"](cell, {**printed, "median_test": value}, LARGE[1].published, 100_000)
        for value in (own, 100 * own)
    )
    assert same.ours.estimate == pytest.approx(own)
    assert same.p > 0.5
    assert other.p < 0.05
    assert np.isnan(COMPARISONS["median_test"](Judged(), printed, LARGE[1].published, 100_000).p)


def test_a_cell_computes_its_networks_once_for_both_medians(monkeypatch):
    computed, outputs = [], estimators.outputs

    def counted(layers, sizes, weights, x):
        computed.append(len(weights))
        return outputs(layers, sizes, weights, x)

    monkeypatch.setattr(estimators, "outputs", counted)
    cell = Judged(n=20, weights=np.stack([exact(scale=1 + 0.01 * seed) for seed in range(20)]))
    printed = {"model": "RealNPU", "operation": "mul", "n": 10, "median_train": 1e-3, "median_test": 1e-3}
    for name in ("median_train", "median_test"):
        COMPARISONS[name](cell, printed, LARGE[1].published, 100_000)
    assert computed == [1] * 30  # the ten best again, on the range of training


def test_runs_without_a_finite_error_cannot_tell():
    printed = {"model": "RealNPU", "operation": "mul", "n": 10, "median_test": 1e-3}
    cell = Judged(n=10, weights=np.full((10, exact().size), np.nan))
    compared = COMPARISONS["median_test"](cell, printed, LARGE[1].published, 100_000)
    assert np.isnan(compared.ours.estimate)
    assert compared.note == "no run has a finite error"


def test_what_is_printed_belongs_to_cells():
    for experiment in LARGE:
        names = {(one.model.name, one.task.operation) for one in experiment.specs}
        assert names == set(experiment.published.cells)
    assert {"median_train", "median_test"} < set(PAPERS["heim2020"].comparisons)
