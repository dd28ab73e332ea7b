"""Networks that are products of powers of sums, and how a formula is written into their weights."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..nn import NAU, NMU, RealNPU
from .forms import Exponents, real_powers, whole_powers
from .search import Formula


@dataclass(frozen=True)
class Layout:
    """Layers of a network whose formulas can be searched for.

    Args:
        sums: layer that adds inputs, or None if the products are of the inputs themselves.
        last: layer that multiplies, or that adds again; None for a single layer of sums.
    """

    sums: NAU | None
    last: NAU | NMU | RealNPU | None

    @property
    def inputs(self) -> int:
        return (self.sums or self._only()).in_features

    @property
    def outputs(self) -> int:
        return (self.last or self._only()).out_features

    @property
    def bound(self) -> int:
        """Return the largest weight of an input in a sum."""
        return self.sums.out_features if self.sums is not None and isinstance(self.last, NAU) else 1

    @property
    def forms(self) -> list[Exponents]:
        """Return the forms to search, those with the fewest factors first."""
        if self.last is None or isinstance(self.last, NAU):
            return [(1.0,)]
        hidden = self.last.in_features
        if isinstance(self.last, NMU):
            return whole_powers(hidden)
        return [form for form in real_powers(hidden) if sum(map(self._copies, form)) <= hidden]

    def exponents_allowed(self) -> Tensor:
        """Return the exponents that an input of a product may have, where there are no sums before it."""
        whole = isinstance(self.last, NMU)
        most = 1.0 if whole or self._limited() else 4.0
        return torch.tensor([0.0, 1.0]) if whole else torch.arange(-most, most + 0.25, 0.5)

    @torch.no_grad()
    def write(self, formulas: list[Formula]) -> int:
        """Set the weights to one formula per output, switch the rest off, and return the number of factors used.

        Raises:
            ValueError: if the formulas together need more factors than there are; the weights are left alone.
        """
        if self.sums is None:
            return self._write_powers(formulas)
        if self.last is None:
            self.sums.weight.copy_(torch.cat([formula.weights for formula in formulas]))
            return len(formulas)
        rows, uses = self._factors(formulas)
        if len(rows) > self.sums.out_features:
            raise ValueError(f"the formulas need {len(rows)} factors, and the network has {self.sums.out_features}")
        self.sums.weight.zero_()
        self.last.weight.zero_()
        if rows:
            self.sums.weight[: len(rows)] = torch.stack(rows).to(self.sums.weight)
        for output, used in enumerate(uses):
            for factor, exponent in used:
                self.last.weight[output, factor] = exponent
        if isinstance(self.last, RealNPU):
            self.last.gate.copy_(self.last.weight.abs().amax(0) > 0)
        return len(rows)

    def _factors(self, formulas: list[Formula]) -> tuple[list[Tensor], list[list[tuple[int, float]]]]:
        """Return distinct rows of sums, and for each output the rows it uses with their exponents."""
        rows: list[Tensor] = []
        uses = []
        for formula in formulas:
            used: list[tuple[int, float]] = []
            for weights, exponent in self._terms(formula):
                taken = {factor for factor, _ in used}
                same = [n for n, row in enumerate(rows) if n not in taken and torch.equal(row, weights)]
                if not same:
                    rows.append(weights)
                used.append((same[0] if same else len(rows) - 1, exponent))
            uses.append(used)
        return rows, uses

    def _terms(self, formula: Formula) -> list[tuple[Tensor, float]]:
        """Return the factors of a formula as the last layer can hold them: repeated where an exponent is too large."""
        if isinstance(self.last, NAU):  # a weight of 2 is the sum of two rows
            (total,) = formula.weights
            assert self.sums is not None
            if (most := math.ceil(total.abs().max())) > self.sums.out_features:
                raise ValueError(f"the formulas need {most} factors, and the network has {self.sums.out_features}")
            return [((total.abs() - n).clamp(0, 1) * total.sign(), 1.0) for n in range(most)]
        return [
            (row, exponent / self._copies(exponent))
            for row, exponent in zip(formula.weights, formula.exponents, strict=True)
            for _ in range(self._copies(exponent))
        ]

    def _copies(self, exponent: float) -> int:
        return -int(-abs(exponent) // 1) if self._limited() else 1

    def _limited(self) -> bool:
        return not isinstance(self.last, RealNPU) or "weight" in self.last.bounds()

    def _write_powers(self, formulas: list[Formula]) -> int:
        assert self.last is not None
        self.last.weight.zero_()
        for output, formula in enumerate(formulas):
            exponents = torch.tensor(formula.exponents, dtype=formula.weights.dtype, device=formula.weights.device)
            self.last.weight[output] = (exponents.unsqueeze(1) * formula.weights).sum(0).to(self.last.weight)
        used = self.last.weight.abs().amax(0) > 0
        if isinstance(self.last, RealNPU):
            self.last.gate.copy_(used)
        return int(used.sum())

    def _only(self) -> NAU | NMU | RealNPU:
        layer = self.sums or self.last
        assert layer is not None
        return layer


def balanced(formula: Formula) -> Formula:
    """Return a fit with its scale shared out evenly among factors of exponent 1."""
    weights = formula.weights
    if len(weights) > 1 and set(formula.exponents) == {1.0}:
        largest = weights.abs().amax(1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
        weights = weights / largest * largest.log().mean().exp()
    return Formula(weights, formula.exponents, formula.noise)


def layout(model: nn.Module) -> Layout | None:
    """Return the layout of a network, or None if its formulas cannot be searched for.

    Example:
        >>> layout(nn.Sequential(NAU(4, 2), NMU(2, 1))).forms
        [(1.0,), (2.0,), (1.0, 1.0)]
        >>> layout(nn.Sequential(nn.Linear(4, 2), NMU(2, 1)))
    """
    match [layer for layer in _flat(model) if not isinstance(layer, nn.Identity)]:
        case [NAU() as sums]:
            return Layout(sums, None)
        case [NMU() | RealNPU() as last]:
            return Layout(None, last)
        case [NAU() as sums, NAU() | NMU() | RealNPU() as last]:
            return Layout(sums, last)
    return None


def _flat(model: nn.Module) -> list[nn.Module]:
    if type(model) is nn.Sequential:
        return [layer for child in model for layer in _flat(child)]
    return [model]
