"""Multiple testing."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .interval import sample


def benjamini_hochberg(p: ArrayLike, rate: float = 0.05) -> NDArray[np.bool_]:
    """Reject hypotheses by Benjamini and Hochberg's step-up procedure; returns a mask.

    It rejects p-values up to the largest p₍ᵢ₎ ≤ i·rate/m. For independent tests, the expected share of false rejections
    is at most `rate`.

    Args:
        p: one p-value per hypothesis.
        rate: false discovery rate.

    Example:
        >>> benjamini_hochberg([0.01, 0.02, 0.03, 0.5])
        array([ True,  True,  True, False])
    """
    p = sample(p, "p")
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise ValueError(f"p must lie between 0 and 1, got {p.min()} to {p.max()}")
    if not 0 < rate < 1:
        raise ValueError(f"rate must lie between 0 and 1, got {rate}")
    ordered = np.sort(p)
    passed = ordered[ordered * p.size <= rate * np.arange(1, p.size + 1)]
    rejected: NDArray[np.bool_] = p <= passed.max(initial=-1.0)
    return rejected


def single_levels(p: ArrayLike, rate: float = 0.05) -> NDArray[np.float64]:
    """Level at which Benjamini and Hochberg's procedure tests each hypothesis, given the p-values of the others.

    It rejects a hypothesis if its p-value is at most this. The level is i·rate/m, where i hypotheses would be rejected
    if this one's p-value were 0.

    Args:
        p: one p-value per hypothesis.
        rate: false discovery rate.

    Example:
        >>> single_levels([0.01, 0.02, 0.5, 0.6], 0.04)
        array([0.02, 0.02, 0.03, 0.03])
    """
    p = sample(p, "p")
    rejected = [benjamini_hochberg(np.where(np.arange(p.size) == i, 0.0, p), rate).sum() for i in range(p.size)]
    return np.array(rejected, np.float64) * rate / max(p.size, 1)
