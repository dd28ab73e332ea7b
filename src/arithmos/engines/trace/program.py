"""Programs of units: elementwise operations and reductions over named axes.

A value has a subset of the axes b (observations of a batch), o (outputs) and i (inputs). An elementwise operation has
the axes of all its arguments; a reduction takes some away. Equal nodes are the same object, so that a value that is
needed twice is computed once.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

AXES = "boi"

COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
SAME_NAME = (
    *("neg", "abs", "sign", "exp", "log", "tanh", "sigmoid", "cos", "sin", "sqrt", "reciprocal", "floor", "round"),
    *("detach", "mul", *COMPARISONS),
)
"""Elementwise operations that torch has under the same names."""
LOGICAL = ("and", "or", "not")
REDUCTIONS = ("sum", "prod", "max")
LEAVES = ("const", "size", "input", "parameter", "buffer", "noise", "seed", "strength")


@dataclass(frozen=True)
class View:
    """Parameter or buffer, or one of the equal pieces into which its axis of inputs is cut.

    Args:
        name: name in the module.
        dims: axis of each dimension; empty for a dimension of size 1.
        piece: which piece.
        pieces: number of pieces.
    """

    name: str
    dims: tuple[str, ...]
    piece: int = 0
    pieces: int = 1

    @property
    def natural(self) -> bool:
        """Whether its elements are in the order of the axes, without gaps."""
        own = [axis for axis in self.dims if axis]
        return self.pieces == 1 and own == sorted(own, key=AXES.index)


@dataclass(frozen=True, eq=False)
class Term:
    """Operation with its arguments.

    Args:
        op: one of `LEAVES`, `REDUCTIONS`, the elementwise operations of `evaluate`, or "others": of a factor and an
            adjoint, the adjoint times all other factors along the axis i.
        args: arguments.
        data: value of a constant, axis of a size, `View` of a parameter, number and range of a noise, axes that are
            reduced.
        axes: axes of the value, in the order of `AXES`.
    """

    op: str
    args: tuple["Term", ...]
    data: Any
    axes: str

    @property
    def boolean(self) -> bool:
        """Whether it is true or false, and not a number."""
        return self.op in COMPARISONS or self.op in LOGICAL

    @property
    def leaf(self) -> bool:
        """Whether it has no arguments."""
        return self.op in LEAVES

    def __repr__(self) -> str:
        inside = ", ".join([*map(repr, self.args), *([] if self.data is None else [str(self.data)])])
        return f"{self.op}({inside})"


_nodes: "WeakValueDictionary[tuple[Any, ...], Term]" = WeakValueDictionary()


def ordered(axes: Iterable[str]) -> str:
    """Return axes in the order of `AXES`, each once."""
    found = set(axes)
    return "".join(axis for axis in AXES if axis in found)


def make_term(op: str, args: tuple[Term, ...], data: Any, axes: str) -> Term:
    """Return an operation; equal ones are the same object."""
    key = (op, *map(id, args), repr(data), axes)
    found = _nodes.get(key)
    if found is None:
        found = _nodes[key] = Term(op, args, data, axes)
    return found


def leaf(op: str, data: Any = None, axes: str = "") -> Term:
    """Return a leaf."""
    return make_term(op, (), data, axes)


def const(value: float) -> Term:
    """Return a constant."""
    return leaf("const", float(value))


ZERO, ONE, HALF = const(0.0), const(1.0), const(0.5)

INPUT = leaf("input", None, "bi")
SEED = leaf("seed", None, "bo")
"""Gradient of the outputs."""
STRENGTH = leaf("strength")
"""Strength of the sparsity regularizer."""


def size(axis: str) -> Term:
    """Return the size of an axis."""
    return leaf("size", axis)


def apply(op: str, *args: Term) -> Term:
    """Return an elementwise operation, simplified where that changes no value."""
    if op == "add" and ZERO in args:
        return args[1] if args[0] is ZERO else args[0]
    if op in ("sub", "add") and args[1] is ZERO:
        return args[0]
    if op == "sub" and args[0] is ZERO:
        op, args = "neg", args[1:]
    if op == "mul" and ONE in args:
        return args[1] if args[0] is ONE else args[0]
    if op == "div" and args[1] is ONE:
        return args[0]
    if op == "neg" and args[0].op == "neg":
        return args[0].args[0]
    if all(arg.op == "const" for arg in args) and op in _FOLDED:
        return const(_FOLDED[op](*(arg.data for arg in args)))
    return make_term(op, args, None, ordered("".join(arg.axes for arg in args)))


_FOLDED: dict[str, Any] = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
}


def reduced(op: str, arg: Term, axes: str) -> Term:
    """Return the sum, product or maximum over axes; the sum over an axis that the value does not have is a multiple."""
    for axis in axes:
        if axis not in arg.axes:
            if op == "sum":
                arg = apply("mul", arg, size(axis))
            elif op == "prod":
                arg = apply("pow", arg, size(axis))
    own = ordered(axis for axis in axes if axis in arg.axes)
    return make_term(op, (arg,), own, ordered(axis for axis in arg.axes if axis not in own)) if own else arg


def others(factor: Term, adjoint: Term) -> Term:
    """Return the adjoint times the product of all other factors along i, for each factor."""
    return make_term("others", (factor, adjoint), None, ordered(factor.axes + adjoint.axes))


def where(condition: Term, yes: Term, no: Term) -> Term:
    """Return a choice."""
    return yes if yes is no else apply("where", condition, yes, no)


def remade(node: Term, *args: Term) -> Term:
    """Return a node with other arguments."""
    if node.op in REDUCTIONS:
        return reduced(node.op, args[0], node.data)
    return others(*args) if node.op == "others" else apply(node.op, *args) if node.args else node


def rewritten(roots: Iterable[Term], rule: Callable[[Term], Term]) -> dict[Term, Term]:
    """Return what a rule makes of the roots and all nodes below them, of each after its arguments."""
    found: dict[Term, Term] = {}
    for node in walk(roots):
        found[node] = rule(remade(node, *(found[arg] for arg in node.args)))
    return found


def walk(roots: Iterable[Term], below: Callable[[Term], Sequence[Term]] = lambda node: node.args) -> Iterator[Term]:
    """Yield all nodes below the roots, and the roots, each once and after its arguments.

    Args:
        roots: the nodes to start from.
        below: the arguments of a node to visit; by default all.
    """
    seen: set[Term] = set()
    for root in roots:
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in seen:
                continue
            if ready:
                seen.add(node)
                yield node
            else:
                stack.append((node, True))
                stack.extend((arg, False) for arg in reversed(below(node)))


def walk_until(roots: Iterable[Term], known: Container[Term]) -> Iterator[Term]:
    """Yield the same nodes, but none that are only below known ones."""
    return walk(roots, lambda node: () if node in known else node.args)


def is_number(node: Term, leaves: Container[str] = ("const", "size")) -> bool:
    """Return whether a node is computed from some kinds of leaves alone, by default constants and sizes."""
    return node.op in leaves or (not node.axes and bool(node.args) and all(is_number(a, leaves) for a in node.args))


def is_sum_of_products(node: Term) -> bool:
    """Return whether a node is a matrix product: a sum of products over the axis that both factors have."""
    if node.op != "sum" or len(node.data) != 1:
        return False
    [arg] = node.args
    factors = arg.args if arg.op == "mul" and arg.axes == AXES else ()
    return bool(factors) and all(len(factor.axes) == 2 and node.data in factor.axes for factor in factors)


def lower_bound(node: Term) -> float:
    """Return a number that a value is never below; minus infinity if none is known."""
    infinity = float("inf")
    args = node.args
    if node.op == "const":
        return float(node.data)
    if node.op in ("abs", "exp", "sigmoid", "sqrt", "size"):
        return max(0.0, lower_bound(args[0])) if node.op == "abs" else 0.0
    if node.op == "add":
        return lower_bound(args[0]) + lower_bound(args[1])
    if node.op == "mul":
        return 0.0 if min(map(lower_bound, args)) >= 0 or args[0] is args[1] else -infinity
    if node.op == "max_of":
        return max(map(lower_bound, args))
    if node.op == "where":
        condition, yes, no = args
        if condition.op == "lt" and condition.args == (no, yes):  # a clip from below
            return max(lower_bound(yes), lower_bound(no))
        return min(lower_bound(yes), lower_bound(no))
    return -infinity
