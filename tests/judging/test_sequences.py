import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from tests.factories import make_digits_run

from arithmos.engines.contract import NEVER
from arithmos.judging.cells import judged
from arithmos.judging.references import references
from arithmos.judging.sequences import by_length
from arithmos.judging.thin import thin
from arithmos.papers import EXPERIMENTS
from arithmos.report import claims, render, summarize, verdicts
from arithmos.store import Store

PRODUCT, SUM = EXPERIMENTS["mnist-product"], EXPERIMENTS["mnist-sum-no-rz"]
REFERENCE = EXPERIMENTS["mnist-reference"]
NMU, NAU = PRODUCT.specs[-1], SUM.specs[-1]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def referenced(store):
    """A store with the reference runs."""
    store.append(make_digits_run(spec, seed) for spec in REFERENCE.specs for seed in range(10))
    return store


def lengths_of(run):
    """Test errors `[records, lengths]`, to be changed."""
    return run.extra["curve_lengths"].reshape(len(run.curve.step), -1).copy()


def cells_of(store, experiment, criterion="released"):
    cells = judged(store, [experiment], criterion).of(experiment)
    return {(spec.id, at): cell for spec, at, cell in cells if cell.n}


def times(run, *factors, records=slice(None)):
    """A run whose test errors at each length are so many times as large."""
    lengths = lengths_of(run)
    lengths[records] *= np.array(factors, np.float32)
    return dataclasses.replace(run, extra=run.extra | {"curve_lengths": lengths.ravel()})


def test_a_run_is_solved_at_each_length_by_itself(referenced):
    factors = np.where(np.arange(1, 21) > 5, 2.0, 0.9)
    referenced.append(times(make_digits_run(NMU, seed), *factors) for seed in range(10))
    cells = cells_of(referenced, PRODUCT)
    assert [cells[NMU.id, float(length)].k for length in range(1, 21)] == [10] * 5 + [0] * 15
    assert {cell.n for cell in cells.values()} == {10}


def test_solved_at_is_the_first_record_below_the_threshold(referenced):
    spec = REFERENCE.specs[0]
    limit = by_length(referenced, [spec], 10, "released")[spec.id, 2].threshold
    run = make_digits_run(NMU, 0)
    low = lengths_of(run)
    low[:, 1] = 2 * limit
    low[7:9, 1] = 0.5 * limit  # below for a while; the best record is above
    referenced.append([dataclasses.replace(run, extra=run.extra | {"curve_lengths": low.ravel()})])
    [solved_at] = by_length(referenced, [NMU], 10, "released")[NMU.id, 2].solved_at
    assert solved_at == 7 * 5 * 388
    assert by_length(referenced, [NMU], 10, "released")[NMU.id, 2].test[0] == np.float32(2 * limit)
    assert by_length(referenced, [NAU, NMU], 0, "released") == {}


def test_both_criteria(referenced):
    referenced.append(make_digits_run(NMU, seed) for seed in range(3))
    [runs] = [one for one in references(referenced).values() if one.operation == "mul"]
    for criterion in ("released", "corrected"):
        cell = cells_of(referenced, PRODUCT, criterion)[NMU.id, 20.0]
        assert cell.threshold == runs.thresholds(criterion)[20]
        assert cell.note == runs.note(criterion)


def test_a_table_is_about_the_length_of_the_training(referenced):
    experiment = EXPERIMENTS["mnist-rz"]
    referenced.append(make_digits_run(NMU, seed, solved=seed < 4) for seed in range(10))
    table, figure = cells_of(referenced, experiment)[NMU.id, ""], cells_of(referenced, PRODUCT)[NMU.id, 2.0]
    assert (table.k, table.n, table.threshold) == (figure.k, figure.n, figure.threshold)
    assert "NMU without R_z" in render(summarize(referenced, experiment), experiment)


def test_a_cell_is_made_by_one_engine(referenced):
    referenced.append(make_digits_run(NMU, seed) for seed in range(3))
    referenced.append(make_digits_run(NMU, seed, "other", solved=False) for seed in range(5))
    cell = cells_of(referenced, PRODUCT)[NMU.id, 1.0]
    assert (cell.engine, cell.n, cell.k) == ("other", 5, 0)


def test_nan_is_not_solved(referenced):
    run = make_digits_run(NMU, 0)
    referenced.append([times(run, *[math.nan] * 20)])
    one = by_length(referenced, [NMU], 10, "released")[NMU.id, 3]
    assert one.solved_at.tolist() == [NEVER]
    assert cells_of(referenced, PRODUCT)[NMU.id, 3.0].k == 0


def test_a_run_that_ended_early(referenced):
    run = make_digits_run(NMU, 0)
    curve = dataclasses.replace(run.curve, **{name: values[:9] for name, values in vars(run.curve).items()})
    shorter = {"curve_lengths": lengths_of(run)[:9].ravel(), "curve_training": run.extra["curve_training"][:9]}
    cut = dataclasses.replace(
        run, curve=curve, extra=run.extra | shorter, records=9, ended_early=True, best_step=8 * 1940
    )
    referenced.append([cut])
    cell = cells_of(referenced, PRODUCT)[NMU.id, 20.0]
    assert (cell.n, cell.k, cell.ended_early) == (1, 0, 1)


def test_without_references_nothing_is_judged_and_the_table_says_so(store):
    assert "Make them with: arithmos run mnist-product" in render(summarize(store, PRODUCT), PRODUCT)
    store.append(make_digits_run(NMU, seed) for seed in range(10))
    frame = summarize(store, PRODUCT)
    assert frame["n"].sum() == 0
    page = render(frame, PRODUCT)
    assert "There are no reference runs" in page
    assert "make them with: arithmos run mnist-reference" in page
    assert "Make them with: arithmos run mnist-product" not in page
    assert set(verdicts(store, [PRODUCT])["verdict"]) == {"not run"}


def test_a_table_shows_thresholds_and_what_they_rest_on(referenced):
    referenced.append(make_digits_run(NMU, seed) for seed in range(10))
    part = PRODUCT.select(models=[NMU.model])
    page = render(summarize(referenced, part), part)
    assert "Threshold" in page
    assert "Thresholds of products are made of 7 of 10 reference runs, seeds 0, 2, 4, 5, 6, 7, 9." in page
    every = render(summarize(referenced, part, criterion="corrected"), part)
    assert "Thresholds of products are made of 10 of 10 reference runs" in every


def test_every_published_point_has_its_verdict(referenced):
    referenced.append(make_digits_run(NMU, seed) for seed in range(10))
    frame = verdicts(referenced, [PRODUCT])
    rates = frame[frame["measure"] == "success_rate"]
    assert len(rates) == 6 * 20
    judged = rates[rates["model"] == "NMU"]
    assert judged["at"].tolist() == [float(length) for length in range(1, 21)]
    assert set(judged["verdict"]) == {"cannot tell"}  # ten runs beside ten
    assert set(rates[rates["model"] != "NMU"]["verdict"]) == {"not run"}


def test_claims_on_digits(referenced):
    for spec in SUM.specs:
        referenced.append(make_digits_run(spec, seed, solved=spec is NAU) for seed in range(10))
    frame = claims(referenced, ["mnist-growth-product", "mnist-mean", "mnist-sum-best"])
    assert frame["verdict"].tolist() == ["fails", "holds", "undecided"]
    assert frame["numbers"][0] == "an exponential and a power of the length account for 87% and 100%"
    assert frame["numbers"][1].endswith("solved runs of NAU at 1000")


def test_another_way_to_multiply(referenced):
    """Weights of 0.0125 are near 0, numbers read are large, and products are right."""
    without = EXPERIMENTS["mnist-product-no-rz"].specs[-1]
    weights = {NMU: [1, 1], PRODUCT.specs[0]: [0.9, 1], without: [0.0125, 1]}
    for spec, own in weights.items():
        referenced.append(make_digits_run(spec, seed, best_weights=np.array(own, np.float32)) for seed in range(10))
    frame = claims(referenced, ["mnist-another-way", "mnist-intended-way"])
    assert frame["verdict"].tolist() == ["holds", "holds"]
    assert frame["numbers"][0] == "9 of 9 solved runs of NMU at 2 without R_z"
    assert frame["numbers"][1].count("; 0 of ") == 1


def test_cells_of_more_weights_have_none_that_is_intended(referenced):
    lstm = next(spec for spec in PRODUCT.specs if spec.model.name == "LSTM")
    referenced.append([make_digits_run(lstm)])
    assert np.isnan(by_length(referenced, [lstm], 10, "released")[lstm.id, 2].intended).all()


def test_a_thinned_store_has_the_same_verdicts(referenced, tmp_path):
    referenced.append(make_digits_run(NMU, seed) for seed in range(10))
    thin(referenced, tmp_path / "small", keep=0)
    whole, small = (verdicts(store, [PRODUCT]) for store in (referenced, Store(tmp_path / "small")))
    pd.testing.assert_frame_equal(small, whole)
