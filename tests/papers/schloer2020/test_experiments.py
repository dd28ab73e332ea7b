"""Experiments 1, 3 and 4 of Schlör et al. (2020): their sizes, data, and the counts that they are compared with."""

import dataclasses

import numpy as np
import pytest

from arithmos.papers import PAPERS
from arithmos.papers.schloer2020.experiments import DISTRIBUTIONS, WORDS
from arithmos.tasks.distributions import sample

EVERY = {one.name: one for one in PAPERS["schloer2020"].experiments}
EXPERIMENTS = {name: one for name, one in EVERY.items() if name.startswith("minimal")}


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
    assert len(printed) == 21
    assert {model for model, _ in experiment.published.cells} == {"NALU", "NALUVector", "INALU", "INALUShared"}
    assert len(experiment.published.cells) == 28
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


def test_experiment_4_has_two_layers_and_sums_over_scattered_inputs():
    functions = {name: one for name, one in EVERY.items() if name.startswith("function")}
    assert sum(one.runs for one in functions.values()) == 320
    specs = [spec for one in functions.values() for spec in one.specs]
    assert {(spec.sizes, spec.iterations, spec.batch_size) for spec in specs} == {((100, 2, 1), 100_000, 64)}
    assert {len(spec.model.layers) for spec in specs} == {2}
    assert all(spec.task.scattered for spec in specs)
    counts = {name: one.published.table.groupby("model")["k"].sum().to_dict() for name, one in functions.items()}
    assert counts["function-addition"] == {"NALU": 0, "INALU": 16, "INALUShared": 20, "NALUVector": 0}
    assert counts["function-subtraction"] == {"NALU": 0, "INALU": 17, "INALUShared": 13, "NALUVector": 0}
    for name, one in functions.items():
        run = {(spec.model.name, at) for spec, at in one.places()}
        assert set(one.published.cells) == run, name


def test_tables_without_an_experiment_are_whole():
    tables = {one.name: one.published.table for one in PAPERS["schloer2020"].not_run if one.published}
    assert {name: len(table) for name, table in tables.items()} == {f"simple-{word}": 28 for word in WORDS.values()}


def test_experiment_3_is_a_grid_of_initial_weights():
    starts = [EVERY[f"start-{word}"] for word in WORDS.values()]
    assert sum(one.runs for one in starts) == 4320
    assert sum(one.published.table["n"].sum() for one in starts) == 2160
    assert [int(one.published.table["k"].sum()) for one in starts] == [215, 209, 0, 0]
    for one in starts:
        assert [at for _, at in one.places()] == list(one.published.table["at"])
        assert {(spec.sizes, spec.iterations) for spec in one.specs} == {((100, 2, 1), 201_000)}
    spec, at = [*starts[0].places()][5]
    assert at == "g -1, M -1, W 1, sd 0.5"
    first, second = spec.network(0)
    for name, mean in {"W_add": 1.0, "M_mul": -1.0}.items():
        drawn = first.get_parameter(name)
        assert (drawn.mean().item(), drawn.std().item()) == pytest.approx((mean, 0.5), abs=0.1)
    assert second.gate.item() == pytest.approx(-1, abs=2)


def test_errors_of_runs_that_learn_nothing_are_those_of_our_data():
    """Printed are medians of 6,000 to 7,700 on the test range and near 58 on the training range."""
    spec = EVERY["start-addition"].specs[0]
    assert [len(part) for part in spec.task.terms] == [47, 27]
    sides = [t.var() for _, t in (spec.task.validation(0), spec.task.test(0))]
    assert sides == pytest.approx([74 * 0.774, 74 * 101], rel=0.05)
    one_side = dataclasses.replace(spec.task, extrapolation="N(10,1)[2,18]").test(0)[1]
    assert np.square(one_side).mean() > 500_000


def test_exact_weights_miss_the_limit_of_products_of_sums():
    found = []
    for spec in EVERY["function-multiplication"].specs[:2]:
        x, t = spec.task.test(0)
        a, b = (x[:, terms].sum(axis=1, dtype=np.float32) for terms in spec.task.terms)
        z = np.exp(np.log(np.abs(a)) + np.log(np.abs(b))) * np.sign(a * b)
        found.append(float(np.mean((z - t[:, 0]) ** 2)))
    assert found == pytest.approx([7.0e-5, 4.1e-5], rel=0.1)
    assert min(found) > spec.task.absolute
