"""Data of the two figures that need no training (Madsen & Johansen 2020): loss curvature and expectation error."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _checks
from .moments import nac_mul_forward, uniform

_NODES, _SHARES = np.polynomial.legendre.leggauss(40)


def loss_surface(w1: ArrayLike, w2: ArrayLike, epsilon: float) -> NDArray[np.float64]:
    r"""Squared error of a NAC₊ → NAC• network with one free weight per layer, at x = (1, 1.2, 1.8, 2).

    The target is :math:`(x_1 + x_2)(x_1 + x_2 + x_3 + x_4) = 13.2`, the layers are
    :math:`W_1 = [[w_1, w_1, 0, 0], [w_1, w_1, w_1, w_1]]` and :math:`W_2 = [w_2, w_2]`, so

    .. math:: L = \bigl((|2.2\,w_1| + \epsilon)^{w_2} (|6\,w_1| + \epsilon)^{w_2} - 13.2\bigr)^2

    The paper's caption calls it RMS; it is the squared error, which the figure clips at 500.

    Shape:
        w1 and w2 broadcast against each other.

    >>> loss_surface([0.0, 1.0], 0.0, epsilon=0.1)
    array([148.84, 148.84])
    """
    _checks.positive("epsilon", epsilon)
    first = np.abs(np.asarray(w1, np.float64))
    hidden = (2.2 * first + epsilon) * (6.0 * first + epsilon)
    error: NDArray[np.float64] = hidden ** np.asarray(w2, np.float64) - 13.2
    return error**2


def nac_mul_expectation_error(
    r_w: float, r_z: float, rng: np.random.Generator, *, draws: int = 100_000, epsilon: float = 1e-8
) -> float:
    r"""Difference between the expansion of E[z] for NAC• and its sampled value, for one input.

    .. math:: 1 + \tfrac12 Var[w] \log(E[x] + \epsilon)^2 - \overline{(x + \epsilon)^w},
        \qquad w \sim U[-r_w, r_w],\; x \sim U[0, r_z]

    The paper says that its arithmetic data have this distribution; they are U[1, 2], with weights tanh·σ of uniforms. ε
    is that of the figure, a tenth of that in training.
    """
    _checks.positive("epsilon", epsilon)
    _checks.whole("draws", draws, 1)
    estimate = nac_mul_forward(uniform(-r_w, r_w), uniform(0.0, r_z), fan_in=1, epsilon=epsilon).mean
    w, x = rng.uniform(-r_w, r_w, draws), rng.uniform(0.0, r_z, draws)
    return estimate - float(np.mean((x + epsilon) ** w))


def nac_mul_expectation_error_limit(r_w: ArrayLike, r_z: ArrayLike, *, epsilon: float = 1e-8) -> NDArray[np.float64]:
    r"""Limit of `nac_mul_expectation_error` for many draws.

    .. math:: 1 + \tfrac{r_w^2}{6} \log(\tfrac{r_z}2 + \epsilon)^2
        - E_w\biggl[\frac{(r_z + \epsilon)^{w+1} - \epsilon^{w+1}}{(w + 1)\,r_z}\biggr]

    The mean over w is computed by quadrature.

    Shape:
        r_w, below 1, and r_z broadcast against each other.

    >>> nac_mul_expectation_error_limit([0.1, 0.496], 1.0).round(4)
    array([-0.0026, -0.077 ])
    """
    _checks.positive("epsilon", epsilon)
    widths, ranges = np.asarray(r_w, np.float64), np.asarray(r_z, np.float64)
    w = widths[..., None] * _NODES  # [..., node]
    high = ranges[..., None]
    means = ((high + epsilon) ** (w + 1) - epsilon ** (w + 1)) / ((w + 1) * high)
    estimate = 1 + widths**2 / 6 * np.log(ranges / 2 + epsilon) ** 2
    error: NDArray[np.float64] = estimate - means @ _SHARES / 2
    return error
