"""Records of the runs of a stack while they train.

The best record is the first one with the lowest validation error of the whole run; the record of the untrained network,
t = 0, counts only while there is no other. Errors that are NaN are ignored.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..spec import Spec
from .contract import NEVER, Control, Curve, Floats, Run, curve_records
from .states import PerRun
from .weights import kept_weights


class Judge(PerRun):
    """Records of a stack of runs of one spec, and the best of each.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        parameters: length of a run's flat parameters.
        control: control of the caller, which decides whether all records are kept.
    """

    STATE = ("records", "ended", "best_step", "best", "best_parameters", "last", "solved_at", "curve")

    def __init__(self, spec: Spec, seeds: tuple[int, ...], parameters: int, control: Control) -> None:
        runs = len(seeds)
        self.spec, self.seeds = spec, seeds
        self._kept = curve_records(spec, control.all_records)
        self.records = np.zeros(runs, np.int64)
        self.ended = np.zeros(runs, bool)
        self.best_step = np.zeros(runs, np.int64)
        self.best = np.full((runs, 4), np.nan, np.float32)  # validation, test, sparsity, gate
        self.best_parameters = np.full((runs, parameters), np.nan, np.float32)
        self.last = np.full((runs, 3), np.nan, np.float32)
        self.solved_at = np.full((runs, len(spec.task.criteria)), NEVER, np.int64)
        self.curve = np.full((runs, len(self._kept), 3), np.nan, np.float32)

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """Test errors below which a run is solved, by name; those of a new task are simulated first."""
        return self.spec.task.thresholds()

    def observe(self, step: int, values: Floats, parameters: Floats, broken: NDArray[np.bool_]) -> None:
        """Add a record of every run that has not ended.

        Args:
            step: step of the record.
            values: `[runs, 4]`: validation error, test error, sparsity error, gate.
            parameters: `[runs, parameters]`.
            broken: mask of runs with a NaN among their parameters; they end before this record.
        """
        self.ended |= broken
        record = step // self.spec.evaluate_every
        live = ~self.ended
        validation, test = values[:, 0], values[:, 1]
        best = self.best[:, 0]
        provisional = (self.best_step == 0) | np.isnan(best)
        replace = live & ((validation < best) | (provisional & ~np.isnan(validation)) | np.isnan(best))
        self.best_step[replace] = step
        self.best[replace] = values[replace]
        self.best_parameters[replace] = parameters[replace]
        for column, limit in enumerate(self.thresholds.values()):
            solved = live & (test < limit) & (self.solved_at[:, column] == NEVER)
            self.solved_at[solved, column] = step
        self.last[live] = values[live, :3]
        self.records[live] += 1
        place = np.searchsorted(self._kept, record)
        if place < len(self._kept) and self._kept[place] == record:
            self.curve[live, place] = values[live, :3]

    def runs(self, engine: str, parameters: Floats, elapsed_s: float) -> list[Run]:
        """Return the finished runs, given their last parameters and the seconds that all of them took."""
        spec = self.spec
        made = []
        for run, seed in enumerate(self.seeds):
            kept = int(np.searchsorted(self._kept, self.records[run]))
            validation, test, sparsity = self.curve[run, :kept].T.copy()
            best = self.best[run].tolist()
            last = self.last[run].tolist()
            made.append(
                Run(
                    spec=spec,
                    seed=seed,
                    engine=engine,
                    thresholds=self.thresholds,
                    records=int(self.records[run]),
                    ended_early=bool(self.ended[run]),
                    best_step=int(self.best_step[run]),
                    best_validation=best[0],
                    best_test=best[1],
                    best_sparsity=best[2],
                    best_gate=best[3],
                    solved_at=dict(zip(self.thresholds, self.solved_at[run].tolist(), strict=True)),
                    end_validation=last[0],
                    end_test=last[1],
                    end_sparsity=last[2],
                    best_weights=kept_weights(spec.model.layers, spec.sizes, self.best_parameters[run]),
                    end_weights=kept_weights(spec.model.layers, spec.sizes, parameters[run]),
                    curve=Curve(self._kept[:kept] * spec.evaluate_every, validation, test, sparsity),
                    elapsed_s=elapsed_s / len(self.seeds),
                )
            )
        return made
