"""A convolution, its ReLU and its pooling in one Triton kernel, for a stack of runs; the patches are never written.

Each is a matrix product a run whose one factor is gathered from the images as it is needed. Images lie channel by
channel within a pixel, so that the five pixels of a row under the kernel are neighbours in memory:

    forward   positions x patch  @  patch x channels       four positions of a window side by side, the largest stays
    weights   channels x positions  @  positions x patch   the bias is one more column of the patch, always 1
    images    positions x (column, channel)  @  (column, channel) x channels below, for each row of the kernel

What is kept for the gradients is which of a window's four positions was the largest, or that none was above 0.
Products are of float32: each factor as a sum of two TF32 numbers, of which the three larger products count
("tf32x3"), or by fused multiply-adds ("ieee"); "tf32" drops the second numbers.
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
    off = best <= 0  # and a NaN is not off
    tl.store(y + out, tl.where(off, 0.0, best), mask=mask)
    tl.store(largest + out, tl.where(off, 4, which).to(tl.uint8), mask=mask)


@triton.jit
def weight_kernel(
    x, grad, largest, partial,  # [s, n, H, H, C], [s, n, P, O] twice, [s, splits, 25 C + 1, O]
    x_stride, n, per_split,
    H: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    WINDOWS: tl.constexpr, BO: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    side: tl.constexpr = (H - 4) // 2
    pooled: tl.constexpr = side * side
    patch: tl.constexpr = 25 * C
    run, split = tl.program_id(2).to(tl.int64), tl.program_id(1)
    x += run * x_stride
    grad += run * n * pooled * O
    largest += run * n * pooled * O
    k = tl.program_id(0) * BN + tl.arange(0, BN)
    offset = (k // (5 * C)) * (H * C) + k % (5 * C)
    o = tl.arange(0, BO)
    m = tl.arange(0, 4 * WINDOWS)
    total = tl.zeros((BN, BO), tl.float32)
    last = tl.minimum((split + 1) * per_split, n * pooled)
    for first in range(split * per_split, last, WINDOWS):
        window = first + m // 4
        place = window % pooled
        row = 2 * (place // side) + (m % 4) // 2
        column = 2 * (place % side) + m % 2
        start = (window // pooled) * (H * H * C) + (row * H + column) * C
        inside = window < last
        a = tl.load(x + start[None, :] + offset[:, None], mask=inside[None, :] & (k < patch)[:, None], other=0.0)
        a = tl.where((k == patch)[:, None], 1.0, a)
        here = window[:, None] * O + o[None, :]
        mask = inside[:, None] & (o < O)[None, :]
        g = tl.load(grad + here, mask=mask, other=0.0)
        which = tl.load(largest + here, mask=mask, other=4)
        g = tl.where(which == (m % 4)[:, None], g, 0.0)
        total = tl.dot(a, g, total, input_precision=PRECISION)
    splits = tl.num_programs(1)
    out = ((run * splits + split) * (patch + 1) + k)[:, None] * O + o[None, :]
    tl.store(partial + out, total, mask=(k < patch + 1)[:, None] & (o < O)[None, :])


@triton.jit
def image_kernel(
    weight, grad, largest, x_grad,  # [s, 5, K, BC], [s, n, P, O] twice, [s, n, H, H, C]
    n,
    H: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    BM: tl.constexpr, BC: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    side: tl.constexpr = (H - 4) // 2
    pooled: tl.constexpr = side * side
    run = tl.program_id(2).to(tl.int64)
    padded: tl.constexpr = (5 * O + BK - 1) // BK * BK
    weight += run * (5 * padded * BC)
    grad += run * n * pooled * O
    largest += run * n * pooled * O
    row = tl.program_id(1)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    image, column = m // H, m % H
    inside = image < n
    c = tl.arange(0, BC)
    total = tl.zeros((BM, BC), tl.float32)
    for ky in range(tl.maximum(0, row - (H - 5)), tl.minimum(4, row) + 1):
        out_row = row - ky
        for first in range(0, 5 * O, BK):
            k = first + tl.arange(0, BK)
            out_column = column[:, None] - (k // O)[None, :]
            valid = inside[:, None] & (k < 5 * O)[None, :] & (out_column >= 0) & (out_column < H - 4)
            place = (out_row // 2) * side + out_column // 2
            here = (image[:, None] * pooled + place) * O + (k % O)[None, :]
            g = tl.load(grad + here, mask=valid, other=0.0)
            which = tl.load(largest + here, mask=valid, other=4)
            g = tl.where(which == (out_row % 2) * 2 + out_column % 2, g, 0.0)
            b = tl.load(weight + (ky * padded + k)[:, None] * BC + c[None, :])
            total = tl.dot(g, b, total, input_precision=PRECISION)
    out = run * n * H * H * C + (image * H * H + row * H + column)[:, None] * C + c[None, :]
    tl.store(x_grad + out, total, mask=inside[:, None] & (c < C)[None, :])


LAUNCH: dict[tuple[str, int], dict[str, int]] = {
    ("forward", 1): {"WINDOWS": 32, "BK": 32, "num_warps": 4, "num_stages": 2},
    ("forward", 20): {"WINDOWS": 32, "BK": 32, "num_warps": 8, "num_stages": 3},
    ("weight", 1): {"WINDOWS": 16, "BN": 32, "splits": 16, "num_warps": 4, "num_stages": 2},
    ("weight", 20): {"WINDOWS": 8, "BN": 128, "splits": 2, "num_warps": 8, "num_stages": 3},
    ("image", 20): {"BM": 128, "BK": 32, "num_warps": 8, "num_stages": 3},
}
"""Sizes of blocks by kernel and channels of the image, as they were fastest on an H200."""


def _padded(matrix: Tensor, rows: int, columns: int) -> Tensor:
    """A stack of matrices `[…, k, o]` with zeros below and beside, so that blocks need no masks."""
    return F.pad(matrix, (0, columns - matrix.shape[-1], 0, -matrix.shape[-2] % rows)).contiguous()


class _Convolution(torch.autograd.Function):
    """Images `[s, n, H, H, C]` to the largest of each window `[s, n, P, O]`, channels last in both."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, precision: Precision) -> Tensor:
        s, n, side, _, c = x.shape
        o = weight.shape[1]
        pooled = ((side - 4) // 2) ** 2
        y = x.new_empty(s, n, pooled, o)
        largest = torch.empty(s, n, pooled, o, dtype=torch.uint8, device=x.device)
        launch = LAUNCH["forward", c]
        patches = _padded(weight.permute(0, 3, 4, 2, 1).reshape(s, 25 * c, o), launch["BK"], _power(o))
        forward_kernel[(triton.cdiv(n * pooled, launch["WINDOWS"]), s)](
            x, patches, bias.contiguous(), y, largest, x.stride(0), n,
            H=side, C=c, O=o, BO=_power(o), PRECISION=precision, **launch,
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
        patch = 25 * c + 1
        launch = dict(LAUNCH["weight", c])
        splits, windows = launch.pop("splits"), launch["WINDOWS"]
        per_split = triton.cdiv(triton.cdiv(n * pooled, splits), windows) * windows
        partial = x.new_empty(s, splits, patch, o)
        weight_kernel[(triton.cdiv(patch, launch["BN"]), splits, s)](
            x, grad, largest, partial, x.stride(0), n, per_split,
            H=side, C=c, O=o, BO=_power(o), PRECISION=ctx.precision, **launch,
        )  # fmt: skip
        whole = partial.sum(1)
        weight_grad = whole[:, :-1].view(s, 5, 5, c, o).permute(0, 4, 3, 1, 2)
        x_grad = None
        if ctx.needs_input_grad[0]:
            x_grad = torch.empty(s, n, side, side, c, dtype=x.dtype, device=x.device)
            launch = LAUNCH["image", c]
            rows = _padded(weight.permute(0, 3, 4, 1, 2).reshape(s, 5, 5 * o, c), launch["BK"], _power(c))
            image_kernel[(triton.cdiv(n * side, launch["BM"]), side, s)](
                rows, grad, largest, x_grad, n,
                H=side, C=c, O=o, BC=_power(c), PRECISION=ctx.precision, **launch,
            )  # fmt: skip
        return x_grad, weight_grad, whole[:, -1], None


def _power(size: int) -> int:
    """The least power of two that is no less, and that a matrix product takes."""
    return int(max(16, triton.next_power_of_2(size)))


def fused(x: Tensor, weight: Tensor, bias: Tensor, precision: Precision = "tf32x3") -> Tensor:
    """A convolution as `reader` describes it."""
    last = x.permute(0, 1, 3, 4, 2)
    if not last[0].is_contiguous():
        last = last.contiguous()
    y: Tensor = _Convolution.apply(last, weight, bias, precision)
    side = (x.shape[3] - 4) // 2
    return y.view(*x.shape[:2], side, side, -1).permute(0, 1, 4, 2, 3)
