"""Levenberg-Marquardt as an optimizer of a module, in the manner of torch.optim."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from .. import _checks
from ._jacobian import jacobian
from ._methods import having
from .damped import Bounds, Iterate, iterate


@dataclass(frozen=True)
class Account:
    """Account of the steps of a `LevenbergMarquardt` so far.

    Args:
        iterations: number of steps.
        loss: half the sum of squares after the last step.
        gradient: largest cosine between the residuals and a column of the Jacobian before the last step.
        damping: the damping of the next step.
        stopped: why further steps on the same data are of no use: "exact" (no residual left), "gradient" (stationary),
            "stuck" (no step decreases the loss) or "not finite"; None while there is progress.
    """

    iterations: int
    loss: float
    gradient: float
    damping: float
    stopped: str | None


class LevenbergMarquardt(torch.optim.Optimizer):
    """Levenberg-Marquardt for a module of up to some thousands of parameters, and any sum of squares.

    One step linearizes the residuals, solves for the damped Gauss-Newton step in float64, and tries it with growing
    damping until the sum of squares decreases. It takes the place of hundreds of thousands of gradient steps where the
    curvature differs much between directions. Ranges that the module declares by `bounds()` are kept.

    Args:
        module: the module whose trainable parameters are stepped; of any floating-point type.
        damping: initial damping, as a fraction of the diagonal of the normal equations.
        bounded: whether parameters are kept in the ranges of `bounds()`.

    Example:
        >>> from arithmos.nn import NAU
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]])
        >>> model = NAU(2, 1)
        >>> optimizer = LevenbergMarquardt(model)
        >>> for _ in range(10):
        ...     loss = optimizer.step(lambda: model(x) - (x[:, :1] - x[:, 1:]))
        >>> model.weight.round(decimals=4).tolist()
        [[1.0, -1.0]]
    """

    def __init__(self, module: nn.Module, *, damping: float = 1e-2, bounded: bool = True) -> None:
        self.module = module
        self._names = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
        if not self._names:
            raise ValueError(f"module must have trainable parameters, got {type(module).__name__} without any")
        parameters = [module.get_parameter(name) for name in self._names]
        super().__init__(parameters, {"damping": _checks.positive("damping", damping), "bounded": bounded})
        self.account = Account(0, torch.nan, torch.nan, damping, None)

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor:  # type: ignore[override]
        """Perform one iteration.

        Args:
            closure: returns the residuals, of any shape, computed with the module. It is called several times, and must
                give the same residuals each time.

        Returns:
            Half the sum of squares before the step.
        """
        if closure is None:
            raise TypeError("step needs a closure that returns the residuals, such as lambda: model(x) - t")
        parameters = self._parameters()
        problem = _ClosureProblem(self.module, self._names, parameters, closure)
        point = torch.cat([parameter.detach().double().flatten() for parameter in parameters]).unsqueeze(0)
        bounds = self._bounds(parameters) if self.param_groups[0]["bounded"] else None
        if bounds is not None:
            point = torch.minimum(torch.maximum(point, bounds.low), bounds.high)
        before = problem.residuals(point).square().sum() / 2

        state = self.state[parameters[0]]
        current = Iterate.start(point, self.param_groups[0]["damping"])
        if state:
            kept = {name: point.new_full((1,), state[name]) for name in ("damping", "growth")}
            current = Iterate(point, **kept, loss=current.loss, gradient=current.gradient, decrease=current.decrease)
        moved = iterate(problem, current, bounds)
        for parameter, value in zip(parameters, problem.split(moved.point[0]), strict=True):
            parameter.copy_(value)

        state["damping"], state["growth"] = moved.damping.item(), moved.growth.item()
        state["iterations"] = state.get("iterations", 0) + 1
        self.account = _account(state["iterations"], moved)
        return before

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state of another optimizer of the same module, to continue as it would have."""
        super().load_state_dict(state_dict)
        state = self.state[self._parameters()[0]]
        if state:
            self.account = Account(state["iterations"], torch.nan, torch.nan, state["damping"], None)

    def _parameters(self) -> list[Tensor]:
        if len(self.param_groups) != 1:
            raise ValueError(f"LevenbergMarquardt takes one parameter group, got {len(self.param_groups)}")
        parameters: list[Tensor] = self.param_groups[0]["params"]
        return parameters

    def _bounds(self, parameters: list[Tensor]) -> Bounds | None:
        ranges = {
            id(part.get_parameter(name)): limits
            for part in having(self.module, "bounds")
            for name, limits in part.bounds().items()
        }
        if not ranges:
            return None
        free = (-torch.inf, torch.inf)
        low, high = (
            torch.cat(
                [p.new_full((p.numel(),), ranges.get(id(p), free)[side], dtype=torch.float64) for p in parameters]
            )
            for side in (0, 1)
        )
        return Bounds(low, high)


class _ClosureProblem:
    """Residuals of a closure as a function of the module's parameters; a stack of one."""

    def __init__(
        self, module: nn.Module, names: list[str], parameters: list[Tensor], closure: Callable[[], Tensor]
    ) -> None:
        self.called, self.names, self.parameters = _Called(module, closure), names, parameters

    def split(self, point: Tensor) -> list[Tensor]:
        """Return the parameters of a point, in their shapes and types."""
        pieces = torch.split(point, [parameter.numel() for parameter in self.parameters])
        return [v.view_as(p).to(p.dtype) for v, p in zip(pieces, self.parameters, strict=True)]

    def function(self, point: Tensor) -> Tensor:
        values = {f"module.{name}": value for name, value in zip(self.names, self.split(point), strict=True)}
        residual = functional_call(self.called, values, ())
        if not isinstance(residual, Tensor) or residual.numel() == 0:
            raise ValueError("closure must return a tensor with at least one residual")
        return residual.flatten().double()

    def residuals(self, point: Tensor) -> Tensor:
        return self.function(point[0]).unsqueeze(0)

    def linearize(self, point: Tensor) -> tuple[Tensor, Tensor]:
        residual, matrix = jacobian(self.function, point[0])
        return residual.unsqueeze(0), matrix.unsqueeze(0)


class _Called(nn.Module):
    """A closure as the forward pass of the module it uses, so that `functional_call` can replace the parameters."""

    def __init__(self, module: nn.Module, closure: Callable[[], Tensor]) -> None:
        super().__init__()
        self.module, self.closure = module, closure

    def forward(self) -> Tensor:
        return self.closure()


def _account(iterations: int, state: Iterate) -> Account:
    loss, gradient, damping, decrease = (v.item() for v in (state.loss, state.gradient, state.damping, state.decrease))
    stopped: str | None = None
    if not loss < torch.inf:
        stopped = "not finite"
    elif loss == 0:
        stopped = "exact"
    elif gradient <= 1e-12:
        stopped = "gradient"
    elif decrease == 0:
        stopped = "stuck"
    return Account(iterations, loss, gradient, damping, stopped)
