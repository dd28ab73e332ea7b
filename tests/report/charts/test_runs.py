import numpy as np
import pandas as pd
import pytest
import vl_convert

from arithmos.papers import PAPERS
from arithmos.report.charts import contours
from arithmos.report.charts import runs as portraits
from arithmos.report.charts.files import vega_lite

SURFACES = {surface.name: surface for surface in PAPERS["madsen2020"].surfaces}


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


def test_small_matrices_have_their_numbers_in_the_cells():
    frame = pd.DataFrame(
        {"array": ["first", "first", "second"], "output": 0, "input": [0, 1, 0], "weight": [1.0, -1.0, 0.5]}
    )
    spec = vega_lite(portraits.weights(frame))
    assert [panel["title"]["text"] for panel in spec["vconcat"]] == ["first", "second"]
    assert [[layer["mark"]["type"] for layer in panel["layer"]] for panel in spec["vconcat"]] == [["rect", "text"]] * 2
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
