"""Convolution, ReLU and pooling in one Triton kernel, for a stack of runs; patches are never written to memory.

Each is a matrix product per run, one factor of which is gathered from the images as needed. The channels of a pixel are
contiguous, so that the five pixels of a row under the kernel are adjacent in memory:

    forward   positions x patch  @  patch x channels       four positions of a window side by side, keep the largest
    weights   patch x windows  @  windows x channels       for each of the four; the bias is one more row, always 1
    images    images x (tap, channel)  @  (tap, channel) x channels below        for each pixel, with its own taps

For the gradients, the kernel keeps which of a window's four positions was the largest, or that none was above 0. Only
the largest has a gradient. With one input channel, its patch alone is summed, without a matrix product; otherwise the
gradients of all four are spread out first, including zeros, with a multiple of four channels side by side.

Products are of float32: each factor is a sum of two TF32 numbers, of which the three larger products count
("tf32x3"), or fused multiply-adds are used ("ieee"); "tf32" drops the second numbers.
"""

from typing import Any, Literal

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional as F

Precision = Literal["tf32x3", "ieee", "tf32"]


@triton.jit
def forward_kernel(
    x, weight, bias, y, largest,  # [s, n, H, H, C], [s, K, BO], [s, O], [s, n, P, O] twice
    x_stride, n,
    H: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    WINDOWS: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    side: tl.constexpr = (H - 4) // 2
    pooled: tl.constexpr = side * side
    patch: tl.constexpr = 25 * C
    run = tl.program_id(1).to(tl.int64)
    x += run * x_stride
    weight += run * (((patch + BK - 1) // BK) * BK * BO)
    m = tl.arange(0, 4 * WINDOWS)
    window = tl.program_id(0) * WINDOWS + m // 4
    place = window % pooled
    row = 2 * (place // side) + (m % 4) // 2
    column = 2 * (place % side) + m % 2
    start = (window // pooled) * (H * H * C) + (row * H + column) * C
    inside = window < n * pooled
    o = tl.arange(0, BO)
    total = tl.zeros((4 * WINDOWS, BO), tl.float32)
    for first in range(0, patch, BK):
        k = first + tl.arange(0, BK)
        offset = (k // (5 * C)) * (H * C) + k % (5 * C)
        a = tl.load(x + start[:, None] + offset[None, :], mask=inside[:, None] & (k < patch)[None, :], other=0.0)
        b = tl.load(weight + k[:, None] * BO + o[None, :])
        total = tl.dot(a, b, total, input_precision=PRECISION)
    total += tl.load(bias + run * O + o, mask=o < O, other=0.0)[None, :]
    four = tl.reshape(total, (WINDOWS, 4, BO))
    best = tl.max(four, axis=1)
    position = tl.arange(0, 4)[None, :, None] + tl.zeros((WINDOWS, 4, BO), tl.int32)
    which = tl.min(tl.where(four == best[:, None, :], position, 4), axis=1)
    q = tl.program_id(0) * WINDOWS + tl.arange(0, WINDOWS)
    out = (run * n * pooled + q)[:, None] * O + o[None, :]
    mask = (q < n * pooled)[:, None] & (o < O)[None, :]
    off = best <= 0  # NaN is not off
    tl.store(y + out, tl.where(off, 0.0, best), mask=mask)
    tl.store(largest + out, tl.where(off, 4, which).to(tl.uint8), mask=mask)


@triton.jit
def spread_kernel(
    grad, largest, spread,  # [windows, O] twice, [windows, 4, S]
    windows,
    O: tl.constexpr, S: tl.constexpr, WINDOWS: tl.constexpr, BO: tl.constexpr,
):  # fmt: skip
    window = tl.program_id(0).to(tl.int64) * WINDOWS + tl.arange(0, WINDOWS)
    o = tl.arange(0, BO)
    mask = (window < windows)[:, None] & (o < O)[None, :]
    here = window[:, None] * O + o[None, :]
    g = tl.load(grad + here, mask=mask, other=0.0)
    which = tl.load(largest + here, mask=mask, other=4)
    mask = (window < windows)[:, None] & (o < S)[None, :]
    for position in tl.static_range(4):
        out = (window * 4 + position)[:, None] * S + o[None, :]
        tl.store(spread + out, tl.where(which == position, g, 0.0), mask=mask)


@triton.jit
def weight_kernel(
    x, spread, partial,  # [s, n, H, H, C], [s, n, P, 4, S], [s, splits, 25 C + 1, O]
    x_stride, n, per_split,
    H: tl.constexpr, C: tl.constexpr, O: tl.constexpr, S: tl.constexpr,
    WINDOWS: tl.constexpr, BO: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    side: tl.constexpr = (H - 4) // 2
    pooled: tl.constexpr = side * side
    patch: tl.constexpr = 25 * C
    run, split = tl.program_id(2).to(tl.int64), tl.program_id(1)
    x += run * x_stride
    spread += run * n * (pooled * 4 * S)
    k = tl.program_id(0) * BN + tl.arange(0, BN)
    offset = (k // (5 * C)) * (H * C) + k % (5 * C)
    o = tl.arange(0, BO)
    total = tl.zeros((BN, BO), tl.float32)
    last = tl.minimum((split + 1) * per_split, n * pooled)
    for first in range(split * per_split, last, WINDOWS):
        window = first + tl.arange(0, WINDOWS)
        place = window % pooled
        start = (window // pooled) * (H * H * C) + (2 * (place // side) * H + 2 * (place % side)) * C
        inside = window < last
        for position in tl.static_range(4):
            pixel = x + ((position // 2) * H + position % 2) * C
            a = tl.load(
                pixel + start[None, :] + offset[:, None], mask=inside[None, :] & (k < patch)[:, None], other=0.0
            )
            a = tl.where((k == patch)[:, None], 1.0, a)
            here = (window * 4 + position)[:, None] * S + o[None, :]
            g = tl.load(spread + here, mask=inside[:, None] & (o < S)[None, :], other=0.0)
            total = tl.dot(a, g, total, input_precision=PRECISION)
    out = ((run * tl.num_programs(1) + split) * (patch + 1) + k)[:, None] * O + o[None, :]
    tl.store(partial + out, total, mask=(k < patch + 1)[:, None] & (o < O)[None, :])


@triton.jit
def first_weight_kernel(
    x, grad, largest, partial,  # [s, n, H, H], [s, n, P, O] twice, [s, splits, 26, O]
    x_stride, n, per_split,
    H: tl.constexpr, O: tl.constexpr, WINDOWS: tl.constexpr, BO: tl.constexpr,
):  # fmt: skip
    side: tl.constexpr = (H - 4) // 2
    pooled: tl.constexpr = side * side
    run, split, ky = tl.program_id(2).to(tl.int64), tl.program_id(1), tl.program_id(0)
    x += run * x_stride + ky * H
    grad += run * n * pooled * O
    largest += run * n * pooled * O
    o = tl.arange(0, BO)
    t0 = tl.zeros((WINDOWS, BO), tl.float32)
    t1, t2, t3, t4, bias = t0, t0, t0, t0, t0
    last = tl.minimum((split + 1) * per_split, n * pooled)
    for first in range(split * per_split, last, WINDOWS):
        window = first + tl.arange(0, WINDOWS)
        place = window % pooled
        start = (window // pooled) * (H * H) + 2 * (place // side) * H + 2 * (place % side)
        here = window[:, None] * O + o[None, :]
        mask = (window < last)[:, None] & (o < O)[None, :]
        which = tl.load(largest + here, mask=mask, other=4).to(tl.int32)
        mask &= which < 4
        g = tl.load(grad + here, mask=mask, other=0.0)
        pixel = x + start[:, None] + (which // 2) * H + which % 2
        t0 += g * tl.load(pixel, mask=mask, other=0.0)
        t1 += g * tl.load(pixel + 1, mask=mask, other=0.0)
        t2 += g * tl.load(pixel + 2, mask=mask, other=0.0)
        t3 += g * tl.load(pixel + 3, mask=mask, other=0.0)
        t4 += g * tl.load(pixel + 4, mask=mask, other=0.0)
        bias += g
    out = partial + (run * tl.num_programs(1) + split) * (26 * O) + o
    row = out + ky * 5 * O
    tl.store(row, tl.sum(t0, axis=0), mask=o < O)
    tl.store(row + O, tl.sum(t1, axis=0), mask=o < O)
    tl.store(row + 2 * O, tl.sum(t2, axis=0), mask=o < O)
    tl.store(row + 3 * O, tl.sum(t3, axis=0), mask=o < O)
    tl.store(row + 4 * O, tl.sum(t4, axis=0), mask=o < O)
    if ky == 0:
        tl.store(out + 25 * O, tl.sum(bias, axis=0), mask=o < O)


@triton.jit
def image_kernel(
    weight, spread, x_grad,  # [s, K, BC], [s, n, P, 4, S], [s, n, H, H, C]
    n,
    H: tl.constexpr, C: tl.constexpr, S: tl.constexpr,
    BM: tl.constexpr, BC: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    side: tl.constexpr = (H - 4) // 2
    positions: tl.constexpr = 4 * side * side
    run = tl.program_id(2).to(tl.int64)
    weight += run * ((25 * S + BK) * BC)
    spread += run * n * (positions * S)
    row, column = tl.program_id(1) // H, tl.program_id(1) % H
    image = tl.program_id(0) * BM + tl.arange(0, BM)
    inside = image < n
    c = tl.arange(0, BC)
    total = tl.zeros((BM, BC), tl.float32)
    top, left = tl.maximum(0, row - (H - 5)), tl.maximum(0, column - (H - 5))
    rows, width = tl.minimum(4, row) + 1 - top, (tl.minimum(4, column) + 1 - left) * S
    steps = tl.cdiv(width, BK)
    for step in range(rows * steps):
        ky = top + step // steps
        k = (step % steps) * BK + tl.arange(0, BK)
        out_row, out_column = row - ky, column - left - k // S
        window = (out_row // 2) * side + out_column // 2
        here = (window * 4 + (out_row % 2) * 2 + out_column % 2) * S + k % S
        mask = inside[:, None] & (k < width)[None, :]
        g = tl.load(spread + image[:, None] * (positions * S) + here[None, :], mask=mask, other=0.0)
        b = tl.load(weight + ((ky * 5 + left) * S + k)[:, None] * BC + c[None, :])
        total = tl.dot(g, b, total, input_precision=PRECISION)
    out = run * n * (H * H * C) + (image * (H * H) + row * H + column)[:, None] * C + c[None, :]
    tl.store(x_grad + out, total, mask=inside[:, None] & (c < C)[None, :])


LAUNCH: dict[tuple[str, int], dict[str, Any]] = {
    ("forward", 1): {"WINDOWS": 32, "BK": 32, "PRECISION": "ieee", "num_warps": 4, "num_stages": 2},
    ("forward", 20): {"WINDOWS": 64, "BK": 32, "PRECISION": "tf32x3", "num_warps": 8, "num_stages": 3},
    ("weight", 1): {"WINDOWS": 16, "splits": 16, "num_warps": 4, "num_stages": 2},
    ("weight", 20): {"WINDOWS": 16, "BN": 128, "PRECISION": "ieee", "splits": 4, "num_warps": 8, "num_stages": 2},
    ("image", 20): {"BM": 128, "BK": 32, "PRECISION": "tf32x3", "num_warps": 8, "num_stages": 3},
}
"""Block sizes by kernel and channels of the image, the fastest ones on an H200."""


class _Convolution(torch.autograd.Function):
    """Map from images `[s, n, H, H, C]` to the largest of each window `[s, n, P, O]`, channels last in both."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, precision: Precision | None) -> Tensor:
        s, n, side, _, c = x.shape
        o = weight.shape[1]
        pooled = ((side - 4) // 2) ** 2
        y = x.new_empty(s, n, pooled, o)
        largest = torch.empty(s, n, pooled, o, dtype=torch.uint8, device=x.device)
        launch = _launch("forward", c, precision)
        patches = weight.permute(0, 3, 4, 2, 1).reshape(s, 25 * c, o)
        forward_kernel[(triton.cdiv(n * pooled, launch["WINDOWS"]), s)](
            x, _padded(patches, -25 * c % launch["BK"], _power(o)), bias.contiguous(), y, largest, x.stride(0), n,
            H=side, C=c, O=o, BO=_power(o), **launch,
        )  # fmt: skip
        ctx.save_for_backward(x, weight, largest)
        ctx.precision = precision
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, largest = ctx.saved_tensors
        s, n, side, _, c = x.shape
        o, pooled = weight.shape[1], largest.shape[2]
        grad = grad.contiguous()
        launch = _launch("weight", c, ctx.precision)
        splits, windows = launch.pop("splits"), launch["WINDOWS"]
        per_split = triton.cdiv(triton.cdiv(n * pooled, splits), windows) * windows
        partial = x.new_empty(s, splits, 25 * c + 1, o)
        sizes = {"H": side, "O": o, "BO": _power(o)}
        x_grad = None
        if c == 1 and not ctx.needs_input_grad[0]:
            first_weight_kernel[(5, splits, s)](x, grad, largest, partial, x.stride(0), n, per_split, **sizes, **launch)
        else:
            stride = triton.cdiv(o, 4) * 4
            spread = x.new_empty(s, n, pooled, 4, stride)
            spread_kernel[(triton.cdiv(s * n * pooled, 32),)](
                grad, largest, spread, s * n * pooled, O=o, S=stride, WINDOWS=32, BO=_power(o)
            )
            weight_kernel[(triton.cdiv(25 * c + 1, launch["BN"]), splits, s)](
                x, spread, partial, x.stride(0), n, per_split, C=c, S=stride, **sizes, **launch
            )
            if ctx.needs_input_grad[0]:
                x_grad = _image_grad(weight, spread, x, _launch("image", c, ctx.precision))
        whole = partial.sum(1)
        weight_grad = whole[:, :-1].view(s, 5, 5, c, o).permute(0, 4, 3, 1, 2)
        return x_grad, weight_grad, whole[:, -1], None


def _image_grad(weight: Tensor, spread: Tensor, x: Tensor, launch: dict[str, Any]) -> Tensor:
    s, n, side, _, c = x.shape
    stride = spread.shape[4]
    taps = weight.permute(0, 3, 4, 1, 2).reshape(s, 25, -1, c)  # [s, tap, o, c]
    taps = F.pad(taps, (0, 0, 0, stride - taps.shape[2])).reshape(s, 25 * stride, c)
    x_grad = torch.empty(s, n, side, side, c, dtype=x.dtype, device=x.device)
    image_kernel[(triton.cdiv(n, launch["BM"]), side * side, s)](
        _padded(taps, launch["BK"], _power(c)), spread, x_grad, n, H=side, C=c, S=stride, BC=_power(c), **launch
    )
    return x_grad


def _launch(kernel: str, channels: int, precision: Precision | None) -> dict[str, Any]:
    launch = dict(LAUNCH[kernel, channels])
    return launch | {"PRECISION": precision} if precision and "PRECISION" in launch else launch


def _padded(matrix: Tensor, rows: int, columns: int) -> Tensor:
    """Pad a stack of matrices `[s, k, o]` with zeros to a number of rows and columns."""
    return F.pad(matrix, (0, columns - matrix.shape[-1], 0, rows)).contiguous()


def _power(size: int) -> int:
    """Return the smallest power of two that is no less than `size` and that a matrix product accepts."""
    return int(max(16, triton.next_power_of_2(size)))


def fused(x: Tensor, weight: Tensor, bias: Tensor, precision: Precision | None = None) -> Tensor:
    """Convolve as `reader` describes, with one kind of products, or with the fastest of float32 precision."""
    last = x.permute(0, 1, 3, 4, 2)
    if not last[0].is_contiguous():
        last = last.contiguous()
    y: Tensor = _Convolution.apply(last, weight, bias, precision)
    side = (x.shape[3] - 4) // 2
    return y.view(*x.shape[:2], side, side, -1).permute(0, 1, 4, 2, 3)
