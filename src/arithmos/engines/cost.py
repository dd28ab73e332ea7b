"""Estimates of how long runs take: a rough model of each engine, calibrated by its finished runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from .._platform import cores
from ..spec import Layer, Spec
from .contract import STACK, Failed, unit_code
from .probe import finding

if TYPE_CHECKING:
    import pandas as pd

BATCH = 128
IMAGE = {"cpu": 500.0, "gpu": 0.7}
"""Microseconds to train on one image of a digit: on two cores, and on a large GPU with forty runs side by side."""


@dataclass(frozen=True)
class Pace:
    """Microseconds per iteration of one run while many run together.

    Args:
        fixed: for any network.
        weight: for each of its parameters, at a batch of 128.
        shared: shared by the runs of a stack, however many they are.
    """

    fixed: float
    weight: float
    shared: float = 0.0


PACES = {
    "cuda": Pace(fixed=0.0025, weight=0.00005),
    "cpu": Pace(fixed=1.0, weight=0.03),  # on one core
    "torch": Pace(fixed=8.0, weight=0.2, shared=1500.0),
}
"""Paces by engine; the default problem, an NMU on 100 inputs, has 202 weights."""


class Clock:
    """Estimator of the seconds of runs, from what the same spec took, or from the engine's calibrated pace.

    Args:
        runs: measured runs: columns `spec_id`, `engine`, `gpu`, `elapsed_s`.
        specs: the specs among them that are known here.
        threads: threads of the cpu engine; all cores by default.
        gpu: whether there is a GPU for sequences of digits. Runs that were made without one, or with one where there is
            none now, do not count.
    """

    def __init__(
        self, runs: "pd.DataFrame", specs: Iterable[Spec], threads: int | None = None, *, gpu: bool = False
    ) -> None:
        self.threads = threads or cores()
        self._image = IMAGE["gpu" if gpu else "cpu"]
        known = {spec.id: spec for spec in specs}
        runs = runs[runs["spec_id"].isin(known) & runs["engine"].isin(PACES)]
        reading = [spec.id for spec in known.values() if spec.task.images_per_observation]
        runs = runs[~runs["spec_id"].isin(reading) | (runs["gpu"].fillna("").ne("") == gpu)]
        self._own: dict[tuple[str, str], float] = {}
        ratios: dict[tuple[str, str], list[float]] = {}
        for (spec_id, name), elapsed_s in runs.groupby(["spec_id", "engine"])["elapsed_s"]:
            spec, engine = known[str(spec_id)], str(name)
            ratio = float(elapsed_s.median()) / self._model(spec, engine, len(elapsed_s))
            self._own[spec.id, engine] = ratio
            ratios.setdefault((engine, spec.task.kind), []).append(ratio)
        self._ratio = {kind: median(values) for kind, values in ratios.items()}

    def seconds(self, spec: Spec, engine: str, runs: int = STACK) -> float:
        """Return the seconds that one run adds to others, when this many runs of its spec are made."""
        ratio = self._ratio.get((engine, spec.task.kind), 1.0)
        seconds = self._model(spec, engine, runs) * self._own.get((spec.id, engine), ratio)
        return seconds / self.threads if engine == "cpu" else seconds  # a run of the cpu engine has a thread of its own

    def _model(self, spec: Spec, engine: str, runs: int) -> float:
        if images := spec.task.images_per_observation:
            return 1e-6 * self._image * spec.batch_size * images * (spec.iterations + 1)
        pace = PACES[engine]
        microseconds = pace.fixed + pace.weight * weights(spec) * spec.batch_size / BATCH
        if pace.shared:
            microseconds += pace.shared / (1 if finding(spec).alone else min(runs, STACK))
        return 1e-6 * microseconds * (spec.iterations + 1)


def weights(spec: Spec) -> int:
    """Return the number of parameters of a network."""
    return sum(_parameters(layer, *sizes) for layer, sizes in zip(spec.model.layers, pairwise(spec.sizes), strict=True))


@lru_cache(maxsize=1024)
def _parameters(layer: Layer, inputs: int, outputs: int) -> int:
    try:
        with unit_code():
            return sum(parameter.numel() for parameter in layer.blank(inputs, outputs).parameters())
    except Failed:
        return inputs * outputs
