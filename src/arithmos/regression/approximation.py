"""Approximations: formulas with so many estimated constants that they can follow a curve without being its law."""

from collections.abc import Iterator
from dataclasses import dataclass

from .refine import estimated
from .terms import Column, Node, TermSum, complexity, used

ESTIMATE = 2
"""Symbols that an estimated constant or exponent counts for, beside its own."""
PER_COLUMN = 4
"""Symbols per column of a law, and `MORE` in all."""
MORE = 5


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
