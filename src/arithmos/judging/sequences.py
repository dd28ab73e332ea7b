"""Runs on sequences of digits, each judged at every length that it is tested on, by the runs of its reference."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._frames import records
from ..spec import Spec
from ..spec.stored import problem
from ..store import Snapshot
from .references import Floats, Reference, best_errors, length_errors, references
from .runs import first_below, of_one_engine

Place = float | str
"""Position on the axis of a figure: a number or a category; empty in a table."""

_COLUMNS = ["best_sparsity", "best_gate", "ended_early", "best_step", "curve_step", "digits", "extra"]
_READ = ["digits", "digit_outputs", "best_weights"]


@dataclass(frozen=True)
class AtLength:
    """Runs of a spec at one length of test sequences.

    Args:
        engine: engine that made them.
        threshold: test error below which they are solved; NaN if there is none yet.
        note: origin of the threshold, or why there is none.
        test: their test errors at the best record.
        solved_at: step at which each was first below the threshold, or `NEVER`.
        sparsity, gate, ended_early: as stored.
        rises: increase of weight times number read from one digit to the next.
        intended: whether both weights round to 1, so that numbers read go in whole. Both NaN for cells of more weights.
    """

    engine: str
    threshold: float
    note: str
    test: Floats
    solved_at: Floats
    sparsity: Floats
    gate: Floats
    ended_early: Floats
    rises: Floats
    intended: Floats


def by_length(store: Snapshot, specs: Iterable[Spec], seeds: int, criterion: str) -> dict[tuple[str, Place], AtLength]:
    """Return the runs of some specs, by spec id and test length; only those of the engine with most.

    Args:
        store: where the runs are.
        specs: what they are of; those of other tasks are passed over.
        seeds: number of seeds that count, 0 … seeds - 1.
        criterion: name of the thresholds.
    """
    tasks = {spec.id: (spec, spec.task) for spec in specs if spec.task.references()}
    if not tasks:
        return {}
    runs = store.load(specs=tasks, columns=[*_COLUMNS, "best_weights"])
    known = references(store)
    found: dict[tuple[str, Place], AtLength] = {}
    for (spec_id, engine), part in of_one_engine(runs, seeds).groupby(["spec_id", "engine"]):
        spec, task = tasks[str(spec_id)]
        reference = known.get(problem(spec.json()))
        limits = {} if reference is None else reference.thresholds(criterion)
        rows = records(part)
        errors, best = [length_errors(row) for row in rows], np.array([best_errors(row) for row in rows])
        rises = np.array([_rise(*(row[name] for name in _READ)) for row in rows])
        intended = np.array([_intended(row["best_weights"]) for row in rows])
        for place, length in enumerate(task.test_lengths):
            limit, pairs = limits.get(length, math.nan), zip(rows, errors, strict=True)
            found[spec.id, length] = AtLength(
                engine=str(engine),
                threshold=limit,
                note=_note(reference, criterion),
                test=best[:, place],
                solved_at=np.array([first_below(row["curve_step"], own[:, place], limit) for row, own in pairs], float),
                sparsity=part["best_sparsity"].to_numpy(np.float64),
                gate=part["best_gate"].to_numpy(np.float64),
                ended_early=part["ended_early"].to_numpy(np.float64),
                rises=rises,
                intended=intended,
            )
    return found


def _rise(digits: NDArray[np.int64], numbers: Floats, weights: Floats) -> float:
    """Return the slope, over the digits, of the input of a cell with two weights."""
    if len(weights) != 2 or len(digits) < 2:
        return math.nan
    away = digits - digits.mean()
    return float(away @ numbers / (away @ away) * weights[0])


def _intended(weights: Floats) -> float:
    """Return 1 if both weights of a cell round to 1, 0 otherwise."""
    return float((np.rint(weights) == 1).all()) if len(weights) == 2 else math.nan


def _note(reference: Reference | None, criterion: str) -> str:
    if reference is None:
        return "There are no reference runs, so no run is judged; make them with: arithmos run mnist-reference"
    return reference.note(criterion)
