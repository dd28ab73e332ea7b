"""Parser of formulas. It never evaluates text, unlike `sympy.sympify`, which passes it to Python's `eval`."""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log2
from typing import NamedTuple, NoReturn

import sympy

from .. import _checks

MOST_CHARACTERS = 20_000
DEEPEST = 50
LARGEST_EXPONENT = 100
MOST_BITS = 100_000
"""Most bits of a numerator or denominator at the integers where a formula is evaluated."""
INPUT_BITS = 10
"""Bits of these integers; see `exact.LARGEST`."""
_LONGEST_NUMBER = 40

_NUMBER, _NAME = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", r"[A-Za-z_]\w*"
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})|(?P<name>{_NAME})|\*\*|[-+*/^(),]", re.ASCII)

_FUNCTIONS: dict[str, tuple[int, Callable[..., sympy.Expr]]] = {
    "sqrt": (1, sympy.sqrt),
    "Abs": (1, sympy.Abs),
    "Max": (2, lambda one, other: sympy.Max(one, other, evaluate=False)),
    "Min": (2, lambda one, other: sympy.Min(one, other, evaluate=False)),
}
"""Functions with their number of arguments, under the names that `str` of an expression uses."""


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


class _Value(NamedTuple):
    """Expression with the bits of its numerator and denominator at integers."""

    expr: sympy.Expr
    top: float
    bottom: float


def parse(text: object, names: Sequence[str]) -> sympy.Expr:
    """Parse a formula.

    A formula consists of numbers, names, `+ - * /`, `**` or `^` with a constant exponent, parentheses, and the
    functions sqrt, Abs, Max and Min. Decimal numbers become exact fractions.

    Args:
        text: the formula.
        names: names of the inputs.

    Raises:
        ValueError: the text is not such a formula; the message says where and what is allowed.

    Example:
        >>> parse("(x1 + x2)*-x2^2/4", ["x1", "x2"])
        -x2**2*(x1 + x2)/4
        >>> parse("x1 + y", ["x1", "x2"])
        Traceback (most recent call last):
        ValueError: target must be a formula in x1 to x2, got 'y' at character 6: unknown name; allowed are ...
    """
    if not isinstance(text, str):
        raise ValueError(f"target must be a formula as text or a SymPy expression, got {_checks.shown(text)}")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"target must have at most {MOST_CHARACTERS:,} characters, got {len(text):,}")
    return _Reader(text, names).whole()


class _Reader:
    def __init__(self, text: str, names: Sequence[str]) -> None:
        self._names = {name: _Value(sympy.Symbol(name), INPUT_BITS, 0) for name in names}
        self._range = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        self._tokens, self._next, self._depth = self._split(text), 0, 0

    def _split(self, text: str) -> list[_Token]:
        tokens, position = [], 0
        while position < len(text):
            if text[position].isspace():
                position += 1
            elif found := _TOKEN.match(text, position):
                tokens.append(_Token(found.lastgroup or "sign", found[0], position + 1))
                position = found.end()
            else:
                self._refuse(_Token("", text[position], position + 1), "unknown character")
        return [*tokens, _Token("end", "", len(text) + 1)]

    def _refuse(self, token: _Token, why: str) -> NoReturn:
        found = _checks.shown(token.text) if token.text else "its end"
        raise ValueError(
            f"target must be a formula in {self._range}, got {found} at character {token.position}: {why}; allowed are "
            f"numbers, {self._range}, + - * / ** ^, parentheses, and {', '.join(_FUNCTIONS)}"
        )

    def _take(self, *texts: str) -> _Token | None:
        """Consume and return the next token if it is one of these."""
        token = self._tokens[self._next]
        if token.kind != "sign" or token.text not in texts:
            return None
        self._next += 1
        return token

    def _expect(self, text: str, why: str) -> None:
        if self._take(text) is None:
            self._refuse(self._tokens[self._next], why)

    def _checked(self, value: _Value, token: _Token) -> _Value:
        if max(value.top, value.bottom) > MOST_BITS:
            self._refuse(token, f"its numbers would have more than {MOST_BITS:,} bits")
        return value

    def whole(self) -> sympy.Expr:
        value = self._sum()
        if (token := self._tokens[self._next]).kind != "end":
            self._refuse(token, "an operator was expected")
        return value.expr

    def _sum(self) -> _Value:
        token = self._tokens[self._next]
        terms = [self._product()]
        while sign := self._take("+", "-"):
            term = self._product()
            terms.append(term._replace(expr=-term.expr) if sign.text == "-" else term)
        if len(terms) == 1:
            return terms[0]
        bottom = sum(term.bottom for term in terms)
        top = max(term.top + bottom - term.bottom for term in terms) + log2(len(terms))
        return self._checked(_Value(sympy.Add(*(term.expr for term in terms)), top, bottom), token)

    def _product(self) -> _Value:
        token = self._tokens[self._next]
        factors = [self._signed()]
        while sign := self._take("*", "/"):
            place, factor = self._tokens[self._next], self._signed()
            factors.append(self._power_of(factor, Fraction(-1), place) if sign.text == "/" else factor)
        if len(factors) == 1:
            return factors[0]
        top, bottom = sum(factor.top for factor in factors), sum(factor.bottom for factor in factors)
        self._checked(_Value(sympy.S.One, top, bottom), token)  # before SymPy multiplies numbers
        return _Value(sympy.Mul(*(factor.expr for factor in factors)), top, bottom)

    def _signed(self) -> _Value:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign.text == "-"
        value = self._power()
        return value._replace(expr=-value.expr) if negative else value

    def _power(self) -> _Value:
        base = self._atom()
        if self._take("**", "^") is None:
            return base
        token = self._enter()
        exponent = self._signed().expr
        self._depth -= 1
        if not exponent.is_Rational:
            self._refuse(token, "an exponent must be a number")
        share = Fraction(int(exponent.p), int(exponent.q))
        if abs(share) > LARGEST_EXPONENT or share.denominator > LARGEST_EXPONENT:
            self._refuse(token, f"an exponent must be a fraction of whole numbers up to {LARGEST_EXPONENT}")
        return self._power_of(base, share, token)

    def _power_of(self, base: _Value, exponent: Fraction, token: _Token) -> _Value:
        if exponent < 0 and base.expr.is_zero:
            self._refuse(token, "division by zero")
        top, bottom = (base.top, base.bottom) if exponent >= 0 else (base.bottom, base.top)
        bits = [max(Fraction(1), abs(exponent)) * part for part in (top, bottom)]
        self._checked(_Value(base.expr, *bits), token)
        return _Value(base.expr ** sympy.Rational(exponent.numerator, exponent.denominator), *bits)

    def _atom(self) -> _Value:
        token = self._enter()
        self._next += token.text != ""
        if token.text == "(":
            value = self._sum()
            self._expect(")", "a closing parenthesis was expected")
        elif token.kind == "number":
            value = self._number(token)
        elif token.text in self._names:
            value = self._names[token.text]
        elif token.text in _FUNCTIONS:
            value = self._call(token)
        else:
            self._refuse(token, "unknown name" if token.kind == "name" else "a number or a name was expected")
        self._depth -= 1
        return value

    def _enter(self) -> _Token:
        """Return the next token, one level deeper."""
        token = self._tokens[self._next]
        self._depth += 1
        if self._depth > DEEPEST:
            self._refuse(token, f"it is nested deeper than {DEEPEST} levels")
        return token

    def _number(self, token: _Token) -> _Value:
        exponent = token.text.lower().partition("e")[2]
        if len(token.text) > _LONGEST_NUMBER or abs(int(exponent or 0)) > LARGEST_EXPONENT:
            limits = f"{_LONGEST_NUMBER} characters and an exponent up to {LARGEST_EXPONENT}"
            self._refuse(token, f"a number must have at most {limits}")
        exact = Fraction(token.text)
        number = sympy.Rational(exact.numerator, exact.denominator)
        return _Value(number, exact.numerator.bit_length(), exact.denominator.bit_length() - 1)

    def _call(self, token: _Token) -> _Value:
        count, function = _FUNCTIONS[token.text]
        self._expect("(", f"{token.text} must be followed by its arguments in parentheses")
        arguments = [self._sum()]
        while len(arguments) < count:
            self._expect(",", f"{token.text} has {count} arguments")
            arguments.append(self._sum())
        self._expect(")", "a closing parenthesis was expected")
        expr = function(*(argument.expr for argument in arguments))
        return _Value(expr, max(a.top for a in arguments), max(a.bottom for a in arguments))
