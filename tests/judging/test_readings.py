from dataclasses import replace

import numpy as np
import pytest
from tests.factories import make_digits_run

pytest.importorskip("altair")

from arithmos.judging.readings import readings, reads
from arithmos.papers import EXPERIMENTS
from arithmos.report.charts.draw import draw
from arithmos.report.charts.files import vega_lite
from arithmos.store import Store

RZ = EXPERIMENTS["mnist-rz"]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def test_which_experiment_is_about_what_is_read():
    assert [experiment.name for experiment in EXPERIMENTS.values() if reads(experiment)] == ["mnist-rz"]


def test_numbers_read_and_weights(store):
    with_rz, without = RZ.specs[:2]
    weights = np.array([0.1, 1.0], np.float32)
    store.append([make_digits_run(with_rz, 3), make_digits_run(without, 3, best_weights=weights)])
    store.append([make_digits_run(without, 12)])  # beyond the seeds of the experiment
    frame = readings(store, RZ)
    assert set(frame["unit"]) == {"NMU"}
    assert set(frame["seed"]) == {3}
    digits = frame[(frame["label"] == "with R_z") & (frame["kind"] == "digit")]
    assert digits["at"].tolist() == [str(digit) for digit in range(1, 10)]
    assert digits["value"].tolist() == list(range(1, 10))
    cell = frame[(frame["label"] == "without R_z") & (frame["kind"] == "weight")]
    assert dict(zip(cell["at"], cell["value"], strict=True)) == pytest.approx({"image": 0.1, "state": 1.0})


@pytest.mark.parametrize("seeds", [0, 2])
def test_a_panel_a_unit(store, seeds):
    store.append(make_digits_run(spec, seed) for spec in RZ.specs for seed in range(seeds))
    chart = vega_lite(draw(RZ, store))
    titles = [column["vconcat"][0]["title"]["text"] for column in chart["hconcat"]]
    assert titles == ["NMU", "NAC•,NMU", "NAU", "NAC₊"]
    drawn = [row for rows in chart["datasets"].values() for row in rows if "seed" in row]
    assert len(drawn) == seeds * 2 * (2 * (9 + 2) + 2 * (10 + 2))


@pytest.mark.parametrize(
    ("one", "nine", "marked"),
    [(1, 650, [1, 2, 5, 10]), (1, 850_000, [1, 10, 100, 1000]), (-650, 650, [1, 10, 100, 1000])],
)
def test_an_axis_of_many_decades_has_few_marks_in_each(store, one, nine, marked):
    run = make_digits_run(RZ.specs[0])
    outputs = np.linspace(one, nine, 9, dtype=np.float32)
    store.append([replace(run, extra=run.extra | {"digit_outputs": outputs})])
    above = vega_lite(draw(RZ, store))["hconcat"][0]["vconcat"][0]
    marks = above["layer"][0]["encoding"]["y"]["axis"]["values"]
    assert marks[:5] == [0, *marked]
    assert max(marks) >= nine
    assert min(marks) == -max(marks)
