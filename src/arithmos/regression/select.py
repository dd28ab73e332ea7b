"""Sparse least squares: the best few terms of a dictionary, by a beam search over subsets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .terms import Floats

BEAM = 24
KEPT = 6
"""Subsets returned per size."""
COLLINEAR = 1e-11
"""Share of a term's variance that must be left once the chosen terms are taken out."""
EXACT = 1e-10
"""Relative residual at which the search ends."""


@dataclass(frozen=True, eq=False)
class TermSubset:
    """Some terms of a dictionary with their least-squares coefficients.

    Args:
        terms: indices of the terms.
        coefficients: one per term.
        offset: constant term.
        residual: root of the remaining share of the target's sum of squares.
    """

    terms: NDArray[np.intp]
    coefficients: Floats
    offset: float
    residual: float


def subsets(design: Floats, target: Floats, weight: Floats, most: int, beam: int = BEAM) -> list[TermSubset]:
    """Return good subsets of each size up to `most`, smallest first; ends at the first that leaves nothing.

    Args:
        design: `[rows, terms]`.
        target: `[rows]`.
        weight: factors of the residuals, `[rows]`.
        most: most terms.
        beam: subsets to extend per size.
    """
    fine = np.isfinite(design).all(0)
    names = np.flatnonzero(fine)
    d = design[:, names] * weight[:, None]
    t = target * weight
    unit = weight / np.sqrt(weight @ weight)
    whole = float(t @ t)
    d = d - np.outer(unit, unit @ d)
    t = t - unit * (unit @ t)
    size = np.sqrt((d**2).sum(0))
    raw = np.sqrt(((design[:, names] * weight[:, None]) ** 2).sum(0))
    varied = size > 1e-9 * raw
    names, d = names[varied], d[:, varied] / size[varied]
    total = float(t @ t)
    if not len(names) or not total > 1e-24 * whole:
        return []
    t = t / np.sqrt(total)
    gram, b = d.T @ d, d.T @ t
    found: list[TermSubset] = []
    states = np.empty((1, 0), np.intp)
    for _ in range(min(most, len(names), len(t) - 2)):
        states = _extend(gram, b, states, beam)
        if not len(states):
            break
        best = [_fit(design, target, weight, names[state], whole) for state in states[:KEPT]]
        found += best
        if min(one.residual for one in best) < EXACT:
            break
    return found


def eliminate(design: Floats, target: Floats, weight: Floats, most: int, offset: bool = True) -> list[TermSubset]:
    """Fit all terms and drop them one after another, those that are missed least first.

    Args:
        design, target, weight: as in `subsets`; there must be more rows than terms.
        most: size from which on subsets are returned.
        offset: whether to add a constant term.
    """
    part = np.column_stack([design, *([np.ones(len(target))] if offset else [])]) * weight[:, None]
    t = target * weight
    whole = float(t @ t)
    size = np.sqrt((part**2).sum(0))
    if not whole > 0 or not np.isfinite(size).all() or not size.all():
        return []
    triangle = np.asarray(np.linalg.qr(np.column_stack([part / size, t / np.sqrt(whole)]), mode="r"))
    names = np.arange(part.shape[1])
    found: list[TermSubset] = []
    floor = 1e-13
    while len(names) > 1:
        inner, outer = triangle[:, names], triangle[:, -1]
        u, singular, v = np.linalg.svd(inner, full_matrices=False)
        keep = singular > 1e-13 * singular[0]
        solution = v[keep].T @ ((u[:, keep].T @ outer) / singular[keep])
        rest = float(np.linalg.norm(inner @ solution - outer))
        terms = names[names < design.shape[1]]
        if len(terms) <= most:
            found.append(_fit(design, target, weight, terms, whole, offset=bool((names == design.shape[1]).any())))
            if len(found) > 1 and found[-1].residual > 1e3 * max(found[-2].residual, 1e-12):
                break
        spread = np.sqrt(((v[keep] / singular[keep, None]) ** 2).sum(0))
        scores = np.abs(solution) / (np.maximum(spread, 1e-300) * max(rest, floor) / np.sqrt(len(t)))
        idle = np.flatnonzero(scores < 1.0)
        if len(idle) > 1 and keep.all():
            dropped = idle[np.argsort(scores[idle])][: max(1, len(idle) // 2)]
        else:
            dropped = np.array([np.argmin(scores if keep.all() else np.abs(solution))])
        names = np.delete(names, dropped)
    return found


def _extend(gram: Floats, b: Floats, states: NDArray[np.intp], beam: int) -> NDArray[np.intp]:
    """Add one term to each state; return the best distinct ones, best first."""
    count, k = states.shape
    terms = len(b)
    if k == 0:
        gain = b[None] ** 2
        base = np.zeros(1)
    else:
        cross = gram[states]  # [count, k, terms]
        inner = np.take_along_axis(cross, states[:, None, :], 2)  # [count, k, k]
        inner = inner + 1e-14 * np.eye(k)
        solved = np.linalg.solve(inner, np.concatenate([cross, b[states][:, :, None]], 2))
        room = 1.0 - (cross * solved[:, :, :-1]).sum(1)
        slope = b[None] - (cross * solved[:, :, -1:]).sum(1)
        base = (b[states] * solved[:, :, -1]).sum(1)
        gain = np.where(room > COLLINEAR, slope**2 / np.maximum(room, COLLINEAR), -1.0)
        gain[np.arange(count)[:, None], states] = -1.0
    left = 1.0 - base[:, None] - gain
    order = np.argsort(np.where(gain > 0, left, np.inf), axis=None, kind="stable")[: beam * (k + 2)]
    seen: set[tuple[int, ...]] = set()
    chosen: list[tuple[int, ...]] = []
    for flat in order.tolist():
        row, term = divmod(flat, terms)
        if gain[row, term] <= 0:
            break
        state = tuple(sorted([*states[row].tolist(), term]))
        if state not in seen:
            seen.add(state)
            chosen.append(state)
            if len(chosen) == beam:
                break
    return np.array(chosen, np.intp).reshape(len(chosen), k + 1)


def _fit(
    design: Floats, target: Floats, weight: Floats, terms: NDArray[np.intp], whole: float, offset: bool = True
) -> TermSubset:
    part = np.column_stack([design[:, terms], *([np.ones(len(target))] if offset else [])]) * weight[:, None]
    size = np.sqrt((part**2).sum(0))
    solution = np.linalg.lstsq(part / size, target * weight, rcond=None)[0]
    rest = (part / size) @ solution - target * weight
    # An offset that only carries the rounding of the others is none.
    added = offset and abs(solution[-1]) > 1e-9 * np.abs(solution).max()
    constant = float(solution[-1] / size[-1]) if added else 0.0
    return TermSubset(terms, (solution / size)[: len(terms)], constant, float(np.sqrt(rest @ rest / whole)))
