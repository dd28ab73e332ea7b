"""Power laws of columns and of sums of columns: linear in logarithms, then fitted to the output itself."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from .dictionary import sums
from .ladder import Target, promising
from .pool import BITS_PER_SYMBOL, Pool
from .select import BEAM, subsets
from .terms import Column, Floats, Node, PowerProduct, TermSum, complexity, product, scaled, values

USUAL = (-5.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
"""Exponents that are added to a law at a time."""
MOST_FACTORS = 7
WIDTH = 60
"""Laws of usual exponents that are extended per number of factors."""
OFFERED = 15


def power_law(pool: Pool, target: Target, most: int = 600, terms: int = 8, beam: int = BEAM) -> None:
    """Offer products of powers of columns and of sums of columns."""
    y = target.t
    if not y.all():
        return
    nodes, logs = _logarithms(pool, target.columns, most)
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
            _offer(pool, target, [nodes[j] for j in subset.terms.tolist()], exponents)


def _logarithms(pool: Pool, columns: Sequence[int], most: int) -> tuple[list[Node], list[Floats]]:
    """Return columns and sums of columns that are zero nowhere, and the logarithms of their sizes."""
    nodes: list[Node] = []
    logs: list[Floats] = []
    for node in sums(columns, most):
        value = values(node, pool.x)
        if value.all() and np.isfinite(value).all():
            nodes.append(scaled(-1.0, node) if (value < 0).all() else node)  # so that it has roots
            logs.append(np.log(np.abs(value)))
    return nodes, logs


def _offer(pool: Pool, target: Target, nodes: Sequence[Node], exponents: Sequence[float]) -> None:
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
    for bottom in (1, 2, 6):
        near = [round(p * bottom) / bottom for p in raw.tolist()]
        if max(abs(a - b) for a, b in zip(near, raw, strict=True)) < 0.25 / bottom and near not in tried and any(near):
            tried.append(near)
            yield near
    yield [float(Fraction(p).limit_denominator(1000)) for p in raw.tolist()]
    yield raw.tolist()


def usual_law(pool: Pool, target: Target, most: int) -> None:
    """Offer power laws with usual exponents, built factor by factor.

    In noisy data, decimal exponents of arbitrary sums fit better than the law itself. Here exponents are multiples of ½
    from the start, and a law costs the bits it takes to write it down. A sum is tried as it is and divided by each of
    its terms, as in 1 - v²/c².
    """
    if not target.t.all():
        return
    bases, logs = _logarithms(pool, target.columns, most)
    if not bases:
        return
    factors = [{k: 1.0} for k in range(len(bases))]
    known = {base: k for k, base in enumerate(bases)}
    for k, base in enumerate(bases):
        if isinstance(base, TermSum):
            parts = [_powers_of(term) for term in base.terms]
            factors += [{k: 1.0} | {known[c]: -p for c, p in part.items()} for part in parts if set(part) <= set(known)]
    design = np.stack([sum(p * logs[k] for k, p in factor.items()) for factor in factors], 1)
    costs = np.array([BITS_PER_SYMBOL * sum(complexity(bases[k]) for k in factor) for factor in factors])
    weight = pool.w * (target.slope * target.t) ** 2
    weight /= weight.sum()
    design -= weight @ design
    sizes = weight @ design**2
    rest = np.log(np.abs(target.t))
    rest -= weight @ rest
    whole = float(weight @ rest**2)
    powers = np.array(USUAL)
    extra = costs[:, None] + BITS_PER_SYMBOL * (np.abs(powers) != 1)  # [factors, powers]
    laws: list[dict[int, float]] = [{}]
    rests, bits = rest[None], np.zeros(1)
    found: dict[frozenset[tuple[int, float]], float] = {}
    rows = len(pool.y)
    for _ in range(MOST_FACTORS):
        losses = (weight * rests**2).sum(1)[:, None, None]
        slopes = (weight * rests) @ design
        left = losses - 2 * powers * slopes[:, :, None] + powers**2 * sizes[:, None]
        scores = rows / 2 * np.log2(np.maximum(left, 1e-30) / whole) + bits[:, None, None] + extra
        order = np.argsort(scores, axis=None)[: 4 * WIDTH]
        chosen: dict[frozenset[tuple[int, float]], tuple[dict[int, float], np.ndarray, float]] = {}
        for state, factor, power in zip(*np.unravel_index(order, scores.shape), strict=True):
            law = dict(laws[state])
            for k, p in factors[factor].items():
                law[k] = law.get(k, 0.0) + p * powers[power]
            law = {k: p for k, p in law.items() if p}
            key = frozenset(law.items())
            if law and key not in chosen and key not in found:
                rest = rests[state] - powers[power] * design[:, factor]
                size = sum(complexity(bases[k]) + (abs(p) != 1) for k, p in law.items())
                chosen[key] = (law, rest, BITS_PER_SYMBOL * size)
                left_over = max(float(weight @ rest**2), 1e-30)
                found[key] = rows / 2 * np.log2(left_over / whole) + chosen[key][2]
            if len(chosen) == WIDTH:
                break
        if not chosen:
            break
        laws = [law for law, _, _ in chosen.values()]
        rests = np.stack([rest for _, rest, _ in chosen.values()])
        bits = np.array([size for _, _, size in chosen.values()])
    for key in sorted(found, key=found.__getitem__)[:OFFERED]:
        _offer(pool, target, [bases[k] for k, _ in sorted(key)], [p for _, p in sorted(key)])


def _powers_of(node: Node) -> dict[Node, float]:
    """Return the factors of a monomial with their exponents."""
    if isinstance(node, PowerProduct):
        return dict(zip(node.factors, node.exponents, strict=True))
    return {node: 1.0}
