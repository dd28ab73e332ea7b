"""Layers put together from compiled parts: leaves, and gates between two leaves.

A layer works on a block of inputs x `[i, lanes]` and owns its buffers. Nothing is read from a buffer that was not
written before, so they start filled with NaN.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...nn._parts import Gate, Leaf, Parts
from . import maths
from ._compile import LANES, apart, compiled, inlined
from .aggregations import add_input_gradient, add_weight_gradient, make_aggregation, weighted_sum
from .maps import REGULARIZERS, make_map

Floats = NDArray[np.float32]
ZERO, ONE, SIX = np.float32(0), np.float32(1), np.float32(6)


class Layer(NamedTuple):
    """A compiled layer.

    Args:
        weigh: `(p, buffers)` makes the effective weights of the parameters p, and clears their gradient.
        forward: `(x, z, buffers)` fills z `[o, lanes]`.
        backward: `(x, z, dz, buffers)` adds the block's gradient to that of the weights.
        backward_input: `(x, z, dz, dx, buffers)` adds to dx `[i, lanes]`; to be called after `backward`.
        gradient: `(p, strength, buffers, g)` fills g with the gradient of the parameters, regularizer included.
        project: `(p, buffers)` puts the parameters back into their range.
        sparsity: `(buffers)` is the largest distance of a weight from 0 and ±1.
        gate: `(lane_share, buffers)` is the sum of the gate over lanes and outputs, NaN where there is none.
    """

    weigh: Callable[..., None]
    forward: Callable[..., None]
    backward: Callable[..., None]
    backward_input: Callable[..., None]
    gradient: Callable[..., None]
    project: Callable[..., None]
    sparsity: Callable[..., np.float32]
    gate: Callable[..., np.float32]


class LeafBuffers(NamedTuple):
    """Effective weights and bias, their gradients, and scratch for the parts of a leaf."""

    w: Floats  # [o i]
    dw: Floats  # [o i]
    bias: Floats  # [2, o]: value and gradient
    factors: Floats  # [2, o i]
    a: Floats  # [o, lanes], before bias and activation
    da: Floats  # [o, lanes]
    rows: Floats  # [i, lanes]
    outs: Floats  # [o, lanes]


class GateBuffers(NamedTuple):
    """The two leaves, the gate matrix and its gradient, and the values between which the gate chooses."""

    add: LeafBuffers
    mul: LeafBuffers
    w: Floats  # [o i]
    dw: Floats  # [o i]
    z_add: Floats  # [o, lanes]
    z_mul: Floats  # [o, lanes]
    g: Floats  # [o, lanes]
    dz_add: Floats  # [o, lanes]
    dz_mul: Floats  # [o, lanes]
    dg: Floats  # [o, lanes]


def _scratch(*shape: int) -> Floats:
    return np.full(shape, np.nan, np.float32)


def _leaf_buffers(i: int, o: int) -> LeafBuffers:
    outs = (_scratch(o, LANES) for _ in range(2))
    return LeafBuffers(
        _scratch(o * i),
        _scratch(o * i),
        _scratch(2, o),
        _scratch(2, o * i),
        *outs,
        _scratch(i, LANES),
        _scratch(o, LANES),
    )


def make_buffers(parts: Parts, i: int, o: int) -> LeafBuffers | GateBuffers:
    """Buffers of a layer from i inputs to o outputs."""
    if isinstance(parts, Leaf):
        return _leaf_buffers(i, o)
    add, mul = _leaf_buffers(i, o), _leaf_buffers(i, o)
    if parts.shared:
        mul = mul._replace(w=add.w, dw=add.dw, bias=add.bias, factors=add.factors)
    return GateBuffers(add, mul, _scratch(o * i), _scratch(o * i), *(_scratch(o, LANES) for _ in range(6)))


@compiled  # type: ignore[untyped-decorator]
def _linear(a, bias, z):  # type: ignore[no-untyped-def]
    apart()
    for o in range(z.shape[0]):
        shift = bias[0, o]
        for b in range(LANES):
            z[o, b] = a[o, b] + shift


@compiled  # type: ignore[untyped-decorator]
def _relu(a, bias, z):  # type: ignore[no-untyped-def]
    apart()
    for o in range(z.shape[0]):
        shift = bias[0, o]
        for b in range(LANES):
            v = a[o, b] + shift
            z[o, b] = ZERO if v <= ZERO else v


@compiled  # type: ignore[untyped-decorator]
def _relu6(a, bias, z):  # type: ignore[no-untyped-def]
    apart()
    for o in range(z.shape[0]):
        shift = bias[0, o]
        for b in range(LANES):
            v = a[o, b] + shift
            z[o, b] = ZERO if v <= ZERO else SIX if v >= SIX else v


@compiled  # type: ignore[untyped-decorator]
def _linear_slope(z):  # type: ignore[no-untyped-def]
    return True


@compiled  # type: ignore[untyped-decorator]
def _relu_slope(z):  # type: ignore[no-untyped-def]
    return not z <= ZERO


@compiled  # type: ignore[untyped-decorator]
def _relu6_slope(z):  # type: ignore[no-untyped-def]
    return not (z <= ZERO or z >= SIX)


_ACTIVATIONS: dict[str, tuple[Any, Any]] = {
    "none": (_linear, _linear_slope),
    "relu": (_relu, _relu_slope),
    "relu6": (_relu6, _relu6_slope),
}


@compiled  # type: ignore[untyped-decorator]
def _distance(w):  # type: ignore[no-untyped-def]
    """The largest min(|w|, |1 - |w||)."""
    largest = ZERO
    for i in range(w.size):
        a = abs(w[i])
        largest = max(largest, min(a, abs(ONE - a)))
    return largest


@compiled  # type: ignore[untyped-decorator]
def _copy(a, b):  # type: ignore[no-untyped-def]
    for i in range(b.size):
        b[i] = a[i]


@compiled  # type: ignore[untyped-decorator]
def _clear(a):  # type: ignore[no-untyped-def]
    for i in range(a.size):
        a[i] = ZERO


@inlined  # type: ignore[untyped-decorator]
def _no_gate(lane_share, buffers):  # type: ignore[no-untyped-def]
    return np.float32(np.nan)


def _make_leaf(leaf: Leaf) -> Layer:
    matrices, map_forward, map_backward, map_project = make_map(leaf.map)
    aggregate, aggregate_backward, aggregate_backward_input = make_aggregation(leaf.aggregation)
    regularize = REGULARIZERS[leaf.sparsity]
    activate, slope = _ACTIVATIONS[leaf.activation]
    plain, has_bias = leaf.activation == "none" and not leaf.bias, leaf.bias

    @inlined  # type: ignore[untyped-decorator]
    def weigh(p, f):  # type: ignore[no-untyped-def]
        count = f.w.size
        map_forward(p[: matrices * count], f.w, f.factors)
        _clear(f.dw)
        if has_bias:
            _copy(p[matrices * count :], f.bias[0])
            _clear(f.bias[1])

    @inlined  # type: ignore[untyped-decorator]
    def forward(x, z, f):  # type: ignore[no-untyped-def]
        if plain:
            aggregate(f.w, x, z, f.rows, f.outs)
        else:
            aggregate(f.w, x, f.a, f.rows, f.outs)
            activate(f.a, f.bias, z)

    @compiled  # type: ignore[untyped-decorator]
    def deactivate(z, dz, bias, da):  # type: ignore[no-untyped-def]
        apart()
        for o in range(z.shape[0]):
            s = ZERO
            for b in range(LANES):
                d = dz[o, b] if slope(z[o, b]) else ZERO
                da[o, b] = d
                s += d
            bias[1, o] += s

    @inlined  # type: ignore[untyped-decorator]
    def backward(x, z, dz, f):  # type: ignore[no-untyped-def]
        if plain:
            aggregate_backward(f.w, x, z, dz, f.dw, f.rows, f.outs)
        else:
            deactivate(z, dz, f.bias, f.da)
            aggregate_backward(f.w, x, f.a, f.da, f.dw, f.rows, f.outs)

    @inlined  # type: ignore[untyped-decorator]
    def backward_input(x, z, dz, dx, f):  # type: ignore[no-untyped-def]
        if plain:
            aggregate_backward_input(f.w, x, z, dz, dx, f.rows, f.outs)
        else:
            aggregate_backward_input(f.w, x, f.a, f.da, dx, f.rows, f.outs)

    @inlined  # type: ignore[untyped-decorator]
    def gradient(p, strength, f, g):  # type: ignore[no-untyped-def]
        count = f.w.size
        end = matrices * count
        map_backward(p[:end], f.w, f.dw, f.factors, g[:end])
        if strength > 0:
            regularize(p[:count], strength, g[:count])
        if has_bias:
            _copy(f.bias[1], g[end:])

    @inlined  # type: ignore[untyped-decorator]
    def project(p, f):  # type: ignore[no-untyped-def]
        map_project(p[: f.w.size])

    @inlined  # type: ignore[untyped-decorator]
    def sparsity(f):  # type: ignore[no-untyped-def]
        return _distance(f.w)

    return Layer(weigh, forward, backward, backward_input, gradient, project, sparsity, _no_gate)


@compiled  # type: ignore[untyped-decorator]
def _mix(add, mul, g, z):  # type: ignore[no-untyped-def]
    apart()
    for o in range(z.shape[0]):
        for b in range(LANES):
            open_ = maths.sigmoid(g[o, b])
            g[o, b] = open_
            z[o, b] = open_ * add[o, b] + (ONE - open_) * mul[o, b]


@compiled  # type: ignore[untyped-decorator]
def _unmix(add, mul, g, dz, d_add, d_mul, dg):  # type: ignore[no-untyped-def]
    apart()
    for o in range(dz.shape[0]):
        for b in range(LANES):
            d, open_ = dz[o, b], g[o, b]
            d_add[o, b] = d * open_
            d_mul[o, b] = d * (ONE - open_)
            # As torch has it, two terms: an output that overflows makes the gradient NaN.
            dg[o, b] = (d * add[o, b] - d * mul[o, b]) * ((ONE - open_) * open_)


@compiled  # type: ignore[untyped-decorator]
def _sum_gate(lane_share, g):  # type: ignore[no-untyped-def]
    total = ZERO
    for o in range(g.shape[0]):
        for b in range(LANES):
            if lane_share[b] > ZERO:
                total += g[o, b]
    return total


def _make_gate(gate: Gate) -> Layer:
    add, mul = _make_leaf(gate.add), _make_leaf(gate.mul)
    add_weigh, add_forward, add_backward, add_backward_input, add_gradient, add_project, _, _ = add
    mul_weigh, mul_forward, mul_backward, mul_backward_input, mul_gradient, mul_project, _, _ = mul
    separate = not gate.shared
    add_matrices, add_bias = make_map(gate.add.map).matrices, gate.add.bias

    @inlined  # type: ignore[untyped-decorator]
    def split(f):  # type: ignore[no-untyped-def]
        """Where the parameters of the second leaf begin."""
        count = add_matrices * f.add.w.size
        return count + f.add.bias.shape[1] if add_bias else count

    @inlined  # type: ignore[untyped-decorator]
    def weigh(p, f):  # type: ignore[no-untyped-def]
        begin, end = split(f), p.size - f.w.size
        add_weigh(p[:begin], f.add)
        if separate:
            mul_weigh(p[begin:end], f.mul)
        _copy(p[end:], f.w)
        _clear(f.dw)

    @inlined  # type: ignore[untyped-decorator]
    def forward(x, z, f):  # type: ignore[no-untyped-def]
        add_forward(x, f.z_add, f.add)
        mul_forward(x, f.z_mul, f.mul)
        weighted_sum(f.w, x, f.g)
        _mix(f.z_add, f.z_mul, f.g, z)

    @inlined  # type: ignore[untyped-decorator]
    def backward(x, z, dz, f):  # type: ignore[no-untyped-def]
        _unmix(f.z_add, f.z_mul, f.g, dz, f.dz_add, f.dz_mul, f.dg)
        add_backward(x, f.z_add, f.dz_add, f.add)
        mul_backward(x, f.z_mul, f.dz_mul, f.mul)
        add_weight_gradient(f.dg, x, f.dw)

    @inlined  # type: ignore[untyped-decorator]
    def backward_input(x, z, dz, dx, f):  # type: ignore[no-untyped-def]
        add_backward_input(x, f.z_add, f.dz_add, dx, f.add)
        mul_backward_input(x, f.z_mul, f.dz_mul, dx, f.mul)
        add_input_gradient(f.w, f.dg, dx)

    @inlined  # type: ignore[untyped-decorator]
    def gradient(p, strength, f, g):  # type: ignore[no-untyped-def]
        begin, end = split(f), p.size - f.w.size
        add_gradient(p[:begin], strength, f.add, g[:begin])
        if separate:
            mul_gradient(p[begin:end], strength, f.mul, g[begin:end])
        _copy(f.dw, g[end:])

    @inlined  # type: ignore[untyped-decorator]
    def project(p, f):  # type: ignore[no-untyped-def]
        begin, end = split(f), p.size - f.w.size
        add_project(p[:begin], f.add)
        if separate:
            mul_project(p[begin:end], f.mul)

    @inlined  # type: ignore[untyped-decorator]
    def sparsity(f):  # type: ignore[no-untyped-def]
        return max(_distance(f.add.w), _distance(f.mul.w))

    @inlined  # type: ignore[untyped-decorator]
    def gate_sum(lane_share, f):  # type: ignore[no-untyped-def]
        return _sum_gate(lane_share, f.g)

    return Layer(weigh, forward, backward, backward_input, gradient, project, sparsity, gate_sum)


@lru_cache(maxsize=64)
def make_layer(parts: Parts) -> Layer:
    """The compiled form of a layer."""
    return _make_leaf(parts) if isinstance(parts, Leaf) else _make_gate(parts)
