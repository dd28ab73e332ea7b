r"""Diagonal-plus-mean preconditioner of the weights of sums.

The curvature of a squared error along the weights of a sum is that of its inputs, :math:`E[x x^T] = m m^T +
\mathrm{diag}(v)` for independent inputs with means m and variances v. If the means are large, it is far larger along m
than elsewhere, and no learning rate suits both. Multiplying the gradient by its inverse removes the difference.
"""

import torch
from torch import Tensor, nn

from .._typing import Float

LEAST = 1e-6
"""Smallest variance of an input, as a share of the mean variance."""


def preconditioner(x: Float[Tensor, "rows i"]) -> tuple[Float[Tensor, " i"], Float[Tensor, " i"]]:
    r"""Return scale a and direction u of the preconditioner of inputs: :math:`P = \mathrm{diag}(a) - u u^T`.

    P is the mean variance times :math:`(m m^T + \mathrm{diag}(v))^{-1}`, by the formula of Sherman and Morrison.

    Raises:
        ValueError: no input varies, or one is not finite.

    Example:
        >>> scale, direction = preconditioner(torch.tensor([[1.0, -1.0], [3.0, 1.0]], dtype=torch.float64))
        >>> scale, direction.square()
        (tensor([1., 1.], dtype=torch.float64), tensor([0.8000, 0.0000], dtype=torch.float64))
    """
    rows = x.detach().double()
    mean, variance = rows.mean(0), rows.var(0, correction=0)
    level = variance.mean()
    if not 0 < level < torch.inf:
        raise ValueError(f"the inputs must vary to precondition the gradient, got a mean variance of {float(level):g}")
    variance = variance.clamp(min=LEAST * level)
    return level / variance, (level / (1 + (mean.square() / variance).sum())).sqrt() * mean / variance


def precondition(
    gradient: Float[Tensor, "*runs o i"], scale: Float[Tensor, "*runs i"], direction: Float[Tensor, "*runs i"]
) -> Float[Tensor, "*runs o i"]:
    """Multiply each row of a gradient by the preconditioner of its inputs."""
    scale, direction = scale.unsqueeze(-2), direction.unsqueeze(-2)
    return gradient * scale - (gradient * direction).sum(-1, keepdim=True) * direction


def input_weights(layer: nn.Module, inputs: int) -> list[str]:
    """Return the names of the parameters that hold one weight per output and input."""
    return [name for name, value in layer.named_parameters() if value.dim() == 2 and value.shape[-1] == inputs]
