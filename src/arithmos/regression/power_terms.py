r"""Sums of power laws with free exponents, trained by Levenberg-Marquardt.

.. math:: t = b + \sum_j c_j \prod_i x_i^{p_{ji}}

Exponents may be of any size, unlike those of a dictionary. They are rounded to multiples of ½ in the end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ..optim.damped import Iterate, iterate
from .dictionary import polynomial
from .ladder import Target, raised
from .pool import Pool
from .terms import Column, Floats

RAISED = (1.0, 2.0, -1.0, -2.0, 0.5)
STARTS = 3
ITERATIONS = 50
SETTLED = 1e-6
NEAR = 0.12
"""Largest distance of an exponent from a multiple of ½ at which it is rounded."""


@dataclass(frozen=True)
class PowerTerms:
    """Residuals of a sum of power laws and their derivatives, for `damped.iterate`.

    Args:
        logs: logarithms of the columns, `[rows, columns]`.
        t: target, `[rows]`.
        weight: factors of the residuals, `[rows]`.
        terms: number of power laws.
    """

    logs: Tensor
    t: Tensor
    weight: Tensor
    terms: int

    def _parts(self, point: Tensor) -> tuple[Tensor, Tensor]:
        count = self.terms
        laws = torch.exp((self.logs @ point[:, 1 + count :].view(len(point), count, -1).mT).clamp(-50.0, 50.0))
        return laws, point[:, 1 : 1 + count]

    def residuals(self, point: Tensor) -> Tensor:
        """Return the weighted residuals of a stack of points."""
        laws, scales = self._parts(point)
        return (point[:, :1] + (laws * scales[:, None]).sum(2) - self.t) * self.weight

    def linearize(self, point: Tensor) -> tuple[Tensor, Tensor]:
        """Return the residuals and their derivatives."""
        laws, scales = self._parts(point)
        slopes = (laws * scales[:, None])[..., None] * self.logs[None, :, None, :]
        ones = torch.ones_like(laws[..., :1])
        jacobian = torch.cat([ones, laws, slopes.flatten(2)], 2) * self.weight[None, :, None]
        return self.residuals(point), jacobian


def sums_of_powers(pool: Pool, targets: list[Target]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield steps that fit one and two power laws with an offset to powers of the targets."""
    for count in (1, 2):
        for target in targets:
            for power in RAISED:
                part = raised(target, power)
                if part and part.columns and (pool.x[:, list(part.columns)] > 0).all():
                    yield "sums of powers", partial(_fit, pool, part, count)


def _fit(pool: Pool, target: Target, count: int) -> None:
    logs = np.log(pool.x[:, list(target.columns)])
    scale = float(np.sqrt(np.mean(target.t**2)))
    weight = np.sqrt(pool.w) * target.slope
    weight = weight / np.sqrt(np.mean(weight**2))
    t = target.t / scale
    problem = PowerTerms(torch.from_numpy(logs), torch.from_numpy(t), torch.from_numpy(weight), count)
    random = np.random.default_rng([pool.seed, count])
    starts = np.stack([_start(logs, t, weight, count, number, random) for number in range(STARTS)])
    with torch.no_grad():
        state = Iterate.start(torch.from_numpy(starts))
        for _ in range(ITERATIONS):
            state = iterate(problem, state)
            if pool.over() or float(state.decrease.max()) <= SETTLED:
                break
    losses = torch.nan_to_num(state.loss, nan=torch.inf).numpy()
    best = state.point[int(losses.argmin())].numpy()
    exponents = best[1 + count :].reshape(count, -1)
    near = np.rint(2 * exponents)
    if not np.isfinite(losses.min()) or np.abs(2 * exponents - near).max() > 2 * NEAR or not near.any(1).all():
        return
    if len(np.unique(near, axis=0)) < count:
        return
    columns = [Column(i) for i in target.columns]
    for offset in (float(best[0]) * scale, 0.0):
        node = polynomial(near, best[1 : 1 + count] * scale, offset, columns, 0.5)
        pool.offer(target.wrap(node), steps=20)


def _start(logs: Floats, t: Floats, weight: Floats, count: int, number: int, random: np.random.Generator) -> Floats:
    """Return initial parameters: an offset below or above the target and the power law of what is left."""
    low, high = float(t.min()), float(t.max())
    offset = (0.0, low - 0.05 * (high - low), high + 0.05 * (high - low))[number % 3]
    design = np.column_stack([np.ones(len(t)), logs])
    size = np.abs(t - offset)
    law = np.linalg.lstsq(design * size[:, None], np.log(np.maximum(size, 1e-12)) * size, rcond=None)[0]
    spread = random.normal(0.0, 1.0 if count > 1 else 0.0, (count, logs.shape[1]))
    sign = -1.0 if np.median(t) < offset else 1.0
    scales = np.full(count, sign * np.exp(np.clip(law[0], -20, 20)) / count)
    return np.concatenate([[offset], scales, (law[1:] + spread).ravel()])
