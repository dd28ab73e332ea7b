"""Charts as Vega-Lite, and in files."""

import io
import json
from pathlib import Path
from typing import Any

import altair as alt

from ..._files import write_whole

SUFFIXES = (".html", ".svg", ".png", ".pdf", ".json")


class _ForScripts(json.JSONEncoder):
    """JSON encoder whose output cannot end a script element, whatever names and titles it holds."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", r"\u003c")


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
