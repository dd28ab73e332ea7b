"""Formulas of the units since 2020 in NumPy: one row and one output at a time, each weight written out."""

import numpy as np

EPSILON = 2.0**-23


def power(x, w_real, w_imaginary, gate, epsilon=EPSILON):
    """Return the real part of the product of complex powers."""
    value = 1.0 + 0.0j
    for xi, re, im, g in zip(x, w_real, w_imaginary, np.clip(gate, 0, 1), strict=True):
        r, k = g * (abs(xi) + epsilon) + 1 - g, np.pi * g * (xi < 0)
        value *= np.exp((re + 1j * im) * (np.log(r) + 1j * k))
    return value.real


def real_npu(x, o, p):
    return power(x, p["weight"][o], np.zeros(len(x)), p["gate"])


FORMULAS = {"RealNPU": real_npu, "RealNPUModified": real_npu}
"""Output o for a row x and parameters by name, of each unit in evaluation mode."""
