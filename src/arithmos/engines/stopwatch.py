"""Timing of a stack of runs: when to inform its caller, when to keep its states, how long it has taken."""

import time

from ..spec import Spec
from .contract import Control

TELL_S = 1.0
KEEP_S = 600.0
"""Seconds between states kept of runs in progress: a stack may take days, and a machine may fail."""


class Stopwatch:
    """Stopwatch of a stack of runs in training.

    Args:
        control: control of the caller.
        spec: spec of the stack that the caller is informed of.
        runs: number of runs.
        step: their current step.
        elapsed_s: seconds that they took before.
    """

    def __init__(self, control: Control, spec: Spec, runs: int, *, step: int, elapsed_s: float) -> None:
        self.control, self.spec, self.runs = control, spec, runs
        self.stopped = False
        self._step = step
        self._told = self._kept = time.monotonic()
        self._begun = self._told - elapsed_s

    @property
    def elapsed_s(self) -> float:
        """Seconds that the stack has taken, including earlier ones."""
        return time.monotonic() - self._begun

    def look(self, step: int) -> bool:
        """Inform the caller, if it is time, that the stack is at a step, and return whether to keep its states now.

        They are kept when the caller stops the stack, `stopped`, or a long time after the last; not at the end.
        """
        now = time.monotonic()
        if now - self._told <= TELL_S:
            return False
        self._told = now
        self._advance(step)
        if step > self.spec.iterations:
            return False
        self.stopped = self.control.stopped()
        if not self.stopped and now - self._kept <= KEEP_S:
            return False
        self._kept = now
        return True

    def end(self) -> None:
        """Inform the caller that the stack is done, which counts all iterations, whether or not they were made."""
        self._advance(self.spec.iterations + 1)

    def _advance(self, step: int) -> None:
        self.control.advance(self.spec, (step - self._step) * self.runs)
        self._step = step
