import json

import numpy as np
import pytest
from tests.factories import make_run

from arithmos.judging.exact import judged_runs
from arithmos.judging.thin import thin
from arithmos.papers import EXPERIMENTS
from arithmos.report import judges, render, render_judges, summarize
from arithmos.report.tables.grid import FORMATS
from arithmos.report.tables.judges import disagreements
from arithmos.store import Store

TABLE = EXPERIMENTS["table-1"]
NMU = next(spec for spec in TABLE.specs if spec.model.name == "NMU")
RIGHT = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 1], np.float32)


def run(seed, *, solved, exact):
    at = {"solved_at_released": 1000, "solved_at_corrected": 1000} if solved else {}
    measured = {"best_test": 0.0 if solved else 1.0, "best_sparsity": 0.1 * seed, **at}
    return make_run(NMU, seed, "cpu", best_weights=RIGHT if exact else RIGHT * 0, **measured)


@pytest.fixture
def store(tmp_path):
    """Of ten runs five are solved, six exact, four both."""
    store = Store(tmp_path)
    store.append(judged_runs([run(seed, solved=seed < 5, exact=seed not in (0, 7, 8, 9)) for seed in range(10)]))
    return store


def test_where_the_judges_disagree(store):
    frame = judges(store, [TABLE])
    assert frame.to_dict("records") == [
        {
            "experiment": "table-1",
            "operation": "mul",
            "model": "NMU",
            "label": "NMU",
            "runs": 10,
            "solved": 5,
            "exact": 6,
            "solved_not_exact": 1,
            "exact_not_solved": 2,
            "sparsity_median": pytest.approx(0.35),
        }
    ]
    assert disagreements(frame).equals(frame)
    assert disagreements(frame.assign(solved_not_exact=0, exact_not_solved=0)).empty


def test_thinned_stores_say_the_same(store, tmp_path):
    thin(store, tmp_path / "thin", keep=0)
    assert judges(Store(tmp_path / "thin")).equals(judges(store))
    assert summarize(Store(tmp_path / "thin"), TABLE).equals(summarize(store, TABLE))


def test_runs_that_were_not_judged_are_not_counted(store, monkeypatch):
    monkeypatch.setattr("arithmos.judging.exact.judge", lambda spec, seeds, weights: [None] * len(seeds))
    store.append([run(10, solved=True, exact=True)])
    row = summarize(store, TABLE).set_index("model").loc["NMU"]
    assert (row["n"], row["seen"], row["exact"], row["exact_rate"]) == (11, 10, 6, 0.6)
    assert judges(store).loc[0, ["runs", "solved"]].tolist() == [10, 5]


def test_places_on_the_axis_are_taken_together(store):
    sweep = EXPERIMENTS["hidden-size"]
    store.append(make_run(spec, 0, "cpu", best_test=1.0) for spec in sweep.specs if spec.model.name == "NMU")
    [row] = judges(store, [sweep]).to_dict("records")
    assert row["runs"] == sum(spec.model.name == "NMU" for spec in sweep.specs)
    assert np.isnan(row["sparsity_median"])


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(store, format):
    page = render_judges(judges(store), format)
    assert "1 runs solved and not exact, 2 exact and not solved" in page.replace("~", " ")
    assert "table-1" in page


def test_json(store):
    assert json.loads(render_judges(judges(store), "json"))[0]["exact"] == 6


def test_an_empty_store(tmp_path):
    assert "There are no runs to judge." in render_judges(judges(Store(tmp_path)))


def test_tables_have_a_column_once_there_is_something_in_it(store, tmp_path):
    assert "Exact" not in render(summarize(Store(tmp_path / "empty"), TABLE), TABLE)
    page = render(summarize(store, TABLE), TABLE)
    assert "60%" in next(line for line in page.splitlines() if "NMU" in line and "cpu" in line)
    assert "Exact: the network of the best record" in page
