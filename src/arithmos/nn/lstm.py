r"""Long short-term memory (Hochreiter & Schmidhuber, 1997): the baseline of the sequential tasks.

.. math:: c_t = \sigma(f)\,c_{t-1} + \sigma(i)\tanh(g), \qquad h_t = \sigma(o)\tanh(c_t), \qquad
          [i, f, g, o] = W x_t + U h_{t-1} + b

Its output lies within (-1, 1).
"""

import math

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._unit import Unit
from .recurrent import RecurrentCell


class LSTM(RecurrentCell):
    """LSTM with the interface of `Recurrent`; its state is h and c, its output h.

    Args:
        in_features: number of inputs and outputs together, as for a unit in `Recurrent`.
        out_features: width of h.
        initial: value of every element of the state before the first step.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        - input: `(*, time, i)`, and a state `(*, 2 o)` where one is given
        - output: `(*, time, o)`

    Example:
        >>> LSTM(2, 1)(torch.zeros(3, 5, 1)).shape
        torch.Size([3, 5, 1])
    """

    def __init__(
        self, in_features: int, out_features: int, *, initial: float = 0.0, device: Device = None, dtype: Dtype = None
    ) -> None:
        if not 0 < out_features < in_features:
            raise ValueError(
                f"in_features must count inputs and outputs, more than out_features; got {in_features}, {out_features}"
            )
        super().__init__(in_features - out_features, out_features, 2 * out_features, initial)
        rows = 4 * out_features
        self.weight_ih = nn.Parameter(torch.empty(rows, self.input_size, device=device, dtype=dtype))
        self.weight_hh = nn.Parameter(torch.empty(rows, out_features, device=device, dtype=dtype))
        self.bias_ih = nn.Parameter(torch.empty(rows, device=device, dtype=dtype))
        self.bias_hh = nn.Parameter(torch.empty(rows, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial values as torch's LSTM does: all uniform, within one over the root of the width."""
        bound = 1 / math.sqrt(self.output_size)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-bound, bound, generator=generator)

    def step(self, x: Float[Tensor, "*batch i"], state: Float[Tensor, "*batch s"]) -> Float[Tensor, "*batch s"]:
        """Return the next state."""
        h, c = state.chunk(2, dim=-1)
        gates = x @ self.weight_ih.T + self.bias_ih + h @ self.weight_hh.T + self.bias_hh
        i, f, g, o = gates.chunk(4, dim=-1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.cat([torch.sigmoid(o) * torch.tanh(c), c], dim=-1)


unit = Unit(LSTM, name="LSTM", label="LSTM", paper="hochreiter1997long")
