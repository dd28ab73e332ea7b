"""Regularizers of the weights and of the inputs of units."""

import torch
from torch import Tensor, nn

from .._typing import Float
from ._methods import having


def sparsity_loss(module: nn.Module) -> Float[Tensor, ""]:
    r"""Distance of the weights from 0 and ±1: the regularizer that drives a unit to an exact formula.

    .. math:: \sum_W \mathrm{mean}_{oi} \min(|w_{oi}|, |1 - |w_{oi}||)

    over the regularized weight matrices of the module (NMU: without the inner absolute value); 0 without any.

    Example:
        >>> from arithmos.nn import NAU, NMU
        >>> nau, nmu = NAU(4, 2), NMU(2, 1)
        >>> _ = nn.init.constant_(nau.weight, 0.25), nn.init.constant_(nmu.weight, 0.9)
        >>> print(f"{sparsity_loss(nn.Sequential(nau, nmu)).item():.2f}")
        0.35
    """
    terms = [part.sparsity() for part in having(module, "sparsity")]
    return torch.stack(terms).sum() if terms else next(module.parameters(), torch.empty(())).new_zeros(())


@torch.no_grad()
def sparsity_error(module: nn.Module) -> Float[Tensor, ""]:
    r"""Largest distance of a weight from 0 and ±1: a measure of how exact the learned formula is, not a loss.

    .. math:: \max_{W, oi} \min(|w_{oi}|, |1 - |w_{oi}||)

    over the effective weight matrices of the module. Both sides of a gate count; biases and gates do not.

    Example:
        >>> from arithmos.nn import NMU
        >>> nmu = NMU(2, 1)
        >>> _ = nn.init.constant_(nmu.weight, 0.75)
        >>> sparsity_error(nmu)
        tensor(0.2500)
    """
    magnitudes = [w.abs() for part in having(module, "weights") for w in part.weights().values()]
    if not magnitudes:
        raise ValueError(f"{type(module).__name__} has no arithmetic weights, so there is no sparsity error")
    return torch.stack([torch.minimum(w, (1 - w).abs()).max() for w in magnitudes]).max()


def input_regularizer_add(weight: Float[Tensor, "o i"], mean_input: Float[Tensor, " i"]) -> Float[Tensor, ""]:
    r"""Penalty that pulls inputs which an additive unit ignores towards 0, its neutral value.

    .. math:: R_z = \mathrm{mean}_{oi} (1 - |w_{oi}|)\,\bar x_i^2

    Args:
        weight: effective weights.
        mean_input: mean of the unit's input over batch and time. Its gradient trains the preceding layers.

    Example:
        >>> input_regularizer_add(torch.tensor([[1.0, -0.5]]), torch.tensor([3.0, 2.0]))
        tensor(1.)
    """
    _check_mean_input(weight, mean_input)
    return ((1 - weight.abs()) * mean_input**2).mean()


def input_regularizer_mul(weight: Float[Tensor, "o i"], mean_input: Float[Tensor, " i"]) -> Float[Tensor, ""]:
    r"""Penalty that pulls inputs which a multiplicative unit ignores towards 1, its neutral value.

    .. math:: R_z = \mathrm{mean}_{oi} (1 - w_{oi})\,(1 - \bar x_i)^2

    Args:
        weight: effective weights.
        mean_input: mean of the unit's input over batch and time. Its gradient trains the preceding layers. The
            published runs of `NACMulNMU` used the mean of log(|x| + 1e-7) here.

    Example:
        >>> input_regularizer_mul(torch.tensor([[1.0, 0.5]]), torch.tensor([3.0, 3.0]))
        tensor(1.)
    """
    _check_mean_input(weight, mean_input)
    return ((1 - weight) * (1 - mean_input) ** 2).mean()


def _check_mean_input(weight: Tensor, mean_input: Tensor) -> None:
    if weight.ndim != 2 or mean_input.shape != weight.shape[1:]:
        raise ValueError(
            f"weight must be (out, in) and mean_input (in,), got {tuple(weight.shape)} and {tuple(mean_input.shape)}"
        )
