"""Records of a stack of runs on sequences of digits."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...spec import Spec
from ...tasks import DigitSequences
from ...tasks.digits import EXTRA
from ..contract import Curve, Floats, Run
from ..states import PerRun
from ..weights import kept_weights


class StackRecords(PerRun):
    """Records of a stack of runs, with the best of each: the first one with the lowest validation error.

    The record of the untrained network counts too. A run that meets NaN ends before that record.

    Args:
        runs: spec and seed of each run; the specs differ only in their model.
        task: their task.
        cells: initial parameters of each run's cell.
    """

    STATE = ("records", "ended", "best", "curve", "outputs", "cells")

    def __init__(self, runs: Sequence[tuple[Spec, int]], task: DigitSequences, cells: Sequence[Floats]) -> None:
        count, spec = len(runs), runs[0][0]
        self.runs, self.task = runs, task
        self.records = np.zeros(count, np.int64)
        self.ended = np.zeros(count, bool)
        self.best = np.zeros(count, np.int64)
        self.curve = np.full((count, spec.records, 3 + len(task.test_lengths)), np.nan, np.float32)
        self.outputs = np.full((count, 2, len(task.digits)), np.nan, np.float32)
        self.cells = list(cells)

    def observe(
        self, step: int, values: Floats, outputs: Floats, cells: Sequence[Floats], broken: NDArray[np.bool_]
    ) -> None:
        """Add a record of every run that has not ended.

        Args:
            step: step of the record.
            values: `[runs, 3 + lengths]`: validation and training errors, sparsity error, test errors.
            outputs: `[runs, 2, digits]`: mean and standard deviation of what is read off the images of each digit.
            cells: parameters of each run's cell.
            broken: mask of runs with a NaN among their parameters.
        """
        self.ended |= broken
        record = step // self.runs[0][0].evaluate_every
        for run in np.flatnonzero(~self.ended).tolist():
            self.curve[run, record] = values[run]
            self.records[run] = record + 1
            before = self.curve[run, self.best[run], 0]
            if record == 0 or values[run, 0] < before or np.isnan(before):
                self.best[run] = record
                self.outputs[run] = outputs[run]
                self.cells[run] = cells[run]

    def finished(self, run: int, engine: str, cell: Floats, elapsed_s: float) -> Run:
        """Return a finished run, given the final parameters of its cell and the seconds that it took."""
        spec, seed = self.runs[run]
        records = int(self.records[run])
        validation, training, sparsity = self.curve[run, :records, :3].T.copy()
        lengths = self.curve[run, :records, 3:].copy()
        test = lengths[:, self.task.test_lengths.index(self.task.length)].copy()
        best = int(self.best[run]) if records else -1
        steps = np.arange(records, dtype=np.int64) * spec.evaluate_every

        keep = partial(kept_weights, spec.model.layers, spec.sizes)

        def at(values: Floats, record: int) -> float:
            return float(values[record]) if records else float("nan")

        return Run(
            spec=spec,
            seed=seed,
            engine=engine,
            thresholds={},
            records=records,
            ended_early=bool(self.ended[run]),
            best_step=max(best, 0) * spec.evaluate_every,
            best_validation=at(validation, best),
            best_test=at(test, best),
            best_sparsity=at(sparsity, best),
            best_gate=float("nan"),
            solved_at={},
            end_validation=at(validation, -1),
            end_test=at(test, -1),
            end_sparsity=at(sparsity, -1),
            best_weights=keep(self.cells[run]) if records else np.empty(0, np.float32),
            end_weights=keep(cell),
            curve=Curve(steps, validation, test, sparsity),
            elapsed_s=elapsed_s,
            extra=dict(zip(EXTRA, (training, lengths.ravel(), *self.outputs[run].copy()), strict=True)),
        )
