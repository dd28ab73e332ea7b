"""Formulas of the units since 2020 in NumPy: one row and one output at a time, each weight written out.

Each function gives output o for a row x and the unit's parameters by name.
"""

import numpy as np

EPSILON = 2.0**-23


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def complex_power(x, w_real, w_imaginary, gate):
    """Return the real part of the product of complex powers."""
    value = 1.0 + 0.0j
    for xi, re, im, g in zip(x, w_real, w_imaginary, np.clip(gate, 0, 1), strict=True):
        r, k = g * (abs(xi) + EPSILON) + 1 - g, np.pi * g * (xi < 0)
        value *= np.exp((re + 1j * im) * (np.log(r) + 1j * k))
    return value.real


def real_npu(x, o, p):
    return complex_power(x, p["weight"][o], np.zeros(len(x)), p["gate"])


def npu(x, o, p):
    return complex_power(x, p["real"][o], p["imaginary"][o], p.get("gate", np.ones(len(x))))


def nru(x, o, p, *, training=False):
    value = 1.0
    for xi, w in zip(x, p["weight"][o], strict=True):
        a = np.tanh(1000 * w) ** 2 if training else abs(w)
        value *= np.sign(xi) * abs(xi) ** w * a + 1 - a
    return value


def nmru(x, o, p, *, training=False, signed=True):
    both = [*x, *(1 / (xi + EPSILON * training) for xi in x)] * p.get("gate", np.ones(2 * len(x)))
    value, flips = 1.0, 0.0
    for xi, w in zip(both, p["weight"][o], strict=True):
        value *= w * (abs(xi) if signed else xi) + 1 - w
        flips += w * (xi < 0)
    return value * np.cos(np.pi * flips) if signed else value


def chosen(x, w):
    return np.prod([wi * xi + 1 - wi for xi, wi in zip(x, np.clip(w, 0, 1), strict=True)])


def snmu(x, o, p):
    return chosen(x, p["weight"][o])


def g_nalu(x, o, p):
    phi = (1 + 5**0.5) / 2

    def tanh(v):
        return (phi ** (2 * v) - 1) / (phi ** (2 * v) + 1)

    def open_(v):
        return 1 / (1 + phi**-v)

    w = tanh(p["W_hat"][o]) * open_(p["M_hat"][o])
    g = open_(sum(p["G"][o] * x))
    m = phi ** sum(w * np.log(np.abs(x) + 1e-7) / np.log(phi))
    return g * sum(w * x) + (1 - g) * m


def inalu(x, o, p):
    add = np.tanh(p["W_add"][o]) * sigmoid(p["M_add"][o])
    mul = np.tanh(p["W_mul"][o]) * sigmoid(p["M_mul"][o]) if "W_mul" in p else add
    m = np.exp(min(sum(mul * np.log(np.maximum(np.abs(x), 1e-7))), 20))
    s = np.clip(np.prod([np.sign(xi) * abs(w) + 1 - abs(w) for xi, w in zip(x, mul, strict=True)]), -1, 1)
    g = sigmoid(p["gate"][o])
    return g * sum(add * x) + (1 - g) * m * s


def mcfc(x, o, p):
    shares = [np.exp(column[o]) / sum(np.exp(column)) for column in p["junction"].T]
    return sigmoid(p["out"][o] + p["bias"][o]) * sum(share * xi for share, xi in zip(shares, x, strict=True))


def mul_mcfc(x, o, p):
    with np.errstate(invalid="ignore"):
        return np.exp(mcfc(np.log(x), o, p) + p["shift"][o])


def mul_mcfc_product(x, o, p):
    shares = [np.exp(column[o]) / sum(np.exp(column)) for column in p["junction"].T]
    sign = np.prod([share * np.sign(xi) + 1 - share for share, xi in zip(shares, x, strict=True)])
    return mul_mcfc(np.abs(x), o, p) * sign


def mul_mcfc_cosine(x, o, p):
    shares = [np.exp(column[o]) / sum(np.exp(column)) for column in p["junction"].T]
    gates = np.clip(p["gate"], 0, 1)
    turns = sum(share * g for share, g, xi in zip(shares, gates, x, strict=True) if xi < 0)
    return mul_mcfc(np.abs(x), o, p) * np.cos(np.pi * turns)


FORMULAS = {
    "INALU": inalu,
    "INALUShared": inalu,
    "GNALU": g_nalu,
    "NPU": npu,
    "NaiveNPU": npu,
    "RealNPU": real_npu,
    "RealNPUModified": real_npu,
    "NRU": nru,
    "NMRU": nmru,
    "NMRUPlain": lambda x, o, p: nmru(x, o, p, signed=False),
    "NMRUGated": nmru,
    "SNMU": snmu,
    "SNMUBatch": snmu,
    "MCFC": mcfc,
    "MulMCFC": mul_mcfc,
    "MulMCFCSignINALU": mul_mcfc_product,
    "MulMCFCSignRealNPU": mul_mcfc_cosine,
}
"""Formula of each unit in evaluation mode."""
TRAINING = {
    "NRU": lambda x, o, p: nru(x, o, p, training=True),
    "NMRU": lambda x, o, p: nmru(x, o, p, training=True),
}
"""Formulas in training mode, where they are others."""
