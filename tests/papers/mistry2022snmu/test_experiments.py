"""Experiments on the stochastic NMU, and their published thresholds."""

import csv
from pathlib import Path

import pytest

from arithmos.papers import EXPERIMENTS, PAPERS, mistry2022snmu
from arithmos.papers.experiment import axis_value
from arithmos.tasks.threshold import threshold

PUBLISHED = Path(mistry2022snmu.__file__).with_name("published") / "thresholds.csv"


def test_thresholds_are_the_published_ones():
    """Both are simulations of 10⁶ samples, so they differ by their standard errors."""
    with PUBLISHED.open(encoding="utf-8") as file:
        published = {row["extrapolation"]: float(row["threshold"]) for row in csv.DictReader(file)}
    specs = EXPERIMENTS["mistry2022snmu/two-layers"].specs[:9]
    assert {axis_value(spec, "extrapolation") for spec in specs} == published.keys()
    for spec in specs:
        ours = threshold(spec.task, longer=1)
        assert published[axis_value(spec, "extrapolation")] == pytest.approx(
            ours.value, abs=4 * 2**0.5 * ours.standard_error
        )


def test_runs_of_other_papers_are_the_same_runs():
    ids = {spec.id for spec in EXPERIMENTS["madsen2020/input-range"].specs}
    own = [spec for spec in EXPERIMENTS["mistry2022snmu/two-layers"].specs if spec.model.name == "NMU"]
    assert sum(spec.id in ids for spec in own) == 6
    ranked = {spec.id for spec in EXPERIMENTS["ranking/mul"].specs}
    assert {spec.id for spec in EXPERIMENTS["mistry2022snmu/single-module"].specs} <= ranked


def test_the_usual_noise_is_part_of_the_sweep():
    sweep, usual = (EXPERIMENTS[f"mistry2022snmu/{name}"].specs for name in ("noise", "two-layers"))
    assert len({spec.id for spec in sweep}) == 54
    assert len({spec.id for spec in sweep} & {spec.id for spec in usual}) == 9


def test_one_layer_and_two_are_judged_by_different_thresholds():
    judged = {one.name: one.criterion for one in PAPERS["mistry2022snmu"].experiments}
    assert judged == {"single-module": "absolute", "two-layers": "released", "noise": "released"}
