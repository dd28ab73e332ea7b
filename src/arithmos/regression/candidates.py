"""Candidate formulas and the choice among them, by held-out rows and simplicity alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .finish import EXACT
from .products import Floats, Products

ROUNDED = 0.01
"""Largest distance from an integer at which a coefficient is also tried as that integer."""


@dataclass(eq=False)
class Candidate:
    """Formula for one output, with its errors.

    Args:
        formula: the function.
        rounding: largest distance between a trained weight and the exact weight it was rounded to.
        before: root mean square of the residual on the held-out rows before weights were snapped.
        errors: squared residuals on the held-out rows.
        exact: whether the formula explains all rows to float precision.
        runs: seeds of the runs that led to it.
        error: mean squared residual on the held-out rows.
    """

    formula: Products
    rounding: float
    before: float
    errors: Floats
    exact: bool
    runs: frozenset[int]
    error: float = field(init=False)

    def __post_init__(self) -> None:
        self.error = float(self.errors.mean())


@dataclass(eq=False)
class Output:
    """Rows of one output, some of them held out, and the candidate formulas for it.

    Args:
        x, y: training rows.
        held_x, held_y: held-out rows, used to choose a formula.
        constants: whether coefficients and the intercept may be any number.
        scales, scale: divisors of the columns and of the target during training.
        candidates: candidates by the key of their formula.
        read: seeds of the runs that were read.
        tried: settled formulas by their snapped products, so that none is settled twice.
    """

    x: Floats
    y: Floats
    held_x: Floats
    held_y: Floats
    constants: bool
    scales: Floats
    scale: float
    candidates: dict[tuple[object, ...], Candidate] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    tried: dict[tuple[object, ...], Products] = field(default_factory=dict)
    _chosen: Candidate | None = None

    def offer(self, formula: Products, rounding: float, before: Products, run: int | None = None) -> None:
        """Add a formula, and its variant with integers for the coefficients that are close to one.

        Without constants, all coefficients become integers and the intercept is dropped.
        """
        numbers = np.array([*formula.coefficients, formula.intercept])
        whole = np.rint(numbers)
        near = np.where((np.abs(numbers - whole) <= ROUNDED) & (whole != 0), whole, numbers)
        variants = [formula, Products(formula.factors, near[:-1], float(near[-1]))]
        if not self.constants:
            kept = whole[:-1] != 0
            variants = [Products([w for w, keep in zip(formula.factors, kept, strict=True) if keep], whole[:-1][kept])]
        error = rms(before(self.held_x) - self.held_y)
        for variant in variants:
            self._add(variant, rounding, error, frozenset() if run is None else frozenset({run}))

    def _add(self, formula: Products, rounding: float, before: float, runs: frozenset[int]) -> None:
        errors = (formula(self.held_x) - self.held_y) ** 2
        if not np.isfinite(errors).all():
            return
        known = self.candidates.get(formula.key)
        runs = runs if known is None else runs | known.runs
        if known is None or errors.mean() < known.error:
            residual = max(rms(formula(self.x) - self.y), rms(np.sqrt(errors)))
            exact = residual <= EXACT * rms(np.concatenate([self.y, self.held_y]))
            self._chosen = None
            self.candidates[formula.key] = Candidate(formula, rounding, before, errors, exact, runs)
        else:
            known.runs = runs

    @property
    def chosen(self) -> Candidate:
        """The candidate that `choose` selects."""
        if self._chosen is None:
            self._chosen = choose([*self.candidates.values()])
        return self._chosen

    def ranked(self) -> list[Candidate]:
        """Return the chosen candidate, then every other that beats all simpler ones, best first."""
        front: list[Candidate] = []
        for candidate in sorted(self.candidates.values(), key=lambda c: (c.formula.complexity, c.error)):
            if not front or candidate.error < front[-1].error:
                front.append(candidate)
        chosen = self.chosen
        return [chosen, *(c for c in reversed(front) if c is not chosen)]


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """Return the simplest formula that does as well on the held-out rows as the best one.

    "As well" means within two standard errors, or within a hundredth of the best error. If some formulas explain all
    rows to float precision, the simplest of those is returned.
    """
    best = min(candidates, key=lambda c: c.error)

    def as_good(candidate: Candidate) -> bool:
        excess = candidate.errors - best.errors
        return bool(excess.mean() <= max(2 * excess.std() / np.sqrt(len(excess)), 0.01 * best.error))

    exact = [c for c in candidates if c.exact]
    return min(exact or filter(as_good, candidates), key=lambda c: (c.formula.complexity, c.error))


def rms(values: Floats) -> float:
    """Return the root mean square of the values."""
    return float(np.sqrt(np.mean(np.square(values))))
