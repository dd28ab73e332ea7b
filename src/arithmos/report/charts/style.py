"""Style of charts: a color and a shape for every model, and a frame for light and dark pages.

Colors have a contrast of at least 3 to white and to near-black. Text and axes take the color of the text around them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import altair as alt


class Look(NamedTuple):
    """Color and shape of a model's marks."""

    color: str
    shape: str


RED, ORANGE, GOLD, OLIVE = "#d1432f", "#cf6a1c", "#a87c05", "#71891d"
GREEN, TEAL, BLUE, PURPLE = "#1d9450", "#0b8ca8", "#2f7fd6", "#8e5bd0"
PINK, BROWN, GRAY, INDIGO = "#d0478f", "#96693c", "#7a7a7a", "#5f6fbf"
MAUVE, SLATE = "#a8619b", "#5a8096"

PALETTE = (BLUE, RED, GREEN, PURPLE, GOLD, PINK, TEAL, BROWN, OLIVE, ORANGE, GRAY, INDIGO, MAUVE, SLATE)
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")

LOOKS: dict[str, Look] = {
    "NMU": Look(RED, "triangle-up"),
    "NAU": Look(ORANGE, "triangle-up"),
    "NALU": Look(BLUE, "circle"),
    "NACMul": Look(PURPLE, "diamond"),
    "NACMulSigma": Look(GREEN, "square"),
    "NACMulNMU": Look(GOLD, "triangle-down"),
    "GatedNAUNMU": Look(PINK, "cross"),
    "NACAdd": Look(TEAL, "diamond"),
    "Linear": Look(GRAY, "circle"),
    "ReLU": Look(OLIVE, "square"),
    "ReLU6": Look(BROWN, "square"),
    "GateNAUNMU": Look(PINK, "cross"),
    "GateNALUSeparate": Look(TEAL, "square"),
    "GateNALUShared": Look(BLUE, "circle"),
    "LSTM": Look(GRAY, "cross"),
    "NACAddRz": Look(GREEN, "square"),
    "ReferenceMul": Look(GRAY, "circle"),
    "ReferenceAdd": Look(BROWN, "circle"),
    "NMUNoSparsity": Look(GOLD, "square"),
    "NMUNoClamp": Look(GREEN, "circle"),
    "NMUNeither": Look(PURPLE, "diamond"),
}
"""Styles of the published models; the paper, too, draws NAU and NMU as triangles."""

SOLVED = {"solved": BLUE, "not solved": ORANGE}
"""Colors of solved and unsolved runs."""

INK = "currentColor"
"""Color of the text around a chart; black if there is none."""


def looks(models: Sequence[str]) -> list[Look]:
    """Return a style for each model: its own, or one that no other has, with a color that no other has if possible."""
    own = {model: LOOKS[model] for model in models if model in LOOKS}
    taken = {look.color for look in own.values()}
    every = [Look(color, shape) for shape in SHAPES for color in PALETTE]
    free = sorted(set(every) - set(own.values()), key=lambda look: (look.color in taken, every.index(look)))
    strangers = [model for model in models if model not in own]
    given = {model: free[number % len(free)] for number, model in enumerate(strangers)}
    return [(own | given)[model] for model in models]


_FRAME: dict[str, Any] = {
    "background": "transparent",
    "font": "DejaVu Sans, system-ui, sans-serif",  # the first has every glyph of the labels
    "axis": {
        "labelLimit": 0,
        **{name: INK for name in ("labelColor", "titleColor", "domainColor", "tickColor", "gridColor")},
        "domainOpacity": 0.4,
        "tickOpacity": 0.4,
        "gridOpacity": 0.12,
        "titleFontWeight": "normal",
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelLimit": 0, "symbolSize": 60},
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "labelLimit": 0},
    "title": {
        "color": INK,
        "subtitleColor": INK,
        "anchor": "start",
        "offset": 12,
        "fontSize": 14,
        "subtitlePadding": 4,
    },
    "text": {"color": INK},
    "view": {"stroke": INK, "strokeOpacity": 0.15},
}

Chart = TypeVar("Chart", bound=alt.SchemaBase)


def styled(chart: Chart) -> Chart:
    """Apply the frame that all charts share."""
    chart.config = alt.Config(**_FRAME)
    return chart
