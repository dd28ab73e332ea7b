"""Draw the findings of docs/reproduction.md and docs/digits.md from results/, and print the numbers that they state."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import torch
from initial_weights import drawn_once
from torch import nn

from arithmos import constrain, sparsity_error, sparsity_loss
from arithmos.judging.cells import Judged, judged
from arithmos.judging.readings import SIDES, readings
from arithmos.judging.references import references
from arithmos.judging.sequences import by_length
from arithmos.papers import EXPERIMENTS
from arithmos.papers.madsen2020.experiments import printed as published
from arithmos.report.charts.digits import COLORS, read
from arithmos.report.charts.files import save
from arithmos.report.charts.marks import color, legend, shape
from arithmos.report.charts.style import styled
from arithmos.spec import Spec
from arithmos.spec.stored import problem
from arithmos.statistics import Interval, rate_difference, upper_mean, wilson
from arithmos.store import Store
from arithmos.tasks import DigitSequences

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/findings"
STORE = Store(ROOT / "results")
MANY = 1600
"""Number of seeds of NMU and NAC•,σ on ×; the paper has 100."""

SEQUENCES = {"mul": ("mnist-product", "mnist-product-no-rz"), "add": ("mnist-sum", "mnist-sum-no-rz")}
"""Experiments on sequences of digits, by operation."""


class DrawnOnce(DigitSequences):
    """Task of the earlier runs, whose initial weights are not the published ones."""

    version = 1


def once(spec: Spec) -> Spec:
    """Return the spec of the earlier runs that is otherwise the same."""
    return replace(spec, task=DrawnOnce(**{field.name: getattr(spec.task, field.name) for field in fields(spec.task)}))


STARTS: dict[str, tuple[Callable[[Spec], Spec], Callable[[Spec, int], nn.Sequential]]] = {
    "Published initial weights": (lambda spec: spec, Spec.network),
    "Other initial weights": (once, drawn_once),
}
"""Kinds of initial weights on digits: a function to the spec of the runs, and one to the initial network of a seed."""

RATE = alt.Axis(format="%", title="95 % interval of the rate")


def row(rate: Interval, **where: object) -> dict[str, object]:
    return {**where, "rate": rate.estimate, "low": rate.low, "high": rate.high}


def difference(what: str, one: tuple[int, int], other: tuple[int, int]) -> None:
    found = rate_difference(*one, *other)
    points = [f"{100 * value:+.1f}" for value in (found.estimate, found.low, found.high)]
    print(f"{what}: {one[0]}/{one[1]} and {other[0]}/{other[1]}, {points[0]} points ({points[1]} to {points[2]})")


def lines(rows: list[dict[str, object]], low: float) -> alt.LayerChart:
    """Draw one rate per line, as a dot on its interval."""
    frame, rate = pd.DataFrame(rows), alt.Scale(domain=[low, 1], nice=False)
    base = alt.Chart(frame).encode(y=alt.Y("who:N", sort=None, title=None), color=color(frame, None))
    bars = base.mark_rule(strokeWidth=3, opacity=0.5).encode(x=alt.X("low:Q", scale=rate, axis=RATE), x2="high:Q")
    return (bars + base.mark_circle(size=80, opacity=1).encode(x="rate:Q")).properties(width=420)


def seeds() -> alt.LayerChart:
    """Draw rates of NMU and NAC•,σ, which 100 seeds cannot distinguish and 1,600 can."""
    paper = published("table_all_models").table.query("operation == 'mul'").set_index("model")
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
    """Draw the ablation: the NMU needs its regularizer for the threshold, but not for the formula."""
    experiment = EXPERIMENTS["ablation"]
    cells = [(spec, spec.hidden_size, runs) for spec, _, runs in judged(STORE, [experiment]).of(experiment)]
    labels = list(dict.fromkeys(spec.model.label for spec, _, _ in cells))
    pooled = {label: [runs for spec, _, runs in cells if spec.model.label == label] for label in labels}
    first, *others = pooled
    for other in others:
        difference(f"{first} and {other}, solved", solved(pooled[first]), solved(pooled[other]))
        difference(f"{first} and {other}, exact", exact(pooled[first]), exact(pooled[other]))
    return two_judges(cells, "hidden units")


def inputs() -> alt.FacetChart:
    """Draw rates by inputs: from 150 on, networks are the formula once rounded but do not meet the threshold."""
    experiment = EXPERIMENTS["input-size"]
    chosen = [
        (spec, spec.task.input_size, runs)
        for spec, _, runs in judged(STORE, [experiment]).of(experiment)
        if spec.model.name in ("NMU", "NACMulNMU", "NACMulSigma")
    ]
    for label in dict.fromkeys(spec.model.label for spec, _, _ in chosen):
        many = [runs for spec, size, runs in chosen if spec.model.label == label and size >= 150]
        difference(f"{label}, 150 inputs and more, exact and solved", exact(many), solved(many))
    kicks()
    return two_judges(chosen, "inputs")


def kicks(iterations: int = 6000, settled: int = 1000) -> None:
    """Print how far Adam drives weights away from the formula, by learning rate and precision."""
    specs = [spec for spec in EXPERIMENTS["input-size"].specs if spec.model.name == "NMU"]
    ways = [(1e-3, torch.float32), (1e-4, torch.float32), (1e-3, torch.float64)]
    for spec in (spec for spec in specs if spec.task.input_size in (100, 150, 200, 300)):
        formula = torch.zeros(2, spec.task.input_size, dtype=torch.float64)
        for weights, (first, last) in zip(formula, spec.task.subsets(0), strict=True):
            weights[first:last] = 1
        for rate, dtype in ways:
            network = spec.network(0).to(dtype)
            exact_weights = torch.cat([formula.flatten(), torch.ones(2)]).to(dtype)
            nn.utils.vector_to_parameters(exact_weights, network.parameters())
            optimizer = torch.optim.Adam(network.parameters(), lr=rate)
            constrain(optimizer, network)
            away = []
            for step in range(iterations):
                x = torch.from_numpy(spec.task.batch(0, step, 128)[0]).double()
                target = (x @ formula.T).prod(dim=1, keepdim=True)
                loss = nn.functional.mse_loss(network(x.to(dtype)), target.to(dtype)) + 10 * sparsity_loss(network)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                away.append(float(sparsity_error(network)))
            low, middle, high = np.quantile(away[settled:], [0, 0.5, 1])
            about = f"{spec.task.input_size} inputs, {dtype}, Adam at {rate:g}"
            print(f"{about}: {low:.1e} to {high:.1e} away, median {middle:.1e}")


def two_judges(cells: list[tuple[Spec, int, Judged]], axis: str) -> alt.FacetChart:
    """Draw rates of some cells, each with its position on the axis, by the threshold and by the formula."""
    judges = {"below the threshold": "success_rate", "the formula, once rounded": "exact_rate"}
    rows = [
        row(getattr(runs, rate), judge=judge, model=spec.model.name, label=spec.model.label, at=at)
        for spec, at, runs in cells
        for judge, rate in judges.items()
    ]
    labels = list(dict.fromkeys(spec.model.label for spec, _, _ in cells))
    frame, below = pd.DataFrame(rows), legend(labels)
    base = alt.Chart().encode(
        x=alt.X("at:O", title=axis, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("label:N", sort=labels),
        color=color(frame, below),
    )
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(y=alt.Y("low:Q", axis=RATE), y2="high:Q")
    dots = base.mark_point(filled=True, size=45, opacity=1).encode(y="rate:Q", shape=shape(frame, below))
    chart = alt.layer(bars, dots, data=frame).properties(width=360, height=220)
    return chart.facet(column=alt.Column("judge:N", title=None, sort=list(judges)))


def initialization() -> alt.LayerChart:
    """Draw rates by initialization: with the variance of the text runs fail ten times as often."""
    experiment = EXPERIMENTS["as-written"]
    cells = [(spec, runs) for spec, _, runs in judged(STORE, [experiment]).of(experiment)]
    chosen = [(spec, runs) for spec, runs in cells if spec.model.name.startswith("NMU")]
    difference("NMU, as run and as written", *(solved([runs]) for _, runs in chosen))
    difference("NMU, as run and as written, exact", *(exact([runs]) for _, runs in chosen))
    return lines([row(runs.success_rate, model="NMU", label="NMU", who=spec.model.label) for spec, runs in chosen], 0.5)


def digits() -> alt.HConcatChart:
    """Draw the effect of R_z on the numbers that cells multiply or add, and on their weights."""
    experiment = EXPERIMENTS["mnist-rz"]
    return read(readings(STORE, experiment), experiment)


def initial_weights() -> alt.VConcatChart:
    """Draw weights by initial weights: without R_z the initial weight decides how a cell multiplies or adds."""
    frame = image_weights(units := ["NMU", "NAC•,NMU", "NAC•,σ", "NAC•", "NAU", "NAC₊"])
    for (unit, label, start), part in frame.groupby(["unit", "label", "start"], sort=False):
        for record in ("first", "best"):
            values = part.sort_values("first")[record].round(4).tolist()
            print(f"{unit} {label}, {start}, weight of the image at the {record} record: {values}")
    scale = alt.Scale(domain=[-1, 1], nice=False)
    axis = alt.Axis(values=[-1, -0.5, 0, 0.5, 1], format="~g")
    below = legend(COLORS)
    points = alt.Chart().mark_point(size=50, strokeWidth=1.5).properties(width=150, height=150)
    points = points.encode(
        x=alt.X("first:Q", title="initial weight of the image", scale=scale, axis=axis),
        y=alt.Y("best:Q", title="at the best record", scale=scale, axis=axis),
        color=alt.Color(
            "label:N", title=None, scale=alt.Scale(domain=[*COLORS], range=[*COLORS.values()]), legend=below
        ),
        shape=alt.Shape(
            "label:N", title=None, scale=alt.Scale(domain=[*COLORS], range=["circle", "square"]), legend=below
        ),
    )
    column = alt.Column("unit:N", title=None, sort=units)
    rows = [(start, frame.query("start == @start")) for start in STARTS]
    return alt.vconcat(*(points.facet(column, data=part).properties(title=start) for start, part in rows))


def image_weights(units: list[str]) -> pd.DataFrame:
    """Return the weights of the image, initially and at the best record."""
    rows = []
    names = [name for pair in SEQUENCES.values() for name in pair]
    for spec in {spec.id: spec for name in names for spec in EXPERIMENTS[name].specs}.values():
        unit, side = spec.model.layers[0].label, SIDES[spec.model.inputs.strength > 0]
        for start, (of, network) in STARTS.items() if unit in units else ():
            runs = STORE.load(specs=[of(spec)], columns=["best_weights"])
            for seed, best in zip(runs["seed"], runs["best_weights"], strict=True):
                first = network(spec, seed)[1].unit.weights()["weight"][0, 0].item()
                rows.append((unit, side, start, first, float(best[0])))
    return pd.DataFrame(rows, columns=["unit", "label", "start", "first", "best"])


def long_products() -> None:
    """Print how long the products are that NAC•,σ solves, whose weight of the state cannot reach 1."""
    for start, (of, _) in STARTS.items():
        spec = of(next(spec for spec in EXPERIMENTS["mnist-product"].specs if spec.model.name == "NACMulSigma"))
        runs = STORE.load(specs=[spec], columns=["best_weights"])
        if runs.empty:
            continue
        cells = {at: cell for (_, at), cell in by_length(STORE, [spec], len(runs), "released").items()}
        solved = [[at for at, cell in cells.items() if cell.test[run] < cell.threshold] for run in range(len(runs))]
        frame = pd.DataFrame({"weight": [weights[1] for weights in runs["best_weights"]]})
        frame["longest"] = [max(lengths, default=0) for lengths in solved]
        digit, steps = np.log(spec.task.digits).mean(), np.arange(max(spec.task.test_lengths))
        frame["share"] = [np.exp(-digit * (1 - weight**steps).sum()) for weight in frame["weight"]]
        print(f"NAC•,σ, {start}: weight of the state, longest product solved, share left of one of twenty digits")
        print(frame.sort_values("weight").to_string(index=False))
        print(f"rank correlation of the first two: {frame['weight'].rank().corr(frame['longest'].rank()):.2f}")


def long_sums() -> None:
    """Print what decides short and long sums: the error of single images, and the average offset per digit.

    A weight of the state other than 1 loses a part of the sum at every step; runs that learn late read less exactly.
    """
    columns = ["best_weights", "extra", "best_validation", "curve_step", "curve_validation"]
    for name in ("mnist-reference", "mnist-rz"):
        for spec in EXPERIMENTS[name].select(operations=["add"]).specs:
            runs = STORE.load(specs=[spec], columns=columns)
            weights = np.stack([weights if len(weights) else (1, 1) for weights in runs["best_weights"]])
            off = np.stack(runs["digit_outputs"]) * weights[:, :1] - spec.task.digits
            curves = zip(runs["curve_step"], runs["curve_validation"], strict=True)
            found = [next((step for step, error in zip(*curve, strict=True) if error < 5), None) for curve in curves]
            cells = by_length(STORE, [spec], len(runs), "released")
            ratios = {at: cells[spec.id, at].test / cells[spec.id, at].threshold for at in spec.task.test_lengths}
            about = {"state": weights[:, 1], "below 5": found, "least": runs["best_validation"], "off": off.mean(1)}
            print(f"{spec.model.label}: weight of the state, first validation error below 5, lowest validation error,")
            print("average offset of a digit, and test errors at each length, in units of the threshold")
            table = pd.DataFrame({"seed": runs["seed"], **about, **ratios})
            print(table.to_string(index=False, float_format="{:.4g}".format))


def references_left_out() -> None:
    """Print the solved runs on sequences of digits, by the references that define the thresholds."""
    known = references(STORE)
    for names in SEQUENCES.values():
        for start, (of, _) in STARTS.items():
            specs = {(name, spec.model.label): of(spec) for name in names for spec in EXPERIMENTS[name].specs}
            reference = known.get(problem(next(iter(specs.values())).json()))
            if reference is None:
                continue
            runs = by_length(STORE, [*specs.values()], len(reference.seeds), "released")
            made = {key: spec for key, spec in specs.items() if (spec.id, 1) in runs}
            limits = {
                f"{reference.used('released')}, 8 degrees of freedom": reference.thresholds("released"),
                f"{reference.used('corrected')}": reference.thresholds("corrected"),
                f"{reference.seeds}": dict(zip(reference.lengths, map(upper_mean, reference.errors.T), strict=True)),
            }
            for who, limit in limits.items():
                print(f"{start}, references {who}: threshold for one digit {limit[1]:.3g}, solved by length")
                for (name, label), spec in made.items():
                    counts = [int((runs[spec.id, at].test < limit[at]).sum()) for at in reference.lengths]
                    print(f"  {name}, {label}: {counts}")
                met = (reference.errors < [limit[at] for at in reference.lengths]).sum(axis=0)
                print(f"  the references themselves: {met.tolist()}")


def printed_thresholds(draws: int = 4000) -> None:
    """Print by which factor a threshold would nearly give the printed counts of all models, and the spread by chance.

    LSTM and NALU, which are below no threshold, are left out.
    """
    runs = {}
    for experiment in (EXPERIMENTS[name] for name in SEQUENCES["mul"]):
        specs = {spec.model.name: spec for spec in experiment.specs if spec.model.name not in ("LSTM", "NALU")}
        cells = by_length(STORE, specs.values(), experiment.seeds, "released")
        for point in experiment.published.table.itertuples():
            if point.model in specs and (key := (specs[point.model].id, point.at)) in cells:
                runs[key] = (cells[key], point.k)
    known = [reference for reference in references(STORE).values() if reference.operation == "mul"]
    errors = np.concatenate([one.errors[~np.isin(one.seeds, one.unsolved)] for one in known])
    factors, random, apart = np.append(np.geomspace(0.1, 10, 2001), 1.0), np.random.default_rng(0), []
    print(f"factors of thresholds; central 95 % of ratios of two thresholds, each from 7 of {len(errors)} references")
    for place, at in enumerate(known[0].lengths):
        here = [run for (_, length), run in runs.items() if length == at]
        off = sum(abs((cell.test < factors[:, None] * cell.threshold).sum(1) - k) for cell, k in here)
        apart.append((off[-1], off.min()))
        best = factors[off == off.min()]
        one, other = ([upper_mean(random.choice(errors[:, place], 7)) for _ in range(draws)] for _ in range(2))
        low, high = np.quantile(np.divide(one, other), [0.025, 0.975])
        print(f"  {at}: {best.min():.2f} to {best.max():.2f}; {low:.2f} to {high:.2f}")
    before, after = np.sum(apart, axis=0)
    print(f"counts of {10 * len(runs)} runs differ by {before}, with these factors by {after}")


def solved(cells: list[Judged]) -> tuple[int, int]:
    return sum(cell.k for cell in cells), sum(cell.n for cell in cells)


def exact(cells: list[Judged]) -> tuple[int, int]:
    return sum(cell.exact for cell in cells), sum(cell.seen for cell in cells)


for figure in (seeds, ablation, initialization, inputs, digits, initial_weights):
    print(save(styled(figure()), FOLDER / f"{figure.__name__}.svg").relative_to(ROOT))
long_products()
long_sums()
references_left_out()
printed_thresholds()
