"""Randomness as a function: Philox-4x32 (Salmon et al., 2011), keyed by a run's seed, counted by place.

A random word depends on where it is used and on nothing else, so every engine, thread and chunk draws the same:

    word(key, stream, step, row, column) = philox((row, column // 4, step, stream), key)[column % 4]

| stream | used for | key | step |
|---|---|---|---|
| `TRAIN` | inputs of the batch, `row` its observation, `column` its input | `(seed, RUN)` | iteration |
| `VALIDATION`, `TEST` | the two fixed sets, shared by all runs | `(0, SHARED)` | 0 |
| `ROWS` | which row of a user's data is observation `row` of the batch (column 0) | `(seed, RUN)` | iteration |
| `SPLIT` | the order in which a user's rows are split (column 0) | `(0, SHARED)` | 0 |
| `ORDER` | the order of training sequences, or of the images they are cut from (column 0) | `(seed, RUN)` | epoch |
| `NOISE` | seeds of torch's generator for users' units: to train (column 0), to judge (1) | `(seed, RUN)` | iteration |
| `UNIT` + k | noise of units, call k of `arithmos.nn.noise` in the iteration | `(seed, RUN)` | iteration |
| `TARGETS` | noise of training targets, `row` its observation, columns 0 and 1 | `(seed, RUN)` | iteration |
| `RESTART` | seed of the weights of a run that starts again (column 0) | `(seed, RUN)` | number of the restart |

A word becomes a uniform number by its upper 23 bits, u = (word >> 9) / 2^23, which float32 holds exactly, and chooses
between the parts of a two-part range by its lowest bit. The number is fma(width, u, low), rounded once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

ROUNDS = 7
"""Smallest number of rounds that passes BigCrush."""

TRAIN, VALIDATION, TEST, ROWS, SPLIT, ORDER, NOISE, RESTART, TARGETS = range(9)
UNIT = 64
"""First of the streams for the noise of units."""

RUN, SHARED = 0x52554E00, 0x53455400

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
LOW = 0xFFFFFFFF
"""Mask of a word."""

MOST_BITS = 512
"""Largest count of numbers of [1, 2) whose 23 random bits add up within a word: their sum is exact in integers."""


def philox(counter: Words, key: tuple[int, int], rounds: int = ROUNDS) -> Words:
    """Four random words for each counter of four words.

    Args:
        counter: `[..., 4]`, uint32.
        key: two words.
        rounds: 7 here; 10 is the cautious choice of other libraries.

    Example:
        >>> [f"{word:08x}" for word in philox(np.zeros(4, np.uint32), (0, 0))]
        ['5f6fb709', '0d893f64', '4f121f81', '4f730a48']
    """
    c0, c1, c2, c3 = np.split(counter.astype(np.int64), 4, axis=-1)
    return np.concatenate(mixed(c0, c1, c2, c3, *key, rounds=rounds), axis=-1).astype(np.uint32)


def mixed(
    c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, *, rounds: int = ROUNDS, multipliers: Any = MULTIPLIERS
) -> tuple[Any, Any, Any, Any]:
    """Four random words for the words of counters and keys, as int64 arrays of NumPy or tensors of torch."""
    for _ in range(rounds):
        # A product of two words wraps around in int64, and its halves are still right.
        p0, p1 = c0 * multipliers[0], c2 * multipliers[1]
        c0, c1, c2, c3 = (p1 >> 32) & LOW ^ c1 ^ k0, p1 & LOW, (p0 >> 32) & LOW ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + INCREMENTS[0]) & LOW, (k1 + INCREMENTS[1]) & LOW
    return c0, c1, c2, c3


def words(key: tuple[int, int], stream: int, step: int, rows: int, columns: int) -> Words:
    """Return the random words of `rows x columns` positions."""
    counter = np.zeros((rows, -(-columns // 4), 4), np.uint32)
    counter[..., 0] = np.arange(rows)[:, None]
    counter[..., 1] = np.arange(counter.shape[1])
    counter[..., 2] = step
    counter[..., 3] = stream
    return philox(counter, key).reshape(rows, -1)[:, :columns]


def uniform(word: Words, range_: tuple[tuple[float, float], ...]) -> NDArray[np.float32]:
    """Words as numbers of a range: one interval, or two of which each word's lowest bit takes one.

    Example:
        >>> uniform(np.array([0, 2**32 - 1], np.uint32), ((1.0, 2.0),))
        array([1.       , 1.9999999], dtype=float32)
    """
    low = np.array([part[0] for part in range_], np.float32)
    width = np.array([np.float32(part[1]) - np.float32(part[0]) for part in range_], np.float32)
    part = (word & np.uint32(len(range_) - 1)).astype(np.intp)
    u = (word >> np.uint32(9)).astype(np.float64) * 2.0**-23
    # Exact in float64 (24 + 23 bits, and the sum fits), so that one rounding is left: a fused multiply-add.
    return (low.astype(np.float64)[part] + width.astype(np.float64)[part] * u).astype(np.float32)
