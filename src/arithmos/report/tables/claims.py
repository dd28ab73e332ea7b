"""Table of claims with their verdicts."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..._choices import Format
from ..._frames import records
from ...papers.claims import WORDS
from .grid import Cell, Grid, to_json

Row = Mapping[str, Any]


def render_claims(frame: pd.DataFrame, format: Format = "text", *, width: int | None = None) -> str:
    """Render claims with their verdicts as text, Markdown, LaTeX, HTML or JSON.

    Args:
        frame: result of `claims`.
        format: "text", "markdown", "latex", "html" or "json".
        width: columns of the terminal that text must fit; any width by default.
    """
    return to_json(frame) if format == "json" else claims_grid(frame).write(format, width)


def claims_grid(frame: pd.DataFrame) -> Grid:
    """Return the table of claims with their verdicts; its notes give each criterion and the deciding numbers."""
    rows = records(frame)
    cells = [[Cell(row[name]) for name in ("claim", "verdict", "text", "where")] for row in rows]
    counts = [f"{sum(row['verdict'] == word for row in rows)} {word}" for word in WORDS]
    notes = [f"{row['claim']} holds if {row['criterion']}. {row['numbers']}." for row in rows]
    header = ["Claim", "Verdict", "What the paper says", "Where"]
    return Grid(f"The paper's claims: {', '.join(counts)}", header, [cells], notes, optional=["Where"])
