"""Expressions as source code in Python, NumPy, SymPy, C and LaTeX."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count

import sympy
from sympy.printing.c import C99CodePrinter
from sympy.printing.codeprinter import CodePrinter
from sympy.printing.numpy import NumPyPrinter
from sympy.printing.pycode import PythonCodePrinter, SymPyPrinter
from sympy.simplify.cse_main import tree_cse

from .. import __version__
from .._text import escaped, printable
from ..formula import Expression

Lines = Iterator[str]

DIGITS = 15
"""Digits of numbers in LaTeX."""

ENCODING = "# -*- coding: utf-8 -*-"
"""First line of a Python file, so that no name in a later line can declare another encoding."""

_ENDS = re.compile(r"[\\\n]|(?<=\?)\?|(?<=\*)/")
"""Characters that may end a comment or join it with the next line, as a backslash or `??/` at its end does in C."""


def source(expression: Expression, language: str = "python", name: str = "formula") -> str:
    """Return an expression as source code, the source of a function in most languages.

    In Python it takes a sequence of numbers and returns a list, with NumPy it takes an array `(*, inputs)` and returns
    one `(*, outputs)`, and in C it takes an array of doubles and fills another. With SymPy it is a tuple of
    expressions, and in LaTeX a line per output. `excel` writes the formulas of a spreadsheet.

    Args:
        expression: the expression.
        language: "python", "numpy", "sympy", "c" or "latex".
        name: name of the function, or of the tuple with SymPy.

    Example:
        >>> import torch
        >>> from arithmos.formula import expression
        >>> from arithmos.nn import NMU
        >>> nmu = NMU(2, 1)
        >>> nmu.weight.data = torch.tensor([[1.0, 1.0]])
        >>> print(source(expression(nmu, names=["mass", "speed"])))
        # -*- coding: utf-8 -*-
        # y1 = mass*speed
        # ...
        def formula(x):
            return [x[0]*x[1]]
    """
    if language not in LANGUAGES:
        raise ValueError(f"language must be {' or '.join(map(repr, LANGUAGES))}, got {language!r}")
    if not name.isidentifier():
        raise ValueError(f"name must be the name of a function, got {name!r}")
    return "\n".join(LANGUAGES[language](expression, name)) + "\n"


def _python(expression: Expression, name: str) -> Lines:
    printer = PythonCodePrinter()
    shared, outputs = _written(expression, "x[{}]", printer)
    yield from [ENCODING, *(f"# {line}" for line in comments(expression))]
    if printer.module_imports:
        yield "import math"
    yield from ["", "", f"def {name}(x):"] if printer.module_imports else [f"def {name}(x):"]
    yield from (f"    {local} = {text}" for local, text in shared)
    yield f"    return [{', '.join(outputs)}]"


class _NumPyPrinter(NumPyPrinter):  # type: ignore[misc]
    """NumPy printer that compares two values at a time, where SymPy reduces a list."""

    def _print_Max(self, node: sympy.Expr) -> str:
        return f"numpy.maximum({', '.join(map(self._print, node.args))})"

    def _print_Min(self, node: sympy.Expr) -> str:
        return f"numpy.minimum({', '.join(map(self._print, node.args))})"


def _numpy(expression: Expression, name: str) -> Lines:
    shared, outputs = _written(expression, "x[..., {}]", _NumPyPrinter())
    yield from [ENCODING, *(f"# {line}" for line in comments(expression))]
    yield from ["import numpy", "", "", f"def {name}(x):", "    x = numpy.asarray(x, float)"]
    yield from (f"    {local} = {text}" for local, text in shared)
    yield f"    return numpy.stack(numpy.broadcast_arrays(x[..., 0], {', '.join(outputs)})[1:], axis=-1)"


class _CPrinter(C99CodePrinter):  # type: ignore[misc]
    """C printer that writes numbers with as few digits as they need, where SymPy writes 17."""

    def _print_Float(self, node: sympy.Float) -> str:
        return repr(float(node))


def _c(expression: Expression, name: str) -> Lines:
    plain = [output.xreplace({sympy.pi: sympy.Float(math.pi)}) for output in expression.outputs]  # C99 has no M_PI
    shared, outputs = _written(replace(expression, outputs=tuple(plain)), "x[{}]", _CPrinter({"math_macros": {}}))
    yield from (f"// {line}" for line in comments(expression))
    yield from ["#include <math.h>", ""]
    yield f"void {name}(const double x[{len(expression.symbols)}], double y[{len(outputs)}]) {{"
    yield from (f"    const double {local} = {text};" for local, text in shared)
    yield from (f"    y[{number}] = {text};" for number, text in enumerate(outputs))
    yield "}"


def _sympy(expression: Expression, name: str) -> Lines:
    """Yield a module that builds the expressions; names are literals in ASCII."""
    printer = SymPyPrinter()
    places = {symbol: f"x[{i}]" for i, symbol in enumerate(expression.symbols)}
    printer._print_Symbol = lambda symbol: places[symbol]
    yield from [ENCODING, *(f"# {line}" for line in comments(expression)), "import sympy", ""]
    names = ", ".join(map(ascii, expression.names))
    yield f"x = [sympy.Symbol(name, real=True) for name in [{names}]]"
    yield f"{name} = ({', '.join(printer.doprint(output) for output in expression.outputs)},)"


def _latex(expression: Expression, name: str) -> Lines:
    yield from (f"% {line}" for line in comments(expression))
    yield expression.latex(DIGITS)


LANGUAGES: dict[str, Callable[[Expression, str], Lines]] = {
    "python": _python,
    "numpy": _numpy,
    "sympy": _sympy,
    "c": _c,
    "latex": _latex,
}


def comments(expression: Expression, places: Sequence[str] | None = None) -> Lines:
    """Yield comments with the formula and the names of its arguments, which are x[0], x[1], … by default."""
    for number, output in enumerate(expression.outputs, 1):
        yield _comment(f"y{number} = {replace(expression, outputs=(output,))}")
    places = places or [f"x[{number}]" for number in range(len(expression.names))]
    names = ", ".join(f"{place} is {name}" for place, name in zip(places, expression.names, strict=True))
    yield _comment(f"{names}; written by arithmos {__version__}")


def _comment(line: str) -> str:
    """Return a line that stays one comment line in every language, whatever names it contains."""
    return printable(_ENDS.sub(lambda found: escaped(found[0]), line))


def _written(expression: Expression, place: str, printer: CodePrinter) -> tuple[list[tuple[str, str]], list[str]]:
    """Return repeated subexpressions with their variable names, and the outputs."""
    places = {symbol: place.format(i) for i, symbol in enumerate(expression.symbols)}
    printer._print_Symbol = lambda symbol: places.get(symbol, symbol.name)
    locals_ = (sympy.Symbol(f"t{number}") for number in count(1))  # inputs are real symbols, these are not: no clash
    shared, outputs = tree_cse([_stable(output) for output in expression.outputs], locals_)
    return [(local.name, printer.doprint(node)) for local, node in shared], [printer.doprint(o) for o in outputs]


def _stable(output: sympy.Expr) -> sympy.Expr:
    """Replace 1/(1 + exp(−z)), whose exponential overflows, by (1 + tanh(z/2))/2."""
    gates = {node: _logistic(node) for node in output.atoms(sympy.Pow) if node.base.has(sympy.exp)}
    known = {node: logistic for node, logistic in gates.items() if logistic is not None}
    return output.xreplace(known) if known else output


def _logistic(node: sympy.Pow) -> sympy.Expr | None:
    exponentials = [part for part in node.base.args if isinstance(part, sympy.exp)]
    if node.exp != -1 or len(node.base.args) != 2 or len(exponentials) != 1 or sympy.S.One not in node.base.args:
        return None
    return (1 - sympy.tanh(exponentials[0].exp / 2, evaluate=False)) / 2
