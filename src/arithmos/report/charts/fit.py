"""Chart of a fit: the formulas by size and error, predicted against measured values, residuals against distance."""

from typing import Any

import altair as alt
import pandas as pd

from ...regression.from_csv import Fit
from .style import BLUE, GRAY, INK, ORANGE, styled

MOST_POINTS = 2000
MOST_PER_FORMULA = 400
"""Points per formula of an interactive chart."""
LEAST_LIMIT = 0.01
"""Smallest range of a residual axis, so that mere rounding is not magnified."""
LEAST_RESIDUAL = 1e-16
"""Residual at which formulas without any are drawn, since zero has no place on a logarithmic axis."""
SIZE: dict[str, Any] = {"width": 270, "height": 250}


def draw(fit: Fit, *, interactive: bool = False) -> Any:
    """Draw three panels per target: the Pareto front, predicted over measured values, and residuals over distance.

    Args:
        fit: the fit.
        interactive: whether the chart has the points of all formulas on the front; those of formula number `shown0`, or
            `shown1` for the second target and so on, are visible, a parameter that a page can change.
    """
    frame, front = fit.frame(chosen=not interactive), _front(fit)
    rows = []
    for number, target in enumerate(fit.table.targets):
        part, formulas = frame[frame["target"] == target], front[front["target"] == target]
        each = MOST_PER_FORMULA if interactive else MOST_POINTS
        kept = part.groupby("formula").sample(min(each, len(fit.table.y)), random_state=0)
        start = int(formulas.loc[formulas["chosen"], "formula"].iloc[0])
        shown = alt.param(name=f"shown{number}", value=start)
        panels = [_panel_of_front(formulas, shown), *_panels_of_rows(kept, target, shown)]
        rows.append(alt.hconcat(*panels, spacing=30).add_params(shown))
    title = alt.Title(fit.formulas, subtitle=f"verdict: {fit.model.certificate_.verdict}")
    return styled(alt.vconcat(*rows) if interactive else alt.vconcat(*rows, title=title))


def _front(fit: Fit) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "target": fit.table.targets[one.output],
            "formula": number,
            "text": fit.line(one),
            "size": one.complexity,
            "residual": max(one.residual, LEAST_RESIDUAL),
            "chosen": one.chosen,
        }
        for number, one in enumerate(fit.model.formulas_)
    )


def _panel_of_front(formulas: pd.DataFrame, shown: Any) -> Any:
    """Draw residual over size, with the formula that is shown filled."""
    base = alt.Chart(formulas).encode(
        x=alt.X("size:Q", title="size of the formula", axis=dict(tickMinStep=1), scale=dict(nice=True)),
        y=alt.Y("residual:Q", title="residual, relative to the target", scale=dict(type="log"), axis=dict(format="~e")),
    )
    line = base.mark_line(color=GRAY, interpolate="step-after", strokeWidth=1)
    points = base.mark_point(size=110, filled=True, opacity=1, cursor="pointer", stroke=BLUE, strokeWidth=2).encode(
        fill=alt.condition(f"datum.formula == {shown.name}", alt.value(BLUE), alt.value("white")),
        tooltip=[alt.Tooltip("text:N", title="formula"), "size:Q", alt.Tooltip("residual:Q", format=".2e")],
    )
    return alt.layer(line, points, **SIZE)


def _panels_of_rows(rows: pd.DataFrame, target: str, shown: Any) -> list[Any]:
    """Draw predicted over measured values, and residuals over the distance from the center."""
    color = alt.Color(
        "rows:N",
        title=None,
        scale=dict(domain=["learned from", "set aside"], range=[BLUE, ORANGE]),
        legend=dict(orient="bottom"),
    )
    visible = alt.Chart(rows).transform_filter(f"datum.formula == {shown.name}")
    points = visible.mark_circle(size=18, opacity=0.6).encode(color=color)
    ends = rows["measured"].agg(["min", "max"])
    diagonal = alt.Chart(ends.to_frame()).mark_line(color=GRAY, strokeDash=[4, 3])
    line = diagonal.encode(x=alt.X("measured:Q"), y=alt.Y("measured:Q"))
    values = points.encode(
        x=alt.X("measured:Q", title=f"{target}, measured", scale=dict(zero=False)),
        y=alt.Y("predicted:Q", title=f"{target}, by the formula", scale=dict(zero=False)),
        tooltip=["measured:Q", "predicted:Q"],
    )
    one = rows["formula"].nunique() == 1
    limit = max(LEAST_LIMIT, 1.05 * rows["residual"].abs().max())
    zero = alt.Chart().mark_rule(color=INK, opacity=0.4).encode(y=alt.datum(0))
    left = points.encode(
        x=alt.X("distance:Q", title="distance from the center, in standard deviations", scale=dict(zero=False)),
        y=alt.Y(
            "residual:Q",
            title="predicted − measured, in deviations",
            scale=dict(domain=[-limit, limit]) if one else dict(zero=True),
        ),
        tooltip=["distance:Q", alt.Tooltip("residual:Q", format=".1e")],
    )
    return [alt.layer(line, values, **SIZE), alt.layer(zero, left, **SIZE)]
