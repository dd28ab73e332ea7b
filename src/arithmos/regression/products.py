r"""Sums of products of sums: the functions that stacks of NAU and NMU with a final sum compute.

.. math:: y = b + \sum_j c_j \prod_k \sum_i w_{jki}\,x_i
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..nn import NAU, NMU, Linear

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Products:
    """Function of rows: an intercept plus products of sums with their coefficients.

    Args:
        factors: one `[k, i]` matrix per product, whose rows are its factors.
        coefficients: one per product.
        intercept: constant term.

    Example:
        >>> squared = Products((np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),), np.array([2.0]), 0.5)
        >>> squared(np.array([[1.0, 2.0, 9.0]])).tolist()
        [18.5]
    """

    factors: Sequence[Floats]
    coefficients: Floats
    intercept: float = 0.0

    def __call__(self, x: Floats) -> Floats:
        return self.terms(x) @ self.coefficients + self.intercept

    def terms(self, x: Floats) -> Floats:
        """Return the products without their coefficients, `[rows, j]`."""
        with np.errstate(over="ignore", invalid="ignore"):
            columns = [(x @ w.T).prod(1) for w in self.factors]
        return np.stack(columns, 1) if columns else np.empty((len(x), 0))

    @property
    def used(self) -> NDArray[np.intp]:
        """Indices of the columns that occur."""
        found = [np.flatnonzero(np.any(w != 0, 0)) for w in self.factors]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.intp)

    @property
    def constants(self) -> tuple[float, ...]:
        """Coefficients other than ±1, and the intercept if there is one."""
        loose = [float(c) for c in self.coefficients if abs(c) != 1]
        return (*loose, *([self.intercept] if self.intercept else []))

    @property
    def complexity(self) -> int:
        """Number of columns and constants in the written formula."""
        return sum(int(np.count_nonzero(w)) for w in self.factors) + len(self.constants)

    @property
    def key(self) -> tuple[object, ...]:
        """Key shared by formulas that differ only in the values of their constants; products must be `ordered`."""
        products = zip(self.factors, self.coefficients, strict=True)
        return (*((w.tobytes(), _whole(c)) for w, c in products), _whole(self.intercept))


def _whole(number: float) -> float | None:
    return float(number) if number == round(number) else None


def ordered(factors: Floats) -> Floats:
    """Sort the factors of a product and make each one's first weight positive; at most the product's sign changes."""
    first = factors[np.arange(len(factors)), np.argmax(factors != 0, 1)]
    rows = factors * np.where(first < 0, -1.0, 1.0)[:, None] + 0.0  # no -0
    return np.ascontiguousarray(rows[np.lexsort(-rows.T[::-1])])


def network(outputs: Sequence[Products], columns: int) -> nn.Sequential:
    """Build one float64 network from snapped functions of the same columns: NAU, NMU and, if needed, a final sum.

    A factor that occurs in several products is one hidden unit; within one product each occurrence is a unit of its
    own.
    """
    hidden: list[Floats] = []
    products: list[list[int]] = []
    for w in (w for output in outputs for w in output.factors):
        chosen: list[int] = []
        for row in w:
            known = [h for h, other in enumerate(hidden) if np.array_equal(other, row) and h not in chosen]
            if not known:
                hidden.append(row)
            chosen.append(known[0] if known else len(hidden) - 1)
        products.append(chosen)
    sums, factors = max(1, len(hidden)), max(1, len(products))
    first, second = NAU(columns, sums, dtype=torch.float64), NMU(sums, factors, dtype=torch.float64)
    last = Linear(factors, len(outputs), dtype=torch.float64)
    with torch.no_grad():
        for parameter in (first.weight, second.weight, last.weight, last.bias):
            parameter.zero_()
        for h, row in enumerate(hidden):
            first.weight[h] = torch.from_numpy(row)
        for j, chosen in enumerate(products):
            second.weight[j, chosen] = 1
        position = 0
        for o, output in enumerate(outputs):
            count = len(output.coefficients)
            last.weight[o, position : position + count] = torch.from_numpy(output.coefficients)
            last.bias[o] = output.intercept
            position += count
        plain = last.bias.eq(0).all() and torch.equal(last.weight, torch.eye(len(outputs), last.in_features).double())
    return nn.Sequential(first, second) if plain else nn.Sequential(first, second, last)
