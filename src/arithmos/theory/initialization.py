"""Ranges and variances of initial weights of NAC and NMU (Madsen & Johansen 2020, appendix B)."""

import math

from .. import _checks
from .moments import Moments


def nac_weight_variance(r: float) -> float:
    r"""Variance of :math:`W = \tanh(\hat W)\,\sigma(\hat M)` with :math:`\hat W, \hat M \sim U[-r, r]`.

    .. math:: Var[W] = E[\tanh^2]\,E[\sigma^2]
        = \Bigl(1 - \frac{\tanh r}{r}\Bigr) \cdot \frac{r - \tanh(r/2)}{2r} \;<\; \tfrac12

    The paper heads the second factor E[tanh(M̂)²]; it is E[σ(M̂)²].

    >>> round(nac_weight_variance(2.0), 5)
    0.16037
    """
    _checks.positive("r", r)
    return _tanh_mean_square(r) * _sigmoid_mean_square(r)


def nac_weight_jacobian(r: float) -> tuple[Moments, Moments]:
    r"""Moments of :math:`\partial W / \partial \hat W` and :math:`\partial W / \partial \hat M` for U[-r, r].

    The second has mean :math:`E[\tanh \hat W]\,E[\sigma'(\hat M)] = 0`, from which the paper concludes
    :math:`E[\partial L / \partial \hat M] = E[\partial L / \partial W] \cdot 0 = 0`. That product assumes that ∂L/∂W is
    independent of Ŵ, which the paper does not say. For a squared error :math:`(W x - t)^2` it is not, and
    :math:`E[\partial L / \partial \hat M] = 2 x^2 E[\tanh^2] E[\sigma \sigma'] > 0` for any target.

    >>> by_w_hat, by_m_hat = nac_weight_jacobian(1.0)
    >>> round(by_w_hat.mean, 4), by_m_hat.mean
    (0.3808, 0.0)
    """
    _checks.positive("r", r)
    by_w_hat_mean = math.tanh(r) / (2 * r)
    by_w_hat_mean_square = _sech4_integral(r) / r * _sigmoid_mean_square(r)
    by_m_hat_mean_square = _tanh_mean_square(r) * _sech4_integral(r / 2) / (8 * r)
    return (
        Moments(by_w_hat_mean, by_w_hat_mean_square - by_w_hat_mean**2),
        Moments(0.0, by_m_hat_mean_square),
    )


def nac_range_of_variance(variance: float) -> float:
    """Return the r at which `nac_weight_variance` is `variance`.

    >>> round(nac_range_of_variance(0.4), 5)
    9.47141
    """
    _checks.positive("variance", variance)
    if not variance < 0.5:
        raise ValueError(f"variance must be below 1/2, which tanh·σ never reaches, got {variance!r}")
    low, high = 0.0, 1.0
    while nac_weight_variance(high) < variance:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if nac_weight_variance(middle) < variance:
            low = middle
        else:
            high = middle
    return high


def nac_range(fan_in: int, fan_out: int, *, floor: int = 5) -> float:
    """Return the r of a NAC's Ŵ, M̂ ~ U[-r, r] for which Var[W] = 2 / max(fan_in + fan_out, floor).

    Args:
        fan_in: number of inputs.
        fan_out: number of outputs.
        floor: smallest value of the fan. The paper has none (`floor=0`), and so no r for a fan of 4 or less, whose
            variance would be 1/2 or more; its published runs used 5.

    >>> round(nac_range(100, 2), 5), round(nac_range(2, 1), 5)
    (0.50391, 9.47141)
    """
    _checks.whole("fan_in", fan_in, 1)
    _checks.whole("fan_out", fan_out, 1)
    fan = max(fan_in + fan_out, floor)
    if fan <= 4:
        raise ValueError(
            f"fan_in + fan_out must be at least 5, or floor=5 be given, got {fan_in} + {fan_out} with "
            f"floor={floor}: Var[W] = 2/{fan} is not below 1/2, and no r reaches it"
        )
    return nac_range_of_variance(2 / fan)


def nmu_variance_forward(fan_in: int, input_variance: float = 1.0) -> float:
    r"""Var[w] at which the NMU keeps the variance of its inputs, Var[z] = Var[x] = V, for E[w] = ½, E[x] = 0.

    .. math:: Var[w] = \bigl((1 + V)^{-H} V + (4 + 4V)^{-H}\bigr)^{1/H} - \tfrac14
        = \frac{(V + 4^{-H})^{1/H}}{1 + V} - \tfrac14

    For V = 1 this is :math:`\tfrac18 \bigl((4^H + 1)^{1/H} - 2\bigr)`; the paper prints the exponent H instead of 1/H.
    It cites its backward equation where the forward one is meant, and writes the output's variance for the input's,
    which are equal by assumption. The limit for many inputs is 1/(1 + V) - ¼, which for V = 1 is the paper's ¼. In [0,
    1] only a coin toss between 0 and 1 has that variance; a uniform distribution needs [-0.366, 1.366], which the NMU
    clamps.

    >>> round(nmu_variance_forward(2), 5)
    0.26539
    """
    _checks.whole("fan_in", fan_in, 1)
    _checks.positive("input_variance", input_variance)
    # In logarithms, because 4^-H underflows for H > 537, where its root is still a quarter.
    log_v, log_quarters = math.log(input_variance), -fan_in * math.log(4)
    log_sum = max(log_v, log_quarters) + math.log1p(math.exp(-abs(log_v - log_quarters)))
    variance = math.exp(log_sum / fan_in) / (1 + input_variance) - 1 / 4
    if variance < 0:
        raise ValueError(
            f"input_variance={input_variance!r} cannot be kept over fan_in={fan_in}: "
            f"even constant weights of 1/2 raise it, and Var[w] would be {variance:.3g}"
        )
    return variance


def nmu_variance_backward(fan_in: int, fan_out: int, input_variance: float = 1.0) -> float:
    r"""Var[w] at which the NMU keeps the variance of the gradient, for E[w] = ½, E[x] = 0 and Var[x] = V.

    .. math:: Var[w] = \Bigl(\frac{(1 + V)^{1-H}}{H_{out}}\Bigr)^{1/H} - \tfrac14

    Again the paper writes the output's variance for the input's, which need not be equal here.

    >>> round(nmu_variance_backward(2, 1), 5)
    0.45711
    """
    _checks.whole("fan_in", fan_in, 1)
    _checks.whole("fan_out", fan_out, 1)
    _checks.positive("input_variance", input_variance)
    log_root = ((1 - fan_in) * math.log1p(input_variance) - math.log(fan_out)) / fan_in
    variance = math.exp(log_root) - 1 / 4
    if variance < 0:
        raise ValueError(
            f"input_variance={input_variance!r}, fan_in={fan_in}, fan_out={fan_out} cannot keep the variance "
            f"of the gradient: even constant weights of 1/2 raise it, and Var[w] would be {variance:.3g}"
        )
    return variance


def _tanh_mean_square(r: float) -> float:
    """E[tanh(x)²] = 1 - tanh(r)/r for x ~ U[-r, r]."""
    if r < 0.01:  # the difference would cancel; the series is accurate to 1e-13 here
        return r**2 * (1 / 3 - r**2 * (2 / 15 - r**2 * 17 / 315))
    return 1 - math.tanh(r) / r


def _sigmoid_mean_square(r: float) -> float:
    """E[σ(x)²] for x ~ U[-r, r]."""
    return (r - math.tanh(r / 2)) / (2 * r)


def _sech4_integral(r: float) -> float:
    """Integral of 1/cosh⁴ from 0 to r, which is that of tanh'² and of 16 σ'² in twice the argument."""
    return math.tanh(r) - math.tanh(r) ** 3 / 3
