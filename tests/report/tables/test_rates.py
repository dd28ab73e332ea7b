import dataclasses

import pandas as pd
import pytest

from arithmos.papers import PAPERS, Experiment
from arithmos.report.tables.rates import rates, rates_by_experiment, rates_by_place


def cells(*rows):
    return pd.DataFrame(rows, columns=["label", "column", "n", "k", "spec_id"])


def test_models_are_in_the_order_of_their_rates_and_the_best_of_a_column_is_marked():
    found = rates(
        cells(("A", "x", 10, 1, "a"), ("B", "x", 10, 9, "b"), ("B", "y", 10, 0, "c"), ("C", "y", 5, 5, "d")),
        {"x": "X", "y": "Y"},
    )
    assert [label for label, _ in found.rows] == ["C", "B", "A"]
    rows = dict(found.rows)
    assert rows["C"][0] is None
    assert [rows["B"][0].best, rows["A"][0].best, rows["B"][1].best, rows["C"][1].best] == [True, False, False, True]
    assert rows["B"][0].spec_id == "b"
    assert rows["B"][0].cell.value == "90%"


def test_several_cells_of_a_model_in_a_column_are_pooled():
    [(_, [rate])] = rates(cells(("A", "x", 10, 1, "a"), ("A", "x", 10, 5, "b")), {"x": "X"}).rows
    assert (rate.n, rate.k, rate.spec_id) == (20, 6, "")


def test_cells_with_more_runs_do_not_weigh_more():
    [(_, [rate])] = rates(cells(("A", "x", 25, 0, "a"), ("A", "x", 100, 80, "b")), {"x": "X"}).rows
    assert (rate.n, rate.k) == (50, 20)


def test_cells_without_runs_are_left_out():
    assert rates(cells(("A", "x", 0, 0, "a")), {"x": "X"}).rows == []


@pytest.fixture
def contests():
    return {one.name: one for one in PAPERS["ranking"].experiments}


def summary(experiment: Experiment, n: int) -> pd.DataFrame:
    rows = [experiment.describe(spec, at) | {"n": n, "k": n} for spec, at in experiment.places()]
    return pd.DataFrame(rows)


def test_columns_are_the_ranges_of_an_experiment_without_published_numbers(contests):
    found = rates_by_place(summary(contests["add"], 3), contests["add"])
    assert [*found.columns.values()][:2] == ["All ranges", "U[-20,-10]"]
    assert len(found.columns) == 10
    assert len(found.rows) == 7  # six units, and the NAU by the second-order recipe
    assert rates_by_place(summary(contests["add"], 0), contests["add"]) is None
    printed = next(one for one in PAPERS["mistry2022"].experiments if one.published)
    assert rates_by_place(summary(printed, 3), printed) is None


def test_all_ranges_are_those_of_a_model_that_has_them_all(contests):
    frame = summary(contests["add"], 3)
    lacking, whole = frame["label"].iloc[0], frame["label"].iloc[-1]
    first = frame[contests["add"].axis] == frame[contests["add"].axis].iloc[0]
    frame.loc[(frame["label"] == lacking) & first, ["n", "k"]] = 0
    frame.loc[(frame["label"] == whole) & first, "k"] = 0
    rows = dict(rates_by_place(frame, contests["add"]).rows)
    assert rows[lacking][0] is None
    assert (rows[whole][0].k, rows[whole][0].n, rows[whole][0].spec_id) == (24, 27, "")


@pytest.mark.parametrize("items", [("a, x", "b, y"), ("a, x", "b"), ("a", "b")])
def test_columns_without_anything_in_common_have_no_groups(items):
    first, *_ = PAPERS["ranking"].experiments
    own = [dataclasses.replace(first, name=item, item=item) for item in items]
    found = rates_by_experiment({one.name: summary(one, 3) for one in own}, own)
    assert (found.groups, found.titles) == ([], [*items])


def test_columns_are_the_experiments_that_have_runs(contests):
    runs = {name: 25 * (name in ("add", "mul")) for name in contests}
    found = rates_by_experiment({name: summary(one, runs[name]) for name, one in contests.items()}, contests.values())
    assert found.columns == {"add": "+, 2 inputs", "mul": "×, 2 inputs"}
    assert found.groups == [("2 inputs", ["+", "×"])]
    assert found.titles == ["+", "×"]
    assert "NMU" in dict(found.rows)
    none = {name: summary(one, 0) for name, one in contests.items()}
    assert rates_by_experiment(none, contests.values()) is None
