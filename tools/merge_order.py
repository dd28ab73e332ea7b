"""Replay the sort of R's `merge`, which does not keep the records of a run in order, for docs/reproduction.md.

`merge` sorts the rows of a table by their key with a Shell sort, which is not stable: rows with the same key may change
their order. `python tools/merge_order.py` replays it on a table of the published shape, 6,000 complete runs of 5,001
records in the order of model, operation and seed, joined with the thresholds of six operations; and on the same table
with one threshold for all, where no row moves. The published order differs slightly: 27 runs ended early.
"""

import numba
import numpy as np
from numpy.typing import NDArray

MODELS, OPERATIONS, SEEDS, RECORDS = 10, 6, 100, 5001


@numba.njit
def shell_sort(keys: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    """Sort rows by their keys, in place, with the gaps 1, 4, 13, 40, … that R uses."""
    gap = 1
    while gap <= keys.size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, keys.size):
            key, row, j = keys[i], rows[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j], rows[j] = keys[j - gap], rows[j - gap]
                j -= gap
            keys[j], rows[j] = key, row
        gap //= 3


def merged(models: int, operations: int, seeds: int, records: int) -> NDArray[np.int32]:
    """Return the records of each run in the order in which they leave the merge, `[run, record]`."""
    runs = models * operations * seeds
    keys = np.repeat(np.arange(runs, dtype=np.int32) // seeds % operations, records)
    rows = np.arange(keys.size, dtype=np.int32)
    shell_sort(keys, rows)
    by_run = rows[np.argsort(rows // records, kind="stable")]
    order: NDArray[np.int32] = (by_run % records).reshape(runs, records)
    return order


def main() -> None:
    """Print how many runs leave the merge out of order, and how many with a late record first."""
    for operations in (OPERATIONS, 1):
        order = merged(MODELS, operations, OPERATIONS * SEEDS // operations, RECORDS)
        moved = int((np.diff(order, axis=1) < 0).any(axis=1).sum())
        late = int((order[:, 0] > 0).sum())
        print(f"{operations} thresholds: {moved} of {len(order)} runs out of order, {late} with a late record first")


if __name__ == "__main__":
    main()
