"""Verdicts on published numbers: does each agree with the stored runs?

`comparison` describes how each number is compared. Among the tests of one measure in one experiment, Benjamini and
Hochberg's procedure selects those that differ, so that on average at most 5 % of these differ by chance. Published
success rates of 0 % are a measure of their own there: agreeing on failure is easy, and would make it easier to agree
elsewhere.

A number agrees only if the test could have failed: had the published runs differed from ours by 50 points, or twofold,
the test would have found it with a chance of at least 80 %, at the level that the procedure leaves to this number.
Otherwise the runs cannot tell.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, get_args

import pandas as pd

from .. import statistics
from ..judging.cells import Cells, Judged, judged
from ..statistics import Interval
from ..store import Store
from . import EXPERIMENTS, PAPERS, Experiment, NotRun, Paper
from .comparison import Compared, Printed
from .power import POINTS, POWER, TIMES, Scale

Verdict = Literal["agrees", "differs", "cannot tell", "too few runs", "not run"]
WORDS: tuple[Verdict, ...] = get_args(Verdict)

RATE = 0.05
"""False discovery rate among the numbers of one measure and experiment."""

COLUMNS = [
    *["paper", "experiment", "operation", "model", "label", "at", "measure"],
    *["published", "published_low", "published_high", "published_n", "published_k"],
    *["ours", "ours_low", "ours_high", "n", "k", "engine", "criterion"],
    *["p", "level", "power", "finds", "verdict", "zero", "note", "finding"],
]

Row = Mapping[str, Any]


def verdicts(
    store: Store, experiments: Iterable[Experiment] | None = None, *, criterion: str | None = None
) -> pd.DataFrame:
    """Return a verdict on every published number, one row each.

    Columns are `experiment`, `operation`, `model`, `label`, `at` (position on the axis; empty for a table), `measure`;
    the number as `published`, with its bounds `_low` and `_high`, `published_n` runs and `published_k` solved ones; our
    number likewise as `ours`, `n`, `k`; `engine` and `criterion`; `p`, and the `level` up to which the number differs;
    `power`, the chance of finding a difference of 50 points, or a twofold one; `finds`, the smallest difference that
    would have been found with a chance of 80 %, for rates as a share of runs and for other numbers as a factor, NaN if
    there is none up to 10; `verdict`; `zero`, whether it is a published success rate of 0 %; `note`, a known fault of
    the number or an obstacle to the comparison; `finding`, the written finding on it.

    The verdict is "agrees" or "differs"; "cannot tell" if `power` is below 80 %, or if there are too few solved runs
    for any test; "too few runs" if we have fewer runs than were published; or "not run". Numbers for which no spec
    exists are not run either; `note` has the reason, which a paper can also state for runs that are not made yet.
    Tables that no experiment has are included where all experiments of a paper are judged; `experiment` is then the
    name of their group.

    Args:
        store: the store of the runs.
        experiments: experiments to judge; all by default.
        criterion: name of the thresholds; by default the paper's first. Estimators are those of the published numbers
            either way.
    """
    chosen = list(EXPERIMENTS.values() if experiments is None else experiments)
    return verdicts_of(judged(store, chosen, criterion), chosen)


def verdicts_of(cells: Cells, experiments: Iterable[Experiment]) -> pd.DataFrame:
    """Return the result of `verdicts` for experiments whose runs are judged."""
    chosen = list(experiments)
    rows = [row for experiment in chosen for row in [*_verdicts(cells, experiment), *_without_spec(experiment)]]
    rows += [row for paper in _whole_papers(chosen) for group in paper.not_run for row in _unplaced(group)]
    numbers = dict.fromkeys(["p", "level", "power", "finds"], float)
    return pd.DataFrame(rows, columns=COLUMNS).astype({**numbers, "zero": bool})


def _verdicts(cells: Cells, experiment: Experiment) -> list[dict[str, Any]]:
    """Return the published numbers of an experiment, with the tests of each measure judged together."""
    made = [*_rows(cells, experiment)]
    families: dict[tuple[str, bool], list[tuple[dict[str, Any], Compared]]] = {}
    for row, compared in made:
        if row["verdict"] == "agrees":
            families.setdefault((row["measure"], row["zero"]), []).append((row, compared))
    for (measure, _), family in families.items():
        p = [row["p"] for row, _ in family]
        differs, levels = statistics.benjamini_hochberg(p, RATE), statistics.single_levels(p, RATE)
        for (row, compared), differing, level in zip(family, differs, levels, strict=True):
            power, finds = _power(compared, scale_of(measure), float(level))
            verdict: Verdict = "differs" if differing else "agrees" if power >= POWER else "cannot tell"
            row |= {"level": float(level), "power": power, "finds": finds, "verdict": verdict}
    return [row for row, _ in made]


def _power(compared: Compared, scale: Scale, level: float) -> tuple[float, float]:
    """Return the chance of finding the required difference, and the smallest difference found with enough chance."""
    if compared.power is None:
        return math.nan, math.nan
    test = compared.power

    @cache
    def power(difference: float) -> float:
        return test(difference, level)

    return power(scale.limit), statistics.smallest_found(power, scale.steps, POWER)


def _rows(cells: Cells, experiment: Experiment) -> Iterator[tuple[dict[str, Any], Compared]]:
    """Yield the published numbers of an experiment; those that can be tested agree until all tests are combined."""
    published = experiment.published
    if published is None:
        return
    paper = PAPERS[experiment.paper]
    for spec, at, cell in cells.of(experiment):
        names, row = experiment.describe(spec, at), experiment.printed(spec, at)
        about = {
            "paper": experiment.paper,
            "experiment": experiment.name,
            "at": at,
            "criterion": cells.criterion_of(experiment),
        }
        about |= {name: names[name] for name in ("operation", "model", "label")}
        about |= {"n": cell.n, "k": cell.k, "engine": cell.engine}
        for measure, compare in paper.comparisons.items():
            if not math.isnan(row.get(measure, math.nan)):
                compared = compare(cell, row, published, spec.iterations)
                if not cell.n:
                    compared = replace(compared, note=paper.reason(experiment.name, spec.model.name) or compared.note)
                needed = min(row["n"], published.stated or row["n"])
                yield _row(about | {"measure": measure}, cell, row, compared, needed), compared


def _without_spec(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """Yield the numbers of an experiment's table for which it has no spec; those of a part are the whole's."""
    if experiment.published is None:
        return
    paper = PAPERS[experiment.paper]
    whole = next((one for one in paper.experiments if one.name == experiment.name), experiment)
    run = {(spec.model.name, at if whole.axis else spec.task.operation) for spec, at in whole.places()}
    for key, cell in experiment.published.cells.items():
        if key not in run:
            yield from _not_run(experiment, bool(whole.axis), key, cell, paper.reason(experiment.name, key[0]))


def _whole_papers(experiments: Sequence[Experiment]) -> list[Paper]:
    """Return the papers all of whose experiments are among these."""
    names = {one.qualified_name for one in experiments}
    papers = [PAPERS[key] for key in dict.fromkeys(one.paper for one in experiments if one.paper)]
    return [paper for paper in papers if names.issuperset(one.qualified_name for one in paper.experiments)]


def _unplaced(group: NotRun) -> Iterator[dict[str, Any]]:
    """Yield the numbers of a table that no experiment has."""
    if group.published is not None:
        for key, cell in group.published.cells.items():
            yield from _not_run(group, "at" in group.published.table, key, cell, group.reason)


def _not_run(
    of: Experiment | NotRun, axis: bool, key: tuple[str, Any], printed: Printed, reason: str
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of a cell that was not run."""
    model, place = key
    about = {"paper": of.paper, "experiment": of.name, "at": place if axis else "", "criterion": ""}
    about |= {"operation": "" if axis else place, "model": model, "label": model, "n": 0, "k": 0, "engine": ""}
    for measure in PAPERS[of.paper].comparisons:
        if not math.isnan(printed.get(measure, math.nan)):
            none = Compared(Interval(math.nan), note=reason)
            yield _row(about | {"measure": measure}, Judged(), printed, none, int(printed["n"]))


def is_rate(measure: str) -> bool:
    """Return whether a measure is a share of runs."""
    return measure.endswith("_rate") or measure.startswith("gate_")


def scale_of(measure: str) -> Scale:
    """Return the scale on which differences of a measure are measured."""
    return POINTS if is_rate(measure) else TIMES


def _row(about: Row, cell: Judged, printed: Printed, compared: Compared, needed: int) -> dict[str, Any]:
    measure, n = about["measure"], printed["n"]
    low, high = (printed.get(f"{measure}_{side}", math.nan) for side in ("low", "high"))
    ours, verdict = compared.ours, _verdict(cell, needed, compared)
    return {
        **about,
        **{"published": printed[measure], "published_low": low, "published_high": high},
        **{"published_n": n, "published_k": printed["k"]},
        **{"ours": ours.estimate, "ours_low": ours.low, "ours_high": ours.high},
        **{"p": compared.p if verdict == "agrees" else math.nan, "verdict": verdict},
        "zero": measure == "success_rate" and printed["k"] == 0,
        "note": compared.note,
        "finding": " ".join(found.sentences for found in PAPERS[about["paper"]].findings if found.concerns(about)),
    }


def _verdict(cell: Judged, needed: int, compared: Compared) -> Verdict:
    if cell.n < needed:
        return "too few runs" if cell.n else "not run"
    return "cannot tell" if math.isnan(compared.p) else "agrees"


def matrix(frame: pd.DataFrame) -> pd.DataFrame:
    """Count the published numbers of each experiment by verdict, success rates of 0 % separately.

    There is one row per experiment: `numbers`, `agrees`, `differs`, `cannot tell`, `too few runs` and `not run`, and
    then the same counts for published success rates of 0 %, with names that start with "zero ".

    Args:
        frame: result of `verdicts`.
    """
    rows = []
    for (paper, name), part in frame.groupby(["paper", "experiment"], sort=False):
        row: dict[str, Any] = {"paper": paper, "experiment": name}
        for prefix, group in (("", part[~part["zero"]]), ("zero ", part[part["zero"]])):
            row[f"{prefix}numbers"] = len(group)
            row |= {f"{prefix}{word}": int((group["verdict"] == word).sum()) for word in WORDS}
        rows.append(row)
    return pd.DataFrame(rows)
