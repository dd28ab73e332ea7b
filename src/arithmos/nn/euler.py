r"""A network as the right-hand side of a differential equation, solved by Euler's method.

.. math:: \dot u = f(u), \qquad u_{k+1} = u_k + \Delta t\, f(u_k)
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .._typing import Float


class Euler(nn.Sequential):
    r"""Layers whose output is the derivative of their input, followed along a trajectory.

    .. math:: u_{k+1} = u_k + \Delta t\, f(u_k)

    Args:
        layers: the layers of f, from n features to n features.
        times: times at which the state is wanted, ascending; between two steps it is interpolated linearly.
        dt: length of a step.

    Shape:
        - input: `(*, n)`, the state at time 0
        - output: `(*, times · n)`, the states at all times, one after the other

    Example:
        >>> growth = nn.Linear(1, 1, bias=False)
        >>> _ = nn.init.constant_(growth.weight, 0.5)
        >>> Euler([growth], times=[0.0, 1.0, 1.5, 2.0])(torch.ones(1))
        tensor([1.0000, 1.5000, 1.8750, 2.2500], grad_fn=...)
    """

    def __init__(self, layers: Sequence[nn.Module], times: Sequence[float], dt: float = 1.0) -> None:
        super().__init__(*layers)
        self.steps, self.places = places(times, dt)
        self.dt = dt

    def forward(self, u: Float[Tensor, "*batch n"]) -> Float[Tensor, "*batch m"]:
        states = [u]
        for _ in range(self.steps):
            slope = super().forward(states[-1])  # type: ignore[no-untyped-call]
            states.append(states[-1] + self.dt * slope)
        return torch.cat([torch.lerp(states[k], states[k + 1], share) for k, share in self.places], dim=-1)


def places(times: Sequence[float], dt: float) -> tuple[int, list[tuple[int, float]]]:
    """Return the number of steps, and for each time the step it is in, with the share of that step."""
    if not times or times[0] < 0 or sorted(times) != [*times] or not 0 < dt < math.inf:
        raise ValueError(f"times must ascend from 0 or above, and dt be positive, got {times} and {dt}")
    steps = max(1, math.ceil(times[-1] / dt - 1e-9))
    found = [min(steps - 1, int(time / dt)) for time in times]
    return steps, [(k, time / dt - k) for k, time in zip(found, times, strict=True)]
