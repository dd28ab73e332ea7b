"""One contract, several speeds: `engine.run(jobs) -> iterator of finished runs`."""

import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._seeds import Seeds
from ..nn._parts import Clamp, Leaf, Parts, Sigmoid, TanhSigmoid
from ..spec import Spec

Floats = NDArray[np.float32]
State = dict[str, NDArray[np.generic]]
"""All that an engine needs to go on with a run: arrays by name, the engine's own affair."""

CURVE_RECORDS = 200

_LONGEST = 300
"""Characters of an error's message that are shown."""

_LIBRARIES = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), str(Path(__file__).parents[1]))
"""Folders of installed packages, and of this one."""

STACK = 256
"""Runs of one spec that the torch engine trains side by side, at most."""

NEVER = -1
"""Solved-at step of a run that was never below the threshold."""


@dataclass(frozen=True)
class Job:
    """A spec and the seeds to run it with."""

    spec: Spec
    seeds: Sequence[int]

    def __post_init__(self) -> None:
        if self.seeds:
            ascending = isinstance(self.seeds, Seeds)
            ends = (self.seeds[0], self.seeds[-1]) if ascending else (min(self.seeds), max(self.seeds))
            for seed in ends:
                _checks.whole("seed", seed)


@dataclass(frozen=True)
class Curve:
    """Records of a run: evaluations at the given steps."""

    step: NDArray[np.int64]
    validation: Floats
    test: Floats
    sparsity: Floats


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished run: what a judge needs to know of it.

    Args:
        spec: its spec.
        seed: its seed.
        engine: name of the engine that made it.
        thresholds: test errors below which it counts as solved, by the task's names.
        records: evaluations made; fewer than `spec.records` if it met NaN.
        ended_early: it met NaN and ended before its last iteration.
        best_step: step of the record with the lowest validation error, t = 0 left out unless there is no other.
        best_validation, best_test, best_sparsity: errors of that record.
        best_gate: mean gate of the last layer on the training batch of that step; NaN where there is no gate.
        solved_at: first step whose test error is below each of the thresholds, or `NEVER`.
        end_validation, end_test, end_sparsity: errors of the last record.
        best_weights, end_weights: effective weights at the best record and after the last update, as `layout` says.
        curve: thinned records.
        elapsed_s: seconds of its share of the engine.
        gpu: name of the GPU that made it; empty for a CPU.
        extra: what else the task reports, by its names; see `extra_sizes` of the task.
        exact: whether the network of the best record, its weights rounded, is the task's formula; None if not judged.
    """

    spec: Spec
    seed: int
    engine: str
    thresholds: Mapping[str, float]
    records: int
    ended_early: bool
    best_step: int
    best_validation: float
    best_test: float
    best_sparsity: float
    best_gate: float
    solved_at: Mapping[str, int]
    end_validation: float
    end_test: float
    end_sparsity: float
    best_weights: Floats
    end_weights: Floats
    curve: Curve
    elapsed_s: float
    gpu: str = ""
    extra: Mapping[str, Floats] = field(default_factory=dict)
    exact: bool | None = None


def _nothing(spec: Spec, seed: int) -> State | None:
    return None


def _forget(spec: Spec, seed: int, state: State) -> None:
    return None


class Failed(RuntimeError):
    """A unit raised an error while it was built or run."""


def _raise(spec: Spec, seeds: Sequence[int], why: str) -> None:
    raise Failed(f"{spec.model.name}, seeds {', '.join(map(str, seeds))}: {why}")


@contextmanager
def unit_code() -> Iterator[None]:
    """Turn an error of a unit's code into `Failed`, which says in one line what was raised and where."""
    try:
        yield
    except Failed:
        raise
    except (Exception, SystemExit) as error:
        raise Failed(explained(error)) from error


def explained(error: BaseException) -> str:
    """An error in one line: its type, its message, and the line of the user's file that led to it."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    where = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…") + where


@dataclass(frozen=True)
class Control:
    """How a caller follows and steers an engine.

    Args:
        advance: told of a spec, whenever some were done, how many iterations of all its runs together.
        stopped: asked between chunks of work; once true, the engine suspends what is in the air and returns.
        resume: the state in which a run was suspended, or None to start it.
        resumed: told of a run that is resumed, and how many iterations it had made.
        suspend: given the state of a run that was cut, or now and then of one that goes on.
        wanted: asked before a run is begun; false if somebody else has made it meanwhile.
        failed: told why runs of a spec, by their seeds, cannot be made: a unit raised an error. By default, raises it.
        say: told, in a line, of anything slow or odd: a kernel being compiled, an engine refused.
        all_records: keep every record of the curve instead of a thinned one.
    """

    advance: Callable[[Spec, int], None] = lambda spec, iterations: None
    stopped: Callable[[], bool] = lambda: False
    resume: Callable[[Spec, int], State | None] = _nothing
    resumed: Callable[[Spec, int], None] = lambda spec, step: None
    suspend: Callable[[Spec, int, State], None] = _forget
    wanted: Callable[[Spec, int], bool] = lambda spec, seed: True
    failed: Callable[[Spec, Sequence[int], str], None] = _raise
    say: Callable[[str], None] = lambda line: None
    all_records: bool = False


NO_CONTROL = Control()


class Engine(Protocol):
    """Trains runs to their end."""

    name: str

    def refuses(self, spec: Spec) -> str | None:
        """Why this engine cannot run the spec, in a line, or None if it can."""

    def run(self, jobs: Sequence[Job], control: Control = ...) -> Iterator[Run]:
        """Finished runs, in any order."""


def curve_records(spec: Spec, all_records: bool = False) -> NDArray[np.int64]:
    """Indices of the records that a curve keeps: the first and the last, and about 200 spread over the logarithm.

    On sequences of digits all are kept: their thresholds come later, from other runs.
    """
    last = spec.records - 1
    if all_records or last < CURVE_RECORDS or spec.task.sequential:
        return np.arange(last + 1)
    spread = np.geomspace(1, last, CURVE_RECORDS).round().astype(np.int64)
    return np.unique(np.concatenate([[0], spread]))


def layout(parts: Parts, in_features: int, out_features: int) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of a layer's effective weights, in order: matrices, then bias or gate."""
    matrix: tuple[int, ...] = (out_features, in_features)
    if isinstance(parts, Leaf):
        return [("weight", matrix)] + ([("bias", (out_features,))] if parts.bias else [])
    return [("add", matrix)] + ([] if parts.shared else [("mul", matrix)]) + [("gate", matrix)]


def effective(parts: Sequence[Parts | None], sizes: Sequence[int], parameters: Floats) -> Floats:
    """Effective weights of a network from its raw parameters, both flat and in the order of the layers.

    A network with a layer of unknown parts keeps its parameters as they are.
    """
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return parameters
    taken, position = [], 0

    def take(count: int) -> Floats:
        nonlocal position
        position += count
        return parameters[position - count : position]

    for part, in_features, out_features in zip(known, sizes[:-1], sizes[1:], strict=True):
        count = in_features * out_features
        leaves = [part] if isinstance(part, Leaf) else [part.add] if part.shared else [part.add, part.mul]
        for leaf in leaves:
            taken.append(_weights(leaf, take, count))
            if leaf.bias:
                taken.append(take(out_features))
        if not isinstance(part, Leaf):
            taken.append(take(count))
    return np.concatenate(taken)


def _weights(leaf: Leaf, take: Callable[[int], Floats], count: int) -> Floats:
    w = take(count)
    if isinstance(leaf.map, TanhSigmoid):
        w = (np.tanh(w) / (1 + np.exp(-take(count).astype(np.float64)))).astype(w.dtype)
    elif isinstance(leaf.map, Sigmoid):
        w = (1 / (1 + np.exp(-w.astype(np.float64)))).astype(w.dtype)
    elif isinstance(leaf.map, Clamp) and leaf.map.clip:
        w = np.clip(w, np.float32(leaf.map.low), np.float32(leaf.map.high))
    return w
