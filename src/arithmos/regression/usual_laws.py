"""Power laws with usual exponents, for noisy data.

There, decimal exponents of arbitrary sums fit better than the law itself. Here exponents are multiples of ½ from the
start, and a law costs the bits it takes to write it down. All laws of up to four factors are tried; then the best are
extended, and their factors exchanged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from .ladder import Target
from .pool import BITS_PER_SYMBOL, Pool
from .power_laws import logarithms, offer_law
from .terms import Floats, Node, PowerProduct, TermSum, complexity

USUAL = np.array([-5.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0])
"""Exponents that are added to a law at a time."""
THIRDS = np.array([-2 / 3, -1 / 3, 1 / 3, 2 / 3])
"""Further exponents of laws with one factor."""
LARGEST = 6.0
"""Largest exponent of a short law."""
MOST_PAIRED = 750
"""Bases of which two are combined."""
MOST_TRIPLES = 150
"""Bases of which three are combined."""
MOST_FOURS = 24
"""Bases of which four are combined."""
MOST_EXCHANGED = 200
"""Bases of which two take the place of two others."""
MOST_STACKED = 100_000
"""Choices of bases that are solved at a time."""
EXTENSIONS = 4
WIDTH = 60
"""Laws that are extended at a time."""
OFFERED = 20
EXCHANGED = 2
"""Best laws of which factors are replaced."""

Law = tuple[tuple[int, float], ...]
"""Bases of a law with their exponents."""


@dataclass(frozen=True, eq=False)
class LogRows:
    """Rows of a power law in logarithms, centered.

    Args:
        design: logarithms of the bases, `[rows, bases]`.
        rest: logarithms of the target, `[rows]`.
        weight: weights of the rows; their sum is 1.
        costs: bits to write down each base.
    """

    design: Floats
    rest: Floats
    weight: Floats
    costs: Floats

    def bits(self, losses: Floats) -> Floats:
        """Return the description length of what a law leaves."""
        whole = float(self.weight @ self.rest**2)
        shares: Floats = len(self.rest) / 2 * np.log2(np.maximum(losses, 1e-30) / whole)
        return shares


def usual_law(pool: Pool, target: Target, most: int) -> None:
    """Offer power laws with usual exponents of columns and of sums of columns.

    Args:
        pool: rows and candidates.
        target: what is explained.
        most: number of columns and sums.
    """
    if not target.t.all():
        return
    bases, logs = logarithms(pool, target.columns, most)
    weight = pool.w * (target.slope * target.t) ** 2
    rest = np.log(np.abs(target.t))
    if not bases or not np.ptp(rest) > 0:
        return
    weight = weight / weight.sum()
    design = np.stack(logs, 1)
    costs = BITS_PER_SYMBOL * np.array([complexity(base) for base in bases], np.float64)
    rows = LogRows(design - weight @ design, rest - weight @ rest, weight, costs)
    found = _short(rows, (MOST_PAIRED, MOST_TRIPLES, MOST_FOURS))
    _extend(rows, found, _factors(bases))
    _exchange(rows, found)
    for law in sorted(found, key=found.__getitem__)[:OFFERED]:
        offer_law(pool, target, [bases[k] for k, _ in law], [p for _, p in law])


def _short(rows: LogRows, combined: Sequence[int]) -> dict[Law, float]:
    """Return the best laws of each small number of factors with their description lengths.

    Args:
        rows: rows of the laws.
        combined: number of bases of which two are combined, of which three are, and so on.
    """
    weighted = rows.design * rows.weight[:, None]
    gram, slopes = weighted.T @ rows.design, weighted.T @ rows.rest
    whole, count = float(rows.weight @ rows.rest**2), len(gram)
    found: dict[Law, float] = {}

    def add(chosen: NDArray[np.intp], powers: Floats) -> None:
        part = gram[chosen[:, :, None], chosen[:, None, :]]
        left = whole - 2 * (powers * slopes[chosen]).sum(1) + np.einsum("si,sij,sj->s", powers, part, powers)
        scores = rows.bits(left) + rows.costs[chosen].sum(1) + _exponent_bits(powers).sum(1)
        scores = np.where((powers != 0).all(1) & (np.abs(powers) <= LARGEST).all(1), scores, np.inf)
        for k in np.argsort(scores)[:WIDTH].tolist():
            if np.isfinite(scores[k]):
                found[tuple(zip(chosen[k].tolist(), powers[k].tolist(), strict=True))] = float(scores[k])

    powers = np.concatenate([USUAL, THIRDS])
    add(np.repeat(np.arange(count), len(powers))[:, None], np.tile(powers, count)[:, None])
    for chosen in chain.from_iterable(_choices(min(count, most), k) for k, most in enumerate(combined, 2)):
        for turn in range(chosen.shape[1]):
            turned = np.roll(chosen, turn, axis=1)
            add(turned, _nearest(gram[turned[:, :, None], turned[:, None, :]], slopes[turned]))
    best = [law for factors in range(1, len(combined) + 2) for law in _best(found, factors)]
    return {tuple(sorted(law)): found[law] for law in best}


def _best(found: dict[Law, float], factors: int) -> list[Law]:
    """Return the best laws with a number of factors."""
    return sorted((law for law in found if len(law) == factors), key=found.__getitem__)[:WIDTH]


def _choices(bases: int, factors: int) -> Iterator[NDArray[np.intp]]:
    """Yield stacks of all choices of a number of bases."""
    chosen = combinations(range(bases), factors)
    while stack := [*islice(chosen, MOST_STACKED)]:
        yield np.array(stack, np.intp)


def _nearest(gram: Floats, slopes: Floats) -> Floats:
    """Solve stacks of small systems for multiples of ½: the last unknown is rounded first, then the others given it."""
    gram, slopes = gram.copy(), slopes.copy()
    size = gram.shape[1]
    with np.errstate(all="ignore"):
        for j, i in combinations(range(size), 2):
            factor = gram[:, i, j] / gram[:, j, j]
            gram[:, i] -= factor[:, None] * gram[:, j]
            slopes[:, i] -= factor * slopes[:, j]
        powers = np.zeros_like(slopes)
        for i in reversed(range(size)):
            known = (gram[:, i, i + 1 :] * powers[:, i + 1 :]).sum(1)
            powers[:, i] = np.rint(2 * (slopes[:, i] - known) / gram[:, i, i]) / 2
    return np.nan_to_num(powers, nan=0.0, posinf=np.inf, neginf=np.inf).clip(-2 * LARGEST, 2 * LARGEST)


def _exponent_bits(powers: Floats) -> Floats:
    bits: Floats = BITS_PER_SYMBOL * (np.abs(powers) != 1) + np.abs(powers)
    return bits


def _factors(bases: Sequence[Node]) -> list[dict[int, float]]:
    """Return what may be added to a law: each base, and each sum divided by one of its terms, as in 1 - v²/c²."""
    factors = [{k: 1.0} for k in range(len(bases))]
    known = {base: k for k, base in enumerate(bases)}
    for k, base in enumerate(bases):
        if isinstance(base, TermSum):
            parts = [_powers_of(term) for term in base.terms]
            factors += [{k: 1.0} | {known[c]: -p for c, p in part.items()} for part in parts if set(part) <= set(known)]
    return factors


def _extend(rows: LogRows, found: dict[Law, float], factors: Sequence[dict[int, float]]) -> None:
    """Add laws with more factors, built from the best."""
    design = np.stack([sum(p * rows.design[:, k] for k, p in factor.items()) for factor in factors], 1)
    sizes = rows.weight @ design**2
    extra = np.array([sum(rows.costs[k] for k in factor) for factor in factors])[:, None] + _exponent_bits(USUAL)
    laws = [law for factors in range(1, max(map(len, found)) + 1) for law in _best(found, factors)]
    for _ in range(EXTENSIONS):
        rests = np.stack([rows.rest - sum(p * rows.design[:, k] for k, p in law) for law in laws])
        losses = (rows.weight * rests**2).sum(1)[:, None, None]
        left = losses - 2 * USUAL * ((rows.weight * rests) @ design)[:, :, None] + USUAL**2 * sizes[:, None]
        scores = rows.bits(left) + np.array([_written(rows, law) for law in laws])[:, None, None] + extra
        order = np.argsort(scores, axis=None)[: 4 * WIDTH]
        longer: list[Law] = []
        for state, factor, power in zip(*np.unravel_index(order, scores.shape), strict=True):
            powers = dict(laws[state])
            for k, p in factors[factor].items():
                powers[k] = powers.get(k, 0.0) + p * float(USUAL[power])
            law = tuple(sorted((k, p) for k, p in powers.items() if p))
            if law and law not in found and len(longer) < WIDTH:
                found[law] = float(rows.bits(left[state, factor, power])) + _written(rows, law)
                longer.append(law)
        if not longer:
            break
        laws = longer


def _exchange(rows: LogRows, found: dict[Law, float]) -> None:
    """Add laws in which two factors of one of the best laws are replaced."""
    for law in sorted(found, key=found.__getitem__)[:EXCHANGED]:
        for dropped in combinations(law, 2) if len(law) > 3 else ():
            kept = [part for part in law if part not in dropped]
            rest = rows.rest - sum(p * rows.design[:, k] for k, p in kept)
            for new in _short(replace(rows, rest=rest), (MOST_EXCHANGED,)):
                powers = dict(kept)
                for k, p in new:
                    powers[k] = powers.get(k, 0.0) + p
                made = tuple(sorted((k, p) for k, p in powers.items() if p))
                if made and made not in found:
                    left = rows.rest - sum(p * rows.design[:, k] for k, p in made)
                    found[made] = float(rows.bits(rows.weight @ left**2)) + _written(rows, made)


def _written(rows: LogRows, law: Law) -> float:
    """Return the bits to write down a law."""
    return float(sum(rows.costs[k] + _exponent_bits(np.array(p)) for k, p in law))


def _powers_of(node: Node) -> dict[Node, float]:
    """Return the factors of a monomial with their exponents."""
    if isinstance(node, PowerProduct):
        return dict(zip(node.factors, node.exponents, strict=True))
    return {node: 1.0}
