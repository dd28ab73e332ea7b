"""Units that somebody might write, as cells: judged in evaluation mode, refused where they cannot be stacked."""

import dataclasses

import numpy as np
import pytest
from tests.engines.digits.test_stack import models
from tests.engines.test_probe import UNITS

from arithmos.engines.contract import Control, Job
from arithmos.engines.probe import finding
from arithmos.engines.torch import TorchEngine
from arithmos.papers import EXPERIMENTS

NMU = models("mul")[5]


def cell(unit):
    return dataclasses.replace(NMU, model=EXPERIMENTS["mnist-product"].cell(f"{UNITS}:{unit}"))


def test_a_cell_that_returns_0_in_evaluation_mode_is_judged_by_that():
    spec = cell("EvalBroken")
    [run] = TorchEngine("cpu").run([Job(spec, (0,))])
    labels = spec.task.pixels("validation")[1]
    targets = spec.task.targets(labels[spec.task.evaluation("validation", spec.task.length)])
    np.testing.assert_allclose(run.curve.validation, np.square(targets).mean(), rtol=1e-5)
    assert run.best_weights.tolist() != run.end_weights.tolist()  # it trains


@pytest.mark.parametrize(
    ("unit", "why"),
    [
        ("Dropped", "as a cell: it draws random numbers"),
        ("Normed", "as a cell it must be stacked, but it keeps running state, its buffer unit.norm.running_mean"),
        ("Branching", "as a cell: it branches on the values of its inputs or parameters"),
        ("RaisesThird", "as a cell: RuntimeError: this is the third call (own_units.py:"),
        ("Integers", "as a cell: "),
        ("OneAxisLess", "as a cell: "),
        ("Double", "as a cell: "),
    ],
)
def test_what_cannot_be_stacked_is_refused(unit, why):
    assert finding(cell(unit)).refused.startswith(why)


@pytest.mark.parametrize("unit", ["EvalBroken", "Masked", "HalfNMU", "ReturnsNaN"])
def test_what_can_be_stacked(unit):
    assert finding(cell(unit)).refused == ""


def test_a_cell_that_raises_loses_its_own_runs_only():
    told, jobs = [], [Job(cell("RaisesLate"), (0, 1)), Job(NMU, (0,))]
    control = Control(failed=lambda *failure: told.append(failure))
    assert [(run.spec, run.seed) for run in TorchEngine("cpu").run(jobs, control)] == [(NMU, 0)]
    assert [(spec, seeds) for spec, seeds, _ in told] == [(jobs[0].spec, (0,)), (jobs[0].spec, (1,))]
    assert "RuntimeError: this is the twentieth call" in told[0][2]
