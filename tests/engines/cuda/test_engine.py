"""The engine around the kernel: records, chunks, interruption, and the order of work."""

import dataclasses

import numpy as np
import pytest
from tests.engines.cuda.runs import group
from tests.engines.cuda.shim import HOPPER, TURING, HostDevice

from arithmos.engines.contract import Control, Job
from arithmos.engines.cuda import CudaEngine
from arithmos.engines.cuda.plan import make_plan
from arithmos.engines.torch import TorchEngine
from arithmos.optim import SparsitySchedule
from arithmos.spec import MODELS, Adam, Spec
from arithmos.tasks import Arithmetic, Rows

NUMBERS = (
    "records", "ended_early", "best_step", "best_validation", "best_test", "best_sparsity", "best_gate",
    "end_validation", "end_test", "end_sparsity",
)  # fmt: skip
SEEDS = (0, 1, 2)


def small(name="NMU", **options):
    model = MODELS[name]
    if model.schedule.strength:
        model = dataclasses.replace(model, schedule=SparsitySchedule(10.0, 10, 40))
    return Spec(
        task=Arithmetic(operation="mul", input_size=9),
        model=model,
        **{"iterations": 70, "evaluate_every": 7, **options},
    )


def by_seed(runs):
    return {run.seed: run for run in runs}


def numbers(run):
    return np.array([*(getattr(run, name) for name in NUMBERS), *run.solved_at.values()], np.float64)


def bits(run):
    arrays = (run.end_weights, run.best_weights, run.curve.validation, run.curve.test, run.curve.sparsity)
    return numbers(run).tobytes() + b"".join(array.tobytes() for array in arrays)


@pytest.mark.parametrize("name", ["NMU", "GateNAUNMU", "ReLU"])
def test_the_judge_sees_what_the_torch_engine_sees(device, name):
    spec = small(name)
    ours = by_seed(CudaEngine(device).run([Job(spec, SEEDS)]))
    theirs = by_seed(TorchEngine().run([Job(spec, SEEDS)]))
    for seed in SEEDS:
        np.testing.assert_allclose(numbers(ours[seed]), numbers(theirs[seed]), rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose(ours[seed].best_weights, theirs[seed].best_weights, atol=2e-6)
        np.testing.assert_array_equal(ours[seed].curve.step, theirs[seed].curve.step)
        np.testing.assert_allclose(ours[seed].curve.test, theirs[seed].curve.test, rtol=2e-5)


def test_runs_share_the_time(device):
    runs = list(CudaEngine(device).run([Job(small(), SEEDS)]))
    assert all(run.elapsed_s > 0 for run in runs)


def test_a_solved_run_says_when(device):
    """One weight to find, and a threshold that is met on the way."""
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (300, 2)).astype(np.float32)
    task = Rows(x, x[:, 0] + x[:, 1], threshold=0.5)
    spec = Spec(task=task, model=MODELS["NAU"], iterations=60, evaluate_every=5, batch_size=32, optimizer=Adam(lr=1e-2))
    ours = by_seed(CudaEngine(device).run([Job(spec, SEEDS)]))
    theirs = by_seed(TorchEngine().run([Job(spec, SEEDS)]))
    assert any(run.solved_at["threshold"] > 0 for run in theirs.values())
    for seed in SEEDS:
        assert ours[seed].solved_at == theirs[seed].solved_at


def test_the_untrained_network_is_not_the_best_record(device):
    """With far too long steps every later record is worse, and the best of those counts."""
    spec = small("Linear", iterations=12, evaluate_every=3, optimizer=Adam(lr=100.0))
    (run,) = CudaEngine(device).run([Job(spec, (0,))])
    assert run.curve.validation[0] < run.curve.validation[1:].min()
    assert run.best_step == run.curve.step[1:][run.curve.validation[1:].argmin()]
    assert run.best_validation == run.curve.validation[1:].min()


@pytest.mark.parametrize("name", ["NMU", "NALU"])
def test_chunks_and_company_do_not_change_a_bit(device, name):
    spec = small(name)
    together = by_seed(CudaEngine(device).run([Job(spec, (0, 1, 2, 3, 4))]))
    alone = by_seed(CudaEngine(device).run([Job(spec, (3,))]))
    chunked = group(device, spec, dict.fromkeys((3, 4)))
    for size in (1, 6, 7, 8, 20, 100):
        chunked.launch(size)
        chunked.wait()
    pieces = by_seed(chunked.finished("cuda", Control()))
    assert bits(together[3]) == bits(alone[3]) == bits(pieces[3])
    assert bits(together[4]) == bits(pieces[4])


def test_a_run_that_is_cut_goes_on_to_the_same_bits(device):
    spec, states, begun = small("NALU"), {}, []
    cut = Control(
        stopped=lambda: bool(begun),
        advance=lambda spec, iterations: begun.append(iterations),
        suspend=lambda spec, seed, state: states.update({seed: state}),
    )
    engine = CudaEngine(device, chunk_s=1e-9)
    first = list(engine.run([Job(spec, SEEDS)], cut))
    assert not first
    assert sorted(states) == list(SEEDS)
    assert all(0 < state["step"][0] <= spec.iterations for state in states.values())
    told = []
    resumed = Control(resume=lambda spec, seed: states[seed], advance=lambda spec, n: told.append(n))
    rest = by_seed(engine.run([Job(spec, SEEDS)], resumed))
    whole = by_seed(CudaEngine(device).run([Job(spec, SEEDS)]))
    assert [bits(rest[seed]) for seed in SEEDS] == [bits(whole[seed]) for seed in SEEDS]
    assert sum(told) == sum(spec.iterations + 1 - int(state["step"][0]) for state in states.values())


def test_nan_ends_a_run_before_the_record(device):
    x = np.full((20, 3), 1e25, np.float32)
    spec = Spec(task=Rows(x, x[:, 0]), model=MODELS["Linear"], iterations=50, evaluate_every=5)
    (run,) = CudaEngine(device).run([Job(spec, (0,))])
    assert run.ended_early
    assert run.records == 1
    assert list(run.curve.step) == [0]
    last = dataclasses.replace(spec, iterations=3)
    (run,) = CudaEngine(device).run([Job(last, (0,))])
    assert run.ended_early, "after the last update, too"


def test_all_records_are_kept_when_asked(device):
    spec = small(iterations=300, evaluate_every=1)
    (thinned,) = CudaEngine(device).run([Job(spec, (0,))])
    (all_of,) = CudaEngine(device).run([Job(spec, (0,))], Control(all_records=True))
    assert len(all_of.curve.step) == 301 > len(thinned.curve.step)
    assert np.isfinite(all_of.curve.validation).all()
    places = np.searchsorted(all_of.curve.step, thinned.curve.step)
    np.testing.assert_array_equal(all_of.curve.test[places], thinned.curve.test)


def test_jobs_of_many_specs_all_come_back(device):
    jobs = [Job(small(), SEEDS), Job(small(iterations=140), (5,)), Job(small("ReLU"), (0,)), Job(small("NAU"), ())]
    told = {}
    control = Control(advance=lambda spec, iterations: told.update({spec: iterations + told.get(spec, 0)}))
    runs = list(CudaEngine(device, chunk_s=1e-9).run(jobs, control))
    assert sorted((run.spec.iterations, run.seed) for run in runs) == [(70, 0), (70, 0), (70, 1), (70, 2), (140, 5)]
    assert told == {job.spec: (job.spec.iterations + 1) * len(job.seeds) for job in jobs[:3]}
    assert all(run.engine == "cuda" and run.elapsed_s > 0 for run in runs)
    assert {run.gpu for run in runs} == {device.name}


def test_longer_runs_start_first():
    class Watched(HostDevice):
        def load(self, code, plan):
            order.append(plan.source)
            return super().load(code, plan)

    order = []
    device = Watched(dataclasses.replace(HOPPER, multiprocessors=1))
    specs = [small(iterations=5), small("NALU", iterations=200), small("ReLU", iterations=50)]
    plans = [make_plan(spec, device.limits) for spec in specs]
    for plan in plans:
        device.compile(plan)  # so that none has to wait for its kernel
    specs[0].task.thresholds()
    list(CudaEngine(device, fill=0.01).run([Job(spec, (0,)) for spec in specs]))
    assert order == [plans[1].source, plans[2].source, plans[0].source]


def test_what_does_not_fit_is_refused_in_a_line():
    wide = small(hidden_size=2)
    wide = dataclasses.replace(wide, task=Arithmetic(operation="mul", input_size=2000))
    assert CudaEngine(HostDevice(TURING)).refuses(small()) is None
    why = CudaEngine(HostDevice(TURING)).refuses(wide)
    assert why is not None
    assert "shared memory" in why
    assert "\n" not in why


def test_runs_that_are_not_wanted_are_left_out(device):
    specs = small(), small("ReLU")
    control = Control(wanted=lambda spec, seed: spec is specs[0] and seed == 1)
    made = CudaEngine(device).run([Job(spec, SEEDS) for spec in specs], control)
    assert [(run.spec.id, run.seed) for run in made] == [(specs[0].id, 1)]
