"""Search for the powers of inputs whose product the targets are: linear in the logarithms."""

import math

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
    formula = _rounded(_exponents(x, t), allowed)
    all_x, all_t = torch.cat([x, held_x]).unsqueeze(0), torch.cat([t, held_t]).unsqueeze(0)
    error, explained = errors(formula.weights.unsqueeze(0), formula.exponents, all_x, all_t, epsilon)
    if (error.abs() <= explained).all():
        return formula, 1
    usable = (x != 0).all(1) & (t != 0)
    if usable.sum() <= x.shape[1]:
        return Formula(formula.weights, formula.exponents, math.nan), 1

    logs, size = x[usable].abs().log(), t[usable].abs()
    fitted = linear(logs, size.log())
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


def _exponents(x: Float[Tensor, "r i"], t: Float[Tensor, " r"]) -> Float[Tensor, " i"]:
    """Return the exponents of an exact product, which follow from the rows where it is not 0.

    An input that is 0 in such a row has no part in the product. One that is 1 or -1 in all of them and 0 elsewhere has
    the exponent 1, as any other would give the same.
    """
    x, elsewhere = x[t != 0], x[t == 0]
    part = (x != 0).all(0)
    exponents = x.new_zeros(x.shape[1])
    exponents[part] = linear(x[:, part].abs().log(), t[t != 0].abs().log())
    exponents[(x.abs() == 1).all(0) & (elsewhere == 0).any(0)] = 1.0
    return exponents


def _rounded(exponents: Tensor, allowed: Tensor) -> Formula:
    allowed = allowed.to(exponents)
    nearest = allowed[(exponents.unsqueeze(1) - allowed).abs().argmin(1)]
    used = nearest != 0
    return Formula(torch.diag(torch.ones_like(nearest))[used], tuple(nearest[used].tolist()), 0.0)
