import numpy as np
import pandas as pd
import pytest
import vl_convert
from tests.factories import make_run, make_spec

from arithmos.experiments import SURFACES
from arithmos.report import contours, portraits
from arithmos.report.draw import vega_lite
from arithmos.report.single import curve_frame, weight_frame
from arithmos.store import COLUMNS, Store


@pytest.fixture
def runs(tmp_path):
    store = Store(tmp_path)
    store.append(make_run(make_spec(), seed) for seed in range(3))
    return store.load(columns=list(COLUMNS))


def test_curves_of_runs(runs):
    frame = curve_frame(runs)
    assert list(dict.fromkeys(frame["run"])) == ["seed 0, solved", "seed 1, not solved", "seed 2, solved"]
    np.testing.assert_array_equal(frame["test"][:6], runs["curve_test"].iloc[0])
    assert frame["step"].tolist() == [0, 1000, 2000, 3000, 4000, 5000] * 3


def test_learning_curves_leave_out_what_has_no_logarithm():
    frame = pd.DataFrame(
        {"run": "seed 0", "step": [0, 1, 2], "validation": [1.0, 0.0, 1.0], "test": [1.0, np.nan, 2.0], "sparsity": 0.5}
    )
    spec = vega_lite(portraits.learning_curves(frame, 0.1))
    rows = [row for data in spec["datasets"].values() for row in data]
    assert sorted((row["error"], row.get("step", 0), row["value"]) for row in rows) == [
        ("sparsity", 1, 0.5),
        ("sparsity", 2, 0.5),
        ("test", 2, 2.0),
        ("threshold", 0, 0.1),
        ("validation", 2, 1.0),
    ]
    assert vl_convert.vegalite_to_vega(spec)["marks"]


def test_weights_of_a_run(runs):
    row = runs.iloc[0].to_dict()
    frame = weight_frame(row)
    assert frame.groupby("array", sort=False).size().to_dict() == {
        "layer 1, NAU, weight": 8,
        "layer 2, NMU, weight": 2,
    }
    np.testing.assert_array_equal(frame["weight"], row["best_weights"])
    assert frame[["output", "input"]].to_numpy()[5].tolist() == [1, 1]
    spec = vega_lite(portraits.weights(frame))
    assert [panel["title"]["text"] for panel in spec["vconcat"]] == list(dict.fromkeys(frame["array"]))
    assert vl_convert.vegalite_to_vega(spec)["marks"]


def test_wide_matrices_have_no_numbers_in_their_cells():
    frame = pd.DataFrame({"array": "w", "output": 0, "input": range(100), "weight": 0.5})
    [panel] = vega_lite(portraits.weights(frame))["vconcat"]
    assert panel["mark"]["type"] == "rect"


@pytest.mark.parametrize("surface", SURFACES.values(), ids=lambda surface: surface.name)
def test_surfaces_have_a_panel_a_function(surface):
    spec = vega_lite(portraits.surface(contours.cells(surface), contours.lines(surface), surface))
    assert [panel["title"]["text"] for panel in spec["hconcat"]] == [panel for panel, _ in surface.panels]
    assert spec["title"] == surface.title
