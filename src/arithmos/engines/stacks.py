"""Stacks: runs that train side by side, how they are put together, trained to their end, and suspended."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import torch

from ..spec import Spec
from .contract import Control, Failed, Floats, Job, Run, State, unit_code
from .states import ARRAYS, NOTHING, judged, state_of
from .stopwatch import Stopwatch

if TYPE_CHECKING:
    from .digits.records import StackRecords
    from .judge import Judge

SeededSpecs = Sequence[tuple[Spec, int]]
"""Spec and seed of each run."""


class TrainingStack(ABC):
    """Runs that train side by side, one per position on the leading axis of every tensor.

    Args:
        runs: spec and seed of each.
        device: device to train on.
        control: control of the caller.

    Attributes:
        step: the next iteration.
        elapsed_s: seconds that the runs had taken when they were last suspended.
        records: their records so far.
    """

    records: "Judge | StackRecords"

    def __init__(self, runs: SeededSpecs, device: torch.device, control: Control) -> None:
        self.runs, self.device, self.control = runs, device, control
        self.spec = runs[0][0]
        self.step, self.elapsed_s = 0, 0.0

    @abstractmethod
    def record(self) -> None:
        """Evaluate all runs and add a record."""

    @abstractmethod
    def iterate(self) -> None:
        """Run one iteration, or more up to the next record."""

    @abstractmethod
    def flat(self, name: str = "parameters") -> Sequence[Floats] | Floats:
        """Return each run's parameters, or a moment of the optimizer by name."""

    @abstractmethod
    def finished(self, elapsed_s: float) -> list[Run]:
        """Return the finished runs, given the seconds that all of them took."""

    def pausing(self) -> bool:
        """Return whether the caller may be informed, and the runs be suspended, at this step."""
        return True

    def own_state(self, run: int) -> tuple[State, State]:
        """Return the buffers of a run, and what only some optimizers have, for a checkpoint."""
        return NOTHING, NOTHING

    def train(self) -> list[Run]:
        """Train the stack to its end and return its runs, or suspend them when the caller stops it."""
        stopwatch = Stopwatch(self.control, self.spec, len(self.runs), step=self.step, elapsed_s=self.elapsed_s)
        while self.step <= self.spec.iterations:
            try:
                with unit_code():
                    if self.step % self.spec.evaluate_every == 0:
                        self.record()
                        if self.records.ended.all():
                            break
                    self.iterate()
            except Failed:
                stopwatch.end()
                raise
            if self.pausing() and stopwatch.look(self.step):
                self.elapsed_s = stopwatch.elapsed_s
                self._suspend()
                if stopwatch.stopped:
                    return []
        stopwatch.end()
        return self.finished(stopwatch.elapsed_s)

    def _suspend(self) -> None:
        arrays, elapsed_s = {name: self.flat(name) for name in ARRAYS}, self.elapsed_s / len(self.runs)
        for run, (spec, seed) in enumerate(self.runs):
            own = {name: array[run] for name, array in arrays.items()}
            state = state_of(self.step, elapsed_s, own, self.records.state(run), *self.own_state(run))
            self.control.suspend(spec, seed, state)

    def resume(self, states: Sequence[State]) -> None:
        """Resume suspended runs, all of them at the same step."""
        self.step = int(states[0]["step"][0])
        self.elapsed_s = float(sum(state["elapsed_s"][0] for state in states))
        for run, state in enumerate(states):
            self.records.restore(run, judged(state))


def in_stacks(
    jobs: Sequence[Job], control: Control, most: int, train: Callable[[SeededSpecs, Sequence[State]], list[Run]]
) -> Generator[Run, None, bool]:
    """Yield finished runs; those that differ only in their model, and were suspended at the same step, train together.

    Runs that have progressed furthest come first. A model with a user's unit has its own stacks and cannot disturb
    others.

    Args:
        jobs: the jobs.
        control: control of the caller.
        most: number of runs side by side.
        train: function that trains a stack, given its runs and the states of those that were suspended: all or none.

    Returns:
        Whether the caller has not stopped it.
    """
    states = {(job.spec.id, seed): control.resume(job.spec, seed) for job in jobs for seed in job.seeds}
    shared = {job.spec.id: dataclasses.replace(job.spec, model=jobs[0].spec.model).id for job in jobs}

    def together(run: tuple[Spec, int]) -> tuple[str, int, str]:
        """Return what the runs of a stack share: all but the model if it is built in, and the step."""
        spec, seed = run
        state = states[spec.id, seed]
        step = 1 if state is None else -int(state["step"][0])
        return shared[spec.id], step, spec.id if spec.model.layers[0].own else ""

    # Sorting keeps the runs of a model adjacent.
    runs = sorted(((job.spec, seed) for job in jobs for seed in sorted(job.seeds)), key=together)
    for _, members in groupby(runs, key=together):
        chosen = list(members)
        for start in range(0, len(chosen), most):
            if control.stopped():
                return False
            wanted = [run for run in chosen[start : start + most] if control.wanted(*run)]
            if not wanted:
                continue
            found = (states.pop((spec.id, seed)) for spec, seed in wanted)
            try:
                yield from train(wanted, [state for state in found if state is not None])
            except Failed as error:
                for spec, group in groupby(wanted, key=lambda run: run[0]):
                    control.failed(spec, tuple(seed for _, seed in group), str(error))
    return True
