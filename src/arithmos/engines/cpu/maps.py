"""The weight maps: from parameters to effective weights W, and from the gradient of W to that of the parameters.

The maths is in `arithmos.nn._parts`. All arrays are flat. A map with two parameters a weight has the second after the
first; `factors` keeps what the gradient needs again.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...nn._parts import Clamp, Free, Sigmoid, WeightMap
from . import maths
from ._compile import apart, compiled

ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)


class Map(NamedTuple):
    """A compiled weight map.

    Args:
        matrices: parameters a weight.
        forward: `(p, w, factors)` fills w.
        backward: `(p, w, dw, factors, g)` fills g.
        project: `(p)` puts parameters back into their range, after a step.
    """

    matrices: int
    forward: Callable[..., None]
    backward: Callable[..., None]
    project: Callable[..., None]


@compiled  # type: ignore[untyped-decorator]
def _leave(p):  # type: ignore[no-untyped-def]
    pass


@compiled  # type: ignore[untyped-decorator]
def _free_forward(p, w, factors):  # type: ignore[no-untyped-def]
    apart()
    for i in range(w.size):
        w[i] = p[i]


@compiled  # type: ignore[untyped-decorator]
def _free_backward(p, w, dw, factors, g):  # type: ignore[no-untyped-def]
    apart()
    for i in range(dw.size):
        g[i] = dw[i]


@compiled  # type: ignore[untyped-decorator]
def _sigmoid_forward(p, w, factors):  # type: ignore[no-untyped-def]
    apart()
    for i in range(w.size):
        w[i] = maths.sigmoid(p[i])


@compiled  # type: ignore[untyped-decorator]
def _sigmoid_backward(p, w, dw, factors, g):  # type: ignore[no-untyped-def]
    apart()
    for i in range(dw.size):
        g[i] = dw[i] * ((ONE - w[i]) * w[i])


@compiled  # type: ignore[untyped-decorator]
def _tanh_sigmoid_forward(p, w, factors):  # type: ignore[no-untyped-def]
    apart()
    n = w.size
    w_hat, m_hat = p[:n], p[n:]
    for i in range(n):
        t, s = maths.tanh(w_hat[i]), maths.sigmoid(m_hat[i])
        factors[0, i] = t
        factors[1, i] = s
        w[i] = t * s


@compiled  # type: ignore[untyped-decorator]
def _tanh_sigmoid_backward(p, w, dw, factors, g):  # type: ignore[no-untyped-def]
    apart()
    n = dw.size
    g_w, g_m = g[:n], g[n:]
    for i in range(n):
        t, s = factors[0, i], factors[1, i]
        g_w[i] = dw[i] * s * (ONE - t * t)
        g_m[i] = dw[i] * t * ((ONE - s) * s)


def _clamp(clamp: Clamp) -> Map:
    low, high = np.float32(clamp.low), np.float32(clamp.high)

    @compiled  # type: ignore[untyped-decorator]
    def forward(p, w, factors):  # type: ignore[no-untyped-def]
        apart()
        for i in range(w.size):
            w[i] = low if p[i] < low else high if p[i] > high else p[i]

    @compiled  # type: ignore[untyped-decorator]
    def backward(p, w, dw, factors, g):  # type: ignore[no-untyped-def]
        apart()
        for i in range(dw.size):
            g[i] = dw[i] if p[i] >= low and p[i] <= high else ZERO

    @compiled  # type: ignore[untyped-decorator]
    def project(p):  # type: ignore[no-untyped-def]
        apart()
        for i in range(p.size):
            p[i] = low if p[i] < low else high if p[i] > high else p[i]

    return Map(
        1,
        forward if clamp.clip else _free_forward,
        backward if clamp.clip else _free_backward,
        project if clamp.project else _leave,
    )


@lru_cache(maxsize=64)
def make_map(map_: WeightMap) -> Map:
    """The compiled form of a weight map."""
    if isinstance(map_, Clamp):
        return _clamp(map_)
    if isinstance(map_, Free):
        return Map(1, _free_forward, _free_backward, _leave)
    if isinstance(map_, Sigmoid):
        return Map(1, _sigmoid_forward, _sigmoid_backward, _leave)
    return Map(2, _tanh_sigmoid_forward, _tanh_sigmoid_backward, _leave)


@compiled  # type: ignore[untyped-decorator]
def _sign(x):  # type: ignore[no-untyped-def]
    return np.float32(x > ZERO) - np.float32(x < ZERO)


@compiled  # type: ignore[untyped-decorator]
def _signed(w):  # type: ignore[no-untyped-def]
    """The slope of min(|w|, |1 - |w||) as torch has it: 0 at 0, at ±1/2 and at ±1."""
    a = abs(w)
    b = abs(ONE - a)
    rising, falling = _sign(w), -_sign(ONE - a) * _sign(w)
    return rising if a < b else falling if a > b else HALF * (rising + falling)


@compiled  # type: ignore[untyped-decorator]
def _unsigned(w):  # type: ignore[no-untyped-def]
    """The slope of min(|w|, |1 - w|), likewise."""
    a = abs(w)
    b = abs(ONE - w)
    rising, falling = _sign(w), -_sign(ONE - w)
    return rising if a < b else falling if a > b else HALF * (rising + falling)


def _regularizer(slope: Any) -> Callable[..., None]:
    @compiled  # type: ignore[untyped-decorator]
    def add(p, strength, g):  # type: ignore[no-untyped-def]
        apart()
        share = np.float32(strength) / np.float32(p.size)
        for i in range(p.size):
            g[i] += share * slope(p[i])

    return add  # type: ignore[no-any-return]


@compiled  # type: ignore[untyped-decorator]
def _no_regularizer(p, strength, g):  # type: ignore[no-untyped-def]
    pass


REGULARIZERS: dict[str, Callable[..., None]] = {
    "none": _no_regularizer,
    "signed": _regularizer(_signed),
    "unsigned": _regularizer(_unsigned),
}
"""By form of the sparsity regularizer: `(p, strength, g)` adds the gradient of strength · mean(R) to g."""
