r"""Mean and variance of untrained units, forward and backward (Madsen & Johansen 2020, appendix B).

Weights and inputs are given by their `Moments`; the entries of each are independent and identically distributed. A
forward function gives the moments of an output :math:`z_o`, a Jacobian function those of
:math:`\partial z_o / \partial x_i`, and `backward` turns the latter into those of
:math:`\partial L / \partial x_i`:

>>> weight, inputs = uniform(0.25, 0.75), Moments(0.0, 1.0)
>>> nmu_forward(weight, inputs, fan_in=4)
Moments(mean=0.0625, variance=0.0821...)
>>> backward(nmu_jacobian(weight, inputs, fan_in=4), gradient_variance=1.0, fan_out=1)
Moments(mean=0.0, variance=0.0430...)

The sum and the NMU are exact under these assumptions; NAC• is a second-order expansion.
"""

import math
from typing import NamedTuple

from .. import _checks


class Moments(NamedTuple):
    """Mean and variance of a random variable."""

    mean: float
    variance: float

    @property
    def mean_square(self) -> float:
        """Second moment, E[x²] = Var[x] + E[x]²."""
        return self.variance + self.mean**2


def uniform(low: float, high: float) -> Moments:
    """Moments of the uniform distribution on [low, high].

    >>> uniform(-1.0, 2.0)
    Moments(mean=0.5, variance=0.75)
    """
    if not low <= high:
        raise ValueError(f"low must not exceed high, got low={low!r}, high={high!r}")
    return Moments((low + high) / 2, (high - low) ** 2 / 12)


def nac_add_forward(weight: Moments, inputs: Moments, fan_in: int) -> Moments:
    r"""Moments of an output of NAC₊, NAU or any other sum :math:`z = \sum_i w_i x_i`; exact.

    >>> nac_add_forward(uniform(-0.5, 0.5), Moments(0.0, 1.0), fan_in=12)
    Moments(mean=0.0, variance=1.0)
    """
    _checks.whole("fan_in", fan_in, 1)
    term_mean = weight.mean * inputs.mean
    term_variance = weight.mean_square * inputs.mean_square - term_mean**2
    return Moments(fan_in * term_mean, fan_in * term_variance)


def nac_add_jacobian(weight: Moments) -> Moments:
    r"""Moments of :math:`\partial z / \partial x_i` for a sum, which are those of the weight; exact.

    >>> backward(nac_add_jacobian(uniform(-0.5, 0.5)), gradient_variance=1.0, fan_out=12)
    Moments(mean=0.0, variance=1.0)
    """
    return weight


def nac_mul_forward(weight: Moments, inputs: Moments, fan_in: int, *, epsilon: float = 1e-7) -> Moments:
    r"""Moments of an output of NAC•, :math:`z = \prod_i (|x_i| + \epsilon)^{w_i}`, to second order.

    .. math:: E[z] \approx f(1, 1), \quad Var[z] \approx f(4, 1) - f(1, 2), \quad
        f(c_1, c_2) = \bigl(1 + \tfrac{c_1}{2} Var[w] \log(|E[x]| + \epsilon)^2\bigr)^{c_2 H}

    The main text concludes E[z] > 1; it is 1 where |E[x]| + ε = 1, as the appendix's ≥ allows. The estimate ignores
    Var[x] and is too low when inputs come near 0: for w ~ U[-1/2, 1/2], x ~ U[0, 1] it is 1.020, while the exact value
    is log 3 ≈ 1.099.

    >>> round(nac_mul_forward(uniform(-0.5, 0.5), uniform(0.0, 1.0), fan_in=1).mean, 3)
    1.02
    """
    _checks.whole("fan_in", fan_in, 1)
    mean = _power_mean(1, weight, inputs, epsilon) ** fan_in
    mean_square = _power_mean(2, weight, inputs, epsilon) ** fan_in
    return Moments(mean, mean_square - mean**2)


def nac_mul_jacobian(weight: Moments, inputs: Moments, fan_in: int, *, epsilon: float = 1e-7) -> Moments:
    r"""Moments of :math:`\partial z / \partial x_i = z\,w_i\,\mathrm{sign}(x_i) / (|x_i| + \epsilon)`, NAC•.

    With :math:`a = |E[x]| + \epsilon` and f of `nac_mul_forward`,

    .. math:: E \approx \frac{\mathrm{sign}(E[x])\,Var[w] \log a}{a} f(1, 1)^{(H-1)/H}, \quad
        E[(\cdot)^2] \approx f(4, 1)\, Var[w] \Bigl(\frac{1}{a^2} + \frac{3\,Var[x]}{a^4}\Bigr)

    The paper prints a mean of 0, assuming that z and w are uncorrelated. They are not: z grows with w where a > 1
    (w ~ U[-1/2, 1/2], x ~ U[1, 2], H = 2: sampled 0.0202, here 0.0227). The mean that `backward` gives stays 0, because
    it rests on E[∂L/∂z] = 0 alone.

    >>> round(nac_mul_jacobian(uniform(-0.5, 0.5), uniform(1.0, 2.0), fan_in=2).mean, 4)
    0.0227
    """
    _checks.whole("fan_in", fan_in, 1)
    base = abs(inputs.mean) + epsilon
    sign = (inputs.mean > 0) - (inputs.mean < 0)
    others = _power_mean(1, weight, inputs, epsilon) ** (fan_in - 1)
    mean = sign * weight.variance * math.log(base) / base * others
    output_mean_square = _power_mean(2, weight, inputs, epsilon) ** fan_in
    mean_square = output_mean_square * weight.variance * (1 / base**2 + 3 * inputs.variance / base**4)
    return Moments(mean, mean_square - mean**2)


def _power_mean(exponent: int, weight: Moments, inputs: Moments, epsilon: float) -> float:
    """E[(|x| + ε)^(exponent·w)] to second order about the means, for E[w] = 0."""
    _checks.positive("epsilon", epsilon)
    if weight.mean != 0:
        raise ValueError(f"weight.mean must be 0 for NAC•, the point of its expansion, got {weight.mean!r}")
    return 1 + exponent**2 * weight.variance * math.log(abs(inputs.mean) + epsilon) ** 2 / 2


def nmu_forward(weight: Moments, inputs: Moments, fan_in: int) -> Moments:
    r"""Moments of an output of the NMU, :math:`z = \prod_i (w_i x_i + 1 - w_i)`; exact.

    For E[w] = ½ and E[x] = 0 these are the paper's

    .. math:: E[z] = 2^{-H}, \qquad Var[z] = (Var[w] + \tfrac14)^H (Var[x] + 1)^H - 4^{-H}

    >>> nmu_forward(Moments(0.5, 0.25), Moments(0.0, 1.0), fan_in=1)
    Moments(mean=0.5, variance=0.75)
    """
    _checks.whole("fan_in", fan_in, 1)
    factor = _nmu_factor(weight, inputs)
    mean = factor.mean**fan_in
    return Moments(mean, factor.mean_square**fan_in - mean**2)


def nmu_jacobian(weight: Moments, inputs: Moments, fan_in: int) -> Moments:
    r"""Moments of :math:`\partial z / \partial x_i = w_i \prod_{j \ne i} (w_j x_j + 1 - w_j)`; exact.

    For E[w] = ½ and E[x] = 0 the mean is :math:`2^{-H}` and the second moment the paper's
    :math:`(Var[w] + \tfrac14)^H (Var[x] + 1)^{H-1}`.

    >>> nmu_jacobian(Moments(0.5, 0.25), Moments(0.0, 1.0), fan_in=1)
    Moments(mean=0.5, variance=0.25)
    """
    _checks.whole("fan_in", fan_in, 1)
    factor = _nmu_factor(weight, inputs)
    mean = weight.mean * factor.mean ** (fan_in - 1)
    return Moments(mean, weight.mean_square * factor.mean_square ** (fan_in - 1) - mean**2)


def _nmu_factor(weight: Moments, inputs: Moments) -> Moments:
    """Moments of w·x + 1 - w = 1 + w·(x - 1)."""
    shifted = Moments(inputs.mean - 1, inputs.variance)
    product = weight.mean * shifted.mean
    return Moments(1 + product, weight.mean_square * shifted.mean_square - product**2)


def backward(jacobian: Moments, gradient_variance: float, fan_out: int) -> Moments:
    r"""Moments of :math:`\partial L / \partial x_i = \sum_o \delta_o\, \partial z_o / \partial x_i`.

    The :math:`\delta_o = \partial L / \partial z_o` have mean 0 and are independent of each other and of the
    Jacobian, so that :math:`Var = H_{out}\, Var[\delta]\, E[(\partial z_o / \partial x_i)^2]`.
    """
    _checks.whole("fan_out", fan_out, 1)
    return Moments(0.0, fan_out * gradient_variance * jacobian.mean_square)
