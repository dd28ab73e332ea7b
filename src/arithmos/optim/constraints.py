"""Projection of parameters into their ranges."""

import warnings

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from ._methods import having


def constrain(optimizer: torch.optim.Optimizer, module: nn.Module) -> RemovableHandle:
    """Project the module's parameters into their ranges after every step of the optimizer.

    Without it, a parameter drifts to where the clip of the forward pass has no gradient, and stays there. The
    optimizer's own state is not changed. A module whose parameters have no range is left alone. Call this before
    the first step; a warning says if earlier steps have moved parameters out of their ranges.

    Returns:
        A handle; its `remove()` removes the projection.

    Example:
        >>> from arithmos.nn import NMU
        >>> nmu = NMU(2, 1)
        >>> optimizer = torch.optim.SGD(nmu.parameters(), lr=100.0)
        >>> handle = constrain(optimizer, nmu)
        >>> nmu(torch.full((1, 2), 3.0)).sum().backward()
        >>> optimizer.step()
        >>> nmu.weight.tolist()
        [[0.0, 0.0]]
    """
    bounded = [
        (part.get_parameter(name), low, high)
        for part in having(module, "bounds")
        for name, (low, high) in part.bounds().items()
    ]
    stepped = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    if bounded and stepped.isdisjoint(id(parameter) for parameter, _, _ in bounded):
        raise ValueError(
            f"optimizer steps none of the parameters of {type(module).__name__} that have a range; "
            "create it from the parameters of this module"
        )

    if optimizer.state and any(((p < low) | (p > high)).any() for p, low, high in bounded):
        warnings.warn(
            f"earlier steps have moved parameters of {type(module).__name__} out of their range, where they do not "
            "learn; call constrain before the first step",
            stacklevel=2,
        )

    @torch.no_grad()
    def project(*_: object) -> None:
        for parameter, low, high in bounded:
            parameter.clamp_(low, high)

    return optimizer.register_step_post_hook(project)
