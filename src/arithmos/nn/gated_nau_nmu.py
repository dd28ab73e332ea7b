r"""Gated NAU and NMU (Madsen & Johansen, 2020).

.. math:: z = g \odot \mathrm{NAU}(x; W_a) + (1 - g) \odot \mathrm{NMU}(x; W_m), \qquad g = \sigma(G x)
"""

from torch import Tensor

from .._typing import Device, Dtype, Float
from ._gate import SigmoidGate, gate, mix
from ._layer import UnitLayer
from ._unit import Unit
from .nau import NAU, nau
from .nmu import NMU, nmu


def gated_nau_nmu(
    x: Float[Tensor, "*batch i"],
    add: Float[Tensor, "o i"],
    mul: Float[Tensor, "o i"],
    gate_weight: Float[Tensor, "o i"],
) -> Float[Tensor, "*batch o"]:
    """Gated choice between `nau` with the weights `add` and `nmu` with the weights `mul`."""
    return mix(gate(x, gate_weight), nau(x, add), nmu(x, mul))


class GatedNAUNMU(UnitLayer):
    """Learned choice, per output, between a NAU and an NMU.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: "default", "paper" or "small", for both; see `NAU` and `NMU`.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> import torch
        >>> gated = GatedNAUNMU(4, 2)
        >>> gated(torch.ones(8, 4)).shape, gated.bounds()
        (torch.Size([8, 2]), {'add.weight': (-1.0, 1.0), 'mul.weight': (0.0, 1.0)})
    """

    identity = 0.0

    def __init__(
        self, in_features: int, out_features: int, *, init: str = "default", device: Device = None, dtype: Dtype = None
    ) -> None:
        super().__init__(in_features, out_features)
        self.init = init
        self.add = NAU(in_features, out_features, init=init, device=device, dtype=dtype)
        self.mul = NMU(in_features, out_features, init=init, device=device, dtype=dtype)
        self.gate = SigmoidGate(in_features, out_features, device=device, dtype=dtype)

    def weights(self) -> dict[str, Tensor]:
        return {"add": self.add.weights()["weight"], "mul": self.mul.weights()["weight"]}

    def gate_value(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        """Return the openness of the gate: 1 for the NAU, 0 for the NMU."""
        g: Tensor = self.gate(x)
        return g

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        return mix(self.gate_value(x), self.add(x), self.mul(x))


unit = Unit(GatedNAUNMU, name="GatedNAUNMU", label="Gated NAU/NMU", paper="Madsen & Johansen (2020)")
