"""Nonlinear least squares by Levenberg-Marquardt: one problem, or a stack of them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import vmap

from .. import _checks
from .._typing import Float
from ._jacobian import jacobian
from .damped import Bounds, Iterate, Problem, iterate

Residuals = Callable[..., Tensor]


@dataclass(frozen=True)
class Stopping:
    """Rule that ends a minimization.

    Args:
        iterations: largest number of iterations.
        gradient: largest cosine between residuals and a column of the Jacobian that counts as 0.
        decrease: largest relative decrease of the loss that counts as none.
        loss: largest half sum of squares that counts as 0.

    Example:
        >>> Stopping(iterations=50).iterations
        50
    """

    iterations: int = 200
    gradient: float = 1e-10
    decrease: float = 1e-14
    loss: float = 1e-28

    def __post_init__(self) -> None:
        _checks.whole("iterations", self.iterations, least=1)
        for name in ("gradient", "decrease", "loss"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")

    def reason(self, state: Iterate, problem: int, iterations: int) -> str | None:
        """Return why a minimization ends here, or None if it does not."""
        loss, gradient, decrease = (v[problem].item() for v in (state.loss, state.gradient, state.decrease))
        if not loss < torch.inf:
            return "not finite"
        if loss <= self.loss:
            return "exact"
        if gradient <= self.gradient:
            return "gradient"
        if decrease == 0:
            return "stuck"
        if decrease <= self.decrease:
            return "decrease"
        return "iterations" if iterations >= self.iterations else None


@dataclass(frozen=True)
class Minimum:
    """End of a minimization: the point, and the reason to stop.

    Args:
        point: parameters.
        loss: half the sum of squares.
        gradient: largest cosine between residuals and a column of the Jacobian before the last step.
        damping: the last damping.
        iterations: number of iterations.
        reason: "gradient" (stationary), "decrease" (no more progress), "exact" (no residual left), "stuck" (no step
            decreases the loss), "not finite" or "iterations" (the limit).
    """

    point: Float[Tensor, " p"]
    loss: float
    gradient: float
    damping: float
    iterations: int
    reason: str


@dataclass(frozen=True)
class FunctionProblem:
    """Problem of a function of one parameter vector and data, differentiated by `torch.func`.

    Args:
        function: maps parameters [p] and one element of each data tensor to residuals [r].
        data: tensors with the problems of the stack as first axis.
    """

    function: Residuals
    data: tuple[Tensor, ...] = ()

    def residuals(self, point: Float[Tensor, "s p"]) -> Float[Tensor, "s r"]:
        return vmap(self.function)(point, *self.data)

    def linearize(self, point: Float[Tensor, "s p"]) -> tuple[Float[Tensor, "s r"], Float[Tensor, "s r p"]]:
        return vmap(lambda p, *data: jacobian(lambda q: self.function(q, *data), p))(point, *self.data)


def least_squares(
    residuals: Residuals,
    start: Float[Tensor, "*s p"],
    *data: Tensor,
    bounds: tuple[float | Tensor, float | Tensor] | None = None,
    damping: float = 1e-2,
    stopping: Stopping | None = None,
) -> list[Minimum]:
    """Minimize sums of squares by Levenberg-Marquardt, for one start or a stack of starts.

    All computation is in float64. Problems of a stack do not influence each other; each has its own damping and ends
    by itself.

    Args:
        residuals: function of parameters [p] and of one element of each data tensor, to residuals [r].
        start: initial parameters, [p] or, for a stack, [s, p].
        data: tensors whose first axis is the stack; for one start without that axis.
        bounds: smallest and largest value of the parameters, as numbers or as tensors [p].
        damping: initial damping.
        stopping: rule that ends a minimization.

    Returns:
        One `Minimum` per start.

    Example:
        >>> def rosenbrock(p):
        ...     return torch.stack([10 * (p[1] - p[0] ** 2), 1 - p[0]])
        >>> [minimum] = least_squares(rosenbrock, torch.tensor([-1.2, 1.0]))
        >>> print(minimum.point.round(decimals=6), minimum.reason)
        tensor([1., 1.], dtype=torch.float64) exact
    """
    if start.dim() not in (1, 2) or start.numel() == 0:
        raise ValueError(f"start must be parameters [p] or a stack of them [s, p], got the shape {tuple(start.shape)}")
    stacked = start.dim() == 2
    point = start.detach().double().reshape(-1, start.shape[-1])
    tensors = tuple(each if stacked else each.unsqueeze(0) for each in data)
    limits = None
    if bounds is not None:
        low, high = (torch.as_tensor(b, dtype=point.dtype, device=point.device).expand(point.shape[1]) for b in bounds)
        if not (low <= high).all():
            raise ValueError("bounds must be low <= high for every parameter")
        limits = Bounds(low, high)
        point = torch.minimum(torch.maximum(point, low), high)
    with torch.no_grad():
        return minimize(FunctionProblem(residuals, tensors), Iterate.start(point, damping), limits, stopping)


def minimize(
    problem: Problem, state: Iterate, bounds: Bounds | None = None, stopping: Stopping | None = None
) -> list[Minimum]:
    """Iterate a stack until every problem has stopped, and return each as it was when it did."""
    stopping = stopping or Stopping()
    found: list[Minimum | None] = [None] * len(state.point)
    iterations = 0
    while any(each is None for each in found):
        state = iterate(problem, state, bounds)
        iterations += 1
        for number, known in enumerate(found):
            reason = stopping.reason(state, number, iterations) if known is None else None
            if reason is not None:
                loss, gradient, damping = (v[number].item() for v in (state.loss, state.gradient, state.damping))
                found[number] = Minimum(state.point[number], loss, gradient, damping, iterations, reason)
    return [each for each in found if each is not None]
