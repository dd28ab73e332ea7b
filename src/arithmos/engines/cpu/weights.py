"""Flat weights: projection, and the sparsity error of a record."""

import numpy as np

from ._compile import compiled

ZERO, ONE = np.float32(0), np.float32(1)


@compiled
def project(p, low, high):
    """Project the parameters into [low, high]; NaN stays."""
    for i in range(p.size):
        p[i] = low if p[i] < low else high if p[i] > high else p[i]


@compiled
def sparsity_error(w):
    """Return the largest min(|w|, |1 - |w||)."""
    largest = ZERO
    for i in range(w.size):
        magnitude = abs(w[i])
        largest = max(largest, min(magnitude, abs(ONE - magnitude)))
    return largest
