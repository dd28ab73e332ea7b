"""Search for the powers of inputs whose product the targets are: linear in the logarithms."""

import torch
from torch import Tensor

from .._typing import Float
from .least_squares import Stopping, least_squares
from .noise import compatible
from .products import errors
from .search import Formula
from .starts import linear


def monomial(
    x: Float[Tensor, "r i"],
    t: Float[Tensor, " r"],
    held_x: Float[Tensor, "c i"],
    held_t: Float[Tensor, " c"],
    allowed: Float[Tensor, " e"],
    epsilon: float,
) -> tuple[Formula, int]:
    """Return the product of powers of inputs, with a noise of NaN if it is not exact, and the number of iterations.

    Args:
        x: inputs.
        t: targets.
        held_x: inputs of further rows, which the formula must hold for.
        held_t: their targets.
        allowed: exponents that an input may have.
        epsilon: relative precision of the numbers in the data.
    """
    usable = (x != 0).all(1) & (t != 0)
    logs, size = x[usable].abs().log(), t[usable].abs()
    fitted = linear(logs, size.log())
    formula = _rounded(fitted, allowed)
    all_x, all_t = torch.cat([x, held_x]).unsqueeze(0), torch.cat([t, held_t]).unsqueeze(0)
    error, explained = errors(formula.weights.unsqueeze(0), formula.exponents, all_x, all_t, epsilon)
    if (error.abs() <= explained).all():
        return formula, 1

    scale = size.square().mean().sqrt()
    [minimum] = least_squares(
        lambda w, logs, size: ((logs @ w).exp() - size) / scale, fitted, logs, size, stopping=Stopping(iterations=50)
    )
    formula = _rounded(minimum.point, allowed)
    error, _ = errors(formula.weights.unsqueeze(0), formula.exponents, all_x, all_t, epsilon)
    residual = ((logs @ minimum.point).exp() - size).square().sum().item()
    fit, held = error[0, : len(t)], error[0, len(t) :]
    whole, held = fit[usable], torch.cat([fit[~usable], held])  # rows without logarithms were not fitted
    noise = compatible(residual, whole, held, len(fitted), size.var().item())
    return Formula(formula.weights, formula.exponents, noise), 1 + minimum.iterations


def _rounded(exponents: Tensor, allowed: Tensor) -> Formula:
    allowed = allowed.to(exponents)
    nearest = allowed[(exponents.unsqueeze(1) - allowed).abs().argmin(1)]
    used = nearest != 0
    return Formula(torch.diag(torch.ones_like(nearest))[used], tuple(nearest[used].tolist()), 0.0)
