"""Sequences of digits from nothing to a figure: every experiment on few images, run, stored, judged and drawn."""

import dataclasses

import numpy as np
import pytest
from tests.factories import make_digits

from arithmos import bench
from arithmos.papers import EXPERIMENTS
from arithmos.report import summarize
from arithmos.report.charts.draw import draw
from arithmos.report.charts.files import save
from arithmos.store import Store

NAMES = ["mnist-product", "mnist-product-no-rz", "mnist-sum", "mnist-sum-no-rz", "mnist-reference"]
SOURCE = make_digits(train=80, test=40)


def short(spec):
    length, tests = (2, (1, 2, 5)) if spec.task.operation == "mul" else (5, (1, 5, 10))
    task = dataclasses.replace(spec.task, source=SOURCE, validation_size=20, length=length, test_lengths=tests)
    epoch = task.epoch(16)
    return dataclasses.replace(spec, task=task, batch_size=16, iterations=2 * epoch, evaluate_every=epoch)


@pytest.mark.slow
def test_sequences_of_digits_from_nothing_to_figure(tmp_path, monkeypatch):
    monkeypatch.setattr("arithmos.judging.references.UNSOLVED", np.inf)  # in four steps no reference learns much
    store = Store(tmp_path / "runs")
    parts = [
        dataclasses.replace(EXPERIMENTS[name], specs=tuple(map(short, EXPERIMENTS[name].specs)), seeds=2)
        for name in NAMES
    ]
    outcome = bench.run(parts, store=store)
    assert (outcome.left, outcome.runs, outcome.finished) == (0, 32, 32)
    runs = store.load(columns=["task", "extra"])
    assert set(runs["task"]) == {"digits"}
    assert all(len(row) == 3 * 3 for row in runs["curve_lengths"])
    assert all(np.isfinite(row).all() for row in runs["digit_outputs"])
    for part in parts:
        assert (summarize(store, part, criterion="corrected")["n"] == 2).all()  # two references are enough for it
        path = save(draw(part, store, criterion="corrected"), tmp_path / f"{part.name}.svg")
        assert path.read_text(encoding="utf-8").startswith("<svg")
