r"""Products of powers of sums: the networks of the second-order recipe as a least-squares problem.

.. math:: y = \prod_h \Bigl(\sum_i w_{hi} x_i\Bigr)^{p_h}

The weights of a factor are known up to a scale. In the gauge of the recipe the largest weight of a factor is 1.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

SPREAD = 0.1
"""Deviation of initial weights from a regression on the target, as a share of its largest coefficient."""

POWER_SPREAD = 0.5
"""Relative deviation of initial weights of factors with free exponents from equal weights."""

STEP = 0.5
"""Exponents are rounded to multiples of this number."""


@dataclass(frozen=True)
class PowerForm:
    """Form that the recipe tries to fit.

    Args:
        exponents: initial exponents, one per factor.
        free: whether they are learned.
        rows: rows of the NAU that a single sum may be spread over, so that its weights are whole numbers up to this;
            0 for factors of one row each, whose weights are known up to a scale.
    """

    exponents: tuple[float, ...]
    free: bool = False
    rows: int = 0

    @property
    def factors(self) -> int:
        """Number of factors."""
        return len(self.exponents)

    @property
    def patience(self) -> int:
        """Iterations without a halved loss after which an attempt has ended; one factor is fitted almost at once."""
        return 25 if self.factors > 1 else 8 if self.free else 3


@lru_cache(maxsize=16)
def attempts(units: tuple[str, ...], hidden: int, factors: int) -> tuple[PowerForm, ...]:
    """Return the attempts of a network, which are repeated with other initial weights until one succeeds.

    Args:
        units: units of the layers.
        hidden: hidden size.
        factors: most factors.

    Example:
        >>> [attempt.factors for attempt in attempts(("NAU", "NMU"), 10, 3)]
        [1, 2, 2, 3]
    """
    if units[-1] == "NAU":
        return (PowerForm((1.0,), rows=hidden if len(units) > 1 else 1),)
    factors = min(factors, hidden)
    one, *products = [PowerForm((1.0,) * k) for k in range(1, max(factors, 2) + 1)]
    if units[-1] == "NMU":
        wanted = [one, products[0], *products]
    else:
        powers = [PowerForm(signs, free=True) for signs in ((1.0,), (-1.0,), (1.0, -1.0))]
        wanted = [one, *powers, products[0], PowerForm((1.0, 1.0), free=True), *products[1:]]
    return tuple(attempt for attempt in wanted if attempt.factors <= factors)


class PowerProblem:
    """Residuals of products of powers of sums, as a share of the target's deviation, and their derivatives.

    Args:
        x: inputs, [s, b, i].
        t: targets, [s, b].
        attempt: number of factors, and whether exponents are free. Sums must then be positive; the sign of the product
            is that of the mean target.
    """

    def __init__(self, x: Tensor, t: Tensor, attempt: PowerForm) -> None:
        self.x, self.t, self.attempt = x, t, attempt
        self.scale = t.std(1, keepdim=True).clamp_min(torch.finfo(t.dtype).tiny)
        self.sign = torch.where(t.mean(1, keepdim=True) < 0, -1.0, 1.0)

    def _product(self, point: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the outputs [s, b], their derivatives by the sums [s, b, k], and by the exponents if they are free."""
        k, size = self.attempt.factors, self.x.shape[2]
        z = self.x @ point[:, : k * size].view(-1, k, size).mT  # [s, b, k]
        if not self.attempt.free:
            others = [torch.cat([z[..., :h], z[..., h + 1 :]], 2).prod(2) for h in range(k)]
            return z.prod(2), torch.stack(others, 2), z[..., :0]
        exponents = point[:, None, k * size :]
        logarithm = torch.where(z > 0, z, torch.nan).log()
        y = self.sign * (logarithm * exponents).sum(2).exp()
        return y, y.unsqueeze(2) * exponents / z, y.unsqueeze(2) * logarithm

    def residuals(self, point: Tensor) -> Tensor:
        """Return the residuals, [s, b]."""
        return (self._product(point)[0] - self.t) / self.scale

    def linearize(self, point: Tensor) -> tuple[Tensor, Tensor]:
        """Return the residuals and their Jacobian, [s, b, p]."""
        y, by_sum, by_exponent = self._product(point)
        scale = self.scale.unsqueeze(2)
        by_weight = ((by_sum / scale).unsqueeze(3) * self.x.unsqueeze(2)).flatten(2)
        jacobian = torch.cat([by_weight, by_exponent / scale], 2) if self.attempt.free else by_weight
        return (y - self.t) / self.scale, jacobian


def start(x: Tensor, t: Tensor, attempt: PowerForm, noise: Tensor) -> Tensor:
    """Return initial points of an attempt.

    Factors with exponents of 1 start around the linear regression on the target, whose slope each of them shares.
    Factors with free exponents start around the mean of the inputs, scaled to the target.

    Args:
        x: inputs, [s, b, i].
        t: targets, [s, b].
        attempt: the attempt.
        noise: numbers from -1 to 1, [s, k, i].
    """
    k, mean = attempt.factors, t.mean(1, keepdim=True)
    if attempt.free:
        exponents = torch.tensor(attempt.exponents, dtype=x.dtype, device=x.device).expand(len(x), k)
        size = t.abs().clamp_min(torch.finfo(t.dtype).tiny).log().mean(1, keepdim=True)
        level = (size / exponents / k).exp() / x.mean(1).sum(1, keepdim=True).abs().clamp_min(1e-6)
        signs = torch.where(x.mean(1) < 0, -1.0, 1.0)
        weights = (1 + POWER_SPREAD * noise) * signs.unsqueeze(1) * level.unsqueeze(2)
        return torch.cat([weights.flatten(1), exponents], 1)
    centered = x - x.mean(1, keepdim=True)
    slope = torch.linalg.lstsq(centered, (t - mean).unsqueeze(2)).solution.squeeze(2)  # [s, i]
    level = mean.abs().clamp_min(t.std(1, keepdim=True)) ** ((k - 1) / k)
    share = slope / (k * level)
    apart = noise - noise.mean(1, keepdim=True) if k > 1 else torch.zeros_like(noise)
    weights = share.unsqueeze(1) + SPREAD * apart * share.abs().amax(1)[:, None, None]
    weights[:, -1] *= torch.where(mean < 0, -1.0, 1.0) if k > 1 else 1.0
    flat: Tensor = weights.flatten(1)
    return flat


def gauged(point: Tensor, attempt: PowerForm, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return weights [s, k, i] whose largest magnitude is 1 in each factor, exponents [s, k], and the scale [s].

    Signs are such that the largest weight of a factor is positive if its exponent is 1 and fixed.
    """
    k = attempt.factors
    weights = point[:, : k * size].view(-1, k, size)
    if attempt.rows:
        return weights, torch.ones_like(weights[..., 0]), torch.ones_like(weights[:, 0, 0])
    exponents = point[:, k * size :] if attempt.free else torch.ones_like(weights[..., 0])
    largest = weights.gather(2, weights.abs().argmax(2, keepdim=True))
    if attempt.free:
        largest = largest.abs()
    largest = torch.where(largest == 0, 1.0, largest)
    return weights / largest, exponents, (largest.squeeze(2) ** exponents).prod(1)


def rounded(point: Tensor, attempt: PowerForm, size: int) -> Tensor:
    """Return points with weights of -1, 0 and 1, or whole numbers for a sum over rows.

    The sign of a negative scale goes into the first factor.
    """
    weights, exponents, scale = gauged(point, attempt, size)
    weights = weights.round()
    if attempt.rows:
        return weights.flatten(1).clamp(-attempt.rows, attempt.rows)
    if attempt.free:
        return torch.cat([weights.flatten(1), (exponents / STEP).round() * STEP], 1)
    weights[:, 0] *= torch.where(scale < 0, -1.0, 1.0).unsqueeze(1)
    return weights.flatten(1)
