"""From a name to a chart, and from a chart to a file."""

import json
from pathlib import Path
from typing import Any

import altair as alt

from ..experiments import Experiment, Surface
from ..store import Store
from . import contours, figures, portraits
from .gates import gate_counts, gated
from .summary import Criterion, summarize

SUFFIXES = (".html", ".svg", ".png", ".pdf", ".json")


def draw(
    item: Experiment | Surface,
    store: str | Path | Store = "runs",
    *,
    criterion: Criterion = "released",
    estimator: figures.Estimator | None = None,
) -> Any:
    """The figure of an experiment, or of a surface.

    An experiment with an axis has three panels, a table has its success rates, and where all models end in a gate
    there is a histogram of it below.

    Args:
        item: what to draw, of `EXPERIMENTS` or `SURFACES`.
        store: where the runs are; a surface needs none.
        criterion: the thresholds behind the published decisions, or those of the task's own subsets.
        estimator: "released" for the estimators behind the published means, "corrected" for the right ones; as the
            criterion unless told.

    Returns:
        An Altair chart.
    """
    if isinstance(item, Surface):
        return portraits.surface(contours.cells(item), contours.lines(item), item)
    store = store if isinstance(store, Store) else Store(store)
    frame = summarize(store, item, criterion=criterion)
    if item.axis:
        return figures.sweep(frame, item, estimator=estimator or criterion)
    if gated(item):
        return figures.stack(figures.success(frame, item), figures.gates(gate_counts(store, item, frame), item))
    return figures.success(frame, item)


def vega_lite(chart: Any) -> dict[str, Any]:
    """A chart as a Vega-Lite specification, its data inside, however many rows they are."""
    with alt.data_transformers.enable("default", max_rows=None):
        specification: dict[str, Any] = chart.to_dict(validate=False)  # a third of the time; `save` validates
    return specification


def save(chart: Any, path: str | Path) -> Path:
    """Write a chart to a file; its name says how.

    Args:
        chart: an Altair chart.
        path: a file whose name ends in .html (one interactive file that fetches nothing), .svg, .png, .pdf or .json
            (Vega-Lite).

    Returns:
        The file.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"path must end in {', '.join(SUFFIXES)}, got {str(path)!r}")
    if suffix == ".json":
        path.write_text(json.dumps(vega_lite(chart), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    elif suffix == ".html":
        chart.save(path, format="html", inline=True, embed_options={"renderer": "svg"})  # text in the page's color
    else:
        chart.properties(background="white").save(path, format=suffix[1:], scale_factor=2 if suffix == ".png" else 1)
    return path
