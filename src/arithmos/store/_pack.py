"""Pack many rows into few parts."""

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ._part import MOST_ROWS, encode
from ._schema import KEY

BLOCKS = 1000
"""Number of pieces in which a large table is measured and cut."""

SLACK = 1.05
"""Allowed excess of the largest of several parts over the mean."""


def latest(states: pa.Table) -> pa.Table:
    """Return the last state of each run, ordered by run."""
    keys = states.select([*KEY, "written"]).to_pandas()
    order = keys.sort_values([*KEY, "written"], kind="stable").drop_duplicates(list(KEY), keep="last").index
    return states.take(order.to_numpy())


def fewest(table: pa.Table, kind: str, max_bytes: int) -> list[bytes]:
    """Encode the rows of a table as few parts, none of them above `max_bytes` or `MOST_ROWS`."""
    if not len(table):
        return []
    whole = encode(table, kind)
    if len(whole) <= max_bytes and len(table) <= MOST_ROWS:
        return [whole]
    if len(table) == 1:
        raise ValueError(f"max_bytes must hold the largest run, which takes {len(whole)} bytes, got {max_bytes}")
    # Rows differ in size (a run of 300 inputs has many weights), so parts are cut by bytes and not by rows.
    block = math.ceil(len(table) / BLOCKS)
    starts = np.arange(0, len(table), block)
    position = np.cumsum([table.slice(start, block).nbytes for start in starts])
    count = math.ceil(max(SLACK * len(whole) / max_bytes, len(table) / MOST_ROWS))
    cuts = np.searchsorted(position, np.linspace(0, position[-1], count + 1)[1:-1])
    bounds = [0, *np.unique(starts[cuts.clip(1, len(starts) - 1)]).tolist(), len(table)]
    pieces = (table.slice(start, stop - start) for start, stop in pairwise(bounds))
    return [part for piece in pieces for part in fewest(piece, kind, max_bytes)]
