"""Certificates: how far a formula can be trusted, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .approximation import flexible_part, rival, table_column
from .numbers import is_simple
from .precision import resolution, rounding
from .refine import Refined
from .structure import Dependence, structure
from .terms import Bools, Floats, Node, numbers, used, values

FitVerdict = Literal["exact", "noise", "not found"]

VERDICTS: tuple[FitVerdict, ...] = ("exact", "noise", "not found")
"""Verdicts from best to worst."""
SAYS: dict[FitVerdict, str] = {
    "exact": "explains every row to rounding",
    "noise": "explains the data up to noise of size {sigma:.3g}; the residual shows no structure",
    "not found": "no formula found in reach; this is the best approximation",
}
EVIDENCE_BITS = 100.0
"""Bits that the rows of an exact formula must hold beyond its constants."""
SPARE_ROWS = 4
"""Rows beyond the number of constants that an exact formula needs."""
ROWS_PER_CONSTANT = 5
"""Rows per constant, and ten more, that a formula of noisy data needs."""
SMALLEST_NOISE = 1e-5
"""Noise, relative to the target's deviation, below which a formula with estimated constants is no law with noise."""
MOST_COUNTED = 10_000
"""Rows among which different ones are counted."""
MOST_TESTED = 20_000
"""Rows of the tests for structure."""
LEAST_R2 = 0.5
"""Share of the variance of unused rows that a formula must explain."""
DETERMINED = 1e-7
"""Largest relative error of the constants of an exact formula."""
FINE = 1e-3
"""Largest rounding of a target, relative to its deviation, at which a formula can be exact."""


@dataclass(frozen=True)
class Constant:
    """Number in a formula, with its 95 % interval.

    Args:
        value: the number in the formula.
        low, high: interval of its least-squares estimate.
        exact: whether the number was meant: an integer, a fraction, a short decimal or a multiple of π within the
            interval.
    """

    value: float
    low: float
    high: float
    exact: bool

    def __str__(self) -> str:
        if self.exact:
            return f"{self.value:.10g}"
        half = (self.high - self.low) / 2
        return f"{self.value:.6g} ± {half:.2g}"


@dataclass(frozen=True)
class Certificate:
    """Evidence for a formula. With several outputs, each figure is that of the worst.

    Args:
        verdict: "exact" if the formula explains all rows to rounding; "noise" if what it leaves is noise: tests find no
            dependence of the residual on the columns, and it has few estimated constants for its columns; "not found"
            otherwise.
        reason: why the verdict is "not found"; otherwise empty.
        rows: number of rows.
        checked: rows among them that were not used to find the formula.
        r2: share of the variance explained, on all rows.
        r2_checked: share of the variance explained on the checked rows, before the constants were fitted to them.
        sigma: root-mean-square residual, in units of the target.
        residual: root-mean-square residual relative to the target's.
        constants: numbers in the formula with their intervals.
        unused: columns that the formula does not use.
        tried: number of formulas that were tried.
        complete: whether the search ended by itself rather than at the time limit or by an interrupt.
        elapsed_s: seconds that the whole fit took.
    """

    verdict: FitVerdict
    reason: str
    rows: int
    checked: int
    r2: float
    r2_checked: float
    sigma: float
    residual: float
    constants: tuple[Constant, ...]
    unused: tuple[str, ...]
    tried: int
    complete: bool
    elapsed_s: float

    @property
    def exact(self) -> bool:
        """Whether the formula explains all rows to rounding."""
        return self.verdict == "exact"

    def __str__(self) -> str:
        constants = ", ".join(map(str, self.constants)) or "none"
        ended = "" if self.complete else ", ended early"
        lines = [
            f"verdict           {self.verdict}: {SAYS[self.verdict].format(sigma=self.sigma)}",
            *([f"reason            {self.reason}"] if self.reason else []),
            f"rows              {self.rows}, of which {self.checked} were not used to find the formula",
            f"R²                {_share(self.r2)}, on the rows not used {_share(self.r2_checked)}",
            f"residual          {self.sigma:.3g}, {self.residual:.2g} of the target",
            f"constants         {constants}",
            f"columns unused    {len(self.unused)}{': ' + _some(self.unused) if self.unused else ''}",
            f"search            {self.tried} formulas in {self.elapsed_s:.1f} s{ended}",
        ]
        return "\n".join(lines)


def _share(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.6f}"


def _some(names: Sequence[str], most: int = 8) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Judgment:
    """Verdict on one formula with its reason and figures."""

    verdict: FitVerdict
    reason: str
    r2: float
    sigma: float
    residual: float


def judge(
    refined: Refined, x: Floats, y: Floats, w: Floats, *, checked: Bools, before: Floats, names: Sequence[str]
) -> Judgment:
    """Judge a formula by all rows.

    Args:
        refined: the formula with its constants fitted to all rows.
        x, y, w: all rows.
        checked: rows that were not used to find the formula.
        before: values of the formula on all rows before its constants were fitted to the checked ones.
        names: names of the columns.
    """
    node = refined.node
    fitted = values(node, x)
    residual = y - fitted
    middle = np.average(y, weights=w)
    spread = math.sqrt(np.average((y - middle) ** 2, weights=w))
    sigma = math.sqrt(np.average(residual**2, weights=w)) if np.isfinite(residual).all() else math.inf
    size = math.sqrt(np.average(y**2, weights=w))
    figures = (1 - (sigma / spread) ** 2 if spread else 1.0, sigma, sigma / size if size else 0.0)
    columns = sorted(used(node))
    distinct = len(np.unique(x[:MOST_COUNTED, columns], axis=0)) if columns else 1
    if not _exact(refined, residual, x, y, spread, distinct):
        reason = _not_noise(node, residual, x, y, w, fitted, checked, before, distinct, names)
        return Judgment("not found", reason, *figures) if reason else Judgment("noise", "", *figures)
    return Judgment("exact", "", *figures)


def free_count(node: Node) -> int:
    """Return the number of constants that were estimated or chosen, exponents included."""
    return len([number for number in numbers(node) if number not in (0.0, 1.0, -1.0)])


def _exact(refined: Refined, residual: Floats, x: Floats, y: Floats, spread: float, distinct: int) -> bool:
    """Return whether rounding explains the residual, and the rows are enough to say so."""
    node = refined.node
    if not spread:
        return True
    far, allowed, digits = np.abs(residual), rounding(node, x, y), resolution(y)
    if not (far <= allowed).all():
        if not digits.any() or digits.max() > FINE * spread:
            return False
        if not (far <= 1.001 * digits + allowed).all() or not all(map(is_simple, numbers(node))):
            return False
        allowed = allowed + digits
    if not _determined(refined, float(np.sqrt(np.mean(allowed**2)))) or table_column(node, x) is not None:
        return False
    spare = distinct - free_count(node)
    bits = spare * math.log2(max(spread / max(float(np.mean(allowed)), 1e-300), 1.0))
    return spare >= SPARE_ROWS and bits >= EVIDENCE_BITS


def _determined(refined: Refined, deviation: float) -> bool:
    """Return whether residuals of a size leave no doubt about the constants that were estimated.

    A ratio of polynomials comes near a smooth function to rounding, but then others with different constants do too.
    """
    pairs = zip(numbers(refined.node), refined.errors.tolist(), strict=True)
    return all(is_simple(number) or deviation * error <= DETERMINED * abs(number) for number, error in pairs)


def _not_noise(
    node: Node,
    residual: Floats,
    x: Floats,
    y: Floats,
    w: Floats,
    fitted: Floats,
    checked: Bools,
    before: Floats,
    distinct: int,
    names: Sequence[str],
) -> str:
    """Return why the residual of a formula is not just noise, or nothing."""
    count = free_count(node)
    needed = 10 + ROWS_PER_CONSTANT * max(count, len(used(node)))
    if not np.isfinite(fitted).all():
        return "the formula has no value on some rows"
    if distinct < needed:
        return f"{distinct} different rows are too few for {count} constants; {needed} would do"
    share = r_squared(y[checked], before[checked], w[checked])
    if not share >= LEAST_R2:
        return f"the formula explains {max(share, 0):.0%} of the variance of rows not used to find it"
    inside, outside = residual[~checked] ** 2, (y - before)[checked] ** 2
    if outside.mean() > (1 + 8 / math.sqrt(len(outside))) * 1.2 * inside.mean():
        return "the residual is larger on rows not used to find the formula"
    if (column := table_column(node, x)) is not None:
        return f"{names[column]} has so few different values that the constants may be those of a table"
    spread = float(np.std(y))
    tiny = float(np.sqrt(np.mean(residual**2))) < SMALLEST_NOISE * spread
    if tiny and not resolution(y).any() and not all(map(is_simple, numbers(node))):
        return "the residual is too small for noise, and more than rounding: the formula may be an approximation"
    order = sorted(used(node))
    every = max(1, math.ceil(len(y) / MOST_TESTED))
    finding = structure(residual[::every], x[::every], w[::every], order, fitted[::every])
    if finding:
        return describe(finding, names)
    if part := flexible_part(node):
        where = _some([names[i] for i in sorted(part.columns)])
        flexible = f"{part.constants} estimated constants in {part.symbols} symbols of {where}"
        return f"the formula may be an approximation: {flexible} can follow any smooth curve"
    if other := rival(node, x, y, w):
        return f"the formula may be an approximation: {other[0]} {names[other[1]]} explains as much with less"
    return ""


def describe(finding: Dependence, names: Sequence[str]) -> str:
    """Say what a test for structure found."""
    where = _some([names[i] for i in finding.columns]) or "the fitted values"
    return f"the residual depends on {where} (test of {finding.test}, p = {finding.significance:.1g})"


def r_squared(y: Floats, fitted: Floats, w: Floats) -> float:
    """Return the share of the variance that values explain; NaN where there is none."""
    if len(y) < 2:
        return math.nan
    total = float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    left = float(np.average((y - fitted) ** 2, weights=w))
    return 1 - left / total if total > 0 and math.isfinite(left) else math.nan
