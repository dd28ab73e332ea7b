"""Chart of all success rates of a paper: published against ours."""

import altair as alt
import pandas as pd

from .marks import layer
from .style import BLUE, GRAY, INK, RED, styled

COLORS = {"agrees": BLUE, "differs": RED, "cannot tell": GRAY}


def agreement(verdicts: pd.DataFrame) -> alt.LayerChart:
    """Draw one mark per pair of success rates, published and ours; its area is their number.

    Args:
        verdicts: result of `arithmos.papers.verdicts.verdicts`.
    """
    rates = verdicts[(verdicts["measure"] == "success_rate") & verdicts["verdict"].isin(COLORS)]
    pairs = rates.groupby(["published", "ours", "verdict"], as_index=False).size()
    axis = dict(format=".0%", values=[0, 0.25, 0.5, 0.75, 1])
    scale = dict(domain=[0, 1], nice=False)
    present = [word for word in COLORS if (pairs["verdict"] == word).any()]
    colors = dict(domain=present, range=[COLORS[word] for word in present])
    marks = (
        alt.Chart(pairs)
        .mark_circle(opacity=0.55, clip=False)
        .encode(
            x=alt.X("published:Q", title="Published success rate", scale=scale, axis=axis),
            y=alt.Y("ours:Q", title="Ours", scale=scale, axis=axis),
            size=alt.Size("size:Q", scale=dict(range=[25, 700], domainMin=1), legend=None),
            color=alt.Color("verdict:N", title=None, scale=colors, legend=dict(orient="top")),
            tooltip=[
                alt.Tooltip("published:Q", format=".0%", title="Published"),
                alt.Tooltip("ours:Q", format=".0%", title="Ours"),
                alt.Tooltip("size:Q", title="Success rates"),
                alt.Tooltip("verdict:N", title="Verdict"),
            ],
        )
    )
    ends = pd.DataFrame({"published": [0.0, 1.0], "ours": [0.0, 1.0]})
    diagonal = alt.Chart(ends).mark_line(color=INK, strokeWidth=1, opacity=0.35).encode(x="published:Q", y="ours:Q")
    return styled(layer(diagonal, marks, width=260, height=260))
