"""Base of the units whose weights are one matrix kept in a range."""

from collections.abc import Mapping

from torch import Tensor

from .._typing import Device, Dtype, Float
from ._clamp import clamp
from ._init import Init
from ._layer import UnitLayer, choose, matrix, sparsity


class Clipped(UnitLayer):
    """Layer with a matrix of weights that are clipped and projected into a range.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.
        init: one of `inits`.
        project: whether W is to be projected into the range after every optimizer step.
        clip: whether the forward pass clips W.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Attributes:
        inits: rules for the initial weights, by name.
        limits: ends of the range.
    """

    inits: Mapping[str, Init]
    limits: tuple[float, float]

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        init: str = "default",
        project: bool = True,
        clip: bool = True,
        device: Device = None,
        dtype: Dtype = None,
    ) -> None:
        super().__init__(in_features, out_features)
        self.init, self.project, self.clip = init, project, clip
        self.rule = choose("init", init, self.inits)
        self.weight = matrix(out_features, in_features, device, dtype)
        self.reset_parameters()

    def weights(self) -> dict[str, Tensor]:
        return {"weight": clamp(self.weight, *self.limits) if self.clip else self.weight}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the range of W, if it is projected."""
        return {"weight": self.limits} if self.project else {}

    def sparsity(self) -> Float[Tensor, ""]:
        """Return `functional.sparsity` of W."""
        return sparsity(self.weight, signed=self.limits[0] < 0)
