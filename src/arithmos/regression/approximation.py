"""Approximations: formulas that follow a curve, or the rows of a table, without being its law."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product as pairs

import numpy as np

from .refine import estimated, loss_of
from .terms import Column, Floats, Node, PowerProduct, TermSum, complexity, used, values

ESTIMATE = 2
"""Symbols that an estimated constant or exponent counts for, beside its own."""
PER_COLUMN = 4
"""Symbols per column of a law, and `MORE` in all."""
MORE = 5


SPARE_VALUES = 3
"""Different values that a column must have beyond the estimated constants of a formula of it."""
AS_GOOD = 9.0
"""Loss, in variances of the residual, by which a function outside the language may be worse and explain as much."""
RIVALS: dict[str, Callable[[Floats], Floats]] = {
    "log": np.log,
    "exp": np.exp,
    "exp -": lambda x: np.exp(-x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "arctan": np.arctan,
}
"""Functions outside the language that formulas of one column are compared with."""


@dataclass(frozen=True)
class FlexiblePart:
    """Part of a formula that can follow a curve: its columns, symbols and estimated constants."""

    columns: frozenset[int]
    symbols: int
    constants: int


def flexible_part(node: Node) -> FlexiblePart | None:
    """Return a part of a formula that has estimated constants and is too long for its columns, or None.

    Parts are the whole formula, its terms and factors, and sums of the terms that have the same columns. For one
    column a*x + b, a*x**p and a*x/(b + x) are short enough; ratios with three estimated constants are not. For several
    columns power laws are. Polynomials of degree 2 are always laws, longer ones not with three estimated constants.
    """
    for part in _parts(node):
        if _quadratic(part):
            continue
        columns, symbols, constants = frozenset(used(part)), complexity(part), int(estimated(part).sum())
        if constants and symbols + ESTIMATE * constants > PER_COLUMN * len(columns) + MORE:
            return FlexiblePart(columns, symbols, constants)
    return None


def _quadratic(node: Node) -> bool:
    """Return whether a node is a polynomial of degree 2 or less."""
    if isinstance(node, Column):
        return True
    if isinstance(node, TermSum):
        return all(not isinstance(term, TermSum) and _quadratic(term) for term in node.terms)
    whole = all(exponent in (1, 2) for exponent in node.exponents)
    return whole and sum(node.exponents) <= 2 and all(isinstance(factor, Column) for factor in node.factors)


def _parts(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Column):
        return
    if isinstance(node, TermSum):
        columns = [used(term) for term in node.terms]
        for same in {frozenset(one) for one in columns if 1 < columns.count(one) < len(columns)}:
            chosen = [i for i, one in enumerate(columns) if one == same]
            yield TermSum(tuple(node.coefficients[i] for i in chosen), tuple(node.terms[i] for i in chosen))
    for inner in node.terms if isinstance(node, TermSum) else node.factors:
        yield from _parts(inner)


def table_column(node: Node, x: Floats) -> int | None:
    """Return a column with so few different values that the constants of a part of the formula could be a table."""
    for part in _parts(node):
        columns, constants = used(part), int(estimated(part).sum())
        if len(columns) == 1 and constants > 1:
            (column,) = columns
            if len(np.unique(x[:, column])) < constants + SPARE_VALUES:
                return column
    return None


def rival(node: Node, x: Floats, y: Floats, w: Floats) -> tuple[str, int] | None:
    """Return a function of one column that explains as much as a longer part of the formula, or None.

    Parts of one column with estimated constants are compared with logarithms, sines and others, times a number and with
    an offset where the rows ask for them.
    """
    loss = loss_of(node, x, y, w)
    enough = loss * (1 + AS_GOOD / len(y))
    new = Column(x.shape[1])
    for part, moved in _replaced(node, new):
        constants = int(estimated(part).sum())
        if not constants:
            continue
        (column,) = used(part)
        value, size = values(part, x), complexity(part) + ESTIMATE * constants
        for (name, function), (factor, offset) in pairs(RIVALS.items(), ((False, False), (True, False), (True, True))):
            if (name == "log" and (x[:, column] <= 0).any()) or size <= 2 + (1 + ESTIMATE) * (factor + offset):
                continue
            with np.errstate(all="ignore"):
                curve = function(x[:, column])
            if not np.isfinite(curve).all():
                continue
            if factor:
                design = np.column_stack([curve, *([np.ones(len(curve))] if offset else [])])
                curve = design @ np.linalg.lstsq(design, value, rcond=None)[0]
            if loss_of(moved, np.column_stack([x, curve]), y, w) <= enough:
                return name, column
    return None


def _replaced(node: Node, new: Column) -> Iterator[tuple[Node, Node]]:
    """Yield the parts that have one column, and the formula with a new column in place of each."""
    if len(used(node)) == 1:
        yield node, new
    elif isinstance(node, TermSum):
        for chosen, rest in _by_column(node.terms):
            terms = TermSum(tuple(node.coefficients[k] for k in chosen), tuple(node.terms[k] for k in chosen))
            coefficients = (*(node.coefficients[k] for k in rest), 1.0)
            yield terms, TermSum(coefficients, (*(node.terms[k] for k in rest), new), node.constant)
        for k, term in enumerate(node.terms):
            for part, moved in _replaced(term, new) if len(used(term)) > 1 else ():
                yield part, TermSum(node.coefficients, (*node.terms[:k], moved, *node.terms[k + 1 :]), node.constant)
    elif isinstance(node, PowerProduct):
        for chosen, rest in _by_column(node.factors):
            factors = PowerProduct(tuple(node.factors[k] for k in chosen), tuple(node.exponents[k] for k in chosen))
            exponents = (*(node.exponents[k] for k in rest), 1.0)
            yield factors, PowerProduct((*(node.factors[k] for k in rest), new), exponents)
        for k, factor in enumerate(node.factors):
            for part, moved in _replaced(factor, new) if len(used(factor)) > 1 else ():
                yield part, PowerProduct((*node.factors[:k], moved, *node.factors[k + 1 :]), node.exponents)


def _by_column(nodes: Sequence[Node]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the positions of the nodes that have one and the same column only, and of the others."""
    for column in sorted(set().union(*map(used, nodes))):
        chosen = [k for k, node in enumerate(nodes) if used(node) == {column}]
        if chosen:
            yield chosen, [k for k in range(len(nodes)) if k not in chosen]
