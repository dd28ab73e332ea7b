"""`arithmos.philox` compiled: word by word for the torch engine, a block of observations at a time for the cpu engine.

A block is made eight calls at a time in 64-bit lanes. Of the seven rounds the first two and half of the third depend on
too little to be done for every word: the row's share is computed once per run (`row_tables`), the step's once per
iteration (`begin_step`), the column's once per four columns. Two calls, for rows i and i + 32 of the block, put their
words into the two halves of a 64-bit lane: so lane 2i of a block is its row i, and lane 2i + 1 its row i + 32.
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ... import philox
from ._cache import LoopCache
from ._compile import LANES, WIDTH, apart, compiled, fma
from ._vectors import LONGS, WORD, WORDS, Code, Vector, writing

HALF = LANES // 2
CALLS = WIDTH // 2
"""Number of calls in a register."""
M0, M1 = (np.uint64(m) for m in philox.MULTIPLIERS)
W0, W1 = (np.uint64(w) for w in philox.INCREMENTS)
RUN = np.uint64(philox.RUN)
LOW = np.uint64(philox.LOW)
S32 = np.uint64(32)
S9_32, ONE_BITS, LOWEST_BIT = np.uint32(9), np.uint32(0x3F800000), np.uint32(1)
ONE = np.float32(1)
ONE_HIGH = 0x3F800000 >> 23


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


def _write_group(code: Code, unit: bool) -> None:
    """Write what makes the words of four columns: rounds three to seven, for two pairs of calls side by side."""
    table, third, keys, _, _, half, out, g = range(8)
    s2, s3 = (code.splat(code.arguments[k], LONGS) for k in (3, 4))
    key = [[code.number(keys, code.index(h * philox.ROUNDS + r)) for r in range(philox.ROUNDS)] for h in (0, 1)]
    k0, k1 = ([code.splat(one, LONGS) for one in half_keys] for half_keys in key)
    last = [code.splat(code.builder.trunc(half_keys[-1], WORD), WORDS) for half_keys in key]
    # Masks that LLVM does not know: known ones it would turn, with the shuffles that they select, into slower shuffles.
    chosen = code.splat(code.builder.trunc(code.arguments[half], WORD), WORDS)
    even, odd = (chosen.equal(code.constant([32 * (l % 2 == k) for l in range(WIDTH)], WORDS)) for k in (0, 1))

    def halves(pair: list[Vector]) -> tuple[Vector, Vector]:
        """Return the lower and the upper halves of the products of two calls, as words side by side."""
        a, b = (one.viewed(WORDS) for one in pair)
        low = b.shuffled([l // 2 * 2 for l in range(WIDTH)]).where(odd, a)
        return low, a.shuffled([l // 2 * 2 + 1 for l in range(WIDTH)]).where(even, b)

    def at(array: int, row: int, lanes: list[int]) -> list[Vector]:
        return [code.load(array, code.index(row * LANES + lane), LONGS) for lane in lanes]

    def product(vectors: list[Vector], factor: np.uint64) -> list[Vector]:
        return [(one & philox.LOW) * int(factor) for one in vectors]

    def mixed(products: list[Vector], words: list[Vector], key: Vector | None = None) -> list[Vector]:
        found = [(one >> 32) ^ word for one, word in zip(products, words, strict=True)]
        return found if key is None else [one ^ key for one in found]

    for start in range(0, HALF, 2 * CALLS):
        lanes = [lane for first in (start, start + CALLS) for lane in (first, first + HALF)]
        p1 = product([row ^ s2 for row in at(table, 0, lanes)], M1)
        c0, c1 = mixed(p1, at(table, 1, lanes)), p1
        c2, c3 = [row ^ s3 for row in at(third, 1, lanes)], at(third, 0, lanes)
        for r in range(3, 6):
            p0, p1 = product(c0, M0), product(c2, M1)
            c0, c1, c2, c3 = mixed(p1, c1, k0[r]), p1, mixed(p0, c3, k1[r]), p0
        p0, p1 = product(c0, M0), product(c2, M1)
        for k in (0, 2):
            pair = slice(k, k + 2)
            (low0, high0), (low1, high1) = halves(p0[pair]), halves(p1[pair])
            words = high1 ^ halves(c1[pair])[0] ^ last[0], low1, high0 ^ halves(c3[pair])[0] ^ last[1], low0
            for column, word in enumerate(words):
                if unit:
                    word = code.call("fshr", code.constant(ONE_HIGH, WORDS), word, code.constant(9, WORDS))
                row = code.at((code.arguments[g], 4), column)
                code.store(word, out, code.at((row, HALF), lanes[k]))


@intrinsic(prefer_literal=True)
def _group(
    typing: Any, table: Any, third: Any, keys: Any, s2: Any, s3: Any, half: Any, out: Any, g: Any, unit: Any
) -> Any:
    signature = types.void(table, third, keys, types.uint64, types.uint64, types.uint64, out, types.intp, unit)
    return signature, writing(_write_group, bool(unit.literal_value))


@compiled
def _scalars(step, g, keys):
    """Return what the rounds of a column's words share: of round two."""
    p0 = ((((np.uint64(step) * M1) >> S32) ^ np.uint64(g) ^ keys[0, 0]) & LOW) * M0
    return (p0 >> S32) ^ keys[1, 1], (p0 & LOW) ^ keys[1, 2]


@compiled
def words(table, keys, step, third, half, unit, out):
    """Words of all columns for every row of a block: out `[columns, lanes / 2]`, two words in each.

    With `unit` they come as the float32 of U[1, 2) that their upper 23 bits make. `half` is 32: were it a constant,
    LLVM would know the masks that it makes.
    """
    apart()
    if unit:
        for g in range(out.shape[0] // 4):
            s2, s3 = _scalars(step, g, keys)
            _group(table, third, keys, s2, s3, half, out, g, 1)
    else:
        for g in range(out.shape[0] // 4):
            s2, s3 = _scalars(step, g, keys)
            _group(table, third, keys, s2, s3, half, out, g, 0)


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
