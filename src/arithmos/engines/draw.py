"""Uniform batches drawn by one Triton kernel: random words, inputs, and the sums over subsets of them.

A word is computed once and stays in registers. Torch's compiler would compute each block of four words four times, in
64 bits, and write the inputs to memory in float64 before it sums them.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from .. import philox
from ..tasks import UniformDraws
from .batches import Batches

MOST_INPUTS = 2048
"""Largest number of inputs whose words fit in the registers of a thread block."""

BLOCKS = 512
"""Blocks of four words that a thread block computes, if a row has no more."""


@triton.jit
def number(word, ranges, PARTS: tl.constexpr):
    low, width = tl.load(ranges) + tl.zeros_like(word).to(tl.float64), tl.load(ranges + 1)
    if PARTS == 2:
        second = (word & 1) != 0
        low = tl.where(second, tl.load(ranges + 2), low)
        width = tl.where(second, tl.load(ranges + 3), width)
    return (low + width * ((word >> 9).to(tl.float64) * 2.0**-23)).to(tl.float32)


@triton.jit
def draw_kernel(
    row, seeds, members, ranges, x, sums,  # [1 + numbers], [s], [s, i, subsets], [parts, 2], [s, b, i], [s, b, subsets]
    BATCH: tl.constexpr, INPUTS: tl.constexpr, SUBSETS: tl.constexpr, PARTS: tl.constexpr,
    STREAM: tl.constexpr, KEY: tl.constexpr, ROUNDS: tl.constexpr,
    ROWS: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    columns: tl.constexpr = 4 * GROUPS
    run = tl.program_id(1).to(tl.int64)
    step = tl.load(row).to(tl.int64).to(tl.uint32)
    place = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    zero = tl.zeros((ROWS, GROUPS), tl.uint32)
    c0 = zero + place[:, None].to(tl.uint32)
    c1 = zero + tl.arange(0, GROUPS)[None, :].to(tl.uint32)
    w0, w1, w2, w3 = tl.philox(tl.load(seeds + run) | KEY, c0, c1, zero + step, zero + STREAM, ROUNDS)
    x0, x1 = number(w0, ranges, PARTS), number(w1, ranges, PARTS)
    x2, x3 = number(w2, ranges, PARTS), number(w3, ranges, PARTS)
    first = run * BATCH + place
    for subset in tl.static_range(SUBSETS):
        total = tl.zeros((ROWS, GROUPS), tl.float64)
        for part in tl.static_range(4):
            column = 4 * tl.arange(0, GROUPS) + part
            inside = column < INPUTS
            member = tl.load(members + (run * INPUTS + column) * SUBSETS + subset, mask=inside, other=0.0)
            value = x0 if part == 0 else x1 if part == 1 else x2 if part == 2 else x3
            total += value.to(tl.float64) * member[None, :]
        tl.store(sums + first * SUBSETS + subset, tl.sum(total, axis=1), mask=place < BATCH)
    value = tl.reshape(tl.join(tl.join(x0, x2), tl.join(x1, x3)), (ROWS, columns))
    column = tl.arange(0, columns)
    inside = (place < BATCH)[:, None] & (column < INPUTS)[None, :]
    tl.store(x + first[:, None] * INPUTS + column[None, :], value, mask=inside)


class DrawnBatches:
    """Batches of one iteration at a time, always at the same place on the device.

    Args:
        batches: their definition; only those of uniform inputs can be drawn.

    Attributes:
        x: inputs `[s, b, i]`, float32.
        sums: sums over subsets of them `[s, b, subset]`, float64.
    """

    def __init__(self, batches: Batches) -> None:
        draws = batches.draws
        if not isinstance(draws, UniformDraws) or draws.input_size > MOST_INPUTS:
            raise ValueError(f"only up to {MOST_INPUTS} uniform inputs can be drawn, got {draws}")
        device, seeds, rows = batches.device, len(batches.seeds), batches.spec.batch_size
        self.x = torch.empty(seeds, rows, draws.input_size, device=device)
        self.sums = torch.empty(seeds, rows, batches.members.shape[-1], dtype=torch.float64, device=device)
        groups = triton.next_power_of_2(triton.cdiv(draws.input_size, 4))
        per_block = max(1, min(triton.next_power_of_2(rows), BLOCKS // groups))
        self._grid = (triton.cdiv(rows, per_block), seeds)
        self._tensors = (batches.seeds, batches.members.contiguous(), batches.ranges.contiguous(), self.x, self.sums)
        self._sizes = {
            "BATCH": rows, "INPUTS": draws.input_size, "SUBSETS": self.sums.shape[-1], "PARTS": len(batches.ranges),
            "STREAM": batches.stream[0], "KEY": philox.RUN << 32, "ROUNDS": philox.ROUNDS,
            "ROWS": per_block, "GROUPS": groups,
        }  # fmt: skip

    def draw(self, row: Tensor) -> None:
        """Draw the batch of the iteration whose number is the first of a row, float64."""
        draw_kernel[self._grid](row, *self._tensors, **self._sizes)
