"""From nothing to a figure: every experiment at a size that a test can bear, run, stored, judged and drawn."""

import dataclasses

import pytest

from arithmos import bench
from arithmos.papers import EXPERIMENTS, FIGURES
from arithmos.report.charts.draw import draw
from arithmos.report.charts.files import save
from arithmos.store import Store

ITERATIONS = 2000
LBFGS = 20


def shortened(experiment):
    """Return an experiment with two seeds and short runs, whose last iterations are of L-BFGS if it had any."""
    specs = [
        dataclasses.replace(spec, optimizer=dataclasses.replace(spec.optimizer, lbfgs=LBFGS))
        if getattr(spec.optimizer, "lbfgs", 0)
        else spec
        for spec in experiment.specs
    ]
    [short] = bench.select([dataclasses.replace(experiment, specs=tuple(specs))], seeds=2, iterations=ITERATIONS)
    return short


@pytest.mark.slow
def test_every_name_from_nothing_to_figure(tmp_path):
    store = Store(tmp_path / "runs")
    names = [name for name in EXPERIMENTS if "/mnist" not in name]
    experiments = [shortened(EXPERIMENTS[name]) for name in names]
    outcome = bench.run(experiments, engine="cpu", store=store)
    assert outcome.left == 0
    drawn = {experiment.qualified_name: experiment for experiment in experiments}
    for name, item in FIGURES.items():
        path = tmp_path / f"{item.name}.svg"
        save(draw(drawn.get(name, item), store), path)
        assert path.read_text(encoding="utf-8").startswith("<svg")
