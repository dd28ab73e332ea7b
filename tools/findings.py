"""Draw the findings of docs/reproduction.md from results/, and print the numbers that the page gives for them."""

from dataclasses import replace
from pathlib import Path

import altair as alt
import pandas as pd

from arithmos import published
from arithmos.experiments import EXPERIMENTS
from arithmos.report.draw import save
from arithmos.report.judged import Judged, judged
from arithmos.report.marks import color, legend, shape
from arithmos.report.style import styled
from arithmos.statistics import Interval, rate_difference, wilson
from arithmos.store import Store

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/findings"
STORE = Store(ROOT / "results")
MANY = 1600
"""Seeds of NMU and NAC•,σ on ×, where the paper has 100."""

RATE = alt.Axis(format="%", title="95 % interval of the rate")


def row(rate: Interval, **where: object) -> dict[str, object]:
    return {**where, "rate": rate.estimate, "low": rate.low, "high": rate.high}


def difference(what: str, one: tuple[int, int], other: tuple[int, int]) -> None:
    found = rate_difference(*one, *other)
    points = [f"{100 * value:+.1f}" for value in (found.estimate, found.low, found.high)]
    print(f"{what}: {one[0]}/{one[1]} and {other[0]}/{other[1]}, {points[0]} points ({points[1]} to {points[2]})")


def lines(rows: list[dict[str, object]], low: float) -> alt.LayerChart:
    """A rate a line, as a dot on its interval."""
    frame, rate = pd.DataFrame(rows), alt.Scale(domain=[low, 1], nice=False)
    base = alt.Chart(frame).encode(y=alt.Y("who:N", sort=None, title=None), color=color(frame, None))
    bars = base.mark_rule(strokeWidth=3, opacity=0.5).encode(x=alt.X("low:Q", scale=rate, axis=RATE), x2="high:Q")
    return (bars + base.mark_circle(size=80, opacity=1).encode(x="rate:Q")).properties(width=420)


def seeds() -> alt.LayerChart:
    """A hundred seeds cannot tell NMU from NAC•,σ; 1,600 can."""
    paper = published.load("table_all_models").query("operation == 'mul'").set_index("model")
    whole = EXPERIMENTS["all-models"]
    specs = tuple(spec for spec in whole.specs if spec.task.operation == "mul")
    sizes = [replace(whole, specs=specs, seeds=seeds) for seeds in (100, MANY)]
    cells = judged(STORE, sizes)
    ours = [{spec.model.name: (spec.model.label, runs) for spec, _, runs in cells.of(size)} for size in sizes]
    rows, counts = [], []
    for model in ("NMU", "NACMulSigma"):
        label = ours[0][model][0]
        printed = wilson(int(paper.k[model]), int(paper.n[model]))
        rows.append(row(printed, model=model, label=label, who=f"{label}, 100 seeds, published"))
        for found in ours:
            runs = found[model][1]
            rows.append(row(runs.success_rate, model=model, label=label, who=f"{label}, {runs.n:,} seeds, ours"))
        counts.append((runs.k, runs.n))
        print(f"{label}: {runs.k}/{runs.n}, {100 * runs.success_rate.low:.1f} to {100 * runs.success_rate.high:.1f} %")
    difference("NMU and NAC•,σ on ×", *counts)
    return lines(rows, 0.9)


def ablation() -> alt.FacetChart:
    """By the threshold the NMU needs its regularizer; by the formula it does not."""
    experiment = EXPERIMENTS["ablation"]
    cells = list(judged(STORE, [experiment]).of(experiment))
    judges = {"below the threshold": "success_rate", "the formula, once rounded": "exact_rate"}
    rows = [
        row(getattr(runs, rate), judge=judge, model=spec.model.name, label=spec.model.label, hidden=spec.hidden_size)
        for spec, _, runs in cells
        for judge, rate in judges.items()
    ]
    labels = list(dict.fromkeys(spec.model.label for spec, _, _ in cells))
    pooled = {label: [runs for spec, _, runs in cells if spec.model.label == label] for label in labels}
    first, *others = pooled
    for other in others:
        difference(f"{first} and {other}, solved", solved(pooled[first]), solved(pooled[other]))
        difference(f"{first} and {other}, exact", exact(pooled[first]), exact(pooled[other]))
    frame, below = pd.DataFrame(rows), legend(labels)
    base = alt.Chart().encode(
        x=alt.X("hidden:O", title="hidden units", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("label:N", sort=labels),
        color=color(frame, below),
    )
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=alt.Y("low:Q", axis=RATE), y2="high:Q")
    dots = base.mark_point(filled=True, size=45, opacity=1).encode(y="rate:Q", shape=shape(frame, below))
    chart = alt.layer(bars, dots, data=frame).properties(width=360, height=220)
    return chart.facet(column=alt.Column("judge:N", title=None, sort=list(judges)))


def initialization() -> alt.LayerChart:
    """Weights that begin with the variance of the text fail ten times as often."""
    experiment = EXPERIMENTS["as-written"]
    cells = [(spec, runs) for spec, _, runs in judged(STORE, [experiment]).of(experiment)]
    chosen = [(spec, runs) for spec, runs in cells if spec.model.name.startswith("NMU")]
    difference("NMU, as run and as written", *(solved([runs]) for _, runs in chosen))
    difference("NMU, as run and as written, exact", *(exact([runs]) for _, runs in chosen))
    return lines([row(runs.success_rate, model="NMU", label="NMU", who=spec.model.label) for spec, runs in chosen], 0.5)


def solved(cells: list[Judged]) -> tuple[int, int]:
    return sum(cell.k for cell in cells), sum(cell.n for cell in cells)


def exact(cells: list[Judged]) -> tuple[int, int]:
    return sum(cell.exact for cell in cells), sum(cell.seen for cell in cells)


for figure in (seeds, ablation, initialization):
    print(save(styled(figure()), FOLDER / f"{figure.__name__}.svg").relative_to(ROOT))
