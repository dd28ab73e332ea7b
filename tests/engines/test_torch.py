import dataclasses
import math

import numpy as np
import pytest
import torch
from tests.plain import Plain

from arithmos import philox
from arithmos.engines.batches import Batches, compiled_words
from arithmos.engines.contract import NEVER, Control, Job
from arithmos.engines.torch import TorchEngine, _Stack
from arithmos.engines.trainers import stack_size
from arithmos.engines.weights import kept_weights
from arithmos.nn import Unit
from arithmos.nn._noise import words
from arithmos.optim import SparsitySchedule
from arithmos.spec import MODELS, Layer, Model, Spec
from arithmos.tasks import TEN_PARAMETERS, Arithmetic, Rows

NO_LOGARITHM = ["NACAdd", "Linear", "NAU", "NMU", "ReLU", "ReLU6", "GatedNAUNMU"]
NO_SIGMOID = ["Linear", "NAU", "NMU", "ReLU", "ReLU6"]
EARLY = SparsitySchedule(0.5, 2, 60)  # active within the tests
SMALL = Arithmetic(operation="mul", input_size=11, subset_ratio=0.3)


def _spec(name, task=SMALL, iterations=199, **options):
    model = dataclasses.replace(MODELS[name], schedule=EARLY)
    return Spec(task=task, model=model, iterations=iterations, batch_size=16, evaluate_every=50, **options)


def _run(spec, seeds, control=None):
    return {run.seed: run for run in TorchEngine().run([Job(spec, tuple(seeds))], control or Control())}


def _same(a, b, exact=True):
    for field in dataclasses.fields(a):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.name in ("spec", "elapsed_s", "curve"):
            continue
        np.testing.assert_array_equal(x, y, err_msg=field.name) if exact else np.testing.assert_allclose(
            x, y, rtol=1e-5
        )
    for name in ("step", "validation", "test", "sparsity"):
        np.testing.assert_array_equal(getattr(a.curve, name), getattr(b.curve, name), err_msg=name)


@pytest.mark.parametrize("make", [words, compiled_words])
def test_words_of_a_stack_are_those_of_each_seed(make):
    seeds = (0, 7, 2**32 - 1)
    stacked = make(torch.tensor(seeds), philox.TRAIN, 123_456, 5, 11)
    for seed, mine in zip(seeds, stacked, strict=True):
        np.testing.assert_array_equal(mine, philox.words((seed, philox.RUN), philox.TRAIN, 123_456, 5, 11))


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div", "squared", "root", "reciprocal"])
def test_batches_of_a_stack_are_those_of_each_seed(operation):
    task = Arithmetic(operation=operation, input_size=10, interpolation=((0.1, 0.2), (1.1, 1.2)))
    spec = dataclasses.replace(_spec("NMU"), task=task)
    x, t = Batches(spec, (3, 8), torch.device("cpu")).at(17)
    for place, seed in enumerate((3, 8)):
        expected = task.batch(seed, 17, spec.batch_size)
        np.testing.assert_array_equal(x[place], expected[0])
        np.testing.assert_allclose(t[place], expected[1], rtol=1e-7)


@pytest.mark.parametrize("name", NO_LOGARITHM)
def test_two_hundred_steps_are_those_of_a_plain_loop(name):
    spec = _spec(name)
    run = _run(spec, [5])[5]
    plain = Plain(spec, 5).advance(200)
    expected = kept_weights(spec.model.layers, spec.sizes, plain.flat())
    np.testing.assert_allclose(run.end_weights, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", list(MODELS))
def test_a_step_from_fifty_states_is_that_of_a_plain_loop(name):
    spec = _spec(name)
    plain, exact, again = Plain(spec, 1), Plain(spec, 1, torch.float64), Plain(spec, 1)
    stack = _Stack(spec, (1,), torch.device("cpu"), Control())
    worst = {}
    for _ in range(50):
        before = plain.advance(3).state()
        judged = {f"judge.{key}": value for key, value in stack.records.state(0).items()}
        stack.resume([{**before, "step": np.array([before["step"]]), "elapsed_s": np.zeros(1), **judged}])
        stack.advance(*stack.batches.at(stack.step))
        moments = ("parameters", "exp_avg", "exp_avg_sq")
        truth = exact.load({**before, **{key: before[key].astype(np.float64) for key in moments}}).advance().state()
        one = again.load(before).advance().state()
        for key in moments:
            scale = np.abs(truth[key]).max()
            for side, value in (("engine", stack.flat(key)[0]), ("plain", one[key])):
                error = np.abs(value - truth[key]).max() / scale
                worst[key, side] = max(worst.get((key, side), 0.0), error)
    for key in moments:
        assert worst[key, "engine"] <= 2 * worst[key, "plain"] + 1e-6, key


@pytest.mark.parametrize("name", NO_SIGMOID)
def test_same_bits_alone_in_a_stack_and_in_another_order(name):
    spec = _spec(name)
    stack, other = _run(spec, range(6)), _run(spec, [4, 0, 2])
    for seed in (0, 2, 4):
        _same(stack[seed], other[seed])
    _same(stack[4], _run(spec, [4])[4])


def test_a_sigmoid_may_round_otherwise_at_the_end_of_an_array():
    # torch computes the last few elements of an array by another path, so where a weight lies in its stack can change
    # its sigmoid in the last place: units with one repeat themselves in the same stack, and nearly in another.
    spec = dataclasses.replace(_spec("NACAdd"), iterations=20)
    stack, alone = _run(spec, range(6)), _run(spec, [4])
    np.testing.assert_allclose(stack[4].end_weights, alone[4].end_weights, rtol=1e-5, atol=1e-6)
    _same(stack[4], _run(spec, range(6))[4])


@pytest.mark.parametrize("name", ["NMU", "NALU", "NACMulSigma"])
def test_same_bits_on_one_thread_and_two(name):
    spec = _spec(name, task=Arithmetic(operation="mul", input_size=100))
    before = torch.get_num_threads()
    try:
        runs = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            runs.append(_run(spec, range(4)))
    finally:
        torch.set_num_threads(before)
    for seed in range(4):
        _same(runs[0][seed], runs[1][seed])


@pytest.mark.parametrize("name", ["NMU", "NALU"])
def test_a_suspended_run_goes_on_to_the_same_bits(name, monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    spec, states, polls = _spec(name), {}, iter(range(1000))
    control = Control(
        stopped=lambda: next(polls) == 70, suspend=lambda spec, seed, state: states.__setitem__(seed, state)
    )
    assert _run(spec, [0, 1], control) == {}
    assert {int(state["step"][0]) for state in states.values()} == {70}
    resumed = _run(spec, [0, 1, 2], Control(resume=lambda spec, seed: states.get(seed)))
    whole = _run(spec, [0, 1])
    for seed in (0, 1):
        _same(resumed[seed], whole[seed])
    assert set(resumed) == {0, 1, 2}


def test_what_has_come_furthest_goes_first(monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    spec, states = _spec("NMU"), {}

    def begin(seed, step):
        polls = iter(range(1000))
        keep = Control(
            stopped=lambda: next(polls) == step, suspend=lambda spec, seed, state: states.update({seed: state})
        )
        assert _run(spec, [seed], keep) == {}

    begin(1, 30)
    begin(2, 60)
    assert list(_run(spec, range(4), Control(resume=lambda spec, seed: states.get(seed)))) == [2, 1, 0, 3]


def test_runs_whose_machine_is_lost_go_on_from_what_was_kept(monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    monkeypatch.setattr("arithmos.engines.stopwatch.KEEP_S", 0.0)
    spec, states, polls = _spec("NMU"), {}, iter(range(1000))

    def lost():
        if next(polls) == 70:
            raise RuntimeError("the machine is lost")
        return False

    with pytest.raises(RuntimeError, match="lost"):
        _run(spec, [0, 1], Control(stopped=lost, suspend=lambda spec, seed, state: states.__setitem__(seed, state)))
    assert {int(state["step"][0]) for state in states.values()} == {69}
    resumed, whole = _run(spec, [0, 1], Control(resume=lambda spec, seed: states[seed])), _run(spec, [0, 1])
    for seed in (0, 1):
        _same(resumed[seed], whole[seed])


def test_records_are_the_errors_of_the_network_before_the_step():
    spec = _spec("NMU", iterations=100)
    run = _run(spec, [2])[2]
    assert run.curve.step.tolist() == [0, 50, 100]
    plain = Plain(spec, 2)
    for validation, test in zip(run.curve.validation, run.curve.test, strict=True):
        np.testing.assert_allclose([validation, test], plain.errors(), rtol=1e-5)
        plain.advance(50)
    best = int(np.argmin(run.curve.validation[1:])) + 1
    assert run.best_step == run.curve.step[best]
    assert run.best_validation == run.curve.validation[best]
    assert run.solved_at["released"] == NEVER
    assert math.isnan(run.best_gate)
    weights = np.abs(run.end_weights)
    assert 0 <= weights.max() <= 1


def test_a_run_that_meets_nan_ends_and_the_others_go_on():
    spec = Spec(task=SMALL, model=MODELS["Linear"], iterations=60, batch_size=16, evaluate_every=10)

    def poison(spec_, seed):
        stack = _Stack(spec, (seed,), torch.device("cpu"), Control())
        flat = np.full_like(stack.flat("parameters")[0], np.nan) if seed == 1 else stack.flat("parameters")[0]
        zeros = np.zeros_like(flat)
        judged = {f"judge.{key}": value for key, value in stack.records.state(0).items()}
        judged["judge.records"], judged["judge.last"] = np.int64(2), np.float32([1, 2, 3])
        return {
            "step": np.array([20]),
            "elapsed_s": np.zeros(1),
            "parameters": flat,
            "exp_avg": zeros,
            "exp_avg_sq": zeros,
            **judged,
        }

    runs = _run(spec, [0, 1], Control(resume=poison))
    assert (runs[1].ended_early, runs[1].records, runs[1].end_validation) == (True, 2, 1.0)
    assert (runs[0].ended_early, runs[0].records) == (False, 7)
    assert np.isfinite(runs[0].end_validation)


def test_a_users_module_without_any_of_our_methods_is_run():
    layer = Layer(Unit(torch.nn.Linear, name="torch.nn.Linear", label="Linear"))
    spec = Spec(task=SMALL, model=Model("plain", (layer, layer)), iterations=20, batch_size=16, evaluate_every=10)
    first, again = _run(spec, [3])[3], _run(spec, [3, 4])[3]
    _same(first, again)
    assert math.isnan(first.best_sparsity)
    assert len(first.end_weights) == 11 * 2 + 2 + 2 + 1


def test_rows_are_a_task_like_any_other():
    x = np.random.default_rng(1).uniform(1, 2, (200, 3)).astype(np.float32)
    rows = Rows(x, np.stack([x[:, 0] * x[:, 1], x[:, 2]], 1), threshold=1e9)
    spec = Spec(task=rows, model=MODELS["NMU"], hidden_size=3, iterations=50, batch_size=16, evaluate_every=25)
    run = _run(spec, [0])[0]
    plain = Plain(spec, 0).advance(51)
    np.testing.assert_allclose(
        run.end_weights, kept_weights(spec.model.layers, spec.sizes, plain.flat()), rtol=1e-5, atol=1e-6
    )
    assert run.solved_at["threshold"] == 0


def test_gate_is_that_of_the_last_layer_on_the_batch_of_the_record():
    spec = _spec("GateNALUSeparate", iterations=50)
    run = _run(spec, [0])[0]
    plain = Plain(spec, 0).advance(50)
    x, _ = spec.task.batch(0, 50, spec.batch_size)
    with torch.no_grad():
        gate = plain.network[1].gate_value(plain.network[0](torch.from_numpy(x))).mean()
    assert run.best_step == 50
    assert run.best_gate == pytest.approx(float(gate), rel=1e-4)


@pytest.mark.slow
def test_ten_parameters_are_learned():
    spec = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=20_000)
    runs = _run(spec, range(8))
    solved = [run for run in runs.values() if run.best_test < run.thresholds["corrected"]]
    assert len(solved) >= 4
    assert all(run.best_sparsity < 1e-5 for run in solved)
    assert all(1000 <= run.solved_at["corrected"] <= 20_000 for run in solved)


def test_runs_that_are_not_wanted_are_left_out():
    spec = _spec("NMU", iterations=20)
    assert _run(spec, range(4), Control(wanted=lambda spec, seed: seed == 2)).keys() == {2}
    assert not _run(spec, range(4), Control(wanted=lambda spec, seed: False))


def test_runs_of_a_cpu_name_no_gpu():
    assert _run(_spec("NMU", iterations=20), [0])[0].gpu == ""


def test_a_stack_on_a_gpu_is_larger_if_its_batches_are_small():
    cuda, spec = torch.device("cuda"), Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"])
    assert stack_size(spec, torch.device("cpu")) == 256
    assert stack_size(spec, cuda) == 1024
    large = dataclasses.replace(spec, task=dataclasses.replace(spec.task, input_size=1000))
    assert stack_size(large, cuda) == 2**26 // 128_000
    assert stack_size(dataclasses.replace(large, batch_size=10_000), cuda) == 256


@pytest.mark.gpu
def test_runs_of_a_gpu_name_it():
    [run] = TorchEngine("cuda").run([Job(_spec("NMU", iterations=20), (0,))])
    assert run.gpu == torch.cuda.get_device_name()
