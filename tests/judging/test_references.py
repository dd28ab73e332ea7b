import dataclasses
import json
import math

import numpy as np
import pytest
from scipy import stats
from tests.factories import make_digits_run, make_run

from arithmos.judging.references import Reference, best_errors, references
from arithmos.papers import EXPERIMENTS
from arithmos.spec.stored import problem
from arithmos.store import Store

PRODUCT, SUM = EXPERIMENTS["mnist-reference"].specs


def reference(operation="mul", seeds=range(10), validation=None, errors=None):
    seeds = tuple(seeds)
    if errors is None:
        errors = np.random.default_rng(0).uniform(1, 2, (len(seeds), 2)) * [1, 100]
    return Reference(operation, seeds, (1, 2), np.ones(len(seeds)) if validation is None else validation, errors)


def bound(errors, freedom):
    return errors.mean(0) + stats.t.ppf(0.99, freedom) * errors.std(0, ddof=1) / math.sqrt(len(errors))


def test_thresholds_of_the_product_as_released():
    runs = reference()
    assert runs.used("released") == (0, 2, 4, 5, 6, 7, 9)
    expected = bound(runs.errors[[0, 2, 4, 5, 6, 7, 9]], 8)
    assert runs.thresholds("released") == pytest.approx({1: expected[0], 2: expected[1]})


def test_thresholds_of_the_sum_as_released():
    runs = reference("add")
    assert runs.used("released") == (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert list(runs.thresholds("released").values()) == pytest.approx(bound(runs.errors[1:], 8))


@pytest.mark.parametrize("operation", ["mul", "add"])
def test_corrected_thresholds_are_of_all_seeds(operation):
    runs = reference(operation)
    assert runs.used("corrected") == tuple(range(10))
    assert list(runs.thresholds("corrected").values()) == pytest.approx(bound(runs.errors, 9))


def test_runs_that_did_not_solve_it_are_left_out():
    validation = np.array([1.0, 1.2, 0.9, 2.8, 1.1, 1.0, np.nan, 1.0, 40.0, 1.0])
    runs = reference(validation=validation)
    assert runs.unsolved == (3, 6, 8)
    assert runs.used("released") == (0, 2, 4, 5, 7, 9)
    assert runs.used("corrected") == (0, 1, 2, 4, 5, 7, 9)
    expected = bound(runs.errors[[0, 1, 2, 4, 5, 7, 9]], 6)
    assert list(runs.thresholds("corrected").values()) == pytest.approx(expected)
    assert runs.note("released") == (
        "Thresholds of products are made of 6 of 10 reference runs, seeds 0, 2, 4, 5, 7, 9. "
        "Of all of them seeds 3, 6, 8 did not solve it."
    )


def test_a_run_with_an_infinite_error_did_not_solve_it():
    errors = np.ones((10, 2))
    errors[2, 1] = np.inf
    runs = reference(errors=errors)
    assert runs.unsolved == (2,)
    assert runs.thresholds("released") == runs.thresholds("corrected") == {1: 1.0, 2: 1.0}


def test_fewer_than_two_runs_give_no_threshold():
    assert np.isnan(list(reference(seeds=[0]).thresholds("corrected").values())).all()
    assert np.isnan(list(reference(seeds=[1, 3]).thresholds("released").values())).all()


def test_references_of_a_store(tmp_path):
    store = Store(tmp_path)
    assert references(store) == {}
    short = dataclasses.replace(PRODUCT, iterations=388 * 16 - 1)
    store.append([make_run()])
    store.append(make_digits_run(PRODUCT, seed) for seed in range(3))
    store.append(make_digits_run(PRODUCT, seed, "other") for seed in range(2))
    store.append([make_digits_run(short), make_digits_run(SUM)])
    found = references(store)
    assert found.keys() == {problem(spec.json()) for spec in (PRODUCT, short, SUM)}
    product = found[problem(PRODUCT.json())]
    assert (product.operation, product.seeds, product.lengths) == ("mul", (0, 1, 2), tuple(range(1, 21)))
    run = make_digits_run(PRODUCT, 2)
    best = run.curve.step.tolist().index(run.best_step)
    np.testing.assert_array_equal(product.errors[2], run.extra["curve_lengths"].reshape(-1, 20)[best])
    assert product.validation[2] == run.best_validation


def test_a_spec_has_the_problem_of_its_reference():
    for name, reference in (("mnist-product", PRODUCT), ("mnist-sum-no-rz", SUM)):
        for spec in EXPERIMENTS[name].specs:
            assert problem(spec.json()) == problem(reference.json())
    assert problem(PRODUCT.json()) != problem(SUM.json())
    assert "layers" not in json.loads(problem(PRODUCT.json()))


def test_errors_at_the_best_record():
    row = {"curve_step": np.array([0, 5, 10]), "curve_lengths": np.arange(6.0), "best_step": 5}
    assert best_errors(row).tolist() == [2, 3]
