"""Draw a chart by its name, and save a chart to a file."""

import io
import json
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from ..._files import write_whole
from ...judging.cells import Cells, judged
from ...judging.readings import readings, reads
from ...papers import Experiment, Surface
from ...store import Snapshot, Store
from ..tables.summary import summary_of
from . import contours, figures
from . import digits as digit_figures
from . import runs as portraits
from .gates import gate_counts, gated

SUFFIXES = (".html", ".svg", ".png", ".pdf", ".json")


class _ForScripts(json.JSONEncoder):
    """JSON encoder whose output cannot end a script element, whatever names and titles it holds."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", r"\u003c")


def draw(
    item: Experiment | Surface,
    store: str | Path | Store | Snapshot = "runs",
    *,
    criterion: str | None = None,
    estimator: str | None = None,
) -> Any:
    """Draw the figure of an experiment or of a surface.

    The figure of an experiment with an axis has three panels, that of a table its success rates. If all models end in a
    gate, a histogram of the gates follows below.

    Args:
        item: one of `EXPERIMENTS` or `SURFACES`.
        store: the store of the runs; not needed for a surface.
        criterion: name of the thresholds; by default the paper's first.
        estimator: criterion whose estimators of means to use; by default the same.

    Returns:
        An Altair chart.
    """
    if isinstance(item, Surface):
        return portraits.surface(contours.cells(item), contours.lines(item), item)
    store = store if isinstance(store, Store | Snapshot) else Store(store)
    if reads(item):
        return digit_figures.read(readings(store, item), item)
    cells = judged(store, [item], criterion)
    return chart_of(cells, summary_of(cells, item), item, estimator=estimator or criterion)


def chart_of(cells: Cells, frame: pd.DataFrame, experiment: Experiment, *, estimator: str | None = None) -> Any:
    """Draw the figure of an experiment whose runs are judged and summarized."""
    if experiment.axis:
        parts = [part for _, part in frame.groupby("operation", sort=False)]
        apart = len({tuple(part[experiment.axis].unique()) for part in parts}) > 1  # they have different positions
        rows = [figures.sweep(part, experiment, estimator=estimator) for part in (parts if apart else [frame])]
        return figures.stack(*rows) if apart else rows[0]
    rates = figures.success(frame, experiment)
    if gated(experiment):
        return figures.stack(rates, figures.gates(gate_counts(cells, experiment), experiment))
    return rates


def vega_lite(chart: Any) -> dict[str, Any]:
    """Return a chart as a Vega-Lite specification with its data inside, whatever their size."""
    with alt.data_transformers.enable("rows"):
        specification: dict[str, Any] = chart.to_dict(validate=False)  # a third of the time; `save` validates
    return specification


def _rows(frame: Any) -> dict[str, Any]:
    """Return rows with null for NaN, in half of Altair's time: it infers a type for every column."""
    rows = frame.to_dict("records")
    return {"values": [{name: None if value != value else value for name, value in row.items()} for row in rows]}


alt.data_transformers.register("rows", _rows)


def check_path(path: str | Path) -> Path:
    """Return the path if its suffix is a known format, or raise a ValueError."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise ValueError(f"path must end in {', '.join(SUFFIXES)}, got {str(path)!r}")
    return Path(path)


def save(chart: Any, path: str | Path) -> Path:
    """Save a chart to a file, in the format of its suffix.

    Args:
        chart: an Altair chart.
        path: a file whose name ends in .html (one interactive file that fetches nothing), .svg, .png, .pdf or .json
            (Vega-Lite).

    Returns:
        The file.
    """
    path = check_path(path)
    write_whole(path, _written(chart, path.suffix.lower()[1:]))
    return path


def _written(chart: Any, format: str) -> str | bytes:
    if format == "json":
        return json.dumps(vega_lite(chart), ensure_ascii=False, indent=1) + "\n"
    file = io.StringIO() if format in ("html", "svg") else io.BytesIO()
    if format == "html":
        options = {"renderer": "svg"}  # text in the page's color
        chart.save(file, format=format, inline=True, embed_options=options, json_kwds={"cls": _ForScripts})
    else:
        chart.properties(background="white").save(file, format=format, scale_factor=2 if format == "png" else 1)
    return file.getvalue()
