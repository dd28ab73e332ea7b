import math

import pytest

from arithmos.papers import PAPERS
from arithmos.papers.madsen2020.experiments import printed
from arithmos.papers.madsen2020.faults import RESOLUTION, error, fault, readings


def point(name, model, at):
    frame = printed(name).table
    place = "at" if "at" in frame else "operation"
    [row] = frame[(frame["model"] == model) & (frame[place] == at)].to_dict("records")
    return row


def test_every_figure_has_its_resolution():
    names = {experiment.published.name for experiment in PAPERS["madsen2020"].experiments if experiment.published}
    assert set(RESOLUTION) == {name for name in names if name.startswith("figure")}


@pytest.mark.parametrize(
    ("name", "measure", "value", "expected"),
    [
        ("table_static", "solved_at_median", 2.8e6, 5e4),
        ("table_static", "sparsity_mean", 4.2e-7, 5e-9),
        ("table_static", "solved_at_mean", 1.5e6, 5e4 + 1.5e4),
        ("figure_regularizer_mul", "solved_at_mean", 1e6, 200 + 1e4),
        ("figure_regularizer_mul", "sparsity_mean", 1e-4, 6e-8),
        ("figure_hidden_size", "sparsity_mean", 0.0, 2.5e-5),
    ],
)
def test_error(name, measure, value, expected):
    assert error(printed(name), measure, value) == pytest.approx(expected)


def test_readings_of_a_sparsity_error():
    assert readings(0.23, 100) == (True,)
    assert readings(4.2e-7, 98) == (False,)
    assert readings(3.2e-5, 100) == (True, False)
    assert readings(0.5, 2) == (False,)
    assert readings(0.17, 1) == (False,)
    assert readings(0.0, 50) == (False,)


def test_a_drawing_can_hide_which_of_both_it_is():
    assert readings(0.0, 50, 2.75e-5) == (True, False)  # a half of 2·10⁻⁵ is drawn as 0
    assert readings(0.0, 50, 1.7e-5) == (False,)
    assert readings(5e-5, 50, 2.2e-5) == (True, False)
    assert readings(6e-5, 50, 2.2e-5) == (True,)


@pytest.mark.parametrize(
    ("name", "model", "at", "measure", "expected"),
    [
        ("table_10param", "NMU", "mul", "success_rate", ""),
        ("table_10param", "NMU", "mul", "sparsity_mean", ""),
        ("figure_hidden_size", "NMU", 10, "success_rate", "38 runs of 50 stated"),
        (
            "figure_input_size",
            "NMU",
            25,
            "success_rate",
            "3 second logs of the same seeds, left out: 50/50",
        ),
        ("figure_input_range", "NACMul", "U[1,2]", "success_rate", "49 runs of 50 stated"),
        ("figure_input_range", "NALU", "U[0,1]", "solved_at_mean", "a single run"),
        (
            "table_all_models",
            "NACMulNMU",
            "root",
            "solved_at_mean",
            "rows of some runs were out of order; its interval is printed as NaN",
        ),
        ("table_static", "NAU", "sub", "solved_at_mean", "rows of some runs were out of order"),
        ("table_static", "NAU", "sub", "solved_at_median", ""),
        ("table_10param", "NMU", "mul", "solved_at_mean", ""),
        ("table_all_models", "NALU", "root", "sparsity_mean", "a whole mean, unlike its neighbors"),
        ("table_all_models", "NAU", "add", "sparsity_mean", "a mean or half of one"),
        ("table_all_models", "Linear", "add", "sparsity_mean", "errors above ½ were cut to ½"),
        ("figure_hidden_size", "NMU", 2, "sparsity_mean", "below the grid of the drawing"),
    ],
)
def test_fault(name, model, at, measure, expected):
    [table] = {e.published for e in PAPERS["madsen2020"].experiments if e.published and e.published.name == name}
    assert fault(table, measure, point(name, model, at)) == expected


def test_every_published_number_has_an_error_and_a_fault():
    for table in {experiment.published for experiment in PAPERS["madsen2020"].experiments if experiment.published}:
        for row in table.table.to_dict("records"):
            for measure in ("solved_at_median", "solved_at_mean", "sparsity_mean"):
                if not math.isnan(row.get(measure, math.nan)):
                    assert error(table, measure, row[measure]) > 0
                    assert isinstance(fault(table, measure, row), str)
