"""Iterations in stretches, as a GPU runs them: the same bits however they are cut, and eager where they cannot be."""

import dataclasses
import os
import shutil
from functools import partial

import numpy as np
import pytest
import torch

from arithmos import philox
from arithmos.engines import compiled, graphs
from arithmos.engines import torch as engine
from arithmos.engines.batches import Batches, TracedWords
from arithmos.engines.contract import Control, Job
from arithmos.engines.graphs import GraphedSteps
from arithmos.engines.torch import TorchEngine, _Stack
from arithmos.optim import SparsitySchedule
from arithmos.spec import MODELS, Spec
from arithmos.tasks import TEN_PARAMETERS, Rows

CPU = torch.device("cpu")
SPEC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=40, evaluate_every=20)
SCHEDULE = SparsitySchedule(strength=10.0, start=7, end=14)
REGULARIZED = dataclasses.replace(SPEC, model=dataclasses.replace(SPEC.model, schedule=SCHEDULE))
ARRAYS = ("parameters", "exp_avg", "exp_avg_sq")

needs_compiler = pytest.mark.skipif(
    shutil.which(os.environ.get("CXX", "g++")) is None, reason="torch.compile needs a C++ compiler"
)


class Recorder:
    """Stand-in for CUDA graphs: what was captured is called again."""

    def __init__(self):
        self.captures = self.replays = 0

    def __call__(self, device, warm_up, iterate):
        self.captures += 1
        warm_up()

        def replay():
            self.replays += 1
            iterate()

        return replay


class InBuffers:
    """Stand-in for the kernel that draws batches: the same numbers, always at the same place."""

    def __init__(self, batches):
        self.batches = batches
        self.x, _ = (tensor.clone() for tensor in batches.at(0))
        self.sums = self.x.double() @ batches.members

    def draw(self, row):
        self.x.copy_(self.batches.at(int(row[0]))[0])
        self.sums.copy_(self.x.double() @ self.batches.members)


@pytest.fixture
def recorder(monkeypatch):
    """Let stacks on a CPU run as those on a GPU, up to eight iterations in a graph."""
    made = Recorder()
    monkeypatch.setattr(compiled, "COMPILED_FROM", 0)
    monkeypatch.setattr(graphs, "STEPS", 8)
    monkeypatch.setattr(graphs, "STRETCH_S", 1e9)
    monkeypatch.setattr(engine, "CompiledStep", partial(GraphedSteps, capture=made))
    return made


@pytest.fixture
def uncompiled(monkeypatch):
    """Call the recorded graph instead of compiling it."""
    monkeypatch.setattr(torch, "compile", lambda graph, **options: graph)


def run(spec, seeds=(0, 1), **control):
    return {one.seed: one for one in TorchEngine().run([Job(spec, seeds)], Control(**control))}


def arrays(stack):
    return {name: stack.flat(name) for name in ARRAYS}


@pytest.mark.parametrize("task", [TEN_PARAMETERS, Rows(np.ones((40, 3), np.float32), np.ones(40, np.float32))])
def test_traced_words_are_those_of_philox(task):
    seeds = (0, 7, 2**32 - 1)
    batches = Batches(dataclasses.replace(SPEC, task=task), seeds, CPU)
    for step in (0, 123_456):
        made = TracedWords(batches).at(torch.tensor(step))
        assert torch.equal(made, batches.words(step))
        for seed, mine in zip(seeds, made, strict=True):
            expected = philox.words((seed, philox.RUN), batches.stream[0], step, *mine.shape)
            np.testing.assert_array_equal(mine, expected)


def test_stretches_have_the_bits_of_single_steps(recorder, uncompiled):
    stack, single = (_Stack(REGULARIZED, (3, 4), CPU, Control()) for _ in range(2))
    visited = []
    for _ in range(30):
        if stack.step > REGULARIZED.iterations:
            break
        stack.iterate()
        visited.append(stack.step)
        while single.step < stack.step:
            single.step = single._compiled.advance(single.step, single.step + 1)
        for name, values in arrays(single).items():
            np.testing.assert_array_equal(stack.flat(name), values, err_msg=name)
    # Six iterations fit in a graph, as 20 is three times that and 2. The regularizer begins at step 8.
    assert visited == [6, 8, 20, 40, 41]
    assert (recorder.captures, recorder.replays) == (2, 1 + 2 + 3)


def test_stretches_are_cut_by_time(recorder, uncompiled, monkeypatch):
    monkeypatch.setattr(graphs, "STRETCH_S", 0.0)
    stack, visited = _Stack(SPEC, (0,), CPU, Control()), []
    while stack.step < 40:
        stack.iterate()
        visited.append(stack.step)
    assert visited == [6, 12, 18, 20, 26, 32, 38, 40]


def test_iterations_are_those_of_the_eager_engine(recorder, uncompiled, monkeypatch):
    ours = run(REGULARIZED)
    assert recorder.replays
    monkeypatch.setattr(compiled, "COMPILED_FROM", 10**9)
    for seed, eager in run(REGULARIZED).items():
        np.testing.assert_allclose(ours[seed].end_weights, eager.end_weights, rtol=1e-5, atol=1e-6)


def test_runs_resumed_at_any_step_have_the_same_bits(recorder, uncompiled, monkeypatch):
    whole = run(REGULARIZED)
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", -1.0)
    for stop_after in (0, 1, 2, 3):
        kept = {}
        for limit in (stop_after, 10**9):
            asked = iter(range(10**9))
            finished = run(
                REGULARIZED,
                stopped=lambda asked=asked, limit=limit: next(asked) > limit,
                resume=lambda spec, seed, kept=kept: kept.get(seed),
                suspend=lambda spec, seed, state, kept=kept: kept.update({seed: state}),
            )
        assert kept
        for seed, one in whole.items():
            np.testing.assert_array_equal(one.end_weights, finished[seed].end_weights)
            assert one.best_test == finished[seed].best_test


def test_new_moments_are_captured_anew(recorder, uncompiled):
    stack, other = (_Stack(SPEC, (0,), CPU, Control()) for _ in range(2))
    stack.iterate()
    assert recorder.captures == 1
    [state] = [{name: values[0] for name, values in arrays(stack).items()}]
    judged = {f"judge.{key}": value for key, value in stack.records.state(0).items()}
    stack.resume([{**state, "step": np.array([stack.step]), "elapsed_s": np.zeros(1), **judged}])
    stack.iterate()
    assert recorder.captures == 2
    while other.step < stack.step:
        other.iterate()
    for name, values in arrays(other).items():
        np.testing.assert_array_equal(stack.flat(name), values, err_msg=name)


@pytest.mark.parametrize("what", ["compile", "capture"])
def test_what_cannot_be_captured_is_eager_and_says_so(what, recorder, uncompiled, monkeypatch):
    def refuse(*arguments, **options):
        raise RuntimeError("out of luck")

    if what == "compile":
        monkeypatch.setattr(torch, "compile", refuse)
    else:
        monkeypatch.setattr(engine, "CompiledStep", partial(GraphedSteps, capture=refuse))
    said = []
    ours = run(REGULARIZED, say=said.append)
    assert said[0] == "compiling the iterations of NMU"
    assert said[1].startswith("NMU is trained without being compiled: RuntimeError: out of luck")
    assert len(said) == 2
    monkeypatch.setattr(compiled, "COMPILED_FROM", 10**9)
    for seed, eager in run(REGULARIZED).items():
        np.testing.assert_array_equal(ours[seed].end_weights, eager.end_weights)


def test_a_second_graph_that_fails_leaves_the_trainer_intact(recorder, uncompiled, monkeypatch):
    def once(device, warm_up, iterate):
        if recorder.captures:
            raise RuntimeError("out of memory")
        return recorder(device, warm_up, iterate)

    monkeypatch.setattr(engine, "CompiledStep", partial(GraphedSteps, capture=once))
    said = []
    ours = run(REGULARIZED, say=said.append)
    assert "RuntimeError: out of memory" in said[-1]
    monkeypatch.setattr(compiled, "COMPILED_FROM", 10**9)
    for seed, eager in run(REGULARIZED).items():
        np.testing.assert_allclose(ours[seed].end_weights, eager.end_weights, rtol=1e-5, atol=1e-6)


def test_batches_drawn_by_a_kernel_are_those_of_the_graph(recorder, uncompiled, monkeypatch):
    usual = run(REGULARIZED)
    monkeypatch.setattr(engine, "CompiledStep", partial(GraphedSteps, capture=recorder, draws=InBuffers))
    for seed, one in run(REGULARIZED).items():
        np.testing.assert_array_equal(one.end_weights, usual[seed].end_weights)


def test_a_kernel_that_fails_is_replaced_and_named(recorder, uncompiled, monkeypatch):
    def refuse(batches):
        raise RuntimeError("no such kernel")

    usual, said = run(SPEC), []
    monkeypatch.setattr(engine, "CompiledStep", partial(GraphedSteps, capture=recorder, draws=refuse))
    for seed, one in run(SPEC, say=said.append).items():
        np.testing.assert_array_equal(one.end_weights, usual[seed].end_weights)
    assert said[0].startswith("batches of NMU are drawn without a kernel of their own: RuntimeError: no such kernel")
    assert said[1:] == ["compiling the iterations of NMU"]


@needs_compiler
def test_compiled_stretches_have_the_bits_of_single_steps(recorder):
    stack, single = (_Stack(SPEC, (3, 4), CPU, Control()) for _ in range(2))
    while stack.step < 20:
        stack.iterate()
    while single.step < 20:
        single.step = single._compiled.advance(single.step, single.step + 1)
    assert (recorder.captures, recorder.replays) == (1, 3)
    for name, values in arrays(single).items():
        np.testing.assert_array_equal(stack.flat(name), values, err_msg=name)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "kernel"), [("NMU", True), ("NMU", False), ("ReLU", True)])
def test_graphs_of_a_gpu_are_the_eager_iterations(name, kernel, monkeypatch):
    if not kernel:  # random words are part of the compiled graph then, as those of rows of data are
        monkeypatch.setattr(engine, "GraphedSteps", partial(GraphedSteps, draws=lambda batches: None))
    spec = dataclasses.replace(SPEC, model=MODELS[name], iterations=10**6, evaluate_every=250)
    said, device = [], torch.device("cuda")
    ours = _Stack(spec, (0, 1, 2), device, Control(say=said.append))
    monkeypatch.setattr(compiled, "COMPILED_FROM", 10**9)
    eager = _Stack(spec, (0, 1, 2), device, Control())
    assert eager._compiled is None
    while ours.step < 250:
        ours.iterate()
    while ours.step < 300:
        ours.step = ours._compiled.advance(ours.step, 300)
    assert ours._compiled is not None, said
    assert ours._compiled._replays, said
    assert (ours._compiled._drawn is not None) == kernel, said
    while eager.step < 300:
        eager.iterate()
    for key, values in arrays(eager).items():
        scale = np.abs(values).max()
        np.testing.assert_allclose(ours.flat(key), values, rtol=1e-4, atol=1e-4 * scale, err_msg=key)
