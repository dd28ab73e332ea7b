"""From nothing to the figures of sequential MNIST: every experiment on digits made for the test, and few of them."""

import dataclasses
import sys

import pytest
from tests.digits import make_digits

pytest.importorskip("altair")

from arithmos import bench
from arithmos.experiments import EXPERIMENTS
from arithmos.report import html, render, summarize, verdicts
from arithmos.report.draw import draw, save, vega_lite
from arithmos.store import Store
from arithmos.tasks import DigitSequences

DIGITS = make_digits(train=60, test=100)
SOURCES = ("ours", "published")
LENGTHS = {"mul": (1, 2, 3), "add": (1, 10)}


def reduced(experiment):
    """The experiment on a few digits, for a few iterations, at some of its lengths; with its published values."""

    def short(spec):
        task = DigitSequences(
            operation=spec.task.operation,
            length=spec.task.length,
            test_lengths=LENGTHS[spec.task.operation],
            digits=spec.task.digits,
            images=1,
            validation_size=20,
            source=DIGITS,
        )
        return dataclasses.replace(spec, task=task, iterations=1, batch_size=4, evaluate_every=1)

    return dataclasses.replace(experiment, specs=tuple(map(short, experiment.specs)), seeds=3)


@pytest.fixture(scope="module")
def experiments():
    return {name: reduced(experiment) for name, experiment in EXPERIMENTS.items() if name.startswith("mnist")}


@pytest.fixture(scope="module")
def store(experiments, tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("digits") / "runs")
    outcome = bench.run(list(experiments.values()), engine="torch", store=store)
    assert outcome.left == 0
    assert len(store) == 3 * 16  # what several experiments share is run once
    return store


def test_figures_have_the_published_points_behind_ours(experiments, store, tmp_path):
    for name, experiment in experiments.items():
        chart = draw(experiment, store)
        rows = [row for rows in vega_lite(chart)["datasets"].values() for row in rows]
        if experiment.published:
            places = {source: {row["test_length"] for row in rows if row.get("source") == source} for source in SOURCES}
            assert places["ours"] == places["published"] == {*map(float, LENGTHS[experiment.specs[0].task.operation])}
        elif name == "mnist-rz":
            assert {row["label"] for row in rows if "seed" in row} == {"with R_z", "without R_z"}
    page = save(draw(experiments["mnist-product"], store), tmp_path / "product.svg").read_text(encoding="utf-8")
    assert page.startswith("<svg")
    assert "Extrapolation length" in page


def test_tables_and_verdicts(experiments, store):
    for name, experiment in experiments.items():
        frame = summarize(store, experiment)
        assert set(frame["n"]) == {3}, name
        assert (frame["threshold"] > 0).all()
        assert "reference runs" in render(frame, experiment)
    judged = verdicts(store, experiments.values())
    published = {name for name, experiment in experiments.items() if experiment.published}
    assert set(judged["experiment"]) == published
    assert set(judged["verdict"]) == {"too few runs"}


def test_report(experiments, store, monkeypatch):
    monkeypatch.setattr(html, "EXPERIMENTS", experiments)
    monkeypatch.setattr(html, "SURFACES", {})
    monkeypatch.setattr(html, "CLAIMS", {})
    monkeypatch.setattr(html, "_BUNDLE", [sys.executable, "-c", "print('the bundle')"])
    page = html.page(store)
    for experiment in experiments.values():
        assert experiment.title in page
    assert "Thresholds are made of 2 of 3 reference runs, seeds 0, 2." in page
    assert "Thresholds are made of 2 of 3 reference runs, seeds 1, 2." in page
