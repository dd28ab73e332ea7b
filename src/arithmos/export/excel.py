"""Expressions as formulas of a spreadsheet."""

from collections.abc import Callable, Mapping, Sequence

import sympy

from ..formula import Expression
from .source import comments

DIGITS = 15
"""Significant digits of a number in a spreadsheet."""
FIRST_ROW = 2
"""Row of the first numbers, below the names of the columns."""

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
"""Precedence of the parts of a formula."""
_FUNCTIONS = {sympy.Abs: "ABS", sympy.exp: "EXP", sympy.Max: "MAX", sympy.Min: "MIN", sympy.tanh: "TANH"}

Written = tuple[str, int]


def spreadsheet(expression: Expression, cells: Sequence[str] | None = None) -> str:
    """Return the formulas of a spreadsheet, and below them what they compute from which cells."""
    cells = cells or cells_of(len(expression.symbols))
    return "\n".join([*excel(expression, cells), "", *comments(expression, cells)]) + "\n"


def excel(expression: Expression, cells: Sequence[str] | None = None) -> list[str]:
    """Return an expression as formulas of a spreadsheet, one per output.

    They are in the notation of English versions, with decimal points, and work in Excel, LibreOffice and Google Sheets.

    Args:
        expression: the expression.
        cells: the cell of each input; A2, B2, … by default.

    Example:
        >>> force, mass, radius = sympy.symbols("force mass radius", real=True)
        >>> excel(Expression((sympy.sqrt(force * radius / mass) - radius**2,), (force, mass, radius)))
        ['=SQRT(A2*C2/B2)-C2^2']
    """
    cells = cells or cells_of(len(expression.symbols))
    if len(cells) != len(expression.symbols):
        raise ValueError(f"cells must be {len(expression.symbols)}, one per input, got {len(cells)}")
    known = dict(zip(expression.symbols, cells, strict=True))
    return [f"={_write(output, known)[0]}" for output in expression.outputs]


def cells_of(columns: int | Sequence[int]) -> list[str]:
    """Return the cells of some columns, given by their count or their numbers from 0, in the row below their names.

    Example:
        >>> cells_of(3), cells_of([0, 27])
        (['A2', 'B2', 'C2'], ['A2', 'AB2'])
    """
    numbers = range(columns) if isinstance(columns, int) else columns
    return [f"{letters(number)}{FIRST_ROW}" for number in numbers]


def letters(number: int) -> str:
    """Return the letters of a column by its number, from 0.

    Example:
        >>> letters(0), letters(25), letters(26), letters(701), letters(702)
        ('A', 'Z', 'AA', 'ZZ', 'AAA')
    """
    name = ""
    while number >= 0:
        number, place = divmod(number, 26)
        name, number = chr(ord("A") + place) + name, number - 1
    return name


# A sign binds more tightly than a power in a spreadsheet, and 2^3^2 is (2^3)^2: -A2^2 would be A2^2. So no formula
# begins with a sign, unless a number follows that is no base of a power, and powers in powers have parentheses.


def _write(node: sympy.Expr, cells: Mapping[sympy.Symbol, str]) -> Written:
    """Return a part of a formula and its precedence."""

    def part(inner: sympy.Expr, least: int) -> str:
        text, binds = _write(inner, cells)
        return text if binds >= least else f"({text})"

    if node.is_Symbol:
        return cells[node], _ATOM
    if node == sympy.pi:
        return "PI()", _ATOM
    if node.is_Number:
        return _number(node)
    if node.is_Add:
        return _sum(node, part), _SUM
    if node.is_Mul or (node.is_Pow and node.exp.is_Number and node.exp < 0):
        return _product(node, part), _PRODUCT
    if node.is_Pow and node.base != sympy.E:
        if node.exp == sympy.Rational(1, 2):
            return f"SQRT({part(node.base, _SUM)})", _ATOM
        return f"{part(node.base, _ATOM)}^{part(node.exp, _ATOM)}", _POWER
    arguments = [node.exp] if node.is_Pow else node.args
    name = "EXP" if node.is_Pow else _FUNCTIONS[node.func]
    return f"{name}({','.join(part(argument, _SUM) for argument in arguments)})", _ATOM


def _number(value: sympy.Expr) -> Written:
    if value.is_Rational and not value.is_Integer:
        return f"{value.p}/{value.q}", _SUM if value < 0 else _PRODUCT
    text = str(value) if value.is_Integer else f"{float(value):.{DIGITS}G}"
    return text, _SUM if value < 0 else _ATOM


def _sum(node: sympy.Expr, part: Callable[[sympy.Expr, int], str]) -> str:
    terms = sorted(node.as_ordered_terms(), key=lambda term: _negative(term))
    text = ""
    for term in terms:
        if text and _negative(term):
            text += f"-{part(-term, _PRODUCT)}"
        else:
            text += ("+" if text else "") + part(term, _PRODUCT if text else _SUM)
    return text


def _negative(term: sympy.Expr) -> bool:
    return bool(term.as_coeff_Mul()[0] < 0)


def _product(node: sympy.Expr, part: Callable[[sympy.Expr, int], str]) -> str:
    above, below = [], []
    for factor in sympy.Mul.make_args(node):
        if factor.is_Rational and not factor.is_Integer:
            above += [] if factor.p == 1 else [sympy.Integer(factor.p)]
            below.append(sympy.Integer(factor.q))
        elif factor.is_Pow and factor.exp.is_Number and factor.exp < 0:
            below.append(1 / factor)
        else:
            above.append(factor)
    if above and above[0].is_Number and above[0] < 0:  # a sign in front of a number is safe: -2*A2^2
        first = [_number(above[0])[0]]
        above = above[1:]
    else:
        first = []
    top = "*".join([*first, *(part(factor, _POWER) for factor in above)]) or "1"
    if not below:
        return top
    bottom = "*".join(part(factor, _POWER) for factor in below)
    return f"{top}/{bottom}" if len(below) == 1 else f"{top}/({bottom})"
