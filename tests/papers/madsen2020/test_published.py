import numpy as np
import pandas as pd
import pytest

from arithmos.papers import PAPERS
from arithmos.papers.madsen2020.experiments import printed
from arithmos.statistics import wilson

ROWS = {
    "table_10param": 3,
    "table_static": 11,
    "table_all_models": 66,
    "table_gate": 6,
    "figure_ablation_hidden_size": 36,
    "figure_hidden_size": 45,
    "figure_input_range": 35,
    "figure_input_size": 84,
    "figure_mnist_product": 120,
    "figure_mnist_product_no_Rz": 120,
    "figure_mnist_sum": 60,
    "figure_mnist_sum_no_Rz": 60,
    "figure_overlap_ratio": 36,
    "figure_regularizer_add": 6,
    "figure_regularizer_mul": 6,
    "figure_regularizer_sub": 6,
    "figure_subset_ratio": 24,
}
TABLES = [name for name in ROWS if name.startswith("table")]
PUBLISHED = [experiment for experiment in PAPERS["madsen2020"].experiments if experiment.published]
FIGURES = [name for name in ROWS if name.startswith("figure") and "histogram" not in name]


@pytest.mark.parametrize(("name", "rows"), ROWS.items())
def test_every_row_is_there_and_every_model_has_a_name(name, rows):
    frame = printed(name).table
    assert len(frame) == rows
    assert frame["model"].notna().all()


@pytest.mark.parametrize("name", TABLES)
def test_printed_intervals_are_those_of_the_counts(name):
    for cell in printed(name).table.itertuples():
        rate = wilson(cell.k, cell.n)
        assert cell.success_rate == cell.k / cell.n
        assert cell.success_rate_low == pytest.approx(rate.low, abs=0.0101)
        assert cell.success_rate_high == pytest.approx(rate.high, abs=0.0101)


@pytest.mark.parametrize("name", FIGURES)
def test_drawn_intervals_are_those_of_the_counts(name):
    for point in printed(name).table.itertuples():
        rate = wilson(point.k, point.n)
        assert point.success_rate == rate.estimate
        assert point.success_rate_low == pytest.approx(rate.low, abs=2e-4)
        assert point.success_rate_high == pytest.approx(rate.high, abs=2e-4)


@pytest.mark.parametrize("name", [*TABLES, *FIGURES])
def test_nothing_is_reported_of_runs_that_none_solved(name):
    frame = printed(name).table
    unsolved = frame[frame["k"] == 0]
    assert unsolved.filter(regex="solved_at|sparsity").isna().all(axis=None)
    solved = frame[frame["k"] > 0]
    assert solved[["solved_at_mean", "sparsity_mean"]].notna().all(axis=None)


@pytest.mark.parametrize("experiment", PUBLISHED, ids=lambda e: e.name)
def test_models_are_those_of_the_experiment(experiment):
    ours = {spec.model.name for spec in experiment.specs}
    assert set(experiment.published.table["model"]) == ours


def test_the_gate_histogram_adds_up_to_its_table():
    histogram = printed("table_gate", gates="figure_gate_histogram").gate_counts
    solved = histogram[histogram["solved"]].groupby(["operation", "model"])["count"].sum()
    table = printed("table_gate").table.set_index(["operation", "model"])["k"]
    pd.testing.assert_series_equal(solved.sort_index(), table.sort_index(), check_names=False, check_dtype=False)
    assert (histogram.groupby(["operation", "model"])["count"].sum() == 100).all()


def test_missing_bounds_are_nan():
    frame = printed("table_all_models").table.set_index(["operation", "model"])
    cell = frame.loc[("root", "NACMulNMU")]
    assert cell["solved_at_mean"] > 0
    assert np.isnan(cell["solved_at_mean_low"])
