"""Formulas found, and which of them to believe: held-out rows and simplicity decide, nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .finish import EXACT
from .products import Floats, Products

ROUNDED = 0.01
"""How far a coefficient may be from an integer to be tried as one."""


@dataclass(eq=False)
class Candidate:
    """A formula of one output, and how well it does.

    Args:
        formula: what it is.
        rounding: the furthest that a weight was from the exact one that it was taken for.
        before: root mean square of the residual on the held-out rows before weights were snapped.
        errors: squared residuals on the held-out rows.
        exact: it explains all rows to float precision.
        runs: those that led to it.
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
    """The rows of one output, some of them held out, and the formulas that were found for it.

    Args:
        x, y: rows to learn from.
        held_x, held_y: rows to choose by.
        constants: coefficients and an intercept may be any number.
        scales, scale: what columns and target are divided by for training.
        candidates: by their keys.
        read: runs that were read.
        tried: formulas of snapped products that need no second look.
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
        """Takes a formula, and the same with integers for the coefficients that are close to one.

        Without constants all coefficients become integers, and there is no intercept.
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
        """See `choose`."""
        if self._chosen is None:
            self._chosen = choose([*self.candidates.values()])
        return self._chosen

    def ranked(self) -> list[Candidate]:
        """The chosen candidate, and the others that do better than all simpler ones, the best of them first."""
        front: list[Candidate] = []
        for candidate in sorted(self.candidates.values(), key=lambda c: (c.formula.complexity, c.error)):
            if not front or candidate.error < front[-1].error:
                front.append(candidate)
        chosen = self.chosen
        return [chosen, *(c for c in reversed(front) if c is not chosen)]


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """The simplest formula of those that do as well on the held-out rows as the best one.

    As well means: within two standard errors, or within a hundredth of its error. Where formulas explain all rows to
    float precision, it is the simplest of these.
    """
    best = min(candidates, key=lambda c: c.error)

    def as_good(candidate: Candidate) -> bool:
        excess = candidate.errors - best.errors
        return bool(excess.mean() <= max(2 * excess.std() / np.sqrt(len(excess)), 0.01 * best.error))

    exact = [c for c in candidates if c.exact]
    return min(exact or filter(as_good, candidates), key=lambda c: (c.formula.complexity, c.error))


def rms(values: Floats) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))
