"""Compiled iterations: those of the eager engine up to rounding, resumed to the bit, and eager where they cannot be."""

import dataclasses
import os
import shutil

import numpy as np
import pytest
import torch
from tests.plain import Plain

from arithmos.engines import compiled
from arithmos.engines.compiled import COMPILED_FROM, worth_compiling
from arithmos.engines.contract import Control, Job
from arithmos.engines.torch import TorchEngine, _Stack
from arithmos.optim import SparsitySchedule
from arithmos.spec import MODELS, Layer, Model, RMSprop, Spec
from arithmos.tasks import TEN_PARAMETERS

CPU = torch.device("cpu")
SPEC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=40, evaluate_every=20)
REGULARIZED = dataclasses.replace(
    SPEC, model=dataclasses.replace(SPEC.model, schedule=SparsitySchedule(strength=10.0, start=0, end=10))
)

needs_compiler = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "g++")) is None, reason="torch.compile needs a C++ compiler"
)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(compiled, "COMPILED_FROM", 0)


def run(spec, seeds=(0, 1), **control):
    return {one.seed: one for one in TorchEngine().run([Job(spec, seeds)], Control(**control))}


def steps_from_states(spec, states):
    """Largest errors of a compiled step and of a plain one, against float64, by array."""
    plain, exact, again = Plain(spec, 1), Plain(spec, 1, torch.float64), Plain(spec, 1)
    stack = _Stack(spec, (1,), CPU, Control())
    worst = {}
    for _ in range(states):
        before = plain.advance(3).state()
        judged = {f"judge.{key}": value for key, value in stack.records.state(0).items()}
        stack.resume([{**before, "step": np.array([before["step"]]), "elapsed_s": np.zeros(1), **judged}])
        stack.iterate()
        assert stack._compiled is not None
        moments = ("parameters", "exp_avg", "exp_avg_sq")
        truth = exact.load({**before, **{key: before[key].astype(np.float64) for key in moments}}).advance().state()
        one = again.load(before).advance().state()
        for key in moments:
            scale = np.abs(truth[key]).max()
            for side, value in (("compiled", stack.flat(key)[0]), ("plain", one[key])):
                worst[key, side] = max(worst.get((key, side), 0.0), np.abs(value - truth[key]).max() / scale)
    return worst


@needs_compiler
def test_a_compiled_step_is_that_of_a_plain_loop(always):
    worst = steps_from_states(REGULARIZED, states=20)
    for key in ("parameters", "exp_avg", "exp_avg_sq"):
        assert worst[key, "compiled"] <= 2 * worst[key, "plain"] + 1e-6, key


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["ReLU", "NALU", "NAU", "Linear"])
def test_compiled_steps_of_other_models(name, always):
    worst = steps_from_states(dataclasses.replace(SPEC, model=MODELS[name]), states=50)
    for key in ("parameters", "exp_avg", "exp_avg_sq"):
        assert worst[key, "compiled"] <= 2 * worst[key, "plain"] + 1e-6, key


@needs_compiler
@pytest.mark.slow
def test_resumed_runs_have_the_same_bits(always):
    whole, kept, said = run(SPEC), {}, []
    for stop_after in (10, 10**9):
        asked = iter(range(10**9))
        finished = run(
            SPEC,
            stopped=lambda asked=asked, limit=stop_after: next(asked) > limit,
            resume=lambda spec, seed: kept.get(seed),
            suspend=lambda spec, seed, state: kept.update({seed: state}),
            say=said.append,
        )
    assert "compiling the iterations of NMU" in said
    for seed, one in whole.items():
        np.testing.assert_array_equal(one.end_weights, finished[seed].end_weights)
        assert one.best_test == finished[seed].best_test


def test_without_a_compiler_it_is_eager_and_says_so(always, monkeypatch):
    def no_compiler(*arguments, **options):
        raise RuntimeError("no working C++ compiler was found")

    monkeypatch.setattr(torch, "compile", no_compiler)
    said = []
    ours = run(REGULARIZED, say=said.append)
    assert said[0] == "compiling the iterations of NMU"
    assert said[1].startswith("NMU is trained without being compiled: RuntimeError: no working C++ compiler was found")
    assert len(said) == 2
    monkeypatch.setattr(compiled, "COMPILED_FROM", 10**9)
    for seed, eager in run(REGULARIZED).items():
        np.testing.assert_array_equal(ours[seed].end_weights, eager.end_weights)


def test_a_unit_with_noise_is_eager_and_says_so(always):
    said, layers = [], (Layer("NAU"), Layer("SNMU"))
    assert len(run(dataclasses.replace(SPEC, model=Model("noisy", layers)), say=said.append)) == 2
    assert said[-1].startswith("noisy is trained without being compiled: RuntimeError: noise() is for training")


def test_what_is_compiled_depends_on_the_spec_alone():
    long = dataclasses.replace(SPEC, iterations=COMPILED_FROM)
    assert worth_compiling(long, CPU, stacked=True)
    for spec in (SPEC, dataclasses.replace(long, optimizer=RMSprop())):
        assert not worth_compiling(spec, CPU, stacked=True)
    assert not worth_compiling(long, CPU, stacked=False)
    assert worth_compiling(long, torch.device("cuda"), stacked=True)
