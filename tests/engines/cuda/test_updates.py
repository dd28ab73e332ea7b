"""Updates beyond Adam on fibers of this processor: against a plain loop of torch, as the other engines."""

import dataclasses

import numpy as np
import pytest
from tests.agreement.specs import small
from tests.engines.cuda.runs import group
from tests.engines.cuda.shim import HostDevice
from tests.engines.test_probe import UNITS
from tests.engines.test_updates import CASES, L1, spec_of, written_down

from arithmos.engines.contract import Control
from arithmos.engines.cuda import refusal
from arithmos.spec import Adam, Penalty, RMSprop
from arithmos.spec import model as named

ALL = RMSprop(lr=0.002, alpha=0.9, layer_rates=(0.5, 2), clip_value=0.05, clip_norm=0.1, scale_loss=True)
PULL = Penalty(kind="pull", strength=2.0, after=20)
"""Weaker than that of the other engines' tests, which leaves nothing of the gradient once it is clipped."""


@pytest.fixture(scope="module")
def host():
    return HostDevice()


def ended(device, spec, seeds=(0, 3), **layout):
    runs = group(device, spec, dict.fromkeys(seeds), **layout)
    runs.launch(spec.iterations + 1)
    runs.wait()
    found = {run.seed: run for run in runs.finished("cuda", Control())}
    assert sorted(found) == sorted(seeds)
    return found


def everything(name):
    spec = small(name, model=dataclasses.replace(named(name), penalties=(L1, PULL)), optimizer=ALL)
    return dataclasses.replace(spec, iterations=49, evaluate_every=20)


@pytest.mark.parametrize("case", [case for case in CASES if "preconditioned" not in case and case != "norms"])
def test_the_kernel_trains_as_written_down(host, case):
    spec = spec_of(case)
    for seed, run in ended(host, spec).items():
        np.testing.assert_allclose(run.end_weights, written_down(spec, seed), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("name", "layout"), [("NMU", dict(tile=32)), ("Linear", {}), ("GatedNAUNMU", {})])
def test_all_settings_together(host, name, layout):
    spec = everything(name)
    for seed, run in ended(host, spec, **layout).items():
        np.testing.assert_allclose(run.end_weights, written_down(spec, seed), rtol=1e-3, atol=1e-4)


def test_a_penalty_waits_for_a_validation_error(host):
    spec = spec_of("layer rates, scaled loss")
    errors = {seed: run.curve.validation for seed, run in ended(host, spec).items()}
    low, high = sorted(errors, key=lambda seed: errors[seed].min())
    waiting = Penalty(kind="l1", strength=10.0, below=float(errors[high].min() + errors[low].min()) / 2)
    changed = dataclasses.replace(spec, model=dataclasses.replace(spec.model, penalties=(waiting,)))
    before, after = ended(host, spec), ended(host, changed)
    assert (before[high].end_weights == after[high].end_weights).all()
    assert (before[low].end_weights != after[low].end_weights).any()


def test_what_the_engine_refuses(host):
    assert refusal(everything("NMU"), host.limits) is None
    unused = small(f"NAU>{UNITS}:Frozen")
    assert refusal(unused, host.limits) is None
    unused = dataclasses.replace(unused, model=dataclasses.replace(unused.model, penalties=(L1,)))
    assert "has a parameter unused that only a penalty trains" in refusal(unused, host.limits)
    stagnant = small("NMU", optimizer=Adam(reinitialize=30))
    assert refusal(stagnant, host.limits) == "it does not start stagnating runs again"
    preconditioned = small("NMU", optimizer=Adam(precondition=True))
    assert refusal(preconditioned, host.limits) == "it does not precondition gradients"
    assert refusal(spec_of("norms"), host.limits) == "it has no penalty on the norms of parameters"
