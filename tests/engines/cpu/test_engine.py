"""What the contract asks of the engine, beyond the numbers: the same bits always, suspension, progress, messages."""

import dataclasses
import threading

import numpy as np
import pytest

from arithmos.engines.contract import NEVER, Control, Job, curve_records
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.cpu.kernel import source
from arithmos.engines.cpu.memory import LINE, blocks
from arithmos.engines.cpu.philox import lane_rows
from arithmos.engines.cpu.run import Group, RunState, program_of
from arithmos.spec import MODELS, Layer, Model, Spec
from arithmos.tasks import TEN_PARAMETERS, Arithmetic, Rows

SPEC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=6_000, evaluate_every=500)
GATED = dataclasses.replace(SPEC, model=MODELS["GateNALUShared"], iterations=1_500)


def run(jobs, threads=1, control=None):
    return {(r.spec.id, r.seed): r for r in CpuEngine(threads).run(jobs, control or Control())}


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for key, mine in ours.items():
        for field in dataclasses.fields(mine):
            a, b = getattr(mine, field.name), getattr(theirs[key], field.name)
            if field.name == "curve":
                for name in ("step", "validation", "test", "sparsity"):
                    np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
            elif field.name not in ("spec", "elapsed_s"):
                np.testing.assert_array_equal(a, b, err_msg=field.name)


@pytest.fixture(scope="module")
def alone():
    """Each run by itself."""
    found = {}
    for spec in (SPEC, GATED):
        for seed in range(4):
            found |= run([Job(spec, (seed,))])
    return found


def test_same_bits_whatever_the_threads_and_the_order(alone):
    jobs = [Job(GATED, (3, 1)), Job(SPEC, (2, 0, 3)), Job(GATED, (0, 2)), Job(SPEC, (1,))]
    assert_same(run(jobs, threads=3), alone)


def test_runs_that_are_not_wanted_are_left_out(alone):
    control = Control(wanted=lambda spec, seed: seed in (1, 3))
    assert {seed for _, seed in run([Job(SPEC, (0, 1, 2, 3))], control=control)} == {1, 3}


def test_same_bits_whatever_the_chunk(alone):
    state = RunState(SPEC, 2, Control())
    for end in (1, 2, 499, 500, 501, 1234, 6_001):
        state.train(end)
    assert state.finished
    assert_same({(SPEC.id, 2): state.result("cpu")}, {(SPEC.id, 2): alone[SPEC.id, 2]})


SQUARES = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
ROWS = dataclasses.replace(GATED, task=Rows(SQUARES, SQUARES[:, :1] ** 2), model=MODELS["NALU"])


@pytest.mark.parametrize(
    "spec", [SPEC, GATED, ROWS], ids=["weights alone", "logarithms of inputs", "logarithms of rows"]
)
def test_same_bits_in_a_group_whose_first_run_meets_nan(spec):
    group, alone = (Group([RunState(spec, seed, Control()) for seed in seeds]) for seeds in ((0, 1, 2), (1,)))
    group.runs[0].parameters[0] = np.nan
    for runs in (group, alone):
        runs.train(1_101)
    ours, theirs = group.runs[1].result("cpu"), alone.runs[0].result("cpu")
    assert_same({0: ours}, {0: theirs})
    assert group.runs[0].finished
    assert ours.records == 3


def test_suspended_runs_go_on_to_the_same_bits(alone, monkeypatch):
    monkeypatch.setattr("arithmos.engines.cpu.CHUNK_S", 1e-4)
    kept, told = {}, []
    jobs = [Job(SPEC, (0, 1, 2, 3)), Job(GATED, (0, 1, 2, 3))]
    finished = {}
    for stop_after in (3, 20, 10**9):
        asked = iter(range(10**9))
        control = Control(
            advance=lambda spec, iterations: told.append(iterations),
            stopped=lambda asked=asked, limit=stop_after: next(asked) > limit,
            resume=lambda spec, seed: kept.pop((spec.id, seed), None),
            suspend=lambda spec, seed, state: kept.update({(spec.id, seed): _through_a_file(state)}),
        )
        left = [Job(job.spec, tuple(seed for seed in job.seeds if (job.spec.id, seed) not in finished)) for job in jobs]
        finished |= run(left, threads=2, control=control)
    assert not kept
    assert_same(finished, alone)
    assert sum(told) == 4 * (SPEC.iterations + 1) + 4 * (GATED.iterations + 1)


def _through_a_file(state):
    return {name: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape) for name, a in state.items()}


def test_an_abandoned_iterator_suspends_what_is_in_the_air():
    long = dataclasses.replace(SPEC, iterations=2**31)
    kept = {}
    control = Control(suspend=lambda spec, seed, state: kept.update({seed: int(state["step"][0])}))
    runs = CpuEngine(2).run([Job(SPEC, (0,)), Job(long, (1, 2))], control)
    assert next(runs).seed == 0
    runs.close()
    assert 1 in kept
    assert all(step > 0 for step in kept.values())
    assert not any(thread.name.startswith("ThreadPoolExecutor") for thread in threading.enumerate())


def test_an_error_in_a_run_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(Group, "advance", lambda self, seconds: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run([Job(SPEC, (0,))])


def test_verdicts_of_a_run_that_solves_its_task(alone):
    solved = alone[SPEC.id, 0]
    assert solved.records == SPEC.records == 13
    assert not solved.ended_early
    np.testing.assert_array_equal(solved.curve.step, curve_records(SPEC) * 500)
    best = np.argmin(solved.curve.validation[1:]) + 1
    assert solved.best_step == solved.curve.step[best]
    assert (solved.best_validation, solved.best_test) == (solved.curve.validation[best], solved.curve.test[best])
    below = np.flatnonzero(solved.curve.test < solved.thresholds["corrected"])
    assert solved.solved_at["corrected"] == (solved.curve.step[below[0]] if len(below) else NEVER)
    assert (solved.end_validation, solved.end_test) == (solved.curve.validation[-1], solved.curve.test[-1])
    assert np.isnan(solved.best_gate)
    assert 0 < alone[GATED.id, 0].best_gate < 1
    assert solved.elapsed_s > 0


def test_curves_are_thinned_unless_all_records_are_kept():
    spec = dataclasses.replace(SPEC, evaluate_every=1, iterations=700)
    [thin] = run([Job(spec, (0,))]).values()
    [full] = run([Job(spec, (0,))], control=Control(all_records=True)).values()
    assert len(full.curve.step) == 701
    np.testing.assert_array_equal(thin.curve.step, curve_records(spec))
    np.testing.assert_array_equal(thin.curve.validation, full.curve.validation[thin.curve.step])


def test_a_kernel_is_compiled_once_and_announced(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # an earlier test run may have left it in the user's cache
    said = []
    spec = dataclasses.replace(SPEC, model=Model("NACAdd>ReLU", (Layer("NACAdd"), Layer("ReLU"))), iterations=10)
    run([Job(spec, (0, 1))], control=Control(say=said.append))
    wider = dataclasses.replace(spec, task=Arithmetic(operation="sub", input_size=9), hidden_size=5, batch_size=7)
    run([Job(wider, (0,))], control=Control(say=said.append))
    assert said == ["compiling the kernel of NACAdd>ReLU"]


def test_the_text_of_a_kernel_depends_on_the_parts_alone():
    wide = dataclasses.replace(SPEC, task=Arithmetic(operation="div"), hidden_size=7)
    assert source(program_of(SPEC), SPEC) == source(program_of(wide), wide)
    assert source(program_of(SPEC), SPEC) != source(program_of(GATED), GATED)


UNIT = """
import torch
from torch import nn
class Mine(nn.Linear):
    def forward(self, x):
        return {formula}
"""


def mine(folder, formula, **changes):
    file = folder / "mine.py"
    file.write_text(UNIT.format(formula=formula))
    model = Model("mine", (Layer("NAU"), Layer(f"{file}:Mine")))
    return dataclasses.replace(SPEC, model=model, **{"iterations": 20, "evaluate_every": 10, **changes})


def test_a_unit_that_is_no_sum_or_product_is_refused(tmp_path):
    spec = mine(tmp_path, "torch.cumsum(x, -1)[..., :1] * self.weight.sum()")
    why = (
        "mine.py:Mine has no program: the operation cumsum is neither elementwise nor a sum or product over the inputs"
    )
    assert CpuEngine().refuses(spec) == why
    assert CpuEngine().refuses(SPEC) is None
    with pytest.raises(ValueError, match="Mine has no program"):
        list(CpuEngine().run([Job(spec, (0,))]))


def test_an_edited_unit_is_another_unit(tmp_path):
    """Its kernel is made anew, and its old runs are not taken for new ones."""
    before = mine(tmp_path, "super().forward(x)")
    [first] = run([Job(before, (0,))]).values()
    after = mine(tmp_path, "2 * super().forward(x)")
    [second] = run([Job(after, (0,))]).values()
    assert before.id != after.id
    assert source(program_of(before), before) != source(program_of(after), after)
    assert not np.array_equal(first.end_weights, second.end_weights)
    assert first.curve.test[0] != second.curve.test[0]


def test_a_unit_that_computes_with_its_sizes_is_refused(tmp_path):
    spec = mine(tmp_path, "super().forward(x) / self.in_features")
    assert "its output is another in training mode, where sizes" in CpuEngine().refuses(spec)


def test_a_gradient_that_is_not_that_of_the_forward_pass_is_refused(tmp_path):
    spec = mine(tmp_path, "(x @ self.weight.T.data) + x @ self.weight.T + self.bias")
    assert CpuEngine().refuses(spec) is None  # .data is a detach, which a program can express
    straight = "torch.no_grad()(lambda: self.weight.sum())() * x.sum(-1, keepdim=True) * self.bias"
    assert "the gradient of weight is not that of its forward pass" in CpuEngine().refuses(mine(tmp_path, straight))


def test_threads_must_be_positive():
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        CpuEngine(0)


def test_a_run_in_flight_takes_little_memory():
    widest = Spec(task=Arithmetic(operation="mul", input_size=300), model=MODELS["NALU"], hidden_size=10)
    arrays = RunState(widest, 0, Control()).arrays
    assert sum(a.nbytes for a in arrays.values()) < 20e6


def test_blocks_are_filled_up_with_the_last_row():
    x = np.arange(140, dtype=np.float32).reshape(70, 2)
    made = blocks(x, x[:3]).swapaxes(1, 2)
    assert made.shape == (3, 64, 2)
    by_row = np.concatenate(
        [made[:2].reshape(-1, 2)[np.argsort(lane_rows(70).ravel())], made[2][np.argsort(lane_rows(3)[0])]]
    )
    np.testing.assert_array_equal(by_row[:70], x)
    np.testing.assert_array_equal(by_row[70:128], np.repeat(x[[69]], 58, axis=0))
    np.testing.assert_array_equal(by_row[128:131], x[:3])
    np.testing.assert_array_equal(by_row[131:], np.repeat(x[[2]], 61, axis=0))


def test_arrays_begin_on_a_cache_line():
    arrays = RunState(SPEC, 0, Control()).arrays
    for name in ("x", "targets", "tables", "p", "g", "layer0_where4"):
        assert arrays[name].ctypes.data % LINE == 0, name
