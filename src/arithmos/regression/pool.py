"""Candidate formulas for one output: refined, scored by description length, and kept by form."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event

import numpy as np

from .numbers import exactly, is_simple, is_simple_exponent, likely
from .precision import rounding
from .refine import Refined, free_numbers, loss_of, refine
from .roots import joined
from .terms import Column, Floats, Node, PowerProduct, complexity, exponents, numbers, renumbered, without_zeros
from .tidy import tidy, variants
from .units import Units

BITS_PER_SYMBOL = 5.0
BITS_PER_SIGN = 0.5
BITS_PER_NUMBER = 0.1
"""Beside its symbol, so that a number in front of a sum is preferred to the same number in each of its terms."""
EXACT = 1e-12
"""Relative residual below which the description of the residual gets no shorter."""
NEARLY_EXACT = 1e-9
"""Relative residual below which rounding in the arithmetic of the formula is looked at."""
CONFIDENT = 3.0
"""Half width of the interval of a constant, in standard errors."""
MOST_REJECTED = 8
"""Constants of a formula that may resist being replaced before the others are left as they are."""
SNAP_STEPS = 5


@dataclass(frozen=True)
class Candidate:
    """Formula with its loss on the rows of the search.

    Args:
        node: the formula.
        loss: weighted sum of squared residuals.
        bits: description length of the formula and the residual.
        complexity: symbols in the written formula.
    """

    node: Node
    loss: float
    bits: float
    complexity: int


@dataclass(eq=False)
class Pool:
    """Rows of a search and the formulas found so far.

    Args:
        x, y, w: rows, targets and weights.
        deadline: time of `time.monotonic` at which the search ends.
        seed: seed of initial weights.
        stop: event that ends the search.
        units: units that formulas must agree with, or None.
        found: candidates by form.
        offered: number of formulas that were tried.
    """

    x: Floats
    y: Floats
    w: Floats
    deadline: float
    seed: int = 0
    stop: Event = field(default_factory=Event)
    units: Units | None = None
    found: dict[object, Candidate] = field(default_factory=dict)
    offered: int = 0

    def __post_init__(self) -> None:
        self.scale = float((self.w * self.y) @ self.y)

    def over(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() > self.deadline or self.stop.is_set()

    def offer(self, node: Node, steps: int = 12) -> Candidate | None:
        """Refine a formula and keep it if it is the best of its form and its units agree."""
        if self.units and not self.units.allow(node):
            return None
        self.offered += 1
        refined = refine(node, self.x, self.y, self.w, steps=steps)
        return self._keep(self._candidate(refined.node, refined.loss))

    def _keep(self, made: Candidate) -> Candidate | None:
        if not math.isfinite(made.loss) or (self.units and not self.units.allow(made.node)):
            return None
        key = form(made.node)
        known = self.found.get(key)
        if known is None or made.bits <= known.bits:
            self.found[key] = made
        return made

    def agrees(self, part: Node) -> bool:
        """Return whether a part of a formula adds nothing of different units."""
        return not self.units or self.units.allow_part(part)

    def kept(self, node: Node) -> Candidate:
        """Return a formula as it is as a candidate."""
        return self._candidate(node, loss_of(node, self.x, self.y, self.w))

    def _candidate(self, node: Node, loss: float) -> Candidate:
        written = joined(node)
        return Candidate(node, loss, self._bits(written, loss), complexity(written))

    def _bits(self, node: Node, loss: float) -> float:
        """Return the description length of a formula and of what it leaves."""
        n, free = len(self.y), sum(not is_simple(number) for number in numbers(node))
        floor = EXACT**2 * self.scale + np.finfo(float).tiny
        return (
            n / 2 * math.log2((loss + floor) / (self.scale + np.finfo(float).tiny))
            + free / 2 * math.log2(max(n, 2))
            + BITS_PER_SYMBOL * complexity(node)
            + BITS_PER_SIGN * sum(number < 0 for number in numbers(node))
            + BITS_PER_NUMBER * sum(number not in (0.0, 1.0, -1.0) for number in numbers(node))
            + sum(_exponent_bits(power, n) for power in exponents(node))
        )

    @property
    def best(self) -> Candidate:
        """The candidate with the shortest description."""
        return min(self.found.values(), key=lambda candidate: candidate.bits)

    @property
    def residual(self) -> float:
        """Relative root-mean-square residual of the best candidate."""
        return math.sqrt(self.best.loss / self.scale) if self.scale else 0.0

    def finish(self, count: int) -> None:
        """Replace the constants of the best candidates by the numbers that were meant."""
        for candidate in sorted(self.found.values(), key=lambda candidate: candidate.bits)[:count]:
            for node in variants(candidate.node):
                snapped = snap(node, self.x, self.y, self.w).node
                if self.units and not self.units.allow(snapped):  # its constants had units only for not being exact
                    self.found.pop(form(candidate.node), None)
                    break
                short = tidy(snapped, self.x)
                short = renumbered(short, map(exactly, numbers(short)))
                one, other = self.kept(short), self.kept(snapped)
                self._keep(one if one.bits <= other.bits else other)


def _exponent_bits(power: float, rows: int) -> float:
    """Return the description length of an exponent: a few bits for usual ones, many for a decimal."""
    if power % 0.5 == 0:
        return abs(power)
    return 8.0 if is_simple_exponent(power) else 12.0 + math.log2(rows) / 2


def form(node: Node) -> object:
    """Return a key that formulas share if they differ in the values of their constants only."""
    if isinstance(node, Column):
        return node.index
    if isinstance(node, PowerProduct):
        return ("*", frozenset(zip(map(form, node.factors), node.exponents, strict=True)))
    terms = frozenset(
        (form(term), c if c in (1, -1) else None) for c, term in zip(node.coefficients, node.terms, strict=True)
    )
    return ("+", terms, bool(node.constant))


def snap(node: Node, x: Floats, y: Floats, w: Floats) -> Refined:
    """Replace constants by the numbers that were meant, as many at a time as the residual allows."""
    best = refine(node, x, y, w)
    free = free_numbers(best.node)
    floor = _floor(best, x, y, w)
    variance = (best.loss + floor) / max(len(y) - int(free.sum()), 1)
    limit = best.loss + floor
    rejected = 0
    while rejected < MOST_REJECTED and (choices := sorted(_choices(best, free, math.sqrt(variance)))):
        count = len(choices)
        while count:
            trial, fixed = [*numbers(best.node)], free.copy()
            for _, index, number in choices[:count]:
                trial[index], fixed[index] = number, False
            moved = refine(renumbered(best.node, iter(trial)), x, y, w, fixed, steps=SNAP_STEPS)
            if moved.loss <= limit + max(CONFIDENT**2, count + CONFIDENT * math.sqrt(2 * count)) * variance:
                limit, best, free = max(limit, moved.loss), moved, fixed
                break
            count //= 2
        else:
            free[choices[0][1]] = False
            rejected += 1
    return refine(without_zeros(best.node), x, y, w, np.zeros(len(numbers(without_zeros(best.node))), bool))


def _floor(refined: Refined, x: Floats, y: Floats, w: Floats) -> float:
    """Return the sum of squared residuals that float64 arithmetic may cause."""
    scale = float((w * y) @ y)
    if refined.loss > NEARLY_EXACT**2 * scale:
        return (1e-14) ** 2 * scale
    allowed = rounding(refined.node, x, y)
    return float((w * allowed) @ allowed)


def _choices(refined: Refined, free: np.ndarray, deviation: float) -> Iterator[tuple[float, int, float]]:
    """Yield the rank, position and new value of constants that can be replaced, those with most evidence first."""
    for index, value in enumerate(numbers(refined.node)):
        if not free[index]:
            continue
        error = CONFIDENT * deviation * float(refined.errors[index]) + 1e-14 * abs(value)
        if abs(value) <= error:
            yield 1.0, index, 0.0
        elif found := likely(value, error):
            evidence, number = found
            yield -evidence, index, number
