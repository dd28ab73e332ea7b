"""Roots of products: √(a*b) in place of √a*√b, which has a value where both are negative too."""

import math

from .terms import Column, Node, PowerProduct, TermSum

DEGREES = (2, 3)
"""Square roots and cube roots are joined."""


def joined(node: Node) -> Node:
    """Return the formula with the roots of one degree in a product written as one root.

    Example:
        >>> made = joined(PowerProduct((Column(0), Column(1)), (0.5, -1.5)))
        >>> made.exponents, made.factors[0].exponents
        ((0.5,), (1.0, -3.0))
    """
    if isinstance(node, Column):
        return node
    if isinstance(node, TermSum):
        return TermSum(node.coefficients, tuple(map(joined, node.terms)), node.constant)
    pairs = [(joined(factor), power) for factor, power in zip(node.factors, node.exponents, strict=True)]
    for degree in DEGREES:
        roots = [(factor, round(degree * power)) for factor, power in pairs if _is_root(power, degree)]
        if len(roots) > 1:
            common = math.gcd(*(power for _, power in roots)) * (1 if any(power > 0 for _, power in roots) else -1)
            inner = PowerProduct(tuple(factor for factor, _ in roots), tuple(power / common for _, power in roots))
            pairs = [pair for pair in pairs if not _is_root(pair[1], degree)] + [(inner, common / degree)]
    return PowerProduct(tuple(factor for factor, _ in pairs), tuple(power for _, power in pairs))


def _is_root(power: float, degree: int) -> bool:
    return bool(power % 1) and abs(degree * power - round(degree * power)) < 1e-9
