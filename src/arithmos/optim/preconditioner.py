r"""Diagonal-plus-mean preconditioner of the weights of sums.

The curvature of a squared error along the weights of a sum is that of its inputs, :math:`M = E[x x^T] = m m^T +
\mathrm{diag}(v)` for independent inputs with means m and variances v. If the means are large, it is far larger along m
than elsewhere, and Adam, which scales each weight by itself, does not see it. Multiplied by :math:`M^{-1/2}`, the
gradient varies as much along m as elsewhere, which is what Adam achieves for single weights. Multiplied by
:math:`M^{-1}`, it would be mostly noise along m, and the mean of the weights would drift.
"""

import torch
from torch import Tensor, nn

from .._typing import Float

LEAST = 1e-6
"""Smallest variance of an input, as a share of the mean variance."""


def preconditioner(x: Float[Tensor, "rows i"]) -> tuple[Float[Tensor, " i"], Float[Tensor, " i"]]:
    r"""Return scale a and direction u of the preconditioner of inputs: :math:`P = \mathrm{diag}(a) - u u^T`.

    With :math:`D = \mathrm{diag}(v)^{-1/2}`, P is the mean variance times :math:`D (I + D m m^T D)^{-1/2} D`, which is
    the mean variance's root times :math:`M^{-1/2}` if all variances are the same.

    Raises:
        ValueError: no input varies, or one is not finite.

    Example:
        >>> scale, direction = preconditioner(torch.tensor([[1.0, -1.0], [3.0, 1.0]], dtype=torch.float64))
        >>> scale, 1 - direction.square()
        (tensor([1., 1.], dtype=torch.float64), tensor([0.4472, 1.0000], dtype=torch.float64))
    """
    rows = x.detach().double()
    mean, variance = rows.mean(0), rows.var(0, correction=0)
    level = variance.mean()
    if not 0 < level < torch.inf:
        raise ValueError(f"the inputs must vary to precondition the gradient, got a mean variance of {float(level):g}")
    variance = variance.clamp(min=LEAST * level)
    square = (mean.square() / variance).sum()  # of the mean in units of the deviations
    share = -torch.expm1(-0.5 * torch.log1p(square)) / square if square > 0 else square
    return level / variance, (level * share).sqrt() * mean / variance


def precondition(
    gradient: Float[Tensor, "*runs o i"], scale: Float[Tensor, "*runs i"], direction: Float[Tensor, "*runs i"]
) -> Float[Tensor, "*runs o i"]:
    """Multiply each row of a gradient by the preconditioner of its inputs."""
    scale, direction = scale.unsqueeze(-2), direction.unsqueeze(-2)
    return gradient * scale - (gradient * direction).sum(-1, keepdim=True) * direction


def input_weights(layer: nn.Module, inputs: int) -> list[str]:
    """Return the names of the parameters that hold one weight per output and input."""
    return [name for name, value in layer.named_parameters() if value.dim() == 2 and value.shape[-1] == inputs]
