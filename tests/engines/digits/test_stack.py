"""Stacked runs, runs alone and a loop in plain PyTorch take the same step, to rounding, from states along a run."""

import dataclasses
import time

import numpy as np
import pytest
import torch
from tests.engines.digits.plain import Plain
from tests.factories import make_digits

from arithmos.engines import digits
from arithmos.engines.contract import Control, Job
from arithmos.engines.digits.reader import grouped, unfolded
from arithmos.engines.digits.stack import Stack
from arithmos.engines.weights import kept_weights
from arithmos.papers import EXPERIMENTS
from arithmos.spec import InputRegularizer
from arithmos.store import Store

CPU = torch.device("cpu")
SOURCE = make_digits(train=80, test=40)
EXPERIMENT = {"mul": ("mnist-product", "mnist-product-no-rz"), "add": ("mnist-sum", "mnist-sum-no-rz")}


def small(spec, **changes):
    """The spec on few images that are not MNIST, in batches of 4, a record an epoch."""
    operation = spec.task.operation
    shape = {"length": 2, "test_lengths": (1, 2, 5)} if operation == "mul" else {"length": 3, "test_lengths": (3, 7, 1)}
    task = dataclasses.replace(spec.task, source=SOURCE, validation_size=20, **shape, **changes)
    epoch = task.epoch(4)
    return dataclasses.replace(spec, task=task, batch_size=4, evaluate_every=epoch, iterations=2 * epoch)


def models(operation):
    """Every model of the task, the reference too."""
    specs = {spec.id: spec for name in (*EXPERIMENT[operation], "mnist-reference") for spec in EXPERIMENTS[name].specs}
    return [small(spec) for spec in specs.values() if spec.task.operation == operation]


def stacked(runs, **options):
    return Stack(runs, CPU, Control(), **options)


def along(runs, step):
    """A stack after three iterations, its runs then put before another one."""
    stack = stacked(runs)
    stack.advance(3)
    stack.put(arrays(stack), step)
    return stack


def arrays(stack):
    return {name: stack.flat(name) for name in ("parameters", "exp_avg", "exp_avg_sq")}


def check_step(stack, step):
    """Each run's next iteration, against plain loops in float32 and float64 and against the run alone."""
    before = arrays(stack)
    stack.advance(1)
    after = stack.flat()
    for run, (spec, seed) in enumerate(stack.runs):
        state = [before[name][run] for name in before]
        loops = [Plain(spec, seed, dtype) for dtype in (torch.float64, torch.float32)]
        for loop in loops:
            loop.put(*state, step)
            loop.advance(step)
        alone = stacked([(spec, seed)])
        alone.put({name: [value[run]] for name, value in before.items()}, step)
        alone.advance(1)
        exact, plain = (loop.flat() for loop in loops)
        size = np.linalg.norm(exact - before["parameters"][run])
        rounding = np.linalg.norm(plain - exact) / size
        for found in (after[run], alone.flat()[0]):
            assert np.linalg.norm(found - exact) / size <= 2 * rounding + 1e-5, spec.model.name
        cell = sum(p.numel() for p in spec.network(seed)[1].parameters())
        if cell:
            np.testing.assert_allclose(after[run][-cell:], exact[-cell:], rtol=1e-5, atol=1e-6, err_msg=spec.model.name)


@pytest.mark.parametrize("operation", ["mul", "add"])
def test_a_step_is_the_plain_one_for_every_model(operation):
    runs = [(spec, seed) for spec in models(operation) for seed in (0, 3)]
    assert len(runs) == {"mul": 18, "add": 14}[operation]
    check_step(along(runs, 3), 3)


@pytest.mark.parametrize("operation", ["mul", "add"])
def test_a_step_under_the_sparsity_regularizer(operation):
    runs = [(spec, 1) for spec in models(operation) if spec.model.schedule.strength]
    for step in (9_999, 10_000, 60_000, 200_000):
        check_step(along(runs, step), step)


def test_the_last_batch_of_an_epoch_is_smaller():
    spec = models("mul")[-2]
    epoch = spec.task.epoch(4)
    assert spec.task.sequences % 4
    check_step(along([(spec, 0), (spec, 1)], epoch - 1), epoch - 1)


@pytest.mark.parametrize("changes", [{"every_step": False}, {"fixed": False}, {"initial": 0.5}])
def test_a_step_where_the_task_differs_from_what_was_run(changes):
    chosen = [spec for spec in EXPERIMENTS["mnist-product"].specs if spec.model.name in ("NMU", "LSTM", "NALU")]
    check_step(along([(small(spec, **changes), 2) for spec in chosen], 30), 30)


def test_a_step_where_inputs_are_regularized_as_the_paper_has_it():
    spec = next(spec for spec in models("mul") if spec.model.name == "NACMulNMU")
    own = dataclasses.replace(spec.model, inputs=InputRegularizer(1.0, logs=False))
    check_step(along([(dataclasses.replace(spec, model=own), 2)], 30), 30)


@pytest.mark.parametrize("operation", ["mul", "add"])
def test_records_are_what_plain_evaluation_gives(operation):
    runs = [(spec, seed) for spec in models(operation) for seed in (0, 1)]
    stack = stacked(runs)
    stack.record()
    cells = stack._cells()
    for run, (spec, seed) in enumerate(runs):
        task, plain = spec.task, Plain(spec, seed)
        errors = [plain.error("validation", task.length), plain.error("training", task.length)]
        tests = [plain.error("test", length) for length in task.test_lengths]
        validation, training, sparsity = stack.records.curve[run, 0, :3]
        np.testing.assert_allclose([validation, training], errors, rtol=1e-5)
        np.testing.assert_allclose(stack.records.curve[run, 0, 3:], tests, rtol=1e-5)
        weights = kept_weights(spec.model.layers, spec.sizes, cells[run])
        if spec.model.layers[0].unit in ("LSTM", "SolvedMul", "SolvedAdd"):
            assert np.isnan(sparsity)
        else:
            w = np.abs(weights[:2])  # the gate of a NALU does not count
            assert sparsity == pytest.approx(np.minimum(w, np.abs(1 - w)).max(), rel=1e-6)
        images, labels = task.pixels("test")
        numbers = plain.network[0]((torch.from_numpy(images) / 255 - 0.1307) / 0.3081).detach().numpy()[:, 0]
        own = [numbers[labels == digit] for digit in task.digits]
        np.testing.assert_allclose(stack.records.outputs[run, 0], [o.mean() for o in own], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(stack.records.outputs[run, 1], [o.std() for o in own], rtol=1e-3, atol=1e-6)


def test_convolutions_agree():
    generator = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(shape, generator=generator)

    for s, n, c, side, o in ((3, 4, 1, 28, 20), (2, 3, 20, 12, 50)):
        tensors = random(s, n, c, side, side), random(s, o, c, 5, 5) / 5, random(s, o)
        side = (side - 4) // 2
        upstream = random(s, n, o, side, side)

        def gradients(convolve, dtype, tensors=tensors, upstream=upstream):
            leaves = [tensor.to(dtype, copy=True).requires_grad_() for tensor in tensors]
            y = convolve(*leaves)
            y.backward(upstream.to(dtype))
            return [y.detach(), *(leaf.grad for leaf in leaves)]

        def plain(x, weight, bias):
            y = [torch.nn.functional.conv2d(*run) for run in zip(x, weight, bias, strict=True)]
            return torch.stack([torch.nn.functional.max_pool2d(torch.relu(run), 2) for run in y])

        exact, usual = gradients(plain, torch.float64), gradients(plain, torch.float32)
        for convolve in (grouped, unfolded):
            for found, reference, truth in zip(gradients(convolve, torch.float32), usual, exact, strict=True):
                error, allowed = (found - truth).norm(), (reference - truth).norm()
                assert error <= 2 * allowed + 1e-6 * truth.norm()


def test_runs_of_all_models_come_to_their_end_together():
    specs = models("mul")
    jobs = [Job(spec, (0, 1)) for spec in specs]
    told = []
    made = list(digits.run(jobs, Control(advance=lambda spec, n: told.append(n)), CPU, stack=100))
    assert {(run.spec.id, run.seed) for run in made} == {(spec.id, seed) for spec in specs for seed in (0, 1)}
    assert sum(told) == sum(run.spec.iterations + 1 for run in made)
    for run in made:
        task = run.spec.task
        assert (run.records, run.ended_early, run.engine) == (3, False, "torch")
        assert run.curve.step.tolist() == [0, run.spec.evaluate_every, 2 * run.spec.evaluate_every]
        assert run.extra["curve_lengths"].shape == (9,)
        np.testing.assert_array_equal(run.curve.test, run.extra["curve_lengths"][1::3])
        best = int(np.argmin(run.curve.validation))
        assert run.best_step == best * run.spec.evaluate_every
        assert run.best_validation == run.curve.validation[best]
        assert run.extra["digit_outputs"].shape == run.extra["digit_spreads"].shape == (len(task.digits),)
        assert len(run.best_weights) == {"NALU": 4, "LSTM": 16, "ReferenceMul": 0}.get(run.spec.model.name, 2)
    alone = next(digits.run([Job(specs[1], (1,))], Control(), CPU))
    beside = next(run for run in made if (run.spec.id, run.seed) == (alone.spec.id, 1))
    np.testing.assert_allclose(alone.curve.validation, beside.curve.validation, rtol=1e-3)


def test_a_run_that_was_cut_goes_on_with_the_same_bits(monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    jobs = [Job(spec, (0,)) for spec in models("mul")[-3:]]
    whole = list(digits.run(jobs, Control(), CPU, stack=10))
    kept = {}
    for stop in (2, 5, 99):  # within an epoch, after its end, and never
        asked = iter(range(1000))
        control = Control(
            stopped=lambda stop=stop, asked=asked: next(asked) > stop,
            resume=lambda spec, seed: kept.get((spec.id, seed)),
            suspend=lambda spec, seed, state: kept.update({(spec.id, seed): state}),
        )
        made = list(digits.run(jobs, control, CPU, stack=10))
        assert bool(made) == (stop == 99)
    steps = {int(state["step"][0]) for state in kept.values()}
    assert len(steps) == 1
    assert jobs[0].spec.evaluate_every < steps.pop() < jobs[0].spec.iterations
    for before, after in zip(whole, made, strict=True):
        np.testing.assert_array_equal(before.curve.validation, after.curve.validation)
        np.testing.assert_array_equal(before.extra["curve_lengths"], after.extra["curve_lengths"])
        np.testing.assert_array_equal(before.end_weights, after.end_weights)
        np.testing.assert_array_equal(before.extra["digit_outputs"], after.extra["digit_outputs"])


def test_what_was_begun_goes_first(monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    job, kept, asked = Job(models("mul")[-1], (0, 1)), {}, iter(range(1000))
    control = Control(stopped=lambda: next(asked) > 2, suspend=lambda spec, seed, state: kept.update({seed: state}))
    assert not list(digits.run([Job(job.spec, (1,))], control, CPU))
    made = digits.run([job], Control(resume=lambda spec, seed: kept.get(seed)), CPU)
    assert [run.seed for run in made] == [1, 0]


def test_runs_whose_machine_is_lost_go_on_with_the_same_bits(monkeypatch, tmp_path):
    """States are kept along the way; what finishes leaves none."""
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    monkeypatch.setattr("arithmos.engines.stopwatch.KEEP_S", 0.0)
    jobs, store, asked = [Job(spec, (0,)) for spec in models("mul")[-3:]], Store(tmp_path), iter(range(1000))
    whole = list(digits.run(jobs, Control(), CPU, stack=10))

    def lost():
        if next(asked) == 5:
            raise RuntimeError("the machine is lost")
        return False

    def keep(spec, seed, state):
        store.suspend(spec, seed, "torch", state)

    with pytest.raises(RuntimeError, match="lost"):
        list(digits.run(jobs, Control(stopped=lost, suspend=keep), CPU, stack=10))
    resumed = [store.resume(job.spec, 0, "torch") for job in jobs]
    [step] = {int(state["step"][0]) for state in resumed}
    assert 1 < step < jobs[0].spec.iterations
    with store.writer() as writer:
        control = Control(
            resume=lambda spec, seed: store.resume(spec, seed, "torch"),
            suspend=lambda spec, seed, state: writer.suspend(spec, seed, "torch", state),
        )
        for before, after in zip(whole, digits.run(jobs, control, CPU, stack=10), strict=True):
            writer.add(after)
            np.testing.assert_array_equal(before.curve.validation, after.curve.validation)
            np.testing.assert_array_equal(before.end_weights, after.end_weights)
    assert len(store) == len(jobs)
    assert store.suspended == ()


def test_seconds_are_counted_once_however_often_states_are_kept(monkeypatch):
    monkeypatch.setattr("arithmos.engines.stopwatch.TELL_S", 0.0)
    monkeypatch.setattr("arithmos.engines.stopwatch.KEEP_S", 0.0)
    kept, begun = [], time.monotonic()
    job = Job(models("mul")[-1], (0,))
    [run] = digits.run([job], Control(suspend=lambda spec, seed, state: kept.append(state)), CPU)
    seconds = [float(state["elapsed_s"][0]) for state in kept]
    assert len(kept) > 2
    assert seconds == sorted(seconds)
    assert seconds[-1] < run.elapsed_s < time.monotonic() - begun


def test_what_is_kept_of_a_run_that_was_cut_is_small():
    kept = []
    spec = EXPERIMENTS["mnist-product"].specs[-1]
    full = dataclasses.replace(small(spec), iterations=200 * 8, evaluate_every=8)
    stack = Stack([(full, 0)], CPU, Control(suspend=lambda spec, seed, state: kept.append(state)))
    stack._suspend()
    assert sum(array.nbytes for array in kept[0].values()) < 5 * 2**20


def test_a_run_that_meets_nan_ends_and_disturbs_no_other():
    runs = [(spec, seed) for spec in models("mul")[-2:] for seed in (0, 1)]
    sound, hurt = stacked(runs), stacked(runs)
    epoch = sound.training.iterations
    for stack in (sound, hurt):
        stack.record()
        stack.advance(epoch)
    with torch.no_grad():
        hurt.reader["conv1.weight"][1, 0] = torch.nan
    made = [stack.train() for stack in (sound, hurt)]
    for run, (one, other) in enumerate(zip(*made, strict=True)):
        assert (one.ended_early, other.ended_early) == (False, run == 1)
        if run != 1:
            np.testing.assert_array_equal(one.curve.validation, other.curve.validation)
            np.testing.assert_array_equal(one.end_weights, other.end_weights)
    assert made[1][1].records == 1
    assert made[1][1].best_step == 0


def test_a_stack_whose_runs_have_all_met_nan_ends():
    stack = stacked([(models("mul")[0], 0)])
    with torch.no_grad():
        stack.reader["linear1.bias"][0] = torch.nan
    [run] = stack.train()
    assert (run.records, run.ended_early, stack.step) == (0, True, 0)
    assert np.isnan(run.best_validation)
    assert run.extra["curve_lengths"].shape == (0,)


def test_other_tasks_are_refused():
    with pytest.raises(TypeError, match="the task must be one of sequences of digits, got Arithmetic"):
        stacked([(EXPERIMENTS["table-1"].specs[0], 0)])
