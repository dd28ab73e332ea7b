"""Terms of a program as C++: one statement per operation, for one element."""

import math
import operator
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..trace.program import COMPARISONS, LEAVES, Term, lower_bound, walk

SMALLEST = 2.0**-126
"""Smallest number whose quotient and logarithm need no special case."""

_FORMS = {
    **{name: f"{name}f({{0}})" for name in ("exp", "log", "tanh", "cos", "sin", "sqrt", "floor")},
    "neg": "-{0}",
    "abs": "fabsf({0})",
    "sign": "sign({0})",
    "sigmoid": "sigmoid({0})",
    "round": "rintf({0})",
    "reciprocal": "1.0f / {0}",
    "detach": "{0}",
    "copy": "{0}",
    "not": "!{0}",
    **{name: f"{{0}} {symbol} {{1}}" for name, symbol in COMPARISONS.items()},
    **{name: f"{{0}} {symbol} {{1}}" for name, symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))},
    "pow": "power({0}, {1})",
    "min": "smaller({0}, {1})",
    "max_of": "larger({0}, {1})",
    "and": "{0} && {1}",
    "or": "{0} || {1}",
    "where": "{0} ? {1} : {2}",
}

_NUMBERS: dict[str, Callable[..., float]] = {
    "neg": operator.neg,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "reciprocal": lambda a: 1 / a,
}

STARTS = {"sum": "0.0f", "prod": "1.0f", "max": "LOWEST"}
JOINS = {"sum": "{0} + {1}", "prod": "{0} * {1}", "max": "larger({0}, {1})"}

EXPENSIVE = ("log", "exp", "tanh", "sigmoid", "cos", "sin", "pow", "sqrt", "reciprocal", "div")


def literal(value: float) -> str:
    """Return a number as C++ has it in float32."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "-LOWEST", "-inf": "LOWEST"}.get(str(value), "NOT_A_NUMBER")
    try:
        (exact,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return "-LOWEST" if value > 0 else "LOWEST"
    short = f"{exact:.9g}"
    return f"{short}f" if any(sign in short for sign in ".e") else f"{short}.0f"


def uses(roots: Iterable[Term]) -> Counter[Term]:
    """Return how often each node is an argument of nodes below the roots, or a root."""
    roots = list(roots)
    return Counter([arg for node in walk(roots) for arg in node.args] + roots)


Given = Callable[[Term], str | None]
"""Text of a node that is known somewhere; None for others."""


class Statements:
    """Statements that compute nodes for one element, each node once.

    Args:
        given: the nodes that are known here.
        sizes: sizes of the axes.
        used: how often nodes are used; a product that is used once becomes part of a fused sum.
        near_log: form of the logarithm of a number from [1, 4), if training inputs are from [1, 2).
    """

    def __init__(
        self,
        given: Given,
        sizes: Mapping[str, int],
        used: Mapping[Term, int] | None = None,
        near_log: str = "finite_log({0})",
    ) -> None:
        self._given, self._sizes, self._used, self._near_log = given, sizes, used or {}, near_log
        self._names: dict[Term, str] = {}
        self.lines: list[str] = []

    def known(self, node: Term) -> str | None:
        """Return the text of a node that needs no statement."""
        if node in self._names:
            return self._names[node]
        if (number := self._number(node)) is not None:
            return literal(number)
        return self._given(node)

    def _number(self, node: Term) -> float | None:
        """Return the value of a node that is computed from constants and sizes alone; None for others."""
        if node.op in ("const", "size"):
            return float(node.data if node.op == "const" else self._sizes[node.data])
        if node.op not in _NUMBERS or node.axes:
            return None
        args = [self._number(arg) for arg in node.args]
        return None if None in args else _NUMBERS[node.op](*args)

    def value(self, node: Term) -> str:
        """Return the text of a node's value, after the statements that it needs."""
        if (known := self.known(node)) is not None:
            return known
        assert node.op not in LEAVES, f"{node} is not known here"
        text = self.form(node)
        name = self._names[node] = f"{node.op.removesuffix('_of')}{len(self.lines)}"
        self.lines.append(f"const {'bool' if node.boolean else 'float'} {name} = {text};")
        return name

    def form(self, node: Term) -> str:
        """Return the expression of a node, after the statements that its arguments need."""
        if node.op == "add":
            for product, rest in (node.args, node.args[::-1]):
                if product.op == "mul" and self._used.get(product) == 1 and self.known(product) is None:
                    a, b = map(self.value, product.args)
                    return f"fmaf({a}, {b}, {self.value(rest)})"
        args = [self.value(arg) for arg in node.args]
        if node.op == "div" and (number := self._number(node.args[1])):
            return f"{args[0]} * {literal(1 / number)}"
        if node.op in ("div", "reciprocal") and lower_bound(node.args[-1]) >= SMALLEST:
            return f"divide({args[0] if node.op == 'div' else '1.0f'}, {args[-1]})"
        if _is_finite_log(node):
            return (self._near_log if is_near_log(node) else "finite_log({0})").format(args[0])
        return _FORMS[node.op].format(*args)

    def set(self, target: str, node: Term) -> None:
        """Set a variable to a node's value."""
        self.lines.append(f"{target} = {self.value(node)};")

    def reduce(self, op: str, target: str, node: Term, *, sign: str = "", there: str = "") -> None:
        """Add a node to a sum, or multiply it to a product; `there` is a condition."""
        if op == "sum" and self.known(node) is None and node.op in ("add", "sub", "neg"):
            other = "" if sign else "-"
            first, second = (other, "") if node.op == "neg" else (sign, other if node.op == "sub" else sign)
            for arg, own in zip(node.args, (first, second), strict=False):
                self.reduce(op, target, arg, sign=own, there=there)
            return
        if op == "sum" and self.known(node) is None and node.op == "mul":
            a, b = map(self.value, node.args)
            text = f"fmaf({f'-({a})' if sign else a}, {b}, {target})"
        else:
            text = JOINS[op].format(target, f"-({self.value(node)})" if sign else self.value(node))
        self.lines.append(f"{target} = {f'{there} ? {text} : {target}' if there else text};")


def is_near_log(node: Term) -> bool:
    """Return whether a node is the logarithm of a number from [1, 4) if inputs are from [1, 2)."""
    if not _is_finite_log(node):
        return False
    lower, upper = _bounds(node.args[0])
    return lower >= 1 and upper < 4


def _is_finite_log(node: Term) -> bool:
    return node.op == "log" and lower_bound(node.args[0]) >= SMALLEST and _of_inputs(node)


def _of_inputs(node: Term) -> bool:
    """Return whether a node is computed from the inputs and constants alone, so that it is finite."""
    return all(leaf.op in ("const", "input") for leaf in walk([node]) if leaf.leaf)


def _bounds(node: Term) -> tuple[float, float]:
    """Return numbers between which a value is if inputs are from [1, 2)."""
    args = [_bounds(arg) for arg in node.args]
    if node.op in ("const", "input"):
        return (node.data, node.data) if node.op == "const" else (1.0, 2.0)
    if node.op == "add":
        return args[0][0] + args[1][0], args[0][1] + args[1][1]
    return args[0] if node.op == "abs" and args[0][0] >= 0 else (-math.inf, math.inf)


def indented(lines: Iterable[str], by: str = "    ") -> list[str]:
    """Return lines one level further to the right."""
    return [by + line for line in lines]


def unrolled(variable: str, count: str | int, lines: Sequence[str], start: str | int = 0) -> list[str]:
    """Return a loop that the compiler unrolls; nothing if it has no lines."""
    if not lines:
        return []
    head = f"for (int {variable} = {start}; {variable} < {count}; ++{variable}) {{"
    return ["#pragma unroll", head, *indented(lines), "}"]


def function(signature: str, lines: Sequence[str], *, inline: bool = True, template: str = "") -> list[str]:
    """Return a device function."""
    kind = "__forceinline__" if inline else "__noinline__"
    head = [f"template <{template}>"] if template else []
    return [*head, f"__device__ {kind} {signature} {{", *indented(lines), "}", ""]
