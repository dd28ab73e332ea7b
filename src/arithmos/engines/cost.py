"""How long runs will take: a rough model of each engine, put right by the runs it has already made."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ..nn._parts import ExpLog, Leaf, Parts
from ..spec import Spec
from ..tasks import DigitSequences

if TYPE_CHECKING:
    import pandas as pd

BATCH = 128
IMAGE = 150.0
"""Microseconds to train on one image of a digit on a CPU; a GPU's own runs put it right."""

EXP_LOG = 4.0
"""A weight under an exp-log costs about as much as four under a sum or a product."""


@dataclass(frozen=True)
class Pace:
    """Microseconds of one iteration of one run while many run together.

    Args:
        fixed: whatever the network.
        weight: for each of its weights, at a batch of 128.
    """

    fixed: float
    weight: float


PACES = {
    "cuda": Pace(fixed=0.0025, weight=0.00005),
    "cpu": Pace(fixed=1.0, weight=0.03),  # on one core
    "torch": Pace(fixed=15.0, weight=0.1),
}
"""The default problem, an NMU on 100 inputs, has 202 weights."""


class Clock:
    """Estimates the seconds of runs: what the same spec took, or the pace of the engine put right by what others took.

    Args:
        runs: runs that were measured: columns `spec_id`, `engine`, `elapsed_s`.
        specs: the specs among them that are known here.
        threads: threads of the cpu engine; all cores unless told.
    """

    def __init__(self, runs: "pd.DataFrame", specs: Iterable[Spec], threads: int | None = None) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        known = {spec.id: spec for spec in specs}
        runs = runs[runs["spec_id"].isin(known) & runs["engine"].isin(PACES)]
        medians = runs.groupby(["spec_id", "engine"], as_index=False)["elapsed_s"].median()
        self._measured = {(row.spec_id, row.engine): float(row.elapsed_s) for row in medians.itertuples()}
        ratios: dict[tuple[str, type], list[float]] = {}
        for (spec_id, engine), measured in self._measured.items():
            spec = known[spec_id]
            ratios.setdefault((engine, type(spec.task)), []).append(measured / self._model(spec, engine))
        self._ratio = {kind: median(values) for kind, values in ratios.items()}

    def seconds(self, spec: Spec, engine: str) -> float:
        """Seconds that one more run adds."""
        measured = self._measured.get((spec.id, engine))
        ratio = self._ratio.get((engine, type(spec.task)), 1.0)
        seconds = self._model(spec, engine) * ratio if measured is None else measured
        return seconds / self.threads if engine == "cpu" else seconds  # a run of the cpu engine has a thread of its own

    def _model(self, spec: Spec, engine: str) -> float:
        if isinstance(spec.task, DigitSequences):
            return 1e-6 * IMAGE * spec.batch_size * spec.task.length * (spec.iterations + 1)
        pace = PACES[engine]
        microseconds = pace.fixed + pace.weight * weights(spec) * spec.batch_size / BATCH
        return 1e-6 * microseconds * (spec.iterations + 1)


def weights(spec: Spec) -> float:
    """Weights of a network, each counted by what it costs."""
    pairs = zip(spec.parts, spec.sizes[:-1], spec.sizes[1:], strict=True)
    return sum(_matrices(parts) * inputs * outputs for parts, inputs, outputs in pairs)


def _matrices(parts: Parts | None) -> float:
    if parts is None:
        return 1.0
    if isinstance(parts, Leaf):
        return EXP_LOG if isinstance(parts.aggregation, ExpLog) else 1.0
    return _matrices(parts.add) + _matrices(parts.mul) + 1.0
