"""Search for the formula of one output: steps in closed form first, then networks, until one leaves nothing."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import numpy as np

from .certificate import LEAST_R2
from .compounds import compounds
from .ladder import (
    POWERS,
    Target,
    dense_polynomials,
    dense_ratios,
    divided,
    polynomials,
    raised,
    ratios,
    reduced,
    shifted,
    whole,
)
from .peel import addends_of, differences_of, powers_of
from .pool import Pool
from .power_laws import power_law
from .quadratics import quadratics
from .screen import relevant
from .structure import structure
from .terms import Column, constant, product, used, values
from .two_terms import two_terms
from .usual_laws import usual_law

FOUND = 1e-11
"""Relative residual at which a formula is taken to be found."""
WIDE_BEAM = 200
MOST_SUMS = 1500
"""Sums and powers of sums in the larger dictionaries."""
FEW_SUMS = 60
"""Sums in dictionaries of which many are tried."""
PATIENCE = 2
"""Rounds before the search may end at a simple formula that leaves noise; one more for any other."""

DOUBT = 0.05
"""Significance of structure in the residual at which the search continues; the certificate needs more to reject."""

Step = tuple[str, Callable[[], None]]


def search(pool: Pool, say: Callable[[str], None]) -> None:
    """Fill a pool with formulas.

    The search ends at a formula that leaves nothing, after a round at one that leaves no more than noise, or when the
    time is up.
    """
    pool.offer(constant(float(np.average(pool.y, weights=pool.w))))
    for number, steps in enumerate(_rounds(pool), 1):
        name = ""
        for name, step in steps:  # noqa: B007
            step()
            if pool.residual < FOUND or pool.over():
                break
        pool.finish(12)
        say(f"round {number}: {pool.offered} formulas tried, residual {pool.residual:.2g} of the target after {name}")
        if (
            pool.residual < FOUND
            or pool.over()
            or (number >= (PATIENCE if _simple(pool) else PATIENCE + 1) and only_noise(pool))
        ):
            break


def _simple(pool: Pool) -> bool:
    return pool.best.complexity <= 2 * len(used(pool.best.node)) + 2


def only_noise(pool: Pool) -> bool:
    """Return whether the best formula explains most of the variance and leaves no structure."""
    node = pool.best.node
    fitted = values(node, pool.x)
    residual = pool.y - fitted
    if np.average(residual**2, weights=pool.w) > (1 - LEAST_R2) * np.cov(pool.y, aweights=pool.w):
        return False
    return structure(residual, pool.x, pool.w, sorted(used(node)), fitted, DOUBT) is None


def _rounds(pool: Pool) -> Iterator[Iterator[Step]]:
    columns = relevant(pool)
    power_laws = ("power laws", partial(power_law, pool, whole(pool, range(pool.x.shape[1])), most=0))
    if not columns:
        yield iter([power_laws])
        return
    everything = whole(pool, columns)
    yield iter(
        [
            power_laws,
            ("polynomials", partial(polynomials, pool, everything, 300, 6)),
            ("power laws of sums", partial(power_law, pool, everything)),
        ]
    )
    targets = [everything]
    for powers in powers_of(pool, columns):
        law = product([(Column(i), p) for i, p in powers.items() if p])
        if len(powers) < len(columns) and (rest := divided(pool, everything, law, powers)):
            targets.insert(0, rest)
    for difference in differences_of(pool, columns):
        if rest := divided(pool, everything, difference, used(difference)):
            targets.insert(0, rest)
    yield chain(_laws(pool, targets), _beside_one(pool, everything), _dense(pool, targets))
    others = [reduced(pool, everything, scale, term) for scale, term in addends_of(pool, columns)]
    yield chain(_roots(pool, targets, others), _sparse(pool, targets, 650, 5))
    from .networks import products_of_sums  # loads torch, which the steps in closed form do not need

    yield products_of_sums(pool, columns)
    yield _sparse(pool, targets, 1000, 7)


def _laws(pool: Pool, targets: list[Target]) -> Iterator[Step]:
    for target in targets:
        yield "power laws of sums", partial(power_law, pool, target, MOST_SUMS, beam=WIDE_BEAM)
        yield "usual power laws", partial(usual_law, pool, target, MOST_SUMS // 2)


def _beside_one(pool: Pool, target: Target) -> Iterator[Step]:
    """Yield steps for power laws beside a 1, as in rates of return and in y = 1/(1 + law)."""
    for power in (1.0, -1.0):
        for offset in (1.0, -1.0):
            if part := raised(target, power):
                yield "power laws beside 1", partial(power_law, pool, shifted(part, offset), most=0)
                yield "power laws beside 1", partial(power_law, pool, shifted(part, offset), FEW_SUMS)
                yield "power laws beside 1", partial(usual_law, pool, shifted(part, offset), FEW_SUMS)


def _dense(pool: Pool, targets: list[Target]) -> Iterator[Step]:
    for target in targets:
        for power in POWERS:
            if part := raised(target, power):
                yield "polynomials of a degree", partial(dense_polynomials, pool, part, 16)
        for power in (1.0, 2.0):
            if part := raised(target, power):
                yield "ratios of polynomials", partial(dense_ratios, pool, part, 14)


def _roots(pool: Pool, targets: list[Target], others: list[Target]) -> Iterator[Step]:
    from .power_terms import sums_of_powers  # loads torch

    yield from sums_of_powers(pool, targets)
    for target in targets:
        if target.columns:
            yield "sums of two terms", partial(two_terms, pool, target)
    for target in others:
        for power in POWERS:
            if power != 1 and (part := raised(target, power)):
                yield "roots and a term", partial(polynomials, pool, part, 150, 4)
    for target in targets:
        yield "quadratic equations", partial(quadratics, pool, target, 300, 6)
        for power in (1.0, -1.0, 2.0, -2.0):
            if part := raised(target, power):
                yield "sums of powers of sums", partial(compounds, pool, part, MOST_SUMS, 4)


def _sparse(pool: Pool, targets: list[Target], size: int, terms: int) -> Iterator[Step]:
    for target in targets:
        for power in POWERS:
            if part := raised(target, power):
                yield "sparse polynomials", partial(polynomials, pool, part, size, terms)
        yield "roots of columns", partial(polynomials, pool, target, size, terms, 0.5)
        for power in (1.0, 2.0):
            if part := raised(target, power):
                yield "sparse ratios", partial(ratios, pool, part, size, terms)
