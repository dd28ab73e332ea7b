"""Networks as expressions, with exact numbers where weights are close to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .._text import TEX, printable
from .stages import Array, Rounding, Stage, snapped

if TYPE_CHECKING:  # a formula found in data needs no torch
    import sympy
    from torch import Tensor, nn

    from ..spec import Spec

SNAP = 0.01
DIGITS = 4
LARGEST_DIGITS = 16
UNSEEN = 1e-5
"""Difference of a layer from its formula that need not be shown: that of an ε in a logarithm."""


@dataclass(frozen=True)
class Expression:
    """SymPy expressions of what a network computes from its inputs.

    Args:
        outputs: one expression per output.
        symbols: the inputs, in order.
        rounded: the numbers that were replaced by exact ones, with the distance; for a gate, its value furthest from 0
            or 1.
        approximate: the numbers that were not close to an exact one and were kept.

    Example:
        >>> import torch
        >>> from arithmos.nn import NAU, NMU
        >>> network = torch.nn.Sequential(NAU(3, 2), NMU(2, 1))
        >>> for layer, weight in zip(network, ([[0.998, 1, 0], [0, 1, -1]], [[1.0, 1.0]])):
        ...     layer.weight.data = torch.tensor(weight)
        >>> found = expression(network)
        >>> print(found)
        (x1 + x2)*(x2 - x3)
        >>> found.largest_rounding
        0.00199...
        >>> found.numpy()([[1.0, 2.0, 3.0]])
        array([[-3.]])
    """

    outputs: "tuple[sympy.Expr, ...]"
    symbols: "tuple[sympy.Symbol, ...]"
    rounded: tuple[Rounding, ...] = ()
    approximate: tuple[str, ...] = ()

    @property
    def sympy(self) -> "sympy.Expr | sympy.Tuple":
        """The expression, or a tuple of them if there are several outputs."""
        import sympy

        return self.outputs[0] if len(self.outputs) == 1 else sympy.Tuple(*self.outputs)

    @property
    def largest_rounding(self) -> float:
        """Largest distance by which a number was moved; 0 if none was."""
        return max((rounding.distance for rounding in self.rounded), default=0.0)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(symbol.name for symbol in self.symbols)

    def __str__(self) -> str:
        return self.text()

    def text(self, digits: int = DIGITS) -> str:
        """Return the expression as text, one line per output, with `digits` digits for inexact numbers.

        Names that could be taken for a part of the formula are in backticks.
        """
        import sympy

        named = {symbol: sympy.Symbol(quoted(symbol.name), real=True) for symbol in self.symbols}
        strange = {symbol: name for symbol, name in named.items() if name != symbol}
        return self._lines(digits, lambda output: sympy.sstr(output.xreplace(strange)), "y{} = {}", "\n")

    def latex(self, digits: int = DIGITS) -> str:
        """Return the expression as LaTeX, one line per output."""
        import sympy

        words = {symbol: _mbox(symbol.name) for symbol in self.symbols if not symbol.name.isidentifier()}
        return self._lines(digits, partial(sympy.latex, symbol_names=words), "y_{{{}}} = {}", " \\\\\n")

    def _lines(self, digits: int, write: Callable[[Any], str], line: str, end: str) -> str:
        import sympy

        lines = []
        for output in self.outputs:
            inexact = {number: _written(number, digits) for number in output.atoms(sympy.Float)}
            lines.append(write(output.xreplace(inexact)))
        if len(lines) == 1:
            return lines[0]
        return end.join(line.format(number, text) for number, text in enumerate(lines, 1))

    def numpy(self) -> Callable[[ArrayLike], NDArray[np.float64]]:
        """Return a function from arrays `(*, inputs)` to arrays `(*, outputs)`."""
        from .callables import numpy_function

        return numpy_function(self.outputs, self.symbols)

    def torch(self) -> "Callable[[Tensor], Tensor]":
        """Return a differentiable function from tensors `(*, inputs)` to tensors `(*, outputs)`."""
        from .tensors import torch_function

        return torch_function(self.outputs, self.symbols)


def expression(
    model: "nn.Module",
    names: Sequence[str] | None = None,
    snap: float = SNAP,
    *,
    inputs: ArrayLike | None = None,
    length: int | None = None,
) -> Expression:
    """Return a network as an expression.

    Weights and biases within `snap` of an integer become that integer; exponents of layers that take roots, if they
    are within `snap` of a multiple of ½, become that multiple. A unit since 2020 is shown as the powers that it reads
    itself as, without its ε, if its output differs by at most `snap` from them. Everything that another layer does is
    shown: the absolute values and the ε = 1e-7 of an exp-log, the maximum of a ReLU, the σ(Gx) = 1/(1 + exp(−Gx)) of a
    gate. A gate counts as closed or open only if it is within `snap` of 0 or of 1 on all of `inputs`; `rounded` lists
    it then.

    Args:
        model: a unit or a `torch.nn.Sequential` of units, including `Recurrent` cells.
        names: names of the inputs; x1, x2, … by default. For a recurrent network, the inputs of the first step come
            first.
        snap: largest distance at which a number is replaced by an exact one; 0 for none, 0.5 for all.
        inputs: rows that the network is meant for, `[rows, inputs]` or, if it is recurrent, `[rows, length, inputs]`.
        length: number of steps, for a recurrent network; the expression is that of its last step.

    Raises:
        TypeError: a layer has none of the known forms.
        ValueError: an argument does not fit the network, or a weight is not finite.
    """
    from .network import of_module

    return express(of_module(model), names, snap, inputs=inputs, length=length)


def from_weights(
    spec: "Spec",
    weights: ArrayLike,
    names: Sequence[str] | None = None,
    snap: float = SNAP,
    *,
    inputs: ArrayLike | None = None,
) -> Expression:
    """Return the expression of a spec's network, from its effective weights as stored in a run.

    Args:
        spec: spec that defines layers and sizes.
        weights: flat weights, such as `Run.best_weights`.
        names, snap, inputs: as in `expression`.

    Example:
        >>> from arithmos.spec import MODELS, Spec
        >>> from arithmos.tasks import TEN_PARAMETERS
        >>> spec = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"])
        >>> print(from_weights(spec, [1, 1, 1, 1, 1, 1, 0, 0, 1, 1]))
        (x1 + x2)*(x1 + x2 + x3 + x4)
    """
    from .network import of_weights

    return express(of_weights(spec.model.layers, spec.sizes, weights), names, snap, inputs=inputs)


def express(
    stages: Sequence[Stage],
    names: Sequence[str] | None = None,
    snap: float = SNAP,
    *,
    inputs: ArrayLike | None = None,
    length: int | None = None,
) -> Expression:
    """Return the expression of a network given by its stages; the arguments are those of `expression`."""
    import sympy

    from .symbolic import outputs

    _check_gates(stages, snap)
    width, steps = stages[0].in_features, _steps(stages, length)
    symbols = [sympy.Symbol(name, real=True) for name in _names(names, width, None if length is None else steps)]
    exact, rounded = snapped(stages, snap)
    gates = [None] * len(stages) if inputs is None else _saturated(stages, snap, _rows(inputs, width, length))
    found = outputs(exact, [symbols[t * width : (t + 1) * width] for t in range(steps)], gates)
    chosen = tuple(rounding for gate in gates if gate is not None for rounding in gate if rounding is not None)
    return Expression(tuple(found), tuple(symbols), rounded + chosen, _approximate(exact, gates))


def _check_gates(stages: Sequence[Stage], snap: float) -> None:
    """Raise unless layers that read themselves, whose gates are not shown, compute about what their stages do."""
    for stage in stages:
        if not stage.off <= max(snap, UNSEEN):
            raise TypeError(
                f"{stage.name}, has no known formula: it differs by {stage.off:.2g}, more than snap {snap}, from the "
                "sum or product of powers that it reads itself as"
            )


def _steps(stages: Sequence[Stage], length: int | None) -> int:
    recurrent = any(stage.initial is not None for stage in stages)
    if recurrent and (length is None or length < 1):
        raise ValueError(f"length must be the number of steps of the sequence, at least 1, got {length}")
    if length is not None and not recurrent:
        raise ValueError(f"length must be None for a network that is not recurrent, got {length}")
    return length or 1


def _names(names: Sequence[str] | None, width: int, length: int | None) -> list[str]:
    """Return the names of the inputs; by default x1, x2, … or, for several inputs per step, x1_1, x1_2, …, x2_1, …."""
    steps = 1 if length is None else length
    if names is None:
        if length is None or width == 1:
            return [f"x{number}" for number in range(1, width * steps + 1)]
        return [f"x{t}_{i}" for t in range(1, steps + 1) for i in range(1, width + 1)]
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != width * steps:
        raise ValueError(f"names must be {width * steps}, one per input, got {len(names)}")
    for name in names:
        if not _checks.text("names", name).strip():
            raise ValueError(f"names must be non-empty text, got {name!r}")
        if names.count(name) > 1:
            raise ValueError(f"names must be different, got {name!r} twice")
    return names


def quoted(name: str) -> str:
    """Return a name in backticks if it could be taken for a part of a formula.

    Example:
        >>> quoted("mass"), quoted("net price"), quoted("price (EUR)"), quoted("a-b"), quoted("2024")
        ('mass', 'net price', '`price (EUR)`', '`a-b`', '`2024`')
    """
    return f"`{name}`" if name[0].isdigit() or set(name) & set("+-*/^()=`,;") else name


def _written(number: "sympy.Float", digits: int) -> "sympy.Float":
    """Return an inexact number with `digits` digits, or with as many as tell it from an integer."""
    import sympy

    value = float(number)
    written = (float(f"{value:.{more}g}") for more in range(digits, LARGEST_DIGITS))
    enough = next((k for k, near in enumerate(written) if near % 1 or abs(near) >= 10**digits), 0)
    return sympy.Float(number, digits + enough)


def _mbox(name: str) -> str:
    """Return a name in LaTeX, as text that cannot be a command."""
    return rf"\mbox{{{''.join(TEX.get(character, character) for character in printable(name))}}}"


def _rows(inputs: ArrayLike, width: int, length: int | None) -> NDArray[np.float64]:
    rows = np.asarray(inputs, np.float64)
    shape = (width,) if length is None else (length, width)
    if rows.ndim != 1 + len(shape) or rows.shape[1:] != shape or not len(rows):
        wanted = ", ".join(map(str, ("rows", *shape)))
        raise ValueError(f"inputs must have the shape [{wanted}], got {list(rows.shape)}")
    return rows[:, None, :] if length is None else rows


def _saturated(stages: Sequence[Stage], snap: float, rows: NDArray[np.float64]) -> list[list[Rounding | None] | None]:
    """Return the rounded gate of each output of each gated stage; None where it is neither open nor closed."""
    from .numeric import forward

    _, gates = forward(stages, rows)
    return [
        None if gate is None else _choices(stage.name, gate, snap) for stage, gate in zip(stages, gates, strict=True)
    ]


def _choices(name: str, gate: Array, snap: float) -> list[Rounding | None]:
    found: list[Rounding | None] = []
    for output, values in enumerate(gate.reshape(-1, gate.shape[-1]).T):
        far = float(values[np.abs(values - np.rint(values)).argmax()])
        to = round(float(values[0]))
        closest = bool((np.abs(values - to) <= snap).all())
        found.append(Rounding(f"{name}, gate of output {output}", far, Fraction(to)) if closest else None)
    return found


def _approximate(stages: Sequence[Stage], gates: Sequence[list[Rounding | None] | None]) -> tuple[str, ...]:
    """Return the weights that are not exact and the gates that are shown."""
    found = []
    for stage, gate in zip(stages, gates, strict=True):
        for branch in stage.branches:
            for name, array in ((branch.name, branch.weight), ("bias", branch.bias)):
                if array is not None:
                    inexact = (place for place in np.ndindex(array.shape) if not isinstance(array[place], Fraction))
                    found += [f"{stage.name}, {name}{[*place]}" for place in inexact]
        if stage.gate is not None:
            shown = gate or [None] * stage.out_features
            found += [f"{stage.name}, gate of output {o}" for o, choice in enumerate(shown) if choice is None]
    return tuple(dict.fromkeys(found))
