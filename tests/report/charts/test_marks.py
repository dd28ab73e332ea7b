"""Layers of charts: what Altair makes of them, with encodings that copies share."""

import altair as alt
import pandas as pd

from arithmos.report.charts.marks import layer


def charts():
    data = alt.Chart(pd.DataFrame({"label": ["NAU", "NMU"], "value": [0.5, 1.0]}))
    x = alt.X("value:Q", scale=dict(domain=[0, 1]), title=None)
    return data.mark_rule(strokeWidth=2).encode(x=x, y="label:N"), data.mark_point().encode(x=x, tooltip=["value:Q"])


def test_layers_are_those_of_altair():
    assert layer(*charts(), width=90).to_dict() == alt.layer(*charts()).properties(width=90).to_dict()


def test_copies_of_a_chart_share_its_encodings():
    layers = layer(*charts())
    assert all(one.encoding is other.encoding for one, other in zip(layers.copy().layer, layers.layer, strict=True))
