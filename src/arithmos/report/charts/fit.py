"""Chart of a fit: predicted against measured values, and residuals against distance."""

import altair as alt

from ...regression.from_csv import Fit
from .style import BLUE, GRAY, INK, ORANGE, styled

MOST_POINTS = 2000
LEAST_LIMIT = 0.01
"""Smallest range of a residual axis, so that mere rounding is not magnified."""


def draw(fit: Fit) -> alt.VConcatChart:
    """Draw two panels per target: predicted over measured values, and residuals over the distance from the center."""
    frame = fit.frame()
    rows = []
    for name, part in frame.groupby("target", sort=False):
        shown = part.sample(min(len(part), MOST_POINTS), random_state=0)
        color = alt.Color(
            "rows:N",
            title=None,
            scale=dict(domain=["learned from", "set aside"], range=[BLUE, ORANGE]),
            legend=dict(orient="bottom"),
        )
        points = alt.Chart(shown).mark_circle(size=18, opacity=0.6).encode(color=color)
        limit = max(LEAST_LIMIT, 1.05 * shown["residual"].abs().max())
        ends = shown["measured"].agg(["min", "max"])
        diagonal = alt.Chart(ends.to_frame()).mark_line(color=GRAY, strokeDash=[4, 3])
        line = diagonal.encode(x=alt.X("measured:Q"), y=alt.Y("measured:Q"))
        values = points.encode(
            x=alt.X("measured:Q", title=f"{name}, measured", scale=dict(zero=False)),
            y=alt.Y("predicted:Q", title=f"{name}, by the formula", scale=dict(zero=False)),
            tooltip=["measured:Q", "predicted:Q"],
        )
        zero = alt.Chart().mark_rule(color=INK, opacity=0.4).encode(y=alt.datum(0))
        left = points.encode(
            x=alt.X("distance:Q", title="distance from the center, in standard deviations", scale=dict(zero=False)),
            y=alt.Y("residual:Q", title="predicted − measured, in deviations", scale=dict(domain=[-limit, limit])),
            tooltip=["distance:Q", alt.Tooltip("residual:Q", format=".1e")],
        )
        rows.append(
            alt.hconcat(
                alt.layer(line, values, width=300, height=260), alt.layer(zero, left, width=300, height=260), spacing=30
            )
        )
    title = alt.Title(fit.formulas, subtitle=f"verdict: {fit.model.certificate_.verdict}")
    return styled(alt.vconcat(*rows, title=title))
