r"""Neural Arithmetic Logic Unit (Trask et al., 2018).

.. math:: z = g \odot (W_a x) + (1 - g) \odot \exp(W_m \log(|x| + \epsilon)), \qquad g = \sigma(G x)

with both weight matrices of the form :math:`\tanh(\hat W) \odot \sigma(\hat M)`, and :math:`W_a = W_m` if
shared. The gate of Heim et al. (2020) has a bias, :math:`g = \sigma(G x + b)`.
"""

from torch import Tensor

from .._typing import Device, Dtype, Float
from ._aggregate import EPSILON, exp_log, linear
from ._gate import GLOROT, SigmoidGate, gate, mix
from ._layer import UnitLayer
from ._unit import Unit
from .nac_add import INITS, NACAdd, nac_weight
from .nac_mul import NACMul


def nalu(
    x: Float[Tensor, "*batch i"],
    add: tuple[Float[Tensor, "o i"], Float[Tensor, "o i"]],
    gate_weight: Float[Tensor, "g i"],
    mul: tuple[Float[Tensor, "o i"], Float[Tensor, "o i"]] | None = None,
    gate_bias: Float[Tensor, " g"] | None = None,
    *,
    epsilon: float = EPSILON,
) -> Float[Tensor, "*batch o"]:
    """Gated choice between sums and products.

    Args:
        x: the input.
        add: W_hat and M_hat of the sum.
        gate_weight: the gate matrix G; of one row, if all outputs have one gate.
        mul: W_hat and M_hat of the product; those of the sum if not given.
        gate_bias: the bias of the gate, if it has one.
        epsilon: the term added to magnitudes.
    """
    add_weight = nac_weight(*add)
    mul_weight = add_weight if mul is None else nac_weight(*mul)
    g, total = gate(x, gate_weight, gate_bias), linear(x, add_weight)
    return mix(g, total, exp_log(x, mul_weight, epsilon=epsilon))


class NALU(UnitLayer):
    """Learned choice, per output, between a sum and a product of inputs.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        shared: whether the sum and the product have the same weights, as in the original unit.
        init: "default" draws W_hat and M_hat as the published runs did; "paper" follows the paper's text, which has no
            solution for in_features + out_features up to 4 and raises ValueError there; "small" draws all parameters,
            those of the gate included, from U[0, 0.1], as Heim et al. (2020) did.
        biased: whether the gate has a bias, as theirs has.
        one_gate: whether all outputs have one gate.
        epsilon: the term added to magnitudes; theirs is 1e-8.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, in_features)` to `(*, out_features)`, where `*` is any number of leading axes.

    Example:
        >>> import torch
        >>> nalu = NALU(4, 2, shared=False)
        >>> nalu(torch.ones(8, 4)).shape, sorted(nalu.weights())
        (torch.Size([8, 2]), ['add', 'mul'])
    """

    identity = 0.0

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        shared: bool = True,
        init: str = "default",
        biased: bool = False,
        one_gate: bool = False,
        epsilon: float = EPSILON,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features)
        self.shared, self.init, self.biased, self.one_gate, self.epsilon = shared, init, biased, one_gate, epsilon
        self.add = NACAdd(in_features, out_features, init=init, device=device, dtype=dtype)
        self.mul = None if shared else NACMul(in_features, out_features, init=init, device=device, dtype=dtype)
        rule, gates = INITS["small"] if init == "small" else GLOROT, 1 if one_gate else out_features
        self.gate = SigmoidGate(in_features, gates, rule=rule, biased=biased, device=device, dtype=dtype)

    def weights(self) -> dict[str, Tensor]:
        both = {"add": self.add, "mul": self.mul}
        return {name: layer.weights()["weight"] for name, layer in both.items() if layer is not None}

    def gate_value(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        """Return the openness of the gate: 1 for the sum, 0 for the product."""
        g: Tensor = self.gate(x)
        return g.expand(*g.shape[:-1], self.out_features)

    def forward(self, x: Float[Tensor, "*batch i"]) -> Float[Tensor, "*batch o"]:
        mul = None if self.mul is None else (self.mul.W_hat, self.mul.M_hat)
        sides = (self.add.W_hat, self.add.M_hat), self.gate.weight, mul, self.gate.bias
        return nalu(x, *sides, epsilon=self.epsilon)


unit = Unit(NALU, name="NALU", label="NALU", paper="Trask et al. (2018)")
separate_unit = Unit(
    NALU,
    name="NALUSeparate",
    label="NALU (separate)",
    paper="Trask et al. (2018)",
    options={"shared": False},
)
biased_unit = Unit(
    NALU,
    name="NALUBiased",
    label="NALU (biased)",
    paper="Heim et al. (2020)",
    options={"biased": True, "init": "small", "epsilon": 1e-8},
)
vector_unit = Unit(
    NALU, name="NALUVector", label="NALU (one gate)", paper="Trask et al. (2018)", options={"one_gate": True}
)
