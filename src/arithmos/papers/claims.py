"""Claims of a paper, and the verdict of stored runs on each.

A claim *holds* if its criterion is met and *fails* if the runs contradict it. It is *undecided* if an interval contains
the bound of the criterion, if a rank test finds neither order, if a test that finds no difference would not have found
one of 50 points, or if one of its cells has fewer runs than the catalogue demands. A claim of several parts holds if
all do, and fails if one does.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, get_args

import pandas as pd

from ..judging.cells import Cells, judged
from ..store import Store
from . import CLAIMS, EXPERIMENTS, Experiment
from .evidence import Cases, Claim, TooFewRuns, cases_of

ClaimVerdict = Literal["holds", "fails", "undecided"]
WORDS: tuple[ClaimVerdict, ...] = get_args(ClaimVerdict)

Row = Mapping[str, Any]


def claims(store: Store, names: Collection[str] | None = None, *, criterion: str | None = None) -> pd.DataFrame:
    """Test a paper's claims on stored runs: `claim`, `where`, `text`, `criterion`, `verdict` and `numbers`.

    Args:
        store: the store of the runs.
        names: names of the claims; all by default.
        criterion: name of the thresholds; by default the paper's first.
    """
    chosen = CLAIMS.values() if names is None else [CLAIMS[name] for name in names]
    return claims_of(judged(store, _experiments(chosen), criterion), chosen)


def claims_of(cells: Cells, chosen: Collection[Claim]) -> pd.DataFrame:
    """Return the result of `claims` for experiments whose runs are judged."""
    cases = cases_of(cells, _experiments(chosen))
    rows = []
    for claim in chosen:
        verdict, numbers = decide(claim, cases)
        row = {"claim": claim.name, "where": claim.where, "text": claim.text, "criterion": claim.criterion}
        rows.append(row | {"verdict": verdict, "numbers": numbers})
    return pd.DataFrame(rows)


def _experiments(chosen: Iterable[Claim]) -> list[Experiment]:
    return [
        EXPERIMENTS[name]
        for name in dict.fromkeys(f"{claim.paper}/{name}" for claim in chosen for name in claim.experiments)
    ]


def decide(claim: Claim, cases: Cases) -> tuple[ClaimVerdict, str]:
    """Return the verdict on a claim and the numbers behind it."""
    try:
        outcome = claim.test(cases)
    except TooFewRuns as missing:
        return "undecided", str(missing)
    words: dict[bool | None, ClaimVerdict] = {True: "holds", False: "fails", None: "undecided"}
    return words[outcome.holds], outcome.numbers
