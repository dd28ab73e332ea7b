"""Operations of torch that a program can express, by their names in ATen."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .program import ONE, SAME_NAME, ZERO, Term, apply, const, where
from .values import INPUTS, Untraceable, Value, combined, joined

Operation = Callable[..., Any]


def value_of(argument: Any) -> Value:
    """Return a tensor, or a number as one."""
    if isinstance(argument, Value):
        return argument
    if isinstance(argument, bool | int | float):
        return Value((), (const(float(argument)),))
    raise Untraceable(f"an argument {argument!r}")


def number(node: Term) -> Term:
    """Return true and false as 1 and 0."""
    return where(node, ONE, ZERO) if node.boolean else node


def _elementwise(op: str) -> Operation:
    def operation(*args: Any) -> Value:
        return combined(lambda *nodes: apply(op, *map(number, nodes)), *map(value_of, args))

    return operation


def _logical(op: str) -> Operation:
    return lambda *values: combined(lambda *nodes: apply(op, *nodes), *values)


def _scaled(op: str) -> Operation:
    """Addition and subtraction, with a factor for the second argument."""

    def operation(a: Any, b: Any, alpha: float = 1) -> Value:
        second = value_of(b) if alpha == 1 else _elementwise("mul")(b, alpha)
        return combined(lambda x, y: apply(op, number(x), number(y)), value_of(a), second)

    return operation


def _of_one(function: Callable[[Term], Term]) -> Operation:
    return lambda a: value_of(a).map(lambda node: function(number(node)))


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Value:
    quotient: Value = _elementwise("div")(a, b)
    if rounding_mode not in (None, "floor"):
        raise Untraceable(f"division with rounding_mode={rounding_mode!r}")
    return quotient if rounding_mode is None else quotient.map(lambda node: apply("floor", node))


def _power(a: Any, b: Any) -> Value:
    if isinstance(a, Value) and isinstance(b, int | float):
        return a.map(lambda node: _whole_power(number(node), float(b)))
    return _elementwise("pow")(a, b)  # type: ignore[no-any-return]


def _whole_power(node: Term, exponent: float) -> Term:
    if exponent == 0.5:
        return apply("sqrt", node)
    if exponent == -0.5:
        return apply("reciprocal", apply("sqrt", node))
    if exponent != int(exponent) or not 0 < abs(exponent) <= 16:
        return apply("pow", node, const(exponent))
    product, square, rest = ONE, node, int(abs(exponent))
    while rest:
        product = apply("mul", product, square) if rest % 2 else product
        rest //= 2
        square = apply("mul", square, square) if rest else square
    return apply("reciprocal", product) if exponent < 0 else product


def clip(node: Term, low: Term | None, high: Term | None, *, strict: bool = False) -> Term:
    """Return a value in a range; its slope on a bound is 1, or 0 if it is strict."""
    if high is not None:
        node = where(apply("ge" if strict else "gt", node, high), high, node)
    if low is not None:
        node = where(apply("le" if strict else "lt", node, low), low, node)
    return node


def _clamped(a: Value, low: Any = None, high: Any = None) -> Value:
    bounds = [value_of(bound) for bound in (low, high) if bound is not None]

    def function(node: Term, *ends: Term) -> Term:
        own = iter(ends)
        return clip(number(node), None if low is None else next(own), None if high is None else next(own))

    return combined(function, a, *bounds)


def _leaky(a: Value, slope: float = 0.01) -> Value:
    return a.map(lambda node: where(apply("gt", node, ZERO), node, apply("mul", node, const(slope))))


def _choice(condition: Value, yes: Any, no: Any) -> Value:
    def function(c: Term, a: Term, b: Term) -> Term:
        return where(c if c.boolean else apply("ne", c, ZERO), number(a), number(b))

    return combined(function, condition, value_of(yes), value_of(no))


def _summed(op: str) -> Operation:
    def operation(a: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
        dims = range(len(a.dims)) if dim is None or dim == [] else [dim] if isinstance(dim, int) else dim
        return a.map(number).reduced(op, list(dims), keep=keepdim)

    return operation


def _mean(a: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    total: Value = _summed("sum")(a, dim, keepdim)
    ones: Value = _summed("sum")(a.map(lambda node: ONE), dim, keepdim)
    return combined(lambda s, n: apply("div", s, n), total, ones)


def _softmax(a: Value, dim: int, half_to_float: bool = False) -> Value:
    most: Value = _summed("max")(a, dim, True)
    powers = combined(lambda x, m: apply("exp", apply("sub", x, apply("detach", m))), a, most)
    total: Value = _summed("sum")(powers, dim, True)
    return combined(lambda e, s: apply("div", e, s), powers, total)


def _product(a: Value, b: Value) -> Value:
    """Return the product of matrices, or of stacks of them."""
    left = Value((*a.dims, ""), a.pieces)  # [..., p, q, 1]
    right = Value((*b.dims[:-2], "", *b.dims[-2:]), b.pieces)  # [..., 1, q, r]
    if left.dims[-2] != right.dims[-2]:
        raise Untraceable("a matrix product over two different axes")
    return combined(lambda x, y: apply("mul", number(x), number(y)), left, right).reduced("sum", [-2], keep=False)


def _matrix_sum(c: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    product = _product(a, b)
    return _scaled("add")(_elementwise("mul")(c, beta) if beta != 1 else c, product, alpha)  # type: ignore[no-any-return]


def _with_vector(a: Value, b: Value) -> Value:
    column = Value((*b.dims, ""), b.pieces)
    return _product(a, column).viewed(a.shape[:-1])


def _squeezed(a: Value, dim: Any = None) -> Value:
    places = range(len(a.dims)) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {place % len(a.dims) for place in places}
    return Value(tuple(x for place, x in enumerate(a.dims) if x or place not in gone), a.pieces)


def _unsqueezed(a: Value, dim: int) -> Value:
    place = dim % (len(a.dims) + 1)
    return Value((*a.dims[:place], "", *a.dims[place:]), a.pieces)


def _transposed(a: Value, first: int = 0, second: int = 1) -> Value:
    order = list(range(len(a.dims)))
    order[first], order[second] = order[second], order[first]
    return a.permuted(order) if len(order) > 1 else a


def _sliced(a: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Value:
    length = a.shape[dim]
    first, last, _ = slice(start, end).indices(length)
    if (first, last, step) == (0, length, 1):
        return a
    if a.dims[dim] != "i" or first % INPUTS or last % INPUTS or step != 1 or first >= last:
        raise Untraceable("it reads single inputs or outputs")
    return Value(a.dims, a.pieces[first // INPUTS : last // INPUTS])


def _split(a: Value, size: int | Sequence[int], dim: int = 0) -> list[Value]:
    length = a.shape[dim]
    sizes = size if not isinstance(size, int) else [size] * (length // size)
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    return [_sliced(a, dim, end - own, end) for own, end in zip(sizes, ends, strict=True)]


def _selected(a: Value, dim: int, index: int) -> Value:
    if a.dims[dim]:
        raise Untraceable("it reads single inputs or outputs")
    place = dim % len(a.dims)
    return Value((*a.dims[:place], *a.dims[place + 1 :]), a.pieces)


def _filled(value: float | None = None) -> Operation:
    def operation(like: Any, *rest: Any, **options: Any) -> Value:
        given = float(rest[-1]) if value is None else value
        if isinstance(like, Value) and not (rest and isinstance(rest[0], list | tuple)):
            return Value(like.dims, tuple(const(given) for _ in like.pieces))
        shape = rest[0] if isinstance(like, Value) else like
        return Value(tuple("" for _ in shape), (const(given),)).expanded(shape)

    return operation


def _converted(a: Value, dtype: Any = None, **options: Any) -> Value:
    dtype = options.get("dtype", dtype)
    if dtype in (None, torch.float32, torch.bool):
        return a if dtype != torch.float32 else a.map(number)
    raise Untraceable(f"it computes in {dtype}")


OPERATIONS: dict[str, Operation] = {
    **{name: _elementwise(name) for name in SAME_NAME},
    "minimum": _elementwise("min"),
    "maximum": _elementwise("max_of"),
    "sgn": _elementwise("sign"),
    "add": _scaled("add"),
    "sub": _scaled("sub"),
    "rsub": lambda a, b, alpha=1: _scaled("sub")(b, a, alpha),
    "div": _divided,
    "pow": _power,
    "square": _of_one(lambda node: apply("mul", node, node)),
    "rsqrt": _of_one(lambda node: apply("reciprocal", apply("sqrt", node))),
    "exp2": _of_one(lambda node: apply("exp", apply("mul", node, const(math.log(2))))),
    "log2": _of_one(lambda node: apply("div", apply("log", node), const(math.log(2)))),
    "log10": _of_one(lambda node: apply("div", apply("log", node), const(math.log(10)))),
    "relu": _of_one(lambda node: clip(node, ZERO, None, strict=True)),
    "hardtanh": lambda a, low=-1.0, high=1.0: a.map(lambda n: clip(n, const(low), const(high), strict=True)),
    "silu": _of_one(lambda node: apply("mul", node, apply("sigmoid", node))),
    "leaky_relu": _leaky,
    **dict.fromkeys(("clamp", "clamp_min"), _clamped),
    "clamp_max": lambda a, high: _clamped(a, None, high),
    "where": _choice,
    **dict.fromkeys(("logical_and", "bitwise_and"), _logical("and")),
    **dict.fromkeys(("logical_or", "bitwise_or"), _logical("or")),
    **dict.fromkeys(("logical_not", "bitwise_not"), _logical("not")),
    "lerp": lambda a, b, w: _scaled("add")(a, _elementwise("mul")(w, _scaled("sub")(b, a))),
    "addcmul": lambda c, a, b, value=1: _scaled("add")(c, _elementwise("mul")(a, b), value),
    "sum": _summed("sum"),
    "prod": _summed("prod"),
    "mean": _mean,
    "_softmax": _softmax,
    **dict.fromkeys(("mm", "bmm"), _product),
    "addmm": _matrix_sum,
    "mv": _with_vector,
    **dict.fromkeys(("t", "transpose"), _transposed),
    "permute": lambda a, order: a.permuted(order),
    **dict.fromkeys(("view", "_unsafe_view", "reshape"), lambda a, shape: a.viewed(shape)),
    "squeeze": _squeezed,
    "unsqueeze": _unsqueezed,
    "expand": lambda a, shape, implicit=False: a.expanded(shape),
    "slice": _sliced,
    **dict.fromkeys(("split", "split_with_sizes"), _split),
    "select": _selected,
    "cat": lambda values, dim=0: joined(values, dim),
    "full": lambda shape, value, **options: _filled()(shape, value),
    **dict.fromkeys(("full_like", "new_full"), _filled()),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), _filled(0.0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), _filled(1.0)),
    "scalar_tensor": lambda value, **options: value_of(value),
    "_to_copy": _converted,
    **dict.fromkeys(("clone", "alias", "contiguous", "lift_fresh_copy", "lift_fresh"), lambda a, *rest, **options: a),
}
"""Operations on `Value`, by the name in ATen; an operation in place has the same name with an underscore after it."""
