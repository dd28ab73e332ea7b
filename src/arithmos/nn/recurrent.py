r"""Units as recurrent cells: the state is an additional input, and the output is the next state.

.. math:: h_t = \mathrm{unit}([x_t, h_{t-1}])
"""

import torch
from torch import Tensor, nn

from .._typing import Float


class RecurrentCell(nn.Module):
    """Cell that is applied along a sequence: `forward` feeds each state to the next `step`.

    Args:
        input_size: number of inputs per step.
        output_size: number of outputs.
        state_size: number of elements of the state.
        initial: value of every element of the state before the first step.
    """

    def __init__(self, input_size: int, output_size: int, state_size: int, initial: float) -> None:
        super().__init__()
        self.input_size, self.output_size, self.state_size = input_size, output_size, state_size
        self.initial = float(initial)

    def initial_state(self, x: Float[Tensor, "*batch time i"]) -> Float[Tensor, "*batch s"]:
        """Return the state before the first step, for a sequence of this batch shape, type and device."""
        return x.new_full((*x.shape[:-2], self.state_size), self.initial)

    def step(self, x: Float[Tensor, "*batch i"], state: Float[Tensor, "*batch s"]) -> Float[Tensor, "*batch s"]:
        """Return the next state."""
        raise NotImplementedError

    def output(self, state: Float[Tensor, "*batch s"]) -> Float[Tensor, "*batch o"]:
        """Return the output of a state: its first elements."""
        return state[..., : self.output_size]

    def forward(
        self, x: Float[Tensor, "*batch time i"], state: Float[Tensor, "*batch s"] | None = None
    ) -> Float[Tensor, "*batch time o"]:
        if x.ndim < 2 or x.shape[-1] != self.input_size:
            raise ValueError(f"x must be (*, time, {self.input_size}), got {tuple(x.shape)}")
        state = self.initial_state(x) if state is None else state
        outputs = []
        for x_t in x.unbind(-2):
            state = self.step(x_t, state)
            outputs.append(self.output(state))
        return torch.stack(outputs, dim=-2) if outputs else x.new_empty(*x.shape[:-1], self.output_size)


class Recurrent(RecurrentCell):
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
        in_features, out_features = getattr(unit, "in_features", 0), getattr(unit, "out_features", 0)
        if not 0 < out_features < in_features:
            raise ValueError(
                "unit must map input and state to the next state, from in_features to fewer out_features; "
                f"{type(unit).__name__} has in_features={in_features}, out_features={out_features}"
            )
        start = _identity(unit) if initial is None else initial
        super().__init__(in_features - out_features, out_features, out_features, start)
        self.unit = unit

    def step(self, x: Float[Tensor, "*batch i"], h: Float[Tensor, "*batch o"]) -> Float[Tensor, "*batch o"]:
        """Return the next state."""
        state: Tensor = self.unit(torch.cat([x, h], dim=-1))
        return state

    def forward(
        self, x: Float[Tensor, "*batch time i"], h: Float[Tensor, "*batch o"] | None = None
    ) -> Float[Tensor, "*batch time o"]:
        return super().forward(x, h)

    def extra_repr(self) -> str:
        return f"initial={self.initial:g}"


def _identity(unit: nn.Module) -> float:
    if isinstance(identity := getattr(unit, "identity", None), float):
        return identity
    raise ValueError(f"{type(unit).__name__} does not name its initial state; give initial=, or it an identity")
