r"""Thresholds of solved runs: the error of a network whose weights are all almost right.

.. math:: \tau = E\bigl[(y_\varepsilon - y)^2\bigr]

This is the mean squared error, on the extrapolation range, of an exact network whose first-layer weights are all off by
10⁻⁵ towards ½: each subset sum has 1 − ε on its own inputs and ε on the others. It is found by simulation.

Thresholds have names, which `thresholds.json` lists: for arithmetic tasks, by how many inputs the simulated subsets are
longer, and overlap more, than those of the task; for sequences, the rule for reference runs. The file also has the
values of the catalogue's tasks, simulated once by `tools/thresholds.py`.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from .task import Range, ReferenceRule, Subset

if TYPE_CHECKING:
    from .arithmetic import Arithmetic, Floats

WEIGHT_ERROR = 1e-5
SAMPLES = 1_000_000
CHUNK = 20_000


@dataclass(frozen=True)
class Threshold:
    """Simulated threshold with its standard error."""

    value: float
    standard_error: float


@lru_cache(maxsize=1)
def known() -> dict[str, dict[str, Any]]:
    """Return the names of thresholds and their shipped values."""
    file = resources.files(__package__).joinpath("thresholds.json")
    data: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return data


def reference_rules(operation: str) -> dict[str, ReferenceRule]:
    """Return the rules for thresholds of sequences from reference runs, by name."""
    rules = known()["references"].items()
    seeds = {name: rule.get("seeds", {}).get(operation) for name, rule in rules}
    return {name: ReferenceRule(rule.get("freedom"), seeds[name] and tuple(seeds[name])) for name, rule in rules}


def threshold(task: "Arithmetic", longer: int = 0) -> Threshold:
    """Return the largest test error at which a run of `task` is solved.

    Args:
        task: the task.
        longer: number of inputs by which the simulated subsets are longer than the task's; fixed ones never are.

    Example:
        >>> from arithmos.tasks import TEN_PARAMETERS
        >>> round(threshold(TEN_PARAMETERS).value * 1e6, 2)
        2.16
    """
    shipped = known()["simulated"].get(key(task, longer))
    return simulate(task, longer) if shipped is None else Threshold(*shipped)


def key(task: "Arithmetic", longer: int) -> str:
    """Return a key of everything that a threshold depends on."""
    return json.dumps([task.operation, task.input_size, _subsets(task, longer), task.extrapolation])


@lru_cache(maxsize=256)
def simulate(task: "Arithmetic", longer: int, samples: int = SAMPLES) -> Threshold:
    """Simulate the threshold with a number of samples."""
    rng = np.random.Generator(np.random.Philox(key=20200101))
    subsets = _subsets(task, longer)
    total = total_squares = 0.0
    for start in range(0, samples, CHUNK):
        rows = min(CHUNK, samples - start)
        x = _draw(rng, task.extrapolation, rows, task.input_size)
        everything = x.sum(axis=1)
        exact = [x[:, begin:end].sum(axis=1) for begin, end in subsets]
        almost = [(1 - WEIGHT_ERROR) * s + WEIGHT_ERROR * (everything - s) for s in exact]
        with np.errstate(invalid="ignore"):
            error = np.square(task.combine(almost) - task.combine(exact))
        total += float(error.sum())
        total_squares += float(np.square(error).sum())
    mean = total / samples
    return Threshold(mean, float(np.sqrt(max(total_squares / samples - mean**2, 0.0) / samples)))


def _subsets(task: "Arithmetic", longer: int) -> tuple[Subset, ...]:
    if task.fixed is not None:
        return task.fixed
    return tuple((begin, end + longer) for begin, end in task.subsets_at(0))


def _draw(rng: np.random.Generator, range_: Range, rows: int, columns: int) -> "Floats":
    low, high = np.array(range_).T
    part = rng.integers(0, len(range_), (rows, columns)) if len(range_) > 1 else np.zeros((1, 1), np.intp)
    x: Floats = low[part] + (high - low)[part] * rng.random((rows, columns))
    return x
