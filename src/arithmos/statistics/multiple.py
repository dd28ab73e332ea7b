"""Many tests at once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .interval import sample


def benjamini_hochberg(p: ArrayLike, rate: float = 0.05) -> NDArray[np.bool_]:
    """Which hypotheses Benjamini and Hochberg's step-up procedure rejects.

    Those with a p-value up to the largest p₍ᵢ₎ ≤ i·rate/m: among them, false ones are at most `rate` on
    average, for independent tests.

    Args:
        p: one p-value a hypothesis.
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
