"""Schedule of the sparsity loss."""

from dataclasses import dataclass

from .. import _checks


@dataclass(frozen=True)
class SparsitySchedule:
    r"""Strength of the sparsity loss at a step: 0 until `start`, then a straight line to `strength` at `end`.

    .. math:: \lambda(t) = \lambda\,\mathrm{clip}\left(\frac{t - start}{end - start}, 0, 1\right)

    With `start == end`, the full strength applies from that step on.

    Example:
        >>> schedule = SparsitySchedule(strength=10, start=100, end=200)
        >>> [schedule(step) for step in (0, 100, 150, 200, 1000)]
        [0.0, 0.0, 5.0, 10.0, 10.0]
    """

    strength: float
    start: float
    end: float

    def __post_init__(self) -> None:
        for name in ("strength", "start", "end"):
            object.__setattr__(self, name, _checks.number(name, getattr(self, name)))
        if self.strength < 0:
            raise ValueError(f"strength must not be negative, got {self.strength}")
        if not 0 <= self.start <= self.end:
            raise ValueError(f"start and end must be 0 <= start <= end, got start={self.start}, end={self.end}")

    def __call__(self, step: float) -> float:
        if step >= self.end:
            return float(self.strength)
        if step <= self.start:
            return 0.0
        return self.strength * (step - self.start) / (self.end - self.start)
