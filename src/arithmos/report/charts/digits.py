"""Chart of the numbers that networks read off digits, and of the weights of their cells."""

import math

import altair as alt
import pandas as pd

from ...judging.readings import SIDES
from ...papers import Experiment
from .marks import legend, panel_title
from .style import BLUE, INK, ORANGE, styled

COLORS = dict(zip(SIDES.values(), (BLUE, ORANGE), strict=True))
DIGITS = [*map(str, range(10))]


def read(frame: pd.DataFrame, experiment: Experiment) -> alt.HConcatChart:
    """Draw the numbers that runs read off the digits, one line per run, above the weights of their cells.

    Args:
        frame: result of `readings` for the experiment.
        experiment: the experiment.
    """
    picked = alt.selection_point(name="model", fields=["label"], bind="legend")
    units = [*dict.fromkeys(spec.model.layers[0].label for spec in experiment.specs)]
    panels = [_panel(frame[frame["unit"] == unit], unit, picked) for unit in units]
    panels[0].vconcat[0] = panels[0].vconcat[0].add_params(picked)
    chart: alt.HConcatChart = alt.hconcat(*panels, spacing=20).resolve_scale(y="independent")
    note = "Above: the number read off the images of each digit, one line per run; dotted: the digit itself. "
    note += "Below: weights of the cell for the image and for the state."
    chart.title, chart.description = alt.Title(experiment.title, subtitle=note), experiment.title
    return styled(chart)


def _panel(frame: pd.DataFrame, unit: str, picked: alt.Parameter) -> alt.VConcatChart:
    scale = dict(domain=[*COLORS], range=[*COLORS.values()])
    base = alt.Chart(frame).encode(
        color=alt.Color("label:N", title=None, scale=scale, legend=legend(COLORS)),
        opacity=alt.OpacityValue(0.06, condition={"param": picked.name, "value": 0.6}),
        tooltip=[
            alt.Tooltip("unit:N", title="Unit"),
            alt.Tooltip("label:N", title="Regularizer"),
            alt.Tooltip("seed:Q", title="Seed"),
            alt.Tooltip("at:N", title="Of"),
            alt.Tooltip("value:Q", title="Value", format=".4~g"),
        ],
    )
    digit = alt.X("at:O", title="Digit", scale=dict(domain=DIGITS), axis=dict(labelAngle=0))
    ticks = _ticks(frame.loc[frame["kind"] == "digit", "value"])
    axis = dict(values=ticks, labelExpr="format(datum.value, '~s')")  # `format` would use one prefix throughout
    number = alt.Y("value:Q", title="Number read", scale=dict(type="symlog"), axis=axis)
    lines = base.transform_filter(alt.datum.kind == "digit").mark_line(strokeWidth=1.2, point=dict(size=14))
    right = alt.Chart(pd.DataFrame({"at": DIGITS, "value": range(10)}))
    dotted = right.mark_line(color=INK, strokeDash=[1, 3], strokeOpacity=0.7).encode(x=digit, y=number)
    above = alt.layer(lines.encode(x=digit, y=number, detail="seed:N"), dotted)  # first the layer with labels to pick
    below = (
        base.transform_filter(alt.datum.kind == "weight")
        .mark_point(filled=True, size=36)
        .encode(
            x=alt.X("at:N", title="Weight for", scale=dict(domain=["image", "state"]), axis=dict(labelAngle=0)),
            xOffset=alt.XOffset("label:N", scale=dict(domain=[*COLORS])),
            y=alt.Y("value:Q", title="Weight", axis=dict(tickCount=5)),
        )
    )
    size = {"width": 165, "height": 160}
    return alt.vconcat(above.properties(**size, title=panel_title(unit)), below.properties(**size), spacing=10)


def _ticks(values: pd.Series) -> list[int]:
    """Return the ticks of an axis for these values, fewer per decade if there are many decades on both sides of 0."""
    decades = sum(math.log10(max(end, 1)) for end in (values.max(), -values.min()))
    firsts = (1,) if decades > 3 else (1, 2, 5)
    marks = [first * 10**power for power in range(8) for first in firsts]
    return [0, *marks, *(-mark for mark in marks)]
