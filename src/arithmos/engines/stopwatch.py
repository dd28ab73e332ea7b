"""Time as a stack of runs knows it: when its caller hears of it, when its states are kept, how long it has taken."""

import time

from ..spec import Spec
from .contract import Control

TELL_S = 1.0
KEEP_S = 600.0
"""So often states are kept of runs that go on: a stack may take days, and a machine may not last."""


class Stopwatch:
    """Goes with a stack of runs while it trains.

    Args:
        control: who follows.
        spec: which of the stack's the caller is told of.
        runs: how many train.
        step: where they are.
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
        """Seconds that the stack has taken, those before included."""
        return time.monotonic() - self._begun

    def look(self, step: int) -> bool:
        """Tells the caller, if it is time, that the stack is at a step; whether its states are to be kept now.

        They are when the caller stops the stack, `stopped`, or long after they were last; not at the end.
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
        """Tells the caller that the stack is done, which counts all iterations, whether or not they were made."""
        self._advance(self.spec.iterations + 1)

    def _advance(self, step: int) -> None:
        self.control.advance(self.spec, (step - self._step) * self.runs)
        self._step = step
