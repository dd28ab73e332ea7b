"""Exact judgement of stored runs, from the canonical JSON of their specs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..engines.stored import described
from ..spec import Spec
from .exact_judge import recovered_runs
from .network import readable


def judge(spec: Spec | str, seeds: Sequence[int], weights: Sequence[NDArray[np.float32] | None]) -> list[bool | None]:
    """Test whether each run of a spec found the task's formula exactly; None if that cannot be told.

    Args:
        spec: the spec, or its canonical JSON.
        seeds: seeds of the runs.
        weights: effective weights of each run at its best record; None where they are not kept.
    """
    verdicts: list[bool | None] = [None] * len(seeds)
    try:
        known = described(spec)
    except ValueError:
        return verdicts
    if known.task is None or known.draws is None:
        return verdicts
    if not readable(known.layers, known.sizes):
        return verdicts
    length = known.length
    judged = [run for run, row in enumerate(weights) if row is not None and len(row) == length]
    if judged:
        rows = np.stack([np.asarray(weights[run], np.float64) for run in judged])
        found = recovered_runs(known.layers, known.sizes, known.task, [seeds[run] for run in judged], rows)
        for run, exact in zip(judged, found.tolist(), strict=True):
            verdicts[run] = exact
    return verdicts
