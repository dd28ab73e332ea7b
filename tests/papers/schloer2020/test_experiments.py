"""Experiment 1 of Schlör et al. (2020): its size, its data, and the counts that it is compared with."""

import numpy as np
import pytest

from arithmos.papers import PAPERS
from arithmos.papers.schloer2020.experiments import DISTRIBUTIONS
from arithmos.tasks.distributions import sample

EXPERIMENTS = {one.name: one for one in PAPERS["schloer2020"].experiments}


def test_there_are_840_of_1120_runs():
    """The other 280 are those of the NALU with one gate for all outputs, which is the same with one output."""
    assert sum(one.runs for one in EXPERIMENTS.values()) == 840
    specs = [spec for one in EXPERIMENTS.values() for spec in one.specs]
    assert len({spec.id for spec in specs}) == len(specs) == 84
    assert {(spec.iterations, spec.batch_size, spec.task.size) for spec in specs} == {(100_000, 64, 64_000)}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_cell_has_a_published_count(name):
    experiment = EXPERIMENTS[name]
    printed = [experiment.printed(spec, at) for spec, at in experiment.places()]
    assert len(printed) == len(experiment.published.cells) == 21
    assert {cell["n"] for cell in printed} == {10}


def test_published_counts_are_those_of_the_files():
    solved = {}
    for name, one in EXPERIMENTS.items():
        counts = one.published.table.groupby("model")["k"].sum()
        solved[name] = [counts[unit] for unit in ("NALU", "INALU", "INALUShared")]
    assert solved == {
        "minimal-addition": [30, 70, 60],
        "minimal-subtraction": [0, 70, 53],
        "minimal-multiplication": [33, 50, 34],
        "minimal-division": [0, 24, 24],
    }


def test_normal_inputs_have_the_middle_and_a_sixth_of_the_width():
    words = np.random.default_rng(0).integers(0, 2**32, (20_000, 1), dtype=np.uint32)
    for text, middle in [(DISTRIBUTIONS[3][0], 1.0), (DISTRIBUTIONS[3][1], 9.0)]:
        assert sample(text, words).mean() == pytest.approx(middle, abs=0.05)
