"""Reverse-mode derivatives of programs, with the subgradients of torch."""

from collections.abc import Callable, Mapping, Sequence

from .program import HALF, ONE, ZERO, Term, apply, const, is_sum_of_products, ordered, others, reduced, walk, where

TWO = const(2.0)


def gradients(adjoints: Mapping[Term, Term], wanted: Sequence[Term]) -> dict[Term, Term]:
    """Return the derivatives of Σ adjoint · value by the wanted nodes; those without influence are left out.

    Args:
        adjoints: adjoint of each value.
        wanted: leaves to differentiate with respect to.
    """
    order = list(walk(adjoints))
    active = set(wanted)
    for node in order:
        if any(arg in active for arg in node.args) and not node.boolean and node.op != "detach":
            active.add(node)
    found: dict[Term, list[tuple[Term, str]]] = {node: [] for node in active}
    for node, adjoint in adjoints.items():
        if node in active:
            found[node].append((adjoint, node.axes))
    result: dict[Term, Term] = {}
    for node in reversed(order):
        if node not in active or not (own := found[node]):
            continue
        adjoint = _gathered(own, node.axes)
        if node in wanted:
            result[node] = adjoint
        for arg, contribution in _pulled(node, adjoint):
            if arg in active:
                axes = arg.axes if node.op in ("sum", "prod", "max") else node.axes
                found[arg].append((contribution, ordered(axes + arg.axes)))
    return result


def _gathered(contributions: list[tuple[Term, str]], axes: str) -> Term:
    """Return the sum of contributions, each summed over the axes that the node lacks; matrix products stay apart."""
    total: Term = ZERO
    together: dict[str, Term] = {}
    for contribution, over in contributions:
        missing = ordered(axis for axis in over if axis not in axes)
        own = reduced("sum", contribution, missing)
        if not missing or is_sum_of_products(own):
            total = apply("add", total, own)
        else:
            together[missing] = apply("add", together.get(missing, ZERO), contribution)
    for missing, contribution in together.items():
        total = apply("add", total, reduced("sum", contribution, missing))
    return total


def _pulled(node: Term, d: Term) -> list[tuple[Term, Term]]:
    """Return the contributions of a node's adjoint to those of its arguments."""
    if node.op == "others":
        raise NotImplementedError("second derivatives of products")
    if node.op in _RULES:
        return list(zip(node.args, _RULES[node.op](d, node, *node.args), strict=True))
    return []


def _times(*factors: Term) -> Term:
    product = factors[0]
    for factor in factors[1:]:
        product = apply("mul", product, factor)
    return product


def _neg(a: Term) -> Term:
    return apply("neg", a)


def _extreme(d: Term, op: str, a: Term, b: Term) -> tuple[Term, Term]:
    """Pass the adjoint to the smaller or larger argument, and half of it to both if they are equal."""
    tie = apply("eq", a, b)
    split = apply("mul", d, HALF)
    return (
        where(tie, split, where(apply(op, a, b), d, ZERO)),
        where(tie, split, where(apply(op, b, a), d, ZERO)),
    )


def _power(d: Term, z: Term, a: Term, b: Term) -> tuple[Term, Term]:
    slope = where(apply("eq", b, ZERO), ZERO, _times(d, b, apply("pow", a, apply("sub", b, ONE))))
    flat = apply("and", apply("eq", a, ZERO), apply("ge", b, ZERO))
    return slope, where(flat, ZERO, _times(d, z, apply("log", a)))


_RULES: dict[str, Callable[..., tuple[Term, ...]]] = {
    "copy": lambda d, z, a: (d,),
    "sum": lambda d, z, a: (d,),
    "prod": lambda d, z, a: (others(a, d),),
    "neg": lambda d, z, a: (_neg(d),),
    "abs": lambda d, z, a: (_times(d, apply("sign", a)),),
    "exp": lambda d, z, a: (_times(d, z),),
    "log": lambda d, z, a: (apply("div", d, a),),
    "tanh": lambda d, z, a: (_times(d, apply("sub", ONE, _times(z, z))),),
    "sigmoid": lambda d, z, a: (_times(d, _times(apply("sub", ONE, z), z)),),
    "cos": lambda d, z, a: (_neg(_times(d, apply("sin", a))),),
    "sin": lambda d, z, a: (_times(d, apply("cos", a)),),
    "sqrt": lambda d, z, a: (apply("div", d, _times(TWO, z)),),
    "reciprocal": lambda d, z, a: (_neg(_times(d, _times(z, z))),),
    "add": lambda d, z, a, b: (d, d),
    "sub": lambda d, z, a, b: (d, _neg(d)),
    "mul": lambda d, z, a, b: (_times(d, b), _times(d, a)),
    "div": lambda d, z, a, b: (apply("div", d, b), _neg(_times(d, apply("div", z, b)))),
    "pow": _power,
    "min": lambda d, z, a, b: _extreme(d, "lt", a, b),
    "max_of": lambda d, z, a, b: _extreme(d, "gt", a, b),
    "where": lambda d, z, c, a, b: (ZERO, where(c, d, ZERO), where(c, ZERO, d)),
}
"""Contributions to the arguments' adjoints, from the adjoint d, the value z and the arguments."""
