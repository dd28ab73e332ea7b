"""Find and judge the formula of one output: split the rows, search, choose, fit the constants to all rows."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from .certificate import Certificate, Constant, Judgment, judge, r_squared
from .intervals import constants, settled
from .numbers import is_simple
from .pool import Candidate, Pool
from .refine import refine
from .roots import joined
from .search import search
from .terms import Bools, Floats, Node, constant, numbers, renamed, renumbered, used, values, without_zeros
from .units import Units

MOST_VERIFIED = 25
"""Best formulas, and simplest others, that are evaluated on all rows."""
MOST_SHOWN = 12
"""Formulas on a Pareto front."""


@dataclass(frozen=True, eq=False)
class OutputRows:
    """Rows of one output.

    Args:
        x, y, w: columns, target and weights.
        varies: columns that are not the same in every row.
        order: permutation that decides which rows take part in the search.
        names: names of the columns.
        units: units of the columns and of the target, or None.
    """

    x: Floats
    y: Floats
    w: Floats
    varies: Bools
    order: NDArray[np.intp]
    names: Sequence[str]
    units: Units | None = None


@dataclass(frozen=True, eq=False)
class Shown:
    """Formula on a Pareto front with its errors on all rows."""

    node: Node
    complexity: int
    residual: float
    r2: float


@dataclass(frozen=True, eq=False)
class Found:
    """Formula of one output with its evidence.

    Args:
        node: the formula.
        judged: verdict and figures.
        rows, checked: number of rows, and of those not used to find the formula.
        r2_checked: share of the variance of the latter explained, before constants were fitted to them.
        constants: numbers in the formula.
        front: formulas that no simpler one beats.
        tried: number of formulas tried.
        complete: whether the search ended by itself.
    """

    node: Node
    judged: Judgment
    rows: int
    checked: int
    r2_checked: float
    constants: tuple[Constant, ...]
    front: tuple[Shown, ...]
    tried: int
    complete: bool

    def certificate(self, names: Sequence[str], elapsed_s: float) -> Certificate:
        """Return the certificate of the formula."""
        columns = used(self.node)
        return Certificate(
            verdict=self.judged.verdict,
            reason=self.judged.reason,
            rows=self.rows,
            checked=self.checked,
            r2=self.judged.r2,
            r2_checked=self.r2_checked,
            sigma=self.judged.sigma,
            residual=self.judged.residual,
            constants=self.constants,
            unused=tuple(name for i, name in enumerate(names) if i not in columns),
            tried=self.tried,
            complete=self.complete,
            elapsed_s=elapsed_s,
        )


@dataclass(frozen=True)
class SearchPlan:
    """Limits of a search.

    Args:
        constants: whether constants other than integers are allowed.
        complexity: largest complexity of the chosen formula, or None.
        budget_s: time limit.
        check_share: share of the rows that take no part.
        max_rows: most rows to search on.
        seed: seed of initial weights.
    """

    constants: bool
    complexity: int | None
    budget_s: float
    check_share: float
    max_rows: int
    seed: int


def find(rows: OutputRows, plan: SearchPlan, stop: Event, say: Callable[[str], None]) -> Found:
    """Find the formula of one output; an interrupt ends the search and keeps the best so far."""
    held = min(max(1, round(plan.check_share * len(rows.y))), max(len(rows.y) - 2, 0))
    learn = np.sort(rows.order[held : held + plan.max_rows])
    checked = np.ones(len(rows.y), bool)
    checked[learn] = False
    columns = np.flatnonzero(rows.varies)
    pool = Pool(
        rows.x[np.ix_(learn, columns)],
        rows.y[learn],
        rows.w[learn],
        time.monotonic() + plan.budget_s,
        plan.seed,
        stop,
        rows.units and Units([rows.units.columns[i] for i in columns.tolist()], rows.units.target),
    )
    try:
        if np.ptp(rows.y) > 0:
            search(pool, say)
        else:
            pool.offer(constant(float(rows.y[0])))
    except KeyboardInterrupt:
        stop.set()
    candidates = [*pool.found.values()] or [pool.kept(constant(float(np.average(pool.y, weights=pool.w))))]
    if not plan.constants:
        candidates = [pool.kept(_integers(candidate.node)) for candidate in candidates]
    wide = rows.x if rows.varies.all() else rows.x[:, columns]
    best = sorted((one for one in candidates if math.isfinite(one.bits)), key=lambda one: one.bits)
    simple = sorted(best[MOST_VERIFIED:], key=lambda one: (one.complexity, one.bits))
    verified = [*best[:MOST_VERIFIED], *simple[:MOST_VERIFIED]]
    usable = [one for one in verified if np.isfinite(values(one.node, wide)).all()]
    small = [one for one in usable if plan.complexity is None or one.complexity <= plan.complexity]
    chosen = min(small or usable, key=lambda one: one.bits if small else one.complexity)
    names = dict(enumerate(columns.tolist()))
    node = joined(renamed(chosen.node, names))
    before = values(node, rows.x)
    loose = np.array([not is_simple(number) for number in numbers(node)], bool)
    refined = refine(settled(node, rows.x, rows.y, rows.w), rows.x, rows.y, rows.w, loose)
    judged = judge(refined, rows.x, rows.y, rows.w, checked=checked, before=before, names=rows.names)
    return Found(
        node=refined.node,
        judged=judged,
        rows=len(rows.y),
        checked=int(checked.sum()),
        r2_checked=r_squared(rows.y[checked], before[checked], rows.w[checked]),
        constants=constants(refined.node, rows.x, rows.y, rows.w),
        front=_front(usable, chosen, refined.node, names, rows),
        tried=pool.offered,
        complete=not (pool.over() or stop.is_set()),
    )


def _integers(node: Node) -> Node:
    """Return the formula with its constants rounded to integers."""
    return without_zeros(renumbered(node, iter([float(round(number)) for number in numbers(node)])))


def _front(
    usable: Sequence[Candidate], chosen: Candidate, refined: Node, names: dict[int, int], rows: OutputRows
) -> tuple[Shown, ...]:
    """Return the formulas that no simpler one beats, and the chosen one, simplest first."""
    front: list[Candidate] = []
    for candidate in sorted(usable, key=lambda one: (one.complexity, one.loss)):
        if candidate is chosen or not front or candidate.loss < 0.9 * min(one.loss for one in front):
            front.append(candidate)
    best = sorted(front, key=lambda one: (one is not chosen, one.bits))[:MOST_SHOWN]
    shown: list[Shown] = []
    size = math.sqrt(np.average(rows.y**2, weights=rows.w)) or 1.0
    for one in sorted(best, key=lambda one: (one.complexity, one.loss)):
        node = refined if one is chosen else joined(renamed(one.node, names))
        fitted = values(node, rows.x)
        residual = math.sqrt(np.average((fitted - rows.y) ** 2, weights=rows.w)) / size
        made = Shown(node, one.complexity, residual, r_squared(rows.y, fitted, rows.w))
        if one is chosen:
            shown = [other for other in shown if other.residual > residual]
        if one is chosen or not shown or residual < shown[-1].residual:
            shown.append(made)
    return tuple(shown)
