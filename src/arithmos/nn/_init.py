"""Initial values of parameters: each rule is a value, and fills an `out x in` tensor from an explicit generator."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..theory import nac_range


def _fans(tensor: Tensor) -> tuple[int, int]:
    out_features, in_features = tensor.shape
    return in_features, out_features


def _uniform_(tensor: Tensor, low: float, high: float, generator: torch.Generator | None) -> Tensor:
    with torch.no_grad():
        return tensor.uniform_(low, high, generator=generator)


def _normal_(tensor: Tensor, mean: float, deviation: float, generator: torch.Generator | None) -> Tensor:
    if tensor.is_meta:  # to draw nothing, torch would load its compiler, which takes a second
        return tensor
    with torch.no_grad():
        return tensor.normal_(mean, deviation, generator=generator)


@dataclass(frozen=True)
class Uniform:
    """U[low, high] for any shape."""

    low: float
    high: float

    def draw_(self, tensor: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return _uniform_(tensor, self.low, self.high, generator)


@dataclass(frozen=True)
class Normal:
    """Normal distribution with a mean and a standard deviation, for any shape."""

    mean: float
    deviation: float

    def draw_(self, tensor: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return _normal_(tensor, self.mean, self.deviation, generator)


@dataclass(frozen=True)
class GlorotUniform:
    """U[-r, r] with r = sqrt(6 / (in + out)) times a factor, or the cap if that is smaller."""

    cap: float = math.inf
    factor: float = 1.0

    def draw_(self, tensor: Tensor, generator: torch.Generator | None = None) -> Tensor:
        r = min(self.cap, self.factor * math.sqrt(6.0 / sum(_fans(tensor))))
        return _uniform_(tensor, -r, r, generator)


@dataclass(frozen=True)
class GlorotNormal:
    """Normal(0, 2 / (in + out))."""

    def draw_(self, tensor: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return _normal_(tensor, 0.0, math.sqrt(2.0 / sum(_fans(tensor))), generator)


@dataclass(frozen=True)
class HeUniform:
    """U[-r, r] with r = sqrt(6 / in)."""

    def draw_(self, tensor: Tensor, generator: torch.Generator | None = None) -> Tensor:
        r = math.sqrt(6.0 / _fans(tensor)[0])
        return _uniform_(tensor, -r, r, generator)


@dataclass(frozen=True)
class NACRange:
    """U[-r, r], with the r that gives tanh(W_hat) sigmoid(M_hat) the variance 2 / (in + out).

    Args:
        floor: smallest in + out to solve for. There is no solution up to 4, and the published runs used 5; 0 follows
            the paper's text and raises where no r exists.
    """

    floor: int = 5

    def draw_(self, tensor: Tensor, generator: torch.Generator | None = None) -> Tensor:
        r = nac_range(*_fans(tensor), floor=self.floor)
        return _uniform_(tensor, -r, r, generator)


Init = Uniform | Normal | GlorotUniform | GlorotNormal | HeUniform | NACRange
