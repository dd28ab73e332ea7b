"""Contract of the engines: `engine.run(jobs)` yields finished runs."""

import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _checks
from .._seeds import Seeds

if TYPE_CHECKING:
    from ..spec import Spec

Floats = NDArray[np.float32]
State = dict[str, NDArray[np.generic]]
"""Checkpoint with which an engine resumes a run: arrays by name, private to the engine."""

CURVE_RECORDS = 200

_LONGEST = 300
"""Most characters of an error's message to show."""

_LIBRARIES = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), str(Path(__file__).parents[1]))
"""Folders of installed packages, and of this one."""

STACK = 256
"""Most runs of one spec that the torch engine trains side by side on a CPU."""

NEVER = -1
"""Solved-at step of a run that was never below the threshold."""


@dataclass(frozen=True)
class Job:
    """Spec with the seeds to run it with."""

    spec: "Spec"
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
    """Finished run, with everything that a judge needs.

    Args:
        spec: its spec.
        seed: its seed.
        engine: name of the engine that made it.
        thresholds: test errors below which it is solved, by the task's names.
        records: number of evaluations; fewer than `spec.records` if it met NaN.
        ended_early: whether it met NaN and ended before its last iteration.
        best_step: step of the record with the lowest validation error, without t = 0 unless there is no other.
        best_validation, best_test, best_sparsity: errors of that record.
        best_gate: mean gate of the last layer on the training batch of that step; NaN where there is no gate.
        solved_at: first step whose test error is below each of the thresholds, or `NEVER`.
        end_validation, end_test, end_sparsity: errors of the last record.
        best_weights, end_weights: weights at the best record and after the last update, as `weights.layout` says.
        curve: thinned records.
        elapsed_s: seconds of its share of the engine.
        gpu: name of the GPU that made it; empty for a CPU.
        extra: further results of the task, by name; see `extra_sizes` of the task.
        exact: whether the network of the best record, with its weights rounded, is the formula; None if not judged.
    """

    spec: "Spec"
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


class Failed(RuntimeError):
    """Error that a unit raised while it was built or run."""


def _raise(spec: "Spec", seeds: Sequence[int], why: str) -> None:
    raise Failed(f"{spec.model.name}, seeds {', '.join(map(str, seeds))}: {why}")


@contextmanager
def unit_code() -> Iterator[None]:
    """Turn an error of a unit's code into `Failed`, with one line on what was raised and where."""
    try:
        yield
    except Failed:
        raise
    except (Exception, SystemExit) as error:
        raise Failed(explained(error)) from error


def explained(error: BaseException) -> str:
    """Return an error as one line: its type, its message, and the line of the user's file that led to it."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    where = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    return (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…") + where


@dataclass(frozen=True)
class Control:
    """Callbacks by which a caller follows and controls an engine.

    Args:
        advance: receives a spec and the number of iterations done since the last call, of all its runs together.
        stopped: called between chunks of work; once it returns true, the engine suspends unfinished runs and returns.
        resume: returns the state in which a run was suspended, or None to start it.
        resumed: receives a run that is resumed and the number of iterations it had made.
        suspend: receives the state of an unfinished run, when it is stopped and now and then before.
        wanted: called before a run is started; returns false if it has been made elsewhere meanwhile.
        failed: receives a spec, seeds and why their runs cannot be made: a unit raised an error. By default, raises it.
        say: receives a line about anything slow or unusual: a kernel being compiled, an engine refused.
        all_records: whether to keep every record of the curve instead of a thinned one.
    """

    advance: Callable[["Spec", int], None] = lambda spec, iterations: None
    stopped: Callable[[], bool] = lambda: False
    resume: Callable[["Spec", int], State | None] = lambda spec, seed: None
    resumed: Callable[["Spec", int], None] = lambda spec, step: None
    suspend: Callable[["Spec", int, State], None] = lambda spec, seed, state: None
    wanted: Callable[["Spec", int], bool] = lambda spec, seed: True
    failed: Callable[["Spec", Sequence[int], str], None] = _raise
    say: Callable[[str], None] = lambda line: None
    all_records: bool = False


NO_CONTROL = Control()


class Engine(Protocol):
    """Engine that trains runs to their end."""

    name: str

    def refuses(self, spec: "Spec") -> str | None:
        """Return why this engine cannot run the spec, on one line, or None if it can."""

    def run(self, jobs: Sequence[Job], control: Control = ...) -> Iterator[Run]:
        """Yield finished runs, in any order."""


def curve_records(spec: "Spec", all_records: bool = False) -> NDArray[np.int64]:
    """Return the indices of the records that a curve keeps: the first, the last, and about 200 on a logarithmic scale.

    On sequences of digits all are kept: their thresholds come later, from other runs.
    """
    last = spec.records - 1
    if all_records or last < CURVE_RECORDS or spec.task.sequential:
        return np.arange(last + 1)
    spread = np.geomspace(1, last, CURVE_RECORDS).round().astype(np.int64)
    return np.unique(np.concatenate([[0], spread]))
