"""From nothing to a figure: every experiment at a size that a test can bear, run, stored, judged and drawn."""

import dataclasses
from collections import Counter

import pytest

from arithmos import bench
from arithmos.papers import EXPERIMENTS, FIGURES
from arithmos.report.charts.draw import draw
from arithmos.report.charts.files import save
from arithmos.store import Store

ITERATIONS = 2000
LBFGS = 20
SPECS = 2


def shortened(experiment):
    """Return an experiment with few specs per model and operation, two seeds, and short runs of any optimizer."""
    counts, specs = Counter(), []
    for spec in experiment.specs:
        kind = spec.model.name, getattr(spec.task, "operation", "")
        counts[kind] += 1
        if counts[kind] <= SPECS:
            lbfgs = getattr(spec.optimizer, "lbfgs", 0)
            optimizer = dataclasses.replace(spec.optimizer, lbfgs=LBFGS) if lbfgs else spec.optimizer
            specs.append(dataclasses.replace(spec, optimizer=optimizer))
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
