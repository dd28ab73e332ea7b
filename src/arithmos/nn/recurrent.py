r"""Units as recurrent cells: the state is an additional input, and the output is the next state.

.. math:: h_t = \mathrm{unit}([x_t, h_{t-1}])
"""

import torch
from torch import Tensor, nn

from .._typing import Float


class Recurrent(nn.Module):
    r"""Apply a unit along a sequence, feeding its output back.

    .. math:: h_t = \mathrm{unit}([x_t, h_{t-1}])

    Args:
        unit: a layer from `i + o` to `o` features: `NMU(2, 1)` accumulates one input feature.
        initial: value of every element of the state before the first step. By default the unit's `identity`: 1 for
            products and exp-log, 0 for sums, and 0 for gated units, which can be either.

    Shape:
        - input: `(*, time, i)`, and a state `(*, o)` where one is given
        - output: `(*, time, o)`, the state after every step

    Example:
        >>> from arithmos.nn import NMU
        >>> cell = Recurrent(NMU(2, 1))
        >>> _ = nn.init.ones_(cell.unit.weight)
        >>> cell(torch.tensor([[2.0], [3.0], [4.0]])).squeeze(-1)
        tensor([ 2.,  6., 24.], grad_fn=<SqueezeBackward1>)
    """

    def __init__(self, unit: nn.Module, *, initial: float | None = None) -> None:
        super().__init__()
        in_features, out_features = getattr(unit, "in_features", 0), getattr(unit, "out_features", 0)
        if not 0 < out_features < in_features:
            raise ValueError(
                "unit must map input and state to the next state, from in_features to fewer out_features; "
                f"{type(unit).__name__} has in_features={in_features}, out_features={out_features}"
            )
        self.input_size = in_features - out_features
        self.state_size = out_features
        self.unit = unit
        self.initial = _identity(unit) if initial is None else float(initial)

    def initial_state(self, x: Float[Tensor, "*batch time i"]) -> Float[Tensor, "*batch o"]:
        """Return the state before the first step, for a sequence of this batch shape, type and device."""
        return x.new_full((*x.shape[:-2], self.state_size), self.initial)

    def step(self, x: Float[Tensor, "*batch i"], h: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch o"]:
        """Return the next state."""
        state: Tensor = self.unit(torch.cat([x, h], dim=-1))
        return state

    def output(self, h: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch o"]:
        """Return the output of a state: all of it."""
        return h

    def forward(
        self, x: Float[Tensor, "*batch time i"], h: Float[Tensor, "*batch o"] | None = None
    ) -> Float[Tensor, "*batch time o"]:
        if x.ndim < 2 or x.shape[-1] != self.input_size:
            raise ValueError(f"x must be (*, time, {self.input_size}), got {tuple(x.shape)}")
        h = self.initial_state(x) if h is None else h
        states = []
        for x_t in x.unbind(-2):
            h = self.step(x_t, h)
            states.append(h)
        return torch.stack(states, dim=-2) if states else h.unsqueeze(-2)[..., :0, :]

    def extra_repr(self) -> str:
        return f"initial={self.initial:g}"


def _identity(unit: nn.Module) -> float:
    if isinstance(identity := getattr(unit, "identity", None), float):
        return identity
    raise ValueError(f"{type(unit).__name__} does not name its initial state; give initial=, or it an identity")
