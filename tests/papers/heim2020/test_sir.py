"""The fractional SIR model of Heim et al. (2020): its networks, and what is read off them."""

import dataclasses

import numpy as np
import pytest

from arithmos.bench import run
from arithmos.papers import EXPERIMENTS
from arithmos.papers.heim2020.sir import SIR, exponents, large, spec
from arithmos.report import summarize
from arithmos.store import Store
from arithmos.tasks import FractionalSIR


def test_settings_are_those_of_the_released_program():
    assert EXPERIMENTS["heim2020/sir"].runs == 3 * 4 * 5 * 5
    one = spec("RealNPU", 0.1, 6)
    assert (one.sizes, one.optimizer.lbfgs, one.optimizer.alpha) == ((3, 6, 3), 3000, 0.9)
    assert [penalty.at(3000) for penalty in one.model.penalties] == [0.1]
    assert [len(spec(unit, 0.0, 6).model.layers) for unit in ("NPU", "RealNPU", "Dense")] == [2, 2, 3]


@pytest.mark.parametrize("unit", ["NPU", "RealNPU"])
def test_weights_start_in_a_fifth_of_the_range_of_glorot(unit):
    first, last = spec(unit, 0.0, 20).network(0)
    for weight in (first.real if unit == "NPU" else first.weight, last.weight):
        limit = 0.2 * np.sqrt(6 / 23)
        assert 0.9 * limit < weight.abs().max() <= limit
    assert set(first.gate.tolist()) == {0.5}


def test_the_exponents_are_those_of_the_unit_that_multiplies():
    powers = [[0.62, 0.57, 0], [0, 1, 0], [0.9, 0.8, 0]]
    sums = [[-0.5, 0, 0.01], [0.5, 0.1, 0], [0, 0, 0]]
    weights = np.concatenate([np.ravel(powers), [1, 0.5, 1], np.ravel(sums)])
    assert exponents(spec("RealNPU", 0.0, 3), weights) == pytest.approx((0.285, 0.62))  # the gate of I is half open
    assert large(weights) == 5 + 3 + 4
    assert np.isnan(exponents(spec("RealNPU", 0.0, 3), np.zeros(21))).all()


def test_a_tiny_campaign_goes_through_engine_store_and_table(tmp_path):
    def tiny(own):
        optimizer = dataclasses.replace(own.optimizer, lbfgs=4)
        task = FractionalSIR(points=3, end=5.0)
        return dataclasses.replace(own, task=task, iterations=6, evaluate_every=2, optimizer=optimizer)

    specs = tuple(map(tiny, SIR.specs[:2]))
    small = dataclasses.replace(SIR, specs=specs, seeds=2)
    run([small], store=tmp_path, engine="torch")
    found = summarize(Store(tmp_path), small)
    assert list(found["n"]) == [2, 2]
    assert list(found["hidden_size"]) == [6, 9]
