r"""When a run counts as solved: the error of a network whose weights are all almost right.

.. math:: \tau = E\bigl[(y_\varepsilon - y)^2\bigr]

is the mean squared error, on the extrapolation range, of an exact network whose first-layer weights are all off by
10⁻⁵ towards ½: each subset sum has 1 − ε on its own inputs and ε on the others. It is found by simulation.

The thresholds behind the published decisions were simulated with subsets one input longer and overlapping by one
input more than those of the task. `as_released` repeats that; without it, the subsets are the task's own. Fixed
subsets are the same in both. Those of the catalogue lie beside this file, simulated once by `tools/thresholds.py`.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np

from .arithmetic import OPERATIONS, Arithmetic, Floats, Range, Subset

WEIGHT_ERROR = 1e-5
SAMPLES = 1_000_000
CHUNK = 20_000


@dataclass(frozen=True)
class Threshold:
    """A simulated threshold and its standard error."""

    value: float
    standard_error: float


def threshold(task: Arithmetic, *, as_released: bool = False) -> Threshold:
    """The largest test error at which a run of `task` counts as solved.

    Example:
        >>> from arithmos.tasks import TEN_PARAMETERS
        >>> round(threshold(TEN_PARAMETERS).value * 1e6, 2)
        2.16
    """
    known = _known().get(key(task, as_released))
    return simulate(task, as_released) if known is None else Threshold(*known)


def key(task: Arithmetic, as_released: bool) -> str:
    """What a threshold depends on."""
    return json.dumps([task.operation, task.input_size, _subsets(task, as_released), task.extrapolation])


@lru_cache(maxsize=1)
def _known() -> dict[str, list[float]]:
    file = resources.files(__package__).joinpath("thresholds.json")
    known: dict[str, list[float]] = json.loads(file.read_text(encoding="utf-8"))
    return known


@lru_cache(maxsize=256)
def simulate(task: Arithmetic, as_released: bool, samples: int = SAMPLES) -> Threshold:
    """The threshold from so many samples."""
    rng = np.random.Generator(np.random.Philox(key=20200101))
    operation = OPERATIONS[task.operation][1]
    subsets = _subsets(task, as_released)
    total = total_squares = 0.0
    for start in range(0, samples, CHUNK):
        rows = min(CHUNK, samples - start)
        x = _draw(rng, task.extrapolation, rows, task.input_size)
        everything = x.sum(axis=1)
        exact = [x[:, begin:end].sum(axis=1) for begin, end in subsets]
        almost = [(1 - WEIGHT_ERROR) * s + WEIGHT_ERROR * (everything - s) for s in exact]
        with np.errstate(invalid="ignore"):
            error = np.square(operation(almost) - operation(exact))
        total += float(error.sum())
        total_squares += float(np.square(error).sum())
    mean = total / samples
    return Threshold(mean, float(np.sqrt(max(total_squares / samples - mean**2, 0.0) / samples)))


def _subsets(task: Arithmetic, as_released: bool) -> tuple[Subset, ...]:
    if task.fixed is not None:
        return task.fixed
    if not as_released:
        return task.subsets_at(0)
    return tuple((begin, end + 1) for begin, end in task.subsets_at(0))


def _draw(rng: np.random.Generator, range_: Range, rows: int, columns: int) -> Floats:
    low, high = np.array(range_).T
    part = rng.integers(0, len(range_), (rows, columns)) if len(range_) > 1 else np.zeros((1, 1), np.intp)
    x: Floats = low[part] + (high - low)[part] * rng.random((rows, columns))
    return x
