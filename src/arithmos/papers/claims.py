"""The paper's claims, and what stored runs say of each.

A claim *holds* if its criterion is met, *fails* if it is not, and is *undecided* while one of the cells that it is
about has fewer runs than the catalogue says, or too few solved ones for its criterion to be met at all. A claim of
several parts holds if all do.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, get_args

import pandas as pd

from ..judging.cells import Cells, Criterion, judged
from ..report.tables.grid import Cell, Format, Grid, to_json
from ..store import Store
from . import EXPERIMENTS, Experiment
from .evidence import Cases, Claim, TooFewRuns, cases_of
from .madsen2020.claims import CLAIMS

ClaimVerdict = Literal["holds", "fails", "undecided"]
WORDS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)

Row = Mapping[str, Any]


def claims(store: Store, names: Collection[str] | None = None, *, criterion: Criterion = "released") -> pd.DataFrame:
    """What stored runs say of the paper's claims: `claim`, `where`, `text`, `criterion`, `verdict` and `numbers`.

    Args:
        store: where the runs are.
        names: which claims; all by default.
        criterion: the thresholds behind the published decisions, or those of the task's own subsets.
    """
    chosen = CLAIMS.values() if names is None else [CLAIMS[name] for name in names]
    return claims_of(judged(store, _experiments(chosen), criterion), chosen)


def claims_of(cells: Cells, chosen: Collection[Claim]) -> pd.DataFrame:
    """What `claims` makes of experiments whose runs are judged."""
    cases = cases_of(cells, _experiments(chosen))
    rows = []
    for claim in chosen:
        verdict, numbers = decide(claim, cases)
        row = {"claim": claim.name, "where": claim.where, "text": claim.text, "criterion": claim.criterion}
        rows.append(row | {"verdict": verdict, "numbers": numbers})
    return pd.DataFrame(rows)


def _experiments(chosen: Iterable[Claim]) -> list[Experiment]:
    return [EXPERIMENTS[name] for name in dict.fromkeys(name for claim in chosen for name in claim.experiments)]


def decide(claim: Claim, cases: Cases) -> tuple[ClaimVerdict, str]:
    """The verdict on a claim, and the numbers behind it."""
    try:
        outcome = claim.test(cases)
    except TooFewRuns as missing:
        return "undecided", str(missing)
    return "holds" if outcome.holds else "fails", outcome.numbers


def render_claims(frame: pd.DataFrame, format: Format = "text") -> str:
    """Claims with their verdicts as text, Markdown, LaTeX, HTML or JSON.

    Args:
        frame: what `claims` made.
        format: "text", "markdown", "latex", "html" or "json".
    """
    return to_json(frame) if format == "json" else claims_grid(frame).write(format)


def claims_grid(frame: pd.DataFrame) -> Grid:
    """Claims with their verdicts as a table, and below it what decides each and the numbers that did."""
    rows: list[Row] = [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
    cells = [[Cell(row[name]) for name in ("claim", "verdict", "text", "where")] for row in rows]
    counts = [f"{sum(row['verdict'] == word for row in rows)} {word}" for word in WORDS]
    notes = [f"{row['claim']} holds if {row['criterion']}. {row['numbers']}." for row in rows]
    header = ["Claim", "Verdict", "What the paper says", "Where"]
    return Grid(f"The paper's claims: {', '.join(counts)}", header, [cells], notes)
