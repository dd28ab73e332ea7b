"""Estimates of how long runs take: a rough model of each engine, calibrated by its finished runs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .._platform import cores
from .contract import STACK, Failed, unit_code

if TYPE_CHECKING:  # the costs of listed experiments are estimated without torch
    from ..spec import Layer, Spec

BATCH = 128
IMAGE = {"cpu": 500.0, "gpu": 0.7}
"""Microseconds to train on one image of a digit: on two cores, and on a large GPU with forty runs side by side."""

TIMES = ("elapsed_s", "gpu")
"""Store columns about the time that runs took."""


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


@dataclass(frozen=True)
class Work:
    """Workload of a spec's runs, in plain values: all that their time depends on.

    Args:
        id: id of the spec.
        kind: kind of its task.
        images: images of digits per observation.
        batch_size: observations per iteration.
        iterations: last iteration.
        weights: number of parameters of its network, whose units are all built in.
        fused: whether a fused engine may run it.
    """

    id: str
    kind: str
    images: int
    batch_size: int
    iterations: int
    weights: int
    fused: bool


def work(spec: "Spec") -> Work:
    """Return the workload of a spec's runs."""
    from .probe import unsuited

    task, fused = spec.task, not unsuited(spec)
    return Work(spec.id, task.kind, task.images_per_observation, spec.batch_size, spec.iterations, weights(spec), fused)


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
        self, runs: pa.Table, specs: Iterable["Spec | Work"], threads: int | None = None, *, gpu: bool = False
    ) -> None:
        self.threads = threads or cores()
        self._image = IMAGE["gpu" if gpu else "cpu"]
        known = {spec.id: spec for spec in specs}
        reading = {spec_id for spec_id, spec in known.items() if _images(spec)}
        measured: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
        for (spec_id, engine, on), elapsed in _groups(runs):
            if spec_id in known and engine in PACES and (spec_id not in reading or bool(on) == gpu):
                measured.setdefault((spec_id, engine), []).append(elapsed)
        self._own: dict[tuple[str, str], float] = {}
        ratios: dict[tuple[str, str], list[float]] = {}
        for (spec_id, engine), parts in sorted(measured.items()):
            spec, elapsed = known[spec_id], np.concatenate(parts)
            ratio = float(np.median(elapsed)) / self._model(spec, engine, len(elapsed))
            self._own[spec_id, engine] = ratio
            ratios.setdefault((engine, _kind(spec)), []).append(ratio)
        self._ratio = {kind: median(values) for kind, values in ratios.items()}

    def seconds(self, spec: "Spec | Work", engine: str, runs: int = STACK) -> float:
        """Return the seconds that one run adds to others, when this many runs of its spec are made."""
        ratio = self._ratio.get((engine, _kind(spec)), 1.0)
        seconds = self._model(spec, engine, runs) * self._own.get((spec.id, engine), ratio)
        return seconds / self.threads if engine == "cpu" else seconds  # a run of the cpu engine has a thread of its own

    def _model(self, spec: "Spec | Work", engine: str, runs: int) -> float:
        if images := _images(spec):
            return 1e-6 * self._image * spec.batch_size * images * (spec.iterations + 1)
        pace = PACES[engine]
        parameters = spec.weights if isinstance(spec, Work) else weights(spec)
        microseconds = pace.fixed + pace.weight * parameters * spec.batch_size / BATCH
        if pace.shared:
            microseconds += pace.shared / (1 if _alone(spec) else min(runs, STACK))
        return 1e-6 * microseconds * (spec.iterations + 1)


def _groups(runs: pa.Table) -> Iterator[tuple[tuple[str, ...], NDArray[np.float64]]]:
    """Yield the seconds of runs by spec, engine and GPU, where they are known.

    Arrow's `group_by` and `to_numpy` would load pandas.
    """
    if not len(runs):
        return
    named = ("spec_id", "engine", "gpu")
    encoded = [runs[name].combine_chunks().dictionary_encode(null_encoding="encode") for name in named]
    names = [column.dictionary.to_pylist() for column in encoded]
    codes = np.stack([np.from_dlpack(column.indices) for column in encoded])
    order = np.lexsort(codes)
    starts = np.flatnonzero(np.diff(codes[:, order], prepend=-1).any(axis=0))
    elapsed = np.from_dlpack(runs["elapsed_s"].combine_chunks())[order]
    for place, part in zip(order[starts], np.split(elapsed, starts[1:]), strict=True):
        if len(known := part[np.isfinite(part)]):
            yield tuple(of[code] for of, code in zip(names, codes[:, place], strict=True)), known


def _images(spec: "Spec | Work") -> int:
    return spec.images if isinstance(spec, Work) else spec.task.images_per_observation


def _kind(spec: "Spec | Work") -> str:
    return spec.kind if isinstance(spec, Work) else spec.task.kind


def _alone(spec: "Spec | Work") -> bool:
    """Return whether the seeds of a spec are trained one by one, after a trial of a user's units."""
    if isinstance(spec, Work):
        return False
    from .probe import finding

    return bool(finding(spec).alone)


def weights(spec: "Spec") -> int:
    """Return the number of parameters of a network."""
    return sum(_parameters(layer, *sizes) for layer, sizes in zip(spec.model.layers, pairwise(spec.sizes), strict=True))


@lru_cache(maxsize=1024)
def _parameters(layer: "Layer", inputs: int, outputs: int) -> int:
    try:
        with unit_code():
            return sum(parameter.numel() for parameter in layer.blank(inputs, outputs).parameters())
    except Failed:
        return inputs * outputs
