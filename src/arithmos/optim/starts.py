"""Initial weights of products of powers of sums.

Where the equation can be rearranged so that the weights enter linearly, they are solved for: a single factor, t^(1/p) =
w·x, and a ratio, t^(1/p) (v·x) = u·x. A product of sums is nearly a power of their mean, which is solved for; what
tells the sums apart are the main eigenvectors of the curvature of the targets. This is the spectral start of phase
retrieval (Netrapalli et al., 2013). For two sums with whole weights, its alternating minimization finds the rest.
Otherwise the slope of the targets is shared out among the factors, with a random part.
"""

import math

import torch
from torch import Tensor

from .._typing import Float

TURNS = 8
"""Number of starts of the alternating minimization for a product of two sums."""


def solvable(exponents: tuple[float, ...], t: Float[Tensor, " r"]) -> bool:
    """Return whether the weights follow from linear equations."""
    root = _root(t, exponents[0])
    if root is None or len(exponents) > 2:
        return False
    return len(exponents) == 1 or exponents[0] == -exponents[1] or (paired(exponents) and _far(root))


def paired(exponents: tuple[float, ...]) -> bool:
    """Return whether a form is a power of a product of two sums."""
    return len(exponents) == 2 and exponents[0] == exponents[1]


def reachable(exponents: tuple[float, ...], t: Float[Tensor, " r"]) -> bool:
    """Return whether a form can have the signs of the targets."""
    signed = any(float(p).is_integer() and p % 2 for p in exponents)
    return signed or bool((t < 0).double().mean() < 0.1)


def start(
    exponents: tuple[float, ...],
    x: Float[Tensor, "r i"],
    t: Float[Tensor, " r"],
    generator: torch.Generator,
    attempt: int,
) -> Float[Tensor, "h i"]:
    """Return initial weights.

    Attempts 0 and 1 are those of the linear equation where there is one. Later ones are spectral, and random in turn;
    spectral ones have a random part from the second on.
    """
    root = _root(t, exponents[0])
    if attempt < 2 and root is not None:
        if len(exponents) == 1:
            return linear(x, root).unsqueeze(0)
        return pair(x, root, generator) if paired(exponents) else ratio(x, root)
    if min(exponents) < 0 < max(exponents):
        return _positive(exponents, x, t, generator)
    weights = spectral(x, t, len(exponents), generator) if set(exponents) == {1.0} and attempt % 2 == 0 else None
    if weights is None:
        return _slopes(exponents, x, t, generator, attempt)
    if attempt > 2:
        apart = weights - weights.mean(0)
        noise = torch.randn(*weights.shape, generator=generator, dtype=torch.float64).to(x)
        weights = weights + apart.square().mean().sqrt() * noise
    return weights


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


def pair(x: Float[Tensor, "r i"], t: Float[Tensor, " r"], generator: torch.Generator) -> Float[Tensor, "2 i"]:
    r"""Return the whole weights of a product of two sums far from 0, or others near them if it has none.

    Let the sums be w + d and w - d. The root of the targets is nearly w·x, whose weights are halves of whole numbers.
    Then d is 1/2 or -1/2 where w is, and 0 elsewhere, and :math:`(w \cdot x)^2 - t = (d \cdot x)^2` gives each d·x up
    to its sign. Signs and d are solved for in turn.
    """
    weights = spectral(x, t, 2, generator)
    if weights is None:
        return _slopes((1.0, 1.0), x, t, generator, 0)
    shared = weights.mean(0)
    whole = (2 * shared).round()
    apart = whole.abs() == 1
    if bool(((2 * shared - whole).abs() > 0.4).any()) or not 0 < int(apart.sum()) < len(x):
        return weights
    shared, own = whole / 2, x[:, apart]
    size = ((x @ shared).square() - t).clamp_min(0).sqrt()  # [r], of d·x
    basis = torch.linalg.qr(own).Q
    standard = (own - own.mean(0)) / own.std(0)
    noise = torch.randn(own.shape[1], TURNS - 2, generator=generator, dtype=torch.float64).to(x)
    starts = torch.cat([_moments(standard, size.square())[1][:, -1:], noise], 1)
    signs = torch.cat([torch.ones_like(t).unsqueeze(1), (standard @ starts).sign()], 1)  # [r, turns]
    for _ in range(50):
        fitted = basis @ (basis.mT @ (signs * size.unsqueeze(1)))
        if torch.equal(fitted.sign(), signs):
            break
        signs = fitted.sign()
    best = (fitted - signs * size.unsqueeze(1)).square().sum(0).argmin()
    d = torch.zeros_like(shared)
    d[apart] = torch.linalg.lstsq(own, fitted[:, best].unsqueeze(1)).solution.squeeze(1).sign() / 2
    return torch.stack([shared + d, shared - d])


def spectral(
    x: Float[Tensor, "r i"], t: Float[Tensor, " r"], count: int, generator: torch.Generator
) -> Float[Tensor, "h i"] | None:
    r"""Return weights of a product of sums from the first and second moments of the targets, or None.

    Let each sum be w + d_h with the d_h adding up to 0. If targets are far from 0, t^(1/k) gives w, and
    :math:`2 (z^k - t) / z^{k-2}` with z = w·x is nearly :math:`\sum_h (d_h \cdot x)^2`, whose expected product with the
    inputs has the d_h as its largest eigenvectors. Two sums around 0 are w + d and w - d, with the eigenvectors of the
    largest and the smallest eigenvalue of the same product with t.
    """
    if len(x) < 2:
        return None
    deviation = x.std(0)
    deviation = torch.where(deviation > 1e-9 * x.abs().amax(0), deviation, torch.inf)
    standard = (x - x.mean(0)) / deviation  # a constant column is 0
    root = _root(t, float(count)) if _far(t) else None
    if root is not None and count <= x.shape[1]:
        shared = linear(x, root)
        z = x @ shared
        values, vectors = _moments(standard, 2 * (z**count - t) / z ** (count - 2))
        noise = torch.randn(count, count, generator=generator, dtype=torch.float64)[:, 1:].to(x)
        turned = torch.linalg.qr(noise - noise.mean(0)).Q  # orthonormal columns that add up to 0
        parts = (values[1 - count :].clamp_min(0) / 2).sqrt() * vectors[:, 1 - count :] / deviation.unsqueeze(1)
        weights = shared + turned @ parts.mT
    elif count == 2:
        values, vectors = _moments(standard, t - standard @ linear(standard, t - t.mean()))
        largest, smallest = (
            (sign * values[end] / 2).clamp_min(0).sqrt() * vectors[:, end] / deviation
            for sign, end in ((1, -1), (-1, 0))
        )
        weights = torch.stack([largest + smallest, largest - smallest])
    else:
        return None
    return weights if bool(weights.isfinite().all()) and bool(weights.any()) else None


def _moments(x: Float[Tensor, "r i"], y: Float[Tensor, " r"]) -> tuple[Float[Tensor, " i"], Float[Tensor, "i i"]]:
    """Return the eigenvalues and eigenvectors of the mean of y times the inputs' products, in ascending order."""
    values, vectors = torch.linalg.eigh((x * ((y - y.mean()) / len(x)).unsqueeze(1)).mT @ x)
    return values, vectors


def _far(t: Tensor) -> bool:
    """Return whether targets are far from 0."""
    return bool(t.mean().square() > 4 * t.var(correction=0))


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
