import dataclasses

import numpy as np
import pytest

from arithmos.engines.contract import NEVER, Control, curve_records
from arithmos.engines.judge import Judge
from arithmos.spec import MODELS, Spec
from arithmos.tasks import TEN_PARAMETERS

SPEC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=500, evaluate_every=100)
NAN = np.nan


def _judged(validations, tests=None, broken_at=None):
    """One run with these validation (and test) errors at its records."""
    judge = Judge(SPEC, (7,), 10, Control())
    for record, validation in enumerate(validations):
        values = np.array([[validation, 1.0 if tests is None else tests[record], 0.1 * record, NAN]], np.float32)
        broken = np.array([broken_at is not None and record >= broken_at])
        judge.observe(100 * record, values, np.full((1, 10), record, np.float32), broken)
    return judge.runs("torch", np.zeros((1, 10), np.float32), 3.0)[0]


@pytest.mark.parametrize(
    ("validations", "best_step"),
    [
        ([9, 5, 3, 4, 3, 8], 200),  # the first of equals
        ([1, 5, 3, 4, 3, 8], 200),  # t = 0 does not count
        ([9, NAN, 3, NAN, 2, NAN], 400),
        ([9, NAN, NAN, NAN, NAN, NAN], 0),  # unless there is no other
        ([NAN] * 6, 500),  # the last, if none is a number
        ([NAN, NAN, 5, 6, NAN, NAN], 200),
        ([9], 0),
        ([9, np.inf, 8], 200),
    ],
)
def test_best_record(validations, best_step):
    run = _judged(validations)
    assert run.best_step == best_step
    assert (run.best_weights == best_step // 100).all() or best_step > 100  # weights are clipped to their range
    assert run.records == len(validations)


def test_solved_at_is_the_first_record_below_even_if_not_the_best():
    low, high = 1e-7, 1.0
    run = _judged([9, 8, 7, 6, 5, 4], [high, high, low, high, low, high])
    assert (run.solved_at["released"], run.solved_at["corrected"]) == (200, 200)
    assert run.best_test == 1.0
    assert _judged([9, 8], [high, high]).solved_at["released"] == NEVER
    assert _judged([9, 8], [high, NAN]).solved_at["released"] == NEVER
    assert _judged([9], [low]).solved_at["released"] == 0
    tau = run.thresholds["corrected"]
    assert _judged([9, 8], [high, np.float32(tau) * np.float32(1.001)]).solved_at["corrected"] == NEVER


def test_a_broken_run_keeps_the_records_it_had():
    run = _judged([9, 5, 6, NAN, NAN, NAN], broken_at=3)
    assert (run.ended_early, run.records, run.best_step, run.end_validation) == (True, 3, 100, 6.0)
    assert run.curve.step.tolist() == [0, 100, 200]


def test_thinned_curves_keep_first_and_last_and_grow_by_the_logarithm():
    spec = dataclasses.replace(SPEC, iterations=5_000_000, evaluate_every=1000)
    kept = curve_records(spec)
    assert (kept[0], kept[-1]) == (0, 5000)
    assert 150 <= len(kept) <= 201
    assert len(curve_records(spec, all_records=True)) == 5001
    assert curve_records(SPEC).tolist() == [0, 1, 2, 3, 4, 5]


def test_state_goes_round():
    judge = Judge(SPEC, (1, 2), 10, Control())
    rng = np.random.default_rng(0)
    for step in (0, 100, 200):
        judge.observe(step, rng.random((2, 4), np.float32), rng.random((2, 10), np.float32), np.zeros(2, bool))
    other = Judge(SPEC, (2,), 10, Control())
    other.restore(0, judge.state(1))
    last = np.zeros((2, 10), np.float32)
    mine, theirs = other.runs("torch", last[:1], 1.0)[0], judge.runs("torch", last, 2.0)[1]
    np.testing.assert_array_equal(mine.best_weights, theirs.best_weights)
    np.testing.assert_array_equal(mine.curve.test, theirs.curve.test)
    assert (mine.best_step, mine.records) == (theirs.best_step, theirs.records)
