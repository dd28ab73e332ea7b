"""`arithmos.philox` compiled: word by word for the torch engine, a block of observations at a time for the cpu engine.

A block is made eight calls at a time in 64-bit lanes. Of the seven rounds the first two and half of the third depend on
too little to be done for every word: the row's share is computed once per run (`row_tables`), the step's once per
iteration (`begin_step`), the column's once per four columns. Two calls, for rows i and i + 32 of the block, put their
words into the two halves of a 64-bit lane: so lane 2i of a block is its row i, and lane 2i + 1 its row i + 32.
"""

import numpy as np
from numpy.typing import NDArray

from ... import philox
from ._cache import LoopCache
from ._compile import LANES, apart, compiled, fma

HALF = LANES // 2
M0, M1 = (np.uint64(m) for m in philox.MULTIPLIERS)
W0, W1 = (np.uint64(w) for w in philox.INCREMENTS)
RUN = np.uint64(philox.RUN)
LOW, HIGH = np.uint64(philox.LOW), np.uint64(philox.LOW << 32)
S32 = np.uint64(32)
S9, UPPER, ONES = np.uint64(9), np.uint64(0x007FFFFF007FFFFF), np.uint64(0x3F8000003F800000)
S9_32, ONE_BITS, LOWEST_BIT = np.uint32(9), np.uint32(0x3F800000), np.uint32(1)
ONE = np.float32(1)


def round_keys(key: tuple[int, int]) -> NDArray[np.uint64]:
    """Return the two key words of each round, `[2, rounds]`."""
    first = np.array(key, np.uint64)[:, None]
    return (first + np.outer(philox.INCREMENTS, range(philox.ROUNDS)).astype(np.uint64)) & LOW


def row_tables(key: tuple[int, int], stream: int, size: int) -> NDArray[np.uint64]:
    """Return the part of rounds one to three that depends on rows alone, `[blocks, 3, lanes]`; padding repeats rows."""
    rows = np.minimum(np.arange(-(-size // LANES) * LANES), size - 1).astype(np.uint64)
    keys = round_keys(key)
    p0 = rows * M0
    p1 = ((p0 >> S32) ^ np.uint64(stream) ^ keys[1, 0]) * M1
    tables = np.stack([p0 & LOW, (p1 & LOW) ^ keys[0, 2], p1 >> S32])
    return np.ascontiguousarray(tables.reshape(3, -1, LANES).swapaxes(0, 1))


def lane_rows(size: int) -> NDArray[np.int64]:
    """Return the row of each lane, `[blocks, lanes]`; those at `size` and beyond are padding."""
    blocks = -(-size // LANES)
    return np.arange(blocks * LANES).reshape(blocks, 2, HALF).swapaxes(1, 2).reshape(blocks, LANES)


@compiled
def _mixed(c0, c1, c2, c3, k0, k1):
    """One round. The upper halves of the words hold rubbish, which no product sees."""
    p0 = (c0 & LOW) * M0
    p1 = (c2 & LOW) * M1
    return (p1 >> S32) ^ c1 ^ k0, p1, (p0 >> S32) ^ c3 ^ k1, p0


@compiled
def draw(seeds, stream, step, out):
    """Words of many runs, out `[runs, rows, columns]`, for those who take them in the order of their places."""
    for s in range(out.shape[0]):
        for row in range(out.shape[1]):
            for group in range(out.shape[2] // 4):
                c0, c1, c2, c3 = np.uint64(row), np.uint64(group), np.uint64(step), np.uint64(stream)
                k0, k1 = np.uint64(seeds[s]), RUN
                for _ in range(philox.ROUNDS):
                    c0, c1, c2, c3 = _mixed(c0, c1, c2, c3, k0, k1)
                    k0, k1 = (k0 + W0) & LOW, (k1 + W1) & LOW
                place = 4 * group
                out[s, row, place] = c0 & LOW
                out[s, row, place + 1] = c1 & LOW
                out[s, row, place + 2] = c2 & LOW
                out[s, row, place + 3] = c3 & LOW


LoopCache(f"{__name__}.draw").attach(draw)


@compiled
def begin_step(table, keys, step, third):
    """Compute the first product of round three for every row of a block, which all columns share, and its upper half.

    third is `[2, lanes]`.
    """
    apart()
    scalar = ((np.uint64(step) * M1) & LOW) ^ keys[0, 1]
    for i in range(LANES):
        product = ((table[2, i] ^ scalar) & LOW) * M0
        third[0, i] = product
        third[1, i] = product >> S32


@compiled
def _rounds(row3, row1, third, third_high, s2, s3, keys):
    """Rounds three to six, and the products of round seven."""
    p1 = ((row3 ^ s2) & LOW) * M1
    c0 = (p1 >> S32) ^ row1
    c1 = p1
    c2 = third_high ^ s3
    c3 = third
    for r in range(3, 6):
        c0, c1, c2, c3 = _mixed(c0, c1, c2, c3, keys[0, r], keys[1, r])
    return (c0 & LOW) * M0, (c2 & LOW) * M1, c1, c3


@compiled
def words(table, keys, step, third, half, unit, out):
    """Words of all columns for every row of a block: out `[columns, lanes / 2]`, two words in each.

    With `unit` they come as the float32 of U[1, 2) that their upper 23 bits make. `half` is 32: were it a constant,
    LLVM would turn a shift of a product into a slower product.
    """
    apart()
    k0 = keys[0, 6] | (keys[0, 6] << S32)
    k1 = keys[1, 6] | (keys[1, 6] << S32)
    for g in range(out.shape[0] // 4):
        p0 = ((((np.uint64(step) * M1) >> S32) ^ np.uint64(g) ^ keys[0, 0]) & LOW) * M0
        s2 = (p0 >> S32) ^ keys[1, 1]
        s3 = (p0 & LOW) ^ keys[1, 2]
        for i in range(HALF):
            a0, a1, ac1, ac3 = _rounds(table[0, i], table[1, i], third[0, i], third[1, i], s2, s3, keys)
            j = i + HALF
            b0, b1, bc1, bc3 = _rounds(table[0, j], table[1, j], third[0, j], third[1, j], s2, s3, keys)
            w0 = ((((a1 >> S32) ^ ac1) & LOW) | ((b1 ^ (bc1 << half)) & HIGH)) ^ k0
            w1 = (a1 & LOW) | (b1 << half)
            w2 = ((((a0 >> S32) ^ ac3) & LOW) | ((b0 ^ (bc3 << half)) & HIGH)) ^ k1
            w3 = (a0 & LOW) | (b0 << half)
            if unit:
                w0 = (w0 >> S9) & UPPER | ONES
                w1 = (w1 >> S9) & UPPER | ONES
                w2 = (w2 >> S9) & UPPER | ONES
                w3 = (w3 >> S9) & UPPER | ONES
            out[4 * g, i] = w0
            out[4 * g + 1, i] = w1
            out[4 * g + 2, i] = w2
            out[4 * g + 3, i] = w3


@compiled
def scale(x, low, width):
    """Numbers of U[1, 2) moved to another interval, in place."""
    apart()
    for j in range(x.shape[0]):
        for b in range(LANES):
            x[j, b] = fma(width, x[j, b] - ONE, low)


@compiled
def choose(words, low, width, x):
    """Words as numbers of a range of two parts, of which a word's lowest bit takes one."""
    apart()
    low0, low1, width0, width1 = low[0], low[1], width[0], width[1]
    for j in range(x.shape[0]):
        for b in range(LANES):
            word = words[j, b]
            u = np.uint32((word >> S9_32) | ONE_BITS).view(np.float32) - ONE
            second = word & LOWEST_BIT != 0
            x[j, b] = fma(width1 if second else width0, u, low1 if second else low0)
