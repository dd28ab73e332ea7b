"""Shared parts of charts: rows of data, layers, scales by model, fading."""

from collections.abc import Iterable
from typing import Any

import altair as alt
import pandas as pd

from .style import looks

Row = dict[str, Any]

FADED = 0.06


def legend(labels: Iterable[str]) -> Row:
    """Return a legend below the chart, with as many columns as labels of this length allow."""
    longest = max(map(len, labels), default=0)
    return dict(orient="bottom", columns=min(6, max(1, 110 // (longest + 4))), symbolOpacity=1)


def layer(*charts: alt.Chart, **properties: Any) -> alt.LayerChart:
    """Layer charts on top of each other.

    Altair copies a chart whenever it is put into another, and its own objects hold every property there is. Plain
    dictionaries that the copies share take a quarter of the time.
    """
    return alt.LayerChart(layer=[*map(_plain, charts)], **properties)


def _plain(chart: alt.Chart) -> alt.Chart:
    chart = chart.copy(deep=False)
    chart.mark = chart.mark if isinstance(chart.mark, str) else chart.mark.to_dict(validate=False)
    chart.encoding = _PlainEncoding(**chart.encoding.to_dict(validate=False))
    return chart


class _PlainEncoding(alt.FacetedEncoding):
    """Encoding of plain values, which nobody changes: it is neither copied nor converted again."""

    def __deepcopy__(self, memo: object) -> "_PlainEncoding":
        return self

    def to_dict(self, *args: Any, **options: Any) -> Row:
        return {name: value for name, value in self._kwds.items() if value is not alt.Undefined}


def panel_title(text: str) -> alt.Title:
    """Return the title of one of several panels."""
    return alt.Title(text, fontSize=12, frame="group", offset=8)


def color(frame: pd.DataFrame, legend: Row | None) -> alt.Color:
    """Return a color scale by model."""
    models = dict(zip(frame["label"], frame["model"], strict=True))
    scale = dict(domain=list(models), range=[look.color for look in looks([*models.values()])])
    return alt.Color("label:N", title=None, scale=scale, legend=legend)


def shape(frame: pd.DataFrame, legend: Row | None) -> alt.Shape:
    """Return a shape scale by model."""
    models = dict(zip(frame["label"], frame["model"], strict=True))
    scale = dict(domain=list(models), range=[look.shape for look in looks([*models.values()])])
    return alt.Shape("label:N", title=None, scale=scale, legend=legend)


def fade(picked: alt.Parameter, opacity: float) -> alt.OpacityValue:
    """Return an opacity that fades everything but the selection."""
    return alt.OpacityValue(FADED, condition={"param": picked.name, "value": opacity})
