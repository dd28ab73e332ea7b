"""Charts of a surface, and of single runs: learning curves and weights."""

import math

import altair as alt
import pandas as pd

from ...papers import Surface
from .marks import fade, layer, legend, panel_title
from .style import INK, PALETTE, styled

STEPS = dict(format="~s", tickCount=3, grid=False)
WRITTEN = 12
"""Widest matrix whose weights are written into its cells."""


def surface(cells: pd.DataFrame, lines: pd.DataFrame, of: Surface) -> alt.HConcatChart:
    """Draw a function of two variables as a heat map with contour lines, one panel each.

    Args:
        cells: result of `contours.cells` for the surface.
        lines: result of `contours.lines` for it.
        of: the surface.
    """
    low = cells["value"].min()
    scheme = {"scheme": "yellowgreenblue"} if low >= 0 else {"scheme": "blueorange", "domain": [low, 0, -low]}
    scale = dict(**scheme)
    side = 250 if len(of.panels) > 1 else 380
    panels = []
    for panel, _ in of.panels:
        x = alt.X("x:Q", title=of.x.label, scale=dict(nice=False, zero=False), axis=dict(tickCount=5))
        y = alt.Y("y:Q", title=of.y.label, scale=dict(nice=False, zero=False), axis=dict(tickCount=5))
        heat = (
            alt.Chart(cells[cells["panel"] == panel])
            .mark_rect(x2Offset=0.6, y2Offset=-0.6)  # leave no gaps between the cells
            .encode(
                x=x,
                y=y,
                x2="x2",
                y2="y2",
                color=alt.Color("value:Q", title=of.label, scale=scale),
                tooltip=[
                    alt.Tooltip("center_x:Q", title=of.x.label, format=".3~f"),
                    alt.Tooltip("center_y:Q", title=of.y.label, format=".3~f"),
                    alt.Tooltip("full:Q", title=of.label, format=".4~g"),
                ],
            )
        )
        drawn = alt.Chart(lines[lines["panel"] == panel]).encode(x=x, y=y)
        contour = drawn.mark_line(color="black", strokeWidth=0.8, strokeOpacity=0.7).encode(
            detail="line:N", order="order:Q", tooltip=alt.Tooltip("level:Q", title=of.label)
        )
        tags = drawn.transform_filter("datum.tag").encode(text=alt.Text("level:Q", format="~g"))
        halo = tags.mark_text(fontSize=10, stroke="white", strokeWidth=3, strokeOpacity=0.8)
        panels.append(
            layer(
                heat,
                contour,
                halo,
                tags.mark_text(fontSize=10, color="black"),
                width=side,
                height=side,
                title=panel_title(panel),
            )
        )
    return styled(alt.hconcat(*panels).properties(title=of.title, description=f"{of.item}: {of.title}"))


def learning_curves(frame: pd.DataFrame, threshold: float) -> alt.HConcatChart:
    """Draw the test, validation and sparsity errors of a few runs.

    Args:
        frame: one row per record: `run`, a name for it, `step`, `validation`, `test` and `sparsity`.
        threshold: test error below which a run is solved.
    """
    picked = alt.selection_point(name="run", fields=["run"], bind="legend")
    rows = [
        {"run": row["run"], "step": row["step"], "error": kind, "value": row[kind]}
        for row in frame.to_dict("records")
        for kind in ("test", "validation", "sparsity")
        if row["step"] > 0 and 0 < row[kind] < math.inf  # values that a logarithmic scale can show
    ]
    scale = dict(domain=[*dict.fromkeys(frame["run"])], range=list(PALETTE))
    base = (
        alt.Chart(pd.DataFrame(rows, columns=["run", "step", "error", "value"]))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("step:Q", title="Iteration", scale=dict(type="log", nice=False), axis=STEPS),
            y=alt.Y("value:Q", title=None, scale=dict(type="log"), axis=dict(format="~e", tickCount=5)),
            color=alt.Color("run:N", title=None, scale=scale, legend=legend(frame["run"])),
            opacity=fade(picked, 1.0),
            tooltip=[
                alt.Tooltip("run:N", title="Run"),
                alt.Tooltip("step:Q", title="Iteration", format=","),
                alt.Tooltip("error:N", title="Error"),
                alt.Tooltip("value:Q", title="Value", format=".3g"),
            ],
        )
        .properties(width=300, height=200)
    )
    dashed = alt.StrokeDash(
        "error:N",
        title=None,
        scale=dict(domain=["test", "validation", "threshold"], range=[[1, 0], [4, 3], [1, 3]]),
        legend=dict(orient="bottom", symbolType="stroke"),
    )
    limit = (
        alt.Chart(pd.DataFrame([{"value": threshold, "error": "threshold"}]))
        .mark_rule(color=INK, strokeOpacity=0.6)
        .encode(y="value:Q", strokeDash=dashed)
    )
    errors = base.transform_filter(alt.datum.error != "sparsity").encode(strokeDash=dashed)
    sparsity = base.transform_filter(alt.datum.error == "sparsity").properties(title=panel_title("Sparsity error"))
    left = layer(errors.add_params(picked), limit, title=panel_title("Error"))
    chart = alt.hconcat(left, sparsity, spacing=20)
    return styled(chart.properties(description="Learning curves of single runs."))


def weights(frame: pd.DataFrame) -> alt.VConcatChart:
    """Draw the weight matrices of a run, one below the other.

    Args:
        frame: one row per weight: `array`, the name of the matrix, `output`, `input` and `weight`.
    """
    scale = dict(scheme="blueorange", domain=[-1, 1], clamp=True)
    panels = []
    for name, part in frame.groupby("array", sort=False):
        inputs, outputs = part["input"].nunique(), part["output"].nunique()
        wide = inputs > WRITTEN
        base = alt.Chart(part).encode(
            x=alt.X("input:O", title="Input", axis=dict(labelAngle=0, labelOverlap=True, ticks=False)),
            y=alt.Y("output:O", title="Output", axis=dict(labelAngle=0, labelOverlap=True, ticks=False)),
        )
        cells = base.mark_rect().encode(
            color=alt.Color("weight:Q", title="Weight", scale=scale),
            tooltip=[
                alt.Tooltip("output:O", title="Output"),
                alt.Tooltip("input:O", title="Input"),
                alt.Tooltip("weight:Q", title="Weight", format=".6g"),
            ],
        )
        numbers = base.mark_text(fontSize=10, color="black").encode(text=alt.Text("weight:Q", format=".2~f"))
        panels.append(
            (cells if wide else layer(cells, numbers)).properties(
                width=alt.Step(max(2, 600 // inputs) if wide else 34),
                height=alt.Step(12 if outputs > WRITTEN else 22),
                title=panel_title(str(name)),
            )
        )
    return styled(alt.vconcat(*panels).properties(description="Weight matrices of a run."))
