"""Power laws of columns and of sums of columns: linear in logarithms, then fitted to the output itself."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from .dictionary import sums
from .ladder import Target, promising
from .pool import Pool
from .select import BEAM, subsets
from .terms import Column, Floats, Node, product, scaled, values


def power_law(pool: Pool, target: Target, most: int = 600, terms: int = 8, beam: int = BEAM) -> None:
    """Offer products of powers of columns and of sums of columns."""
    y = target.t
    if not y.all():
        return
    nodes, logs = logarithms(pool, target.columns, most)
    if not nodes:
        return
    weight = np.sqrt(pool.w) * target.slope * np.abs(y)
    weight /= np.sqrt(np.mean(weight**2))
    found = subsets(np.stack(logs, 1), np.log(np.abs(y)), weight, terms, beam)
    for subset in promising(found, len(y)):
        several = np.array([not isinstance(nodes[j], Column) for j in subset.terms.tolist()], bool)
        for exponents in _exponents(subset.coefficients):
            if sum(not _usual(p) for p in np.array(exponents)[several]) > 1:  # such a formula approximates anything
                continue
            offer_law(pool, target, [nodes[j] for j in subset.terms.tolist()], exponents)


def logarithms(pool: Pool, columns: Sequence[int], most: int) -> tuple[list[Node], list[Floats]]:
    """Return columns and sums of columns that are zero nowhere, and the logarithms of their sizes."""
    nodes: list[Node] = []
    logs: list[Floats] = []
    for node in sums(columns, most):
        value = values(node, pool.x)
        if value.all() and np.isfinite(value).all() and pool.agrees(node):
            nodes.append(scaled(-1.0, node) if (value < 0).all() else node)  # so that it has roots
            logs.append(np.log(np.abs(value)))
    return nodes, logs


def offer_law(pool: Pool, target: Target, nodes: Sequence[Node], exponents: Sequence[float]) -> None:
    """Offer a power law with the number in front of it that fits best."""
    law = product([*zip(nodes, exponents, strict=True)])
    size = values(law, pool.x)
    if not np.isfinite(size).all():
        return
    weight = pool.w * target.slope**2 * size
    factor = float(weight @ target.t / (weight @ size))
    if np.isfinite(factor) and factor:
        pool.offer(target.wrap(scaled(factor, law) if abs(factor - 1) > 1e-12 else law))


def _usual(power: float) -> bool:
    """Return whether an exponent is a multiple of ½ or ⅓."""
    return any(abs(power * bottom - round(power * bottom)) < 1e-9 for bottom in (2, 3))


def _exponents(raw: Floats) -> Iterator[list[float]]:
    """Yield exponents rounded to simple fractions, coarse ones first, and finally as they are."""
    tried = []
    for bottom in (1, 2, 4, 5, 6):
        near = [round(p * bottom) / bottom for p in raw.tolist()]
        if max(abs(a - b) for a, b in zip(near, raw, strict=True)) < 0.25 / bottom and near not in tried and any(near):
            tried.append(near)
            yield near
    yield [float(Fraction(p).limit_denominator(1000)) for p in raw.tolist()]
    yield raw.tolist()
