"""Charts of an experiment. Each function draws a table; nothing is computed but the position of marks.

Scales, axes and legends are dictionaries: Altair copies a chart whenever it is put into another, and its own objects
hold every property there is, given or not.

Our values are filled marks with their 95 % intervals, published values are hollow. A tooltip shows the values of a
mark, and a click on a model in the legend fades the others.
"""

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from ...judging.runs import criterion_of
from ...papers import Experiment, criteria_of
from ...papers.experiment import LENGTH
from ...tasks import symbol
from ..tables.summary import estimated
from .gates import CENTERS
from .marks import Row, color, fade, layer, legend, panel_title, shape
from .style import GRAY, INK, SOLVED, Chart, styled


@dataclass(frozen=True)
class Measure:
    """Measure of a panel: a column of the summary, its title, and its formats in a tooltip and on an axis."""

    column: str
    title: str
    value: str
    label: str


SUCCESS = Measure("success_rate", "Success rate", ".1%", "format(datum.value, '.0%')")
EXACT = Measure("exact_rate", "Exact", ".1%", "format(datum.value, '.0%')")
SOLVED_AT = Measure("solved_at_mean", "Solved at iteration step", ",.0f", "format(datum.value, '~s')")
SPARSITY = Measure("sparsity_mean", "Sparsity error", ".3g", "format(datum.value, '~g')")

AXES = {
    "hidden_size": "Hidden size",
    "interpolation": "Range of the inputs in training",
    "input_size": "Input size",
    "overlap_ratio": "Overlap, as a share of a subset",
    "subset_ratio": "Size of a subset, as a share of the input",
    "strength": "Strength of the sparsity regularizer",
    LENGTH: "Extrapolation length",
}
CATEGORIES = ("interpolation", "strength")
"""Axes with evenly spaced positions."""
DODGED = ("interpolation",)
"""Axes along which models stand side by side instead of being joined by lines."""

QUARTERS = [0, 0.25, 0.5, 0.75, 1]
COLUMNS = ["operation", "label", "source", "slot", "value", "low", "high", "runs"]
"""Columns kept for each point, besides its position on the axis."""


def sweep(frame: pd.DataFrame, experiment: Experiment, *, estimator: str | None = None) -> alt.HConcatChart:
    """Draw three panels over the axis of an experiment: success rate, solved at, sparsity error.

    Args:
        frame: result of `summarize` for the experiment.
        experiment: the experiment, which has an axis.
        estimator: criterion whose estimators of means to use; the experiment's by default. Published means stand beside
            ours if they were made by the same estimators.
    """
    try:
        estimator = criterion_of(experiment, estimator)
    except ValueError as error:
        raise ValueError(str(error).replace("criterion", "estimator", 1)) from None
    own = {measure for criterion in criteria_of(experiment).values() for measure in criterion.estimators}
    picked = alt.selection_point(name="model", fields=["label"], bind="legend")
    panels = []
    for measure in (SUCCESS, SOLVED_AT, SPARSITY):
        ours = estimated(measure.column, estimator, frame)
        points = [*_points(frame, ours, "ours", experiment.axis)]
        if "published_n" in frame and (ours != measure.column or measure.column not in own):
            points += _points(frame, f"published_{measure.column}", "published", experiment.axis)
        panels.append(_panel(points, frame, measure, experiment.axis, picked))
    panels[0] = panels[0].add_params(picked)
    return styled(_titled(alt.hconcat(*panels, spacing=20), frame, experiment))


def success(frame: pd.DataFrame, experiment: Experiment) -> alt.ConcatChart:
    """Draw the success rates of a table's models, one panel per operation; a click on a mark fades the other models.

    Args:
        frame: result of `summarize` for the experiment.
        experiment: the experiment, which has no axis.
    """
    picked = alt.selection_point(name="model", fields=["label"])
    panels = [_rates(part, frame, picked) for _, part in frame.groupby("operation", sort=False)]
    columns = 3 if max(map(len, frame["label"])) < 20 else 1
    chart = alt.concat(*panels, columns=columns, spacing=20)
    with _one_selection():
        chart = chart.add_params(picked)
    return styled(_titled(chart, frame, experiment))


def _rates(part: pd.DataFrame, frame: pd.DataFrame, picked: alt.Parameter) -> alt.LayerChart:
    """Draw the success rates of one operation."""
    sources = ["ours", *(["published"] if "published_n" in part else [])]
    labels = [*part["label"]]
    y = alt.Y("label:N", sort=labels, scale=dict(domain=labels), title=None)
    x = alt.X(
        "value:Q",
        title=None,
        scale=dict(domain=[0, 1]),
        axis=dict(format=".0%", values=QUARTERS, labelFlush=False),
    )
    layers = []
    for source in reversed(sources):
        ours = source == "ours"
        points = [*_points(part, SUCCESS.column if ours else f"published_{SUCCESS.column}", source)]
        data = alt.Chart(pd.DataFrame(points, columns=COLUMNS))
        places = {
            "y": y,
            "yOffset": alt.YOffset("source:N", scale=dict(domain=sources)),
            "color": color(frame, None) if ours else alt.ColorValue(GRAY),
            "opacity": fade(picked, 1.0),
        }
        layers += [
            data.mark_rule(strokeWidth=2, strokeOpacity=0.6).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), **places),
            data.mark_point(filled=ours, size=45, strokeWidth=1.3).encode(
                x=x, shape=shape(frame, None), tooltip=_tooltip(SUCCESS), **places
            ),
        ]
        if ours and (exact := [*_points(part, EXACT.column, source)]):
            ticks = alt.Chart(pd.DataFrame(exact, columns=COLUMNS)).mark_tick(thickness=2, size=11)
            layers.append(ticks.encode(x=x, tooltip=_tooltip(EXACT), **places))
    title = panel_title(symbol(next(iter(part["operation"]))))
    return layer(*layers, width=190, height=alt.Step(11 if len(sources) > 1 else 16), title=title)


def gates(frame: pd.DataFrame, experiment: Experiment) -> alt.FacetChart:
    """Draw histograms of the last layer's gates: the share of runs in each bin, solved and not.

    Args:
        frame: result of `gate_counts` for the experiment.
        experiment: the experiment, whose models end in a gate.
    """
    x = alt.X(
        "gate:O",
        title="Gate, from 0 (multiply) to 1 (add)",
        axis=dict(values=QUARTERS, labelAngle=0),
        scale=dict(domain=CENTERS, paddingInner=0.15, paddingOuter=0.3),
    )
    base = alt.Chart().encode(
        x=x,
        y=alt.Y("share:Q", title="Share of the runs", axis=dict(format=".0%", tickCount=4)),
        xOffset=alt.XOffset("verdict:N", scale=dict(domain=[*SOLVED])),
        tooltip=[
            alt.Tooltip("label:N", title="Model"),
            alt.Tooltip("operation:N", title="Operation"),
            alt.Tooltip("source:N", title="Source"),
            alt.Tooltip("verdict:N", title="Verdict"),
            alt.Tooltip("gate:Q", title="Gate", format=".3f"),
            alt.Tooltip("count:Q", title="Runs"),
        ],
    )
    scale = dict(domain=[*SOLVED], range=[*SOLVED.values()])
    ours = base.transform_filter(alt.datum.source == "ours").mark_bar()
    hollow = base.transform_filter(alt.datum.source == "published").mark_bar(filled=False, strokeWidth=1.2)
    layers = layer(
        ours.encode(color=alt.Color("verdict:N", title=None, scale=scale, legend=legend(SOLVED))),
        hollow.encode(stroke=alt.StrokeValue(INK), strokeOpacity=alt.StrokeOpacityValue(0.6)),
    )
    named = _crossed(frame.assign(operation=frame["operation"].map(symbol)))
    facets = layers.properties(width=270, height=110).facet(
        row=alt.Row("operation:N", sort=[*dict.fromkeys(named["operation"])], title=None),
        column=alt.Column("label:N", sort=[*dict.fromkeys(spec.model.label for spec in experiment.specs)], title=None),
        data=named,
    )
    return styled(_titled(facets, frame, experiment))


def _crossed(frame: pd.DataFrame) -> pd.DataFrame:
    """Add an empty bin for each panel without one: Vega would draw the next panel in its place, under its heading."""
    panels = itertools.product(frame["operation"].unique(), frame["label"].unique())
    known = {*zip(frame["operation"], frame["label"], strict=True)}
    bin_of = {"source": "ours", "verdict": "solved", "gate": CENTERS[0], "count": 0, "share": 0.0}
    empty = [{"operation": at, "label": label, **bin_of} for at, label in panels if (at, label) not in known]
    return pd.concat([frame, pd.DataFrame(empty)]) if empty else frame


def stack(*charts: Any) -> alt.VConcatChart:
    """Stack charts of one experiment under the title of the first."""
    first, *others = (chart.copy() for chart in charts)
    title, description = first.title, first.description
    for chart in (first, *others):
        chart.config = chart.title = alt.Undefined
    with _one_selection():
        stacked: alt.VConcatChart = alt.vconcat(first, *others, spacing=30)
    stacked = stacked.resolve_scale(color="independent", shape="independent")
    return styled(stacked.properties(title=title, description=description))


@contextmanager
def _one_selection() -> Iterator[None]:
    """Silence Altair's warning that panels share a selection, which is intended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _points(frame: pd.DataFrame, column: str, source: str, axis: str = "") -> Iterator[Row]:
    """Yield one row per point: its value, its bounds if any, and the runs behind it."""
    prefix, place = "published_" if source == "published" else "", [axis] if axis else []
    k, n, counted = ("exact", "seen", "exact") if column == EXACT.column else (f"{prefix}k", f"{prefix}n", "solved")
    names = ["operation", "label", *place, column, f"{column}_low", f"{column}_high", k, n]
    for operation, label, *at, value, low, high, k, n in frame[names].itertuples(index=False, name=None):
        if math.isfinite(value):
            yield {
                **dict(zip(place, at, strict=True)),
                "operation": symbol(operation),
                "label": label,
                "source": source,
                "slot": f"{label}, {source}",
                "value": value,
                **({"low": low, "high": high} if math.isfinite(low) and math.isfinite(high) else {}),
                "runs": f"{k} of {n} {counted}",
            }


def _panel(
    points: Sequence[Row], frame: pd.DataFrame, measure: Measure, axis: str, picked: alt.Parameter
) -> alt.LayerChart:
    """Draw one measure over the axis of a figure."""
    title, dodged = AXES.get(axis, axis.replace("_", " ").capitalize()), axis in DODGED
    size: Row = {"width": 290 if dodged else 260, "height": 220, "title": panel_title(measure.title)}
    if not points:
        why = "no runs" if measure is SUCCESS else "these models lack it" if frame["k"].sum() else "no run is solved"
        nothing = alt.Chart(pd.DataFrame([{}])).mark_text(opacity=0.7, text=why, fontSize=13)
        return alt.LayerChart(layer=[nothing], **size)
    labels = legend(frame["label"])
    scale = dict(domain=[0, 1]) if measure is SUCCESS else dict(zero=True, nice=5)
    y = alt.Y("value:Q", title=None, scale=scale, axis=dict(labelExpr=measure.label, tickCount=5))
    layers = []
    for source, shift, strength in (("published", 4, 0.45), ("ours", 0, 0.95)):
        ours, shown = source == "ours", [point for point in points if point["source"] == source]
        if not shown:
            continue
        data = alt.Chart(pd.DataFrame(shown, columns=[axis, *COLUMNS]))
        places = {"x": _x(frame, axis, title), "color": color(frame, labels), "opacity": fade(picked, strength)}
        if dodged:
            slots = [f"{label}, {kind}" for label in dict.fromkeys(frame["label"]) for kind in ("ours", "published")]
            places["xOffset"] = alt.XOffset("slot:N", scale=dict(domain=slots))
        bars = data.mark_rule(strokeWidth=1.5, xOffset=shift, strokeOpacity=0.5)
        layers.append(bars.encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), **places))
        if not dodged:
            line = data.mark_line(strokeWidth=1.3, strokeDash=[1, 0] if ours else [3, 3], xOffset=shift)
            layers.append(line.encode(y=y, **places))
        dots = data.mark_point(filled=ours, size=42, strokeWidth=1.3, xOffset=shift)
        told = _tooltip(measure, alt.Tooltip(f"{axis}:N", title=title))
        layers.append(dots.encode(y=y, shape=shape(frame, labels), tooltip=told, **places))
    return layer(*layers, **size)


def _x(frame: pd.DataFrame, axis: str, title: str) -> alt.X:
    uneven = axis == LENGTH and frame[axis].max() > 100
    if axis not in CATEGORIES and not uneven and pd.api.types.is_numeric_dtype(frame[axis]):
        scale = dict(domain=[frame[axis].min(), frame[axis].max()], nice=False, padding=12)
        return alt.X(f"{axis}:Q", title=title, scale=scale, axis=dict(grid=False))
    places = [*dict.fromkeys(frame[axis] if axis != LENGTH else sorted(frame[axis]))]
    angle = -35 if axis in (*DODGED, LENGTH) else 0
    return alt.X(f"{axis}:O", title=title, sort=places, scale=dict(domain=places), axis=dict(labelAngle=angle))


def _tooltip(measure: Measure, *places: alt.Tooltip) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="Model"),
        alt.Tooltip("operation:N", title="Operation"),
        *places,
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("value:Q", title=measure.title, format=measure.value),
        alt.Tooltip("low:Q", title="from", format=measure.value),
        alt.Tooltip("high:Q", title="to", format=measure.value),
        alt.Tooltip("runs:N", title="Runs"),
    ]


def _titled(chart: Chart, frame: pd.DataFrame, experiment: Experiment) -> Chart:
    heading = f"{experiment.item}: {experiment.title}" if experiment.item else experiment.title
    published = "published_n" in frame or "published" in set(frame.get("source", ()))
    note = "Filled: ours, with 95 % intervals. Hollow: published." if published else "With 95 % intervals."
    exact = " Tick: rounded, the task's formula." if "seen" in frame and frame["seen"].any() else ""
    subtitle = note if experiment.axis else f"Success rate. {note}{exact}"
    chart.title, chart.description = alt.Title(experiment.title, subtitle=subtitle), heading
    return chart
