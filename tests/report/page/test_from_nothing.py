"""From nothing to a figure: every experiment at a size that a test can bear, run, stored, judged and drawn."""

import pytest

from arithmos import bench
from arithmos.papers import EXPERIMENTS, FIGURES
from arithmos.report.charts.draw import draw
from arithmos.report.charts.files import save
from arithmos.store import Store


@pytest.mark.slow
def test_every_name_from_nothing_to_figure(tmp_path):
    store = Store(tmp_path / "runs")
    names = [name for name in EXPERIMENTS if "/mnist" not in name]
    experiments = bench.select(names, seeds=2, iterations=2000)
    outcome = bench.run(experiments, engine="cpu", store=store)
    assert outcome.left == 0
    drawn = {experiment.qualified_name: experiment for experiment in experiments}
    for name, item in FIGURES.items():
        path = tmp_path / f"{item.name}.svg"
        save(draw(drawn.get(name, item), store), path)
        assert path.read_text(encoding="utf-8").startswith("<svg")
