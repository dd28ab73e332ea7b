import dataclasses

import numpy as np
import pytest
from tests.factories import make_run

from arithmos.judging.cells import judged
from arithmos.papers import EXPERIMENTS
from arithmos.report.charts.figures import gates
from arithmos.report.charts.gates import CENTERS, gate_counts, gated
from arithmos.store import Store
from arithmos.tasks import symbol

GATE = EXPERIMENTS["gate"]
MUL = GATE.select(operations=["mul"])


def counts(store, experiment, source="ours"):
    frame = gate_counts(judged(store, [experiment]), experiment)
    return frame[frame["source"] == source]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_bins_are_around_their_centers(store):
    gates = [0.0, 0.02, 0.022, 0.5, 1.0, 1.0, float("nan")]
    store.append(make_run(MUL.specs[0], seed, best_gate=gate, best_test=1.0) for seed, gate in enumerate(gates))
    ours = counts(store, MUL)
    assert dict(zip(ours["gate"], ours["count"], strict=True)) == {0.0: 2, 1 / 24: 1, 0.5: 1, 1.0: 2}
    assert ours["share"].sum() == pytest.approx(1)
    assert set(ours["gate"]) <= set(CENTERS)
    assert set(ours["verdict"]) == {"not solved"}


def test_solved_runs_are_counted_apart(store):
    store.append(make_run(MUL.specs[0], seed, best_gate=0.0, best_test=[1e-7, 1.0][seed % 2]) for seed in range(5))
    ours = counts(store, MUL).set_index("verdict")
    assert ours["count"].to_dict() == {"solved": 3, "not solved": 2}
    assert ours["share"].to_dict() == {"solved": 0.6, "not solved": 0.4}


def test_runs_are_those_of_the_summary(store):
    store.append(make_run(MUL.specs[0], seed, engine="cpu", best_gate=0.0) for seed in range(3))
    store.append(make_run(MUL.specs[0], seed, engine="torch", best_gate=1.0) for seed in range(2))
    store.append(make_run(MUL.specs[0], seed, engine="cpu", best_gate=1.0) for seed in range(100, 105))
    ours = counts(store, MUL)
    assert (set(ours["gate"]), ours["count"].sum()) == ({0.0}, 3)


def test_published_counts(store):
    published = counts(store, GATE, "published")
    assert set(published.groupby(["operation", "model"])["count"].sum()) == {100}
    cells = published.set_index(["operation", "model", "verdict", "gate"])["count"]
    assert cells["mul", "GateNAUNMU", "solved", 0.0] == 62
    assert cells["mul", "GateNALUSeparate", "not solved", 7 / 24] == 1
    assert cells["add", "GateNALUShared", "solved", 1.0] == 34
    assert cells["add", "GateNAUNMU", "not solved", 0.5] == 2
    assert np.isin(published["gate"], CENTERS).all()


def test_other_lengths_and_other_experiments_have_nothing_published(store):
    assert counts(store, GATE.select(iterations=1000), "published").empty
    nalu = EXPERIMENTS["all-models"].select(models=[GATE.specs[-1].model])
    assert gated(nalu)
    assert counts(store, nalu, "published").empty


def test_only_the_gate_experiment_is_gated():
    assert [experiment.name for experiment in EXPERIMENTS.values() if gated(experiment)] == ["gate"]


def test_a_panel_without_runs_keeps_its_place(store):
    """Vega draws panels in the order in which it finds rows for them."""
    own = dataclasses.replace(GATE, published=None)
    one, other = own.specs[0], own.specs[-1]
    assert one.task.operation != other.task.operation
    assert one.model.label != other.model.label
    store.append(make_run(spec, seed, best_gate=0.0) for spec in (one, other) for seed in range(3))
    drawn = gates(gate_counts(judged(store, [own]), own), own).to_dict()
    rows = [row for data in drawn["datasets"].values() for row in data]
    assert {(row["operation"], row["label"]) for row in rows} == {
        (symbol(at.task.operation), of.model.label) for at in (one, other) for of in (one, other)
    }
    assert sum(row["count"] for row in rows) == 6
    assert drawn["facet"]["column"]["sort"] == [*dict.fromkeys(spec.model.label for spec in own.specs)]
