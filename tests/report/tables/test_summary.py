import dataclasses

import numpy as np
import pandas as pd
import pytest
from tests.factories import make_run

from arithmos import statistics
from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.report import summarize
from arithmos.spec import MODELS
from arithmos.store import Store

TABLE = EXPERIMENTS["table-1"]
NMU = TABLE.specs[2]
PUBLISHED = [experiment for experiment in EXPERIMENTS.values() if experiment.published]


def solved(spec, seed, at, **changes):
    """A run that is below both thresholds from the given step on."""
    return make_run(spec, seed, **{"best_test": 1e-7, "solved_at_released": at, "solved_at_corrected": at} | changes)


def failed(spec, seed, **changes):
    return make_run(spec, seed, **{"best_test": 1.0, "solved_at_released": -1, "solved_at_corrected": -1} | changes)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def row(frame, model="NMU"):
    return frame.set_index("model").loc[model]


def test_an_empty_store(store):
    frame = summarize(store, TABLE)
    assert list(frame["model"]) == ["NACMul", "NALU", "NMU"]
    assert (frame["n"] == 0).all()
    assert list(frame["engine"]) == [""] * 3
    assert frame.filter(regex="^(success_rate|solved_at|sparsity|success_p|median_diff)").isna().all(axis=None)
    assert list(frame["published_k"]) == [13, 26, 94]
    assert frame["median_agrees"].isna().all()


def test_a_cell_is_the_statistics_of_its_runs(store):
    at = np.random.default_rng(0).integers(5, 30, 60) * 1000
    sparsity = np.random.default_rng(1).uniform(1e-4, 1e-2, 60)
    store.append([solved(NMU, i, int(at[i]), best_sparsity=float(sparsity[i])) for i in range(60)])
    store.append([failed(NMU, i, best_sparsity=0.4, ended_early=i < 70) for i in range(60, 100)])
    cell = row(summarize(store, TABLE))
    assert (cell["n"], cell["k"], cell["ended_early"], cell["engine"]) == (100, 60, 10, "torch")
    expected = {
        "success_rate": statistics.wilson(60, 100),
        "solved_at_median": statistics.median(at),
        "solved_at_mean": statistics.gamma_mean(at),
        "solved_at_mean_released": statistics.gamma_mean_as_released(at),
        "sparsity_mean": statistics.beta_mean(sparsity),
        "sparsity_mean_released": statistics.beta_mean_as_released(sparsity),
    }
    for name, interval in expected.items():
        assert cell[name] == interval.estimate, name
        assert (cell[f"{name}_low"], cell[f"{name}_high"]) == (interval.low, interval.high), name
    assert cell["success_p"] == statistics.fisher_exact(60, 100, 94, 100)


def test_solved_is_strictly_below_the_threshold_and_never_nan(store):
    store.append(
        [
            solved(NMU, 0, 1000, best_test=1e-5),
            solved(NMU, 1, 1000, best_test=np.nextafter(1e-5, 0)),
            failed(NMU, 2, best_test=float("nan")),
            failed(NMU, 3, threshold_released=float("nan"), best_test=0.0),
        ]
    )
    cell = row(summarize(store, TABLE))
    assert (cell["n"], cell["k"]) == (4, 1)


def test_each_criterion_has_its_threshold_and_its_steps(store):
    store.append([solved(NMU, 0, 9000, best_test=1.5e-5, solved_at_released=-1, solved_at_corrected=7000)])
    assert row(summarize(store, TABLE))["k"] == 0
    corrected = row(summarize(store, TABLE, criterion="corrected"))
    assert (corrected["k"], corrected["solved_at_median"]) == (1, 7000)
    with pytest.raises(ValueError, match="criterion must be 'released' or 'corrected', got 'strict'"):
        summarize(store, TABLE, criterion="strict")


def test_no_run_solved(store):
    store.append([failed(NMU, seed) for seed in range(10)])
    cell = row(summarize(store, TABLE))
    assert (cell["n"], cell["k"], cell["success_rate"]) == (10, 0, 0)
    assert cell["success_rate_high"] > 0.2
    assert np.isnan(cell["solved_at_median"])
    assert np.isnan(cell["sparsity_mean"])
    assert cell["median_agrees"] is None or pd.isna(cell["median_agrees"])


def test_one_run_solved(store):
    store.append([solved(NMU, 0, 14_000, best_sparsity=1e-3), failed(NMU, 1)])
    cell = row(summarize(store, TABLE))
    for name, value in {"solved_at_median": 14_000, "solved_at_mean": 14_000, "sparsity_mean_released": 1e-3}.items():
        assert cell[name] == value
        assert np.isnan(cell[f"{name}_low"])
    assert cell["median_difference"] == 0
    assert np.isnan(cell["median_difference_low"])


def test_a_cell_is_of_one_engine_and_of_the_experiment_s_seeds(store):
    store.append([failed(NMU, seed, engine="cpu") for seed in range(7)])
    store.append([solved(NMU, seed, 1000, engine="torch") for seed in range(5)])
    store.append([solved(NMU, seed, 1000, engine="torch") for seed in range(100, 120)])
    cell = row(summarize(store, TABLE))
    assert (cell["engine"], cell["n"], cell["k"]) == ("cpu", 7, 0)
    more = row(summarize(store, TABLE.select(seeds=200)))
    assert (more["engine"], more["n"], more["k"]) == ("torch", 25, 25)


def test_a_unit_without_a_sparsity_error(store):
    store.append([solved(NMU, seed, 1000 + seed, best_sparsity=float("nan")) for seed in range(3)])
    cell = row(summarize(store, TABLE))
    assert cell["k"] == 3
    assert np.isnan(cell["sparsity_mean"])


@pytest.mark.parametrize(("at", "agrees"), [(14_000, True), (15_000, False)])
def test_the_published_median_is_known_to_its_rounding(store, at, agrees):
    store.append([solved(NMU, seed, at) for seed in range(50)])
    cell = row(summarize(store, TABLE))
    assert bool(cell["median_agrees"]) == agrees
    assert cell["median_difference"] == at - 14_000
    assert cell["median_difference_low"] == at - 14_000 - 500
    assert cell["median_difference_high"] == at - 14_000 + 500


def test_a_model_from_outside_has_nothing_published(store):
    frame = summarize(store, TABLE.select(models=[MODELS["NAU"], MODELS["NMU"]]))
    assert row(frame, "NMU")["published_k"] == 94
    assert pd.isna(row(frame, "NAU")["published_k"])


def test_runs_of_another_length_have_nothing_published(store):
    assert "published_k" not in summarize(store, TABLE.select(iterations=1000))
    assert "published_k" in summarize(store, TABLE.select(iterations=200_000))


@pytest.mark.parametrize("experiment", [e for e in EXPERIMENTS.values() if e.published], ids=lambda e: e.name)
def test_every_published_value_finds_its_spec(store, experiment):
    frame = summarize(store, experiment)
    assert len(frame) == len([*experiment.places()])
    found = frame[frame["published_n"].notna()]
    cells = {*zip(found["model"], found[experiment.axis or "operation"], strict=True)}
    assert len(cells) == len(found)
    for model, at in {*experiment.published.cells} - cells:
        assert PAPERS[experiment.paper].reason(experiment.name, model), (model, at)
    if experiment.axis:
        assert frame[experiment.axis].notna().all()
        assert frame[experiment.axis].nunique() == len({at for _, at in cells})
    assert not frame.duplicated(["spec_id", *([experiment.axis] if experiment.axis else [])]).any()


def test_an_axis_must_be_a_field(store):
    with pytest.raises(
        ValueError,
        match="axis must be a number or a range of the spec, its task, its schedule or its optimizer, got 'width'",
    ):
        summarize(store, dataclasses.replace(EXPERIMENTS["hidden-size"], axis="width"))
