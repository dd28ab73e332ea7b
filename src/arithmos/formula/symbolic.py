"""Evaluation of networks on SymPy expressions."""

from collections.abc import Sequence
from fractions import Fraction

import sympy

from ..nn._aggregate import EPSILON
from .stages import Branch, Rounding, Stage

Values = list[sympy.Expr]

_EPSILON = sympy.Float(EPSILON)


def outputs(
    stages: Sequence[Stage], steps: Sequence[Values], gates: Sequence[Sequence[Rounding | None] | None]
) -> Values:
    """Return the outputs of a network at the last of some steps.

    Args:
        stages: the network, with exact numbers as fractions.
        steps: its inputs, step by step; one step unless it is recurrent.
        gates: for each output of each gated stage, the value its gate is rounded to, or None to keep it symbolic.
    """
    for stage, choices in zip(stages, gates, strict=True):
        if stage.initial is None:
            steps = [_apply(stage, x, choices) for x in steps]
            continue
        state, states = [_number(Fraction(stage.initial))] * stage.out_features, []
        for x in steps:
            state = _apply(stage, [*x, *state], choices)
            states.append(state)
        steps = states
    return steps[-1]


def _apply(stage: Stage, x: Values, choices: Sequence[Rounding | None] | None) -> Values:
    if stage.gate is None:
        return _aggregate(stage.branches[0], x)
    add, mul = (_aggregate(branch, x) for branch in stage.branches)
    mixed = []
    for o, row in enumerate(stage.gate):
        choice = None if choices is None else choices[o]
        gate = 1 / (1 + sympy.exp(-_sum(row, x))) if choice is None else _number(choice.exact)
        mixed.append(gate * add[o] + (1 - gate) * mul[o])
    return mixed


def _aggregate(branch: Branch, x: Values) -> Values:
    rows = [_row(branch, row, x) for row in branch.weight]
    if branch.bias is not None:
        rows = [z + _number(b) for z, b in zip(rows, branch.bias, strict=True)]
    match branch.activation:
        case "relu":
            return [_largest(z) for z in rows]
        case "relu6":
            return [sympy.Min(6, _largest(z), evaluate=False) for z in rows]
        case "none":
            return rows


def _row(branch: Branch, row: Sequence[Fraction | float], x: Values) -> sympy.Expr:
    match branch.aggregation:
        case "sum":
            return _sum(row, x)
        case "product":
            chosen = [(_number(w), value) for w, value in zip(row, x, strict=True) if w]
            return sympy.Mul(*(w * value + 1 - w for w, value in chosen))
        case "exp-log":
            return sympy.Mul(*((_magnitude(v) + _EPSILON) ** _number(w) for w, v in zip(row, x, strict=True) if w))
        case "power":
            return _power([(_number(w), value) for w, value in zip(row, x, strict=True) if w])


def _power(factors: Sequence[tuple[sympy.Expr, sympy.Expr]]) -> sympy.Expr:
    """Return the real part of a product of powers, given by exponents and bases."""
    whole = [value**w for w, value in factors if w.is_Integer]
    other = [(w, value) for w, value in factors if not w.is_Integer]
    if not other:
        return sympy.Mul(*whole)
    turns = sympy.Add(*(w * (1 - _sign(value)) / 2 for w, value in other))
    return sympy.Mul(*whole, *(_magnitude(value) ** w for w, value in other), sympy.cos(sympy.pi * turns))


def _sum(row: Sequence[Fraction | float], x: Values) -> sympy.Expr:
    return sympy.Add(*(_number(w) * value for w, value in zip(row, x, strict=True) if w))


def _number(value: Fraction | float) -> sympy.Expr:
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.Float(float(value))


# SymPy determines the sign of the argument of an absolute value or maximum, which takes seconds for many terms.


def _magnitude(value: sympy.Expr) -> sympy.Expr:
    if value.is_Number:
        return abs(value)
    return sympy.Abs(-value if value.could_extract_minus_sign() else value, evaluate=False)


def _sign(value: sympy.Expr) -> sympy.Expr:
    return sympy.sign(value, evaluate=value.is_Number)


def _largest(value: sympy.Expr) -> sympy.Expr:
    return sympy.Max(0, value) if value.is_Number else sympy.Max(0, value, evaluate=False)
