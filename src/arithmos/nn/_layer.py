"""Base of all layers: sizes and options, bounds and sparsity of the weights."""

import inspect
from collections.abc import Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn

from .._typing import Device, Dtype, Float
from ._init import Init
from ._reading import Reading

T = TypeVar("T")


def matrix(out_features: int, in_features: int, device: Device, dtype: Dtype) -> nn.Parameter:
    """Return an uninitialized weight matrix."""
    check_floating(dtype)
    return nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))


def check_floating(dtype: torch.dtype | None) -> None:
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type, such as torch.float32, got {dtype}")


def choose(argument: str, value: str, choices: Mapping[str, T]) -> T:
    """Return the choice of that name; any other name is an error that lists the choices."""
    if not (isinstance(value, str) and value in choices):
        allowed = " or ".join(repr(name) for name in choices)
        raise ValueError(f"{argument} must be {allowed}, got {value!r}")
    return choices[value]


def sparsity(weight: Float[Tensor, "o i"], *, signed: bool) -> Float[Tensor, ""]:
    r"""Mean distance of the weights from the values they should have in the end.

    .. math:: \mathrm{mean}_{oi} \min(|w_{oi}|, |1 - |w_{oi}||)

    without the inner absolute value if not signed.

    The gradient is 0 at 0, at 1/2 and at 1.

    Example:
        >>> sparsity(torch.tensor([[0.0, -0.75, 1.0, 0.25]]), signed=True)
        tensor(0.1250)
    """
    magnitude = weight.abs()
    other = 1 - (magnitude if signed else weight)
    return torch.minimum(magnitude, other.abs()).mean()


class UnitLayer(nn.Module):
    """Base of the layers in this package: `out_features` values from `in_features`, for any leading axes.

    Nothing in the package requires this class. Your own layer may be any `torch.nn.Module`; the methods below are those
    that `arithmos.constrain`, `arithmos.sparsity_loss` and others look for.

    Args:
        in_features: size of the last axis of the input.
        out_features: size of the last axis of the output.

    Attributes:
        rule: rule for the initial values of the layer's own matrices.
        start: initial value of its biases and gates.
        identity: state of a recurrent cell that leaves its first input unchanged: 0 for sums, 1 for products; None if
            there is none.
    """

    rule: Init
    start: float = 0.0
    identity: float | None = None

    def __init__(self, in_features: int, out_features: int) -> None:
        for name, size in (("in_features", in_features), ("out_features", out_features)):
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise ValueError(f"{name} must be a positive integer, got {size!r}")
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new initial values, in the order of `parameters()`."""
        for child in self.children():
            if isinstance(child, UnitLayer):
                child.reset_parameters(generator)
        for parameter in self.parameters(recurse=False):
            if parameter.dim() == 1:
                nn.init.constant_(parameter, self.start)
            else:
                self.rule.draw_(parameter, generator)

    def weights(self) -> dict[str, Tensor]:
        """Return the effective weight matrices by name, without biases and gates."""
        raise NotImplementedError

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return the parameters to project into a range after every optimizer step, with that range.

        By default those of the layers inside.
        """
        return {
            f"{prefix}.{name}": limits
            for prefix, child in self.named_children()
            if isinstance(child, UnitLayer)
            for name, limits in child.bounds().items()
        }

    def sparsity(self) -> Float[Tensor, ""]:
        """Return the regularizer that pulls weights towards the values they should have in the end.

        By default the sum of those of the layers inside; 0 if there are none.
        """
        total = next(self.parameters()).new_zeros(())
        for child in self.children():
            if isinstance(child, UnitLayer):
                total = total + child.sparsity()
        return total

    def reading(self, x: Float[Tensor, "*batch i"]) -> Reading:
        """Return what it computes once its weights are rounded, on inputs like `x`; those of `UNITS` need none."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        options = [
            f"{name}={value!r}"
            for name, parameter in inspect.signature(type(self)).parameters.items()
            if name not in ("in_features", "out_features", "device", "dtype")
            and (value := getattr(self, name, parameter.default)) != parameter.default
        ]
        return ", ".join([f"in_features={self.in_features}", f"out_features={self.out_features}", *options])
