"""States that are damaged or forged: no engine resumes them, and their runs come out as if they had never been cut."""

import dataclasses

import numpy as np
import pytest
from tests.engines.cuda.shim import HostDevice
from tests.factories import make_digits

from arithmos.engines.contract import Control, Job
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.cpu.run import RunState
from arithmos.engines.cuda import CudaEngine
from arithmos.engines.torch import TorchEngine
from arithmos.papers import EXPERIMENTS
from arithmos.spec import MODELS, Spec
from arithmos.tasks import TEN_PARAMETERS

ARITHMETIC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=60, evaluate_every=7)


def digits():
    spec = EXPERIMENTS["mnist-product"].specs[-1]
    source = make_digits(train=40, test=20)
    task = dataclasses.replace(spec.task, source=source, validation_size=10, length=2, test_lengths=(1, 2))
    return dataclasses.replace(spec, task=task, batch_size=4, evaluate_every=2, iterations=6)


ENGINES = {
    "cpu": (lambda: CpuEngine(1), ARITHMETIC),
    "torch": (TorchEngine, ARITHMETIC),
    "cuda": (lambda: CudaEngine(HostDevice(), chunk_s=1e-9), ARITHMETIC),
    "digits": (lambda: TorchEngine("cpu"), digits()),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """An engine, and a run of it: whole, and cut on its way."""

    engine: object
    spec: Spec
    whole: object
    state: dict

    def resumed(self, state, **control):
        made = self.engine.run([Job(self.spec, (0,))], Control(resume=lambda spec, seed: state, **control))
        [run] = made
        return run


def cut(engine, spec, **control):
    """The state of a run that was cut on its way."""
    if engine.name == "cpu":  # whose threads do not wait to be told
        run = RunState(spec, 0, Control(**control))
        run.train(17)
        return run.state()
    states, told = {}, []
    control = Control(
        stopped=lambda: bool(told),
        advance=lambda spec, iterations: told.append(iterations),
        suspend=lambda spec, seed, state: states.update({seed: state}),
        **control,
    )
    assert not list(engine.run([Job(spec, (0,))], control))
    state = {name: np.array(value) for name, value in states[0].items()}
    assert 0 < state["step"][0] < spec.iterations
    return state


@pytest.fixture(autouse=True)
def brisk(monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)


@pytest.fixture(params=ENGINES)
def case(request, brisk):
    if request.param not in _CASES:
        make, spec = ENGINES[request.param]
        engine = make()
        [whole] = engine.run([Job(spec, (0,))])
        _CASES[request.param] = Case(engine, spec, whole, cut(engine, spec))
    return _CASES[request.param]


_CASES = {}


def same(a, b):
    assert (a.records, a.ended_early, a.best_step) == (b.records, b.ended_early, b.best_step)
    for name in ("best_weights", "end_weights"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("step", "validation", "test", "sparsity"):
        np.testing.assert_array_equal(getattr(a.curve, name), getattr(b.curve, name))


def put(name, change):
    """A forgery: the array whose name ends so, changed."""

    def forge(state, spec):
        place = next((key for key in state if key == name or key.endswith(f".{name}")), name)
        return {**state, place: np.asarray(change(state.get(place), spec))}

    return forge


def without(name):
    return lambda state, spec: {key: value for key, value in state.items() if key != name}


FORGERIES = {
    "a step below 0": put("step", lambda step, spec: step - 10**6),
    "a step far beyond the end": put("step", lambda step, spec: step + 2**40),
    "a step just beyond the end": put("step", lambda step, spec: step * 0 + spec.iterations + 2),
    "the last step, few records": put("step", lambda step, spec: step * 0 + spec.iterations),
    "done, few records": put("step", lambda step, spec: step * 0 + spec.iterations + 1),
    "a step back, many records": put("step", lambda step, spec: step * 0),
    "a step with a fraction": put("step", lambda step, spec: step + 0.5),
    "a step that is text": put("step", lambda step, spec: np.array(["12"])),
    "a step without an axis": put("step", lambda step, spec: step[0]),
    "no step": without("step"),
    "no parameters": without("parameters"),
    "one name more": put("more", lambda more, spec: np.zeros(3)),
    "too few parameters": put("parameters", lambda p, spec: p[:-1]),
    "too many parameters": put("parameters", lambda p, spec: np.repeat(p, 10)),
    "one parameter for all": put("parameters", lambda p, spec: p[:1]),
    "parameters of another type": put("parameters", lambda p, spec: p.astype(np.float64)),
    "complex moments": put("exp_avg", lambda m, spec: m.astype(np.complex64)),
    "a moment in another shape": put("exp_avg_sq", lambda v, spec: v[:, None]),
    "a curve cut short": put("curve", lambda curve, spec: curve[:3]),
    "a curve turned round": put("curve", lambda curve, spec: curve.T.copy()),
    "more records": put("records", lambda records, spec: records + 1),
    "records below 0": put("records", lambda records, spec: records * 0 - 5),
    "ended without NaN": put("ended", lambda ended, spec: np.array(True)),
    "a time below 0": put("elapsed_s", lambda s, spec: s - 10**6),
    "no time": put("elapsed_s", lambda s, spec: s * np.nan),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_state_is_not_resumed(case, forge):
    with pytest.warns(UserWarning, match="suspended runs of .* start again: "):
        run = case.resumed(forge(case.state, case.spec))
    same(run, case.whole)


def test_a_best_record_that_was_not_made_is_not_resumed(case):
    name = "judge.best_step" if "judge.best_step" in case.state else "judge.best"
    for value in (-7, 10**9):
        with pytest.warns(UserWarning, match="start again: best"):
            run = case.resumed({**case.state, name: np.array(value)})
        same(run, case.whole)


def test_a_sound_state_is_resumed(case):
    told = []
    same(case.resumed(case.state, resumed=lambda spec, step: told.append(step)), case.whole)
    assert told == [int(case.state["step"][0])]


@pytest.mark.parametrize("engine", ["cpu", "torch", "cuda"])
def test_all_records_may_be_asked_for_when_a_run_is_resumed(engine):
    """A state that keeps some records only does not do; one that keeps all of them does for fewer."""
    make, spec = ENGINES[engine]
    spec = dataclasses.replace(spec, iterations=250, evaluate_every=1)
    runs = {flag: Case(make(), spec, None, cut(make(), spec, all_records=flag)) for flag in (False, True)}
    with pytest.warns(UserWarning, match="start again: their states do not keep all records of the curve"):
        full = runs[False].resumed(runs[False].state, all_records=True)
    assert len(full.curve.step) == 251
    assert np.isfinite(full.curve.test).all()
    told = []
    thin = runs[True].resumed(runs[True].state, resumed=lambda spec, step: told.append(step))
    assert told
    assert 1 < len(thin.curve.step) < 251
    np.testing.assert_array_equal(thin.curve.test, full.curve.test[thin.curve.step])
