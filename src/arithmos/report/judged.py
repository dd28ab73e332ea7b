"""`judged`: which runs count in a cell, and which of them are solved."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..experiments import Experiment
from ..store import Store
from .places import Place, places

Criterion = Literal["released", "corrected"]
Floats = NDArray[np.float64]


def _none() -> Floats:
    return np.empty(0)


@dataclass(frozen=True)
class Judged:
    """The runs of a spec that count, and of the solved ones what is summarized.

    Args:
        engine: who made them; empty if there are none.
        n: how many.
        k: how many of them are solved.
        ended_early: how many were cut by NaN.
        solved_at: when each solved run was first below the threshold.
        sparsity: sparsity error of each solved run that has one.
        gate_solved, gate_unsolved: gate of each run, solved or not; of networks without a gate, none.
        seen: how many the exact judge has seen.
        exact: how many of those are the task's formula once their weights are rounded.
        exact_solved: how many of those are solved.
    """

    engine: str = ""
    n: int = 0
    k: int = 0
    ended_early: int = 0
    solved_at: Floats = field(default_factory=_none)
    sparsity: Floats = field(default_factory=_none)
    gate_solved: Floats = field(default_factory=_none)
    gate_unsolved: Floats = field(default_factory=_none)
    seen: int = 0
    exact: int = 0
    exact_solved: int = 0

    @property
    def gate(self) -> Floats:
        """Gates of all runs."""
        return np.concatenate([self.gate_solved, self.gate_unsolved])


def judged(store: Store, experiment: Experiment, criterion: Criterion = "released") -> dict[tuple[str, Place], Judged]:
    """The runs that count, by spec id and place on the axis: of the experiment's seeds and of one engine.

    A run is solved when its test error at the best record is below the threshold. A cell is made by one engine, the
    one with most of the experiment's seeds.

    Args:
        store: where the runs are.
        experiment: what they are of.
        criterion: the thresholds behind the published decisions, or those of the task's own subsets.
    """
    if criterion not in ("released", "corrected"):
        raise ValueError(f"criterion must be 'released' or 'corrected', got {criterion!r}")
    limit, solved_at = f"threshold_{criterion}", f"solved_at_{criterion}"
    columns = [limit, solved_at, "best_test", "best_sparsity", "best_gate", "ended_early", "exact"]
    runs = store.load(specs=experiment.specs, columns=columns)
    runs = runs[runs["seed"].between(0, experiment.seeds - 1)]
    cells: dict[str, Judged] = {}
    for (spec_id, engine), part in runs.groupby(["spec_id", "engine"], sort=True):
        if spec_id in cells and cells[spec_id].n >= len(part):
            continue
        solved = (part["best_test"] < part[limit]).to_numpy()
        exact = (part["exact"] == True).to_numpy()  # noqa: E712 (null if not judged)
        sparsity, gate = (part[name].to_numpy(np.float64) for name in ("best_sparsity", "best_gate"))
        cells[str(spec_id)] = Judged(
            engine=str(engine),
            n=len(part),
            k=int(solved.sum()),
            ended_early=int(part["ended_early"].sum()),
            solved_at=part[solved_at].to_numpy(np.float64)[solved],
            sparsity=_finite(sparsity[solved]),  # a user's unit may have none
            gate_solved=_finite(gate[solved]),
            gate_unsolved=_finite(gate[~solved]),
            seen=int(part["exact"].notna().sum()),
            exact=int(exact.sum()),
            exact_solved=int((exact & solved).sum()),
        )
    return {(spec.id, at): cells[spec.id] for spec, at in places(experiment) if spec.id in cells}


def _finite(values: Floats) -> Floats:
    return values[np.isfinite(values)]
