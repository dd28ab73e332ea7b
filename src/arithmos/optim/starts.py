"""Initial weights of products of powers of sums.

Where the equation can be rearranged so that the weights enter linearly, they are solved for: a single factor, t^(1/p) =
w·x, and a ratio, t^(1/p) (v·x) = u·x. Otherwise the slope of the targets is shared out among the factors, with a random
part that tells them apart.
"""

import math

import torch
from torch import Tensor

from .._typing import Float


def solvable(exponents: tuple[float, ...], t: Float[Tensor, " r"]) -> bool:
    """Return whether the weights enter a rearranged equation linearly."""
    single = len(exponents) == 1
    opposed = len(exponents) == 2 and exponents[0] == -exponents[1]
    return (single or opposed) and _root(t, exponents[0]) is not None


def start(
    exponents: tuple[float, ...],
    x: Float[Tensor, "r i"],
    t: Float[Tensor, " r"],
    generator: torch.Generator,
    attempt: int,
) -> Float[Tensor, "h i"]:
    """Return initial weights: those of the linear equation where there is one (attempts 0 and 1), or random ones."""
    root = _root(t, exponents[0])
    if attempt < 2 and root is not None:
        return linear(x, root).unsqueeze(0) if len(exponents) == 1 else ratio(x, root)
    if min(exponents) < 0 < max(exponents):
        return _positive(exponents, x, t, generator)
    return _slopes(exponents, x, t, generator, attempt)


def linear(x: Float[Tensor, "r i"], t: Float[Tensor, " r"]) -> Float[Tensor, " i"]:
    """Return the least-squares weights of t = w·x, those of least norm where there are many."""
    scale = x.square().sum(0).sqrt().clamp_min(torch.finfo(x.dtype).tiny)
    scaled = x / scale
    dual = x.shape[0] < x.shape[1]
    gram = scaled @ scaled.mT if dual else scaled.mT @ scaled
    gram.diagonal().add_(1e-13 * len(gram))
    factor = torch.linalg.cholesky_ex(gram).L
    w = torch.zeros_like(scale)
    for _ in range(2):  # the second pass removes the error of the first
        rest = t - scaled @ w
        if dual:
            w = w + scaled.mT @ torch.cholesky_solve(rest.unsqueeze(1), factor).squeeze(1)
        else:
            w = w + torch.cholesky_solve((scaled.mT @ rest).unsqueeze(1), factor).squeeze(1)
    return w / scale


def ratio(x: Float[Tensor, "r i"], t: Float[Tensor, " r"]) -> Float[Tensor, "2 i"]:
    """Return the weights u, v for which t (v·x) - u·x is smallest, as the smallest singular vector."""
    typical = t.abs().median().clamp_min(torch.finfo(t.dtype).tiny)
    rows = 1 / (1 + (t / typical).square()).sqrt()
    matrix = torch.cat([x * (rows * typical).unsqueeze(1), -x * (rows * t).unsqueeze(1)], 1)
    vector = torch.linalg.eigh(matrix.mT @ matrix).eigenvectors[:, 0]
    u, v = vector.view(2, -1)
    return torch.stack([u * typical, v])


def _root(t: Tensor, exponent: float) -> Tensor | None:
    """Return t^(1/p), or None if it is not finite or its sign is not known."""
    odd = float(exponent).is_integer() and exponent % 2
    if not odd and bool((t < 0).any()):
        return None
    root = t.sign() * t.abs() ** (1 / exponent)
    return root if bool(root.isfinite().all()) else None


def _slopes(
    exponents: tuple[float, ...], x: Tensor, t: Tensor, generator: torch.Generator, attempt: int
) -> Float[Tensor, "h i"]:
    """Return a share of the slope of the targets for each factor, and random parts that cancel in the product."""
    count, degree = len(exponents), sum(exponents)
    mean = t.mean().abs().clamp_min(1e-3 * t.abs().max())
    slope = linear(x - x.mean(0), t - t.mean())
    shared = slope / mean * mean ** (1 / degree) / degree
    noise = torch.randn(count, x.shape[1], generator=generator, dtype=torch.float64).to(x)
    if count > 1:
        noise = (noise - noise.mean(0)) * math.sqrt(count / (count - 1))
    weights = shared + (0.5 + 0.5 * (attempt % 2)) * shared.abs().max() * noise
    weights[0] *= t.mean().sign() if t.mean() else 1.0
    return weights


def _positive(exponents: tuple[float, ...], x: Tensor, t: Tensor, generator: torch.Generator) -> Float[Tensor, "h i"]:
    """Return random weights of one sign, so that no denominator vanishes on inputs of one sign."""
    weights = torch.rand(len(exponents), x.shape[1], generator=generator, dtype=torch.float64).to(x)
    z = (x @ weights.mT).abs().mean(0)
    weights = weights / z.unsqueeze(1)
    weights[0] *= t.abs().median().clamp_min(torch.finfo(t.dtype).tiny) ** (1 / exponents[0])
    return weights
