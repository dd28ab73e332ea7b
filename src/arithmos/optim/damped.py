r"""Damped Gauss-Newton iterations (Levenberg, 1944; Marquardt, 1963), for a stack of problems at once.

.. math:: (J^T J + \mu D)\,\delta = -J^T r, \qquad D = \mathrm{diag}(J^T J)

minimizes the sum of squares :math:`\frac12 |r|^2` around a point. The damping :math:`\mu` follows the gain ratio, the
actual over the predicted decrease, by the rule of Nielsen (1999). With more parameters than residuals the same step is
solved in the space of the residuals. Parameters on a bound whose gradient points outwards stay there; the others may
move, and the step is projected into the bounds.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from .._typing import Float

FLOOR = 1e-12
"""Smallest entry of D as a fraction of its largest: a parameter without effect is damped too."""

MEMORY = 4 * 2**30
"""Bytes of the Jacobian and its product that one problem may take."""


class Problem(Protocol):
    """Residuals of a stack of problems, and their derivatives."""

    def residuals(self, point: Float[Tensor, "s p"]) -> Float[Tensor, "s r"]: ...

    def linearize(self, point: Float[Tensor, "s p"]) -> tuple[Float[Tensor, "s r"], Float[Tensor, "s r p"]]: ...


@dataclass(frozen=True)
class Bounds:
    """Range of each parameter, the same for all problems of a stack."""

    low: Float[Tensor, " p"]
    high: Float[Tensor, " p"]


@dataclass(frozen=True)
class Iterate:
    """State of a stack of minimizations.

    Args:
        point: parameters.
        damping: the damping of the next step.
        growth: factor by which the damping grows if the next step is rejected.
        loss: half the sum of squares at the point; NaN before the first iteration.
        gradient: largest cosine of the angle between the residuals and a column of the Jacobian, at the last
            linearization; 0 at a stationary point, whatever the scale of the parameters.
        decrease: relative decrease of the loss by the last step; 0 if every trial was rejected.
    """

    point: Float[Tensor, "s p"]
    damping: Float[Tensor, " s"]
    growth: Float[Tensor, " s"]
    loss: Float[Tensor, " s"]
    gradient: Float[Tensor, " s"]
    decrease: Float[Tensor, " s"]

    @classmethod
    def start(cls, point: Float[Tensor, "s p"], damping: float = 1e-2) -> "Iterate":
        """Return the state at the start of a minimization."""
        one = point.new_ones(len(point))
        return cls(point, damping * one, 2 * one, torch.nan * one, torch.nan * one, torch.nan * one)


def iterate(problem: Problem, state: Iterate, bounds: Bounds | None = None, trials: int = 12) -> Iterate:
    """Perform one iteration: linearize, then try steps with growing damping until one decreases the loss.

    A problem without a decrease after all trials, or with residuals that are not finite, keeps its point.
    """
    residual, jacobian = problem.linearize(state.point)
    loss = _half_square(residual)
    gradient = (jacobian.mT @ residual.unsqueeze(2)).squeeze(2)
    norms = jacobian.square().sum(1)  # [s, p], the diagonal of the normal equations
    free = torch.ones_like(norms, dtype=torch.bool) if bounds is None else _free(state.point, gradient, bounds)
    cosine = (gradient.abs() / (norms * 2 * loss.unsqueeze(1)).sqrt()).nan_to_num(0.0, 0.0, 0.0)
    cosine = torch.where(free, cosine, 0.0).amax(1)
    solver = _Solver(jacobian, residual, gradient, norms, free)

    point, damping, growth = state.point.clone(), state.damping.clone(), state.growth.clone()
    decrease = torch.zeros_like(loss)
    pending = loss.isfinite() & gradient.isfinite().all(1) & (loss > 0)
    for _ in range(trials):
        if not pending.any():
            break
        rows = pending.nonzero().squeeze(1)
        step = solver.step(rows, damping)
        trial = state.point[rows] + step
        if bounds is not None:
            trial = torch.minimum(torch.maximum(trial, bounds.low), bounds.high)
            step = trial - state.point[rows]
        predicted = solver.predicted(rows, step)
        full = state.point.clone()
        full[rows] = trial
        new = _half_square(problem.residuals(full))[rows]
        gain = (loss[rows] - new) / predicted
        accepted = (gain > 1e-4) & (predicted > 0) & new.isfinite()
        damping[rows] = torch.where(
            accepted,
            (damping[rows] * (1 - (2 * gain - 1) ** 3).clamp_min(1 / 3)).clamp_min(1e-15),
            damping[rows] * growth[rows],
        )
        growth[rows] = torch.where(accepted, 2.0, 2 * growth[rows])
        good = rows[accepted]
        point[good], decrease[good] = trial[accepted], 1 - new[accepted] / loss[good]
        loss = loss.index_copy(0, good, new[accepted])
        pending[good] = False
    return replace(state, point=point, damping=damping, growth=growth, loss=loss, gradient=cosine, decrease=decrease)


def check_memory(residuals: int, parameters: int) -> None:
    """Raise if a Jacobian of this size, with its product, is too large to keep."""
    small = min(residuals, parameters)
    needed = 8 * (residuals * parameters + 2 * small**2)
    if needed > MEMORY:
        raise ValueError(
            f"the Jacobian of {residuals:,} residuals and {parameters:,} parameters needs {needed / 2**30:.1f} GiB, "
            f"more than the limit of {MEMORY / 2**30:.0f} GiB; use fewer rows per step, or a first-order optimizer"
        )


def _half_square(residual: Tensor) -> Tensor:
    return residual.square().sum(1) / 2


def _free(point: Tensor, gradient: Tensor, bounds: Bounds) -> Tensor:
    """Return which parameters may move: all but those on a bound whose descent direction points outwards."""
    return ~(((point <= bounds.low) & (gradient > 0)) | ((point >= bounds.high) & (gradient < 0)))


class _Solver:
    """Damped normal equations of a stack, in the smaller of the two spaces."""

    def __init__(self, jacobian: Tensor, residual: Tensor, gradient: Tensor, norms: Tensor, free: Tensor) -> None:
        jacobian = jacobian if bool(free.all()) else jacobian * free.unsqueeze(1)
        self.jacobian, self.free = jacobian, free
        self.gradient = gradient * free
        self.scale = norms.clamp_min(0.0) + FLOOR * norms.amax(1, keepdim=True) + torch.finfo(norms.dtype).tiny
        self.dual = jacobian.shape[2] > jacobian.shape[1]
        if self.dual:
            self.residual = residual
            self.product = (jacobian / self.scale.unsqueeze(1)) @ jacobian.mT  # [s, r, r]
        else:
            self.product = jacobian.mT @ jacobian  # [s, p, p]

    def step(self, rows: Tensor, damping: Tensor) -> Tensor:
        """Return the steps of some problems; NaN where the equations have no solution."""
        mu, scale = damping[rows].unsqueeze(1), self.scale[rows]
        if self.dual:
            inner = self._solve(self.product[rows], mu.expand(-1, self.product.shape[1]), self.residual[rows])
            step = (self.jacobian[rows].mT @ inner.unsqueeze(2)).squeeze(2) / scale
        else:
            step = self._solve(self.product[rows], mu * scale, self.gradient[rows])
        return torch.where(self.free[rows], -step, 0.0)

    def predicted(self, rows: Tensor, step: Tensor) -> Tensor:
        """Return the decrease of the loss that the linearized residuals predict."""
        moved = (self.jacobian[rows] @ step.unsqueeze(2)).squeeze(2)
        return -(self.gradient[rows] * step).sum(1) - _half_square(moved)

    @staticmethod
    def _solve(matrix: Tensor, diagonal: Tensor, right: Tensor) -> Tensor:
        matrix = matrix + torch.diag_embed(diagonal)
        factor, info = torch.linalg.cholesky_ex(matrix)
        solution = torch.cholesky_solve(right.unsqueeze(2), factor).squeeze(2)
        return torch.where((info == 0).unsqueeze(1), solution, torch.nan)
