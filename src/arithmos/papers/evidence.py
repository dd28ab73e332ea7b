"""What claims are tested with: cases out of stored runs, and small tests that say what they saw."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import statistics
from ..judging.cells import Cells, Floats, Judged
from ..judging.sequences import Place
from ..statistics import Interval
from ..statistics.written import percent, scientific
from ..tasks import symbol
from .experiment import Experiment, operation

LEVEL = 0.05
FEW, MOST = 0.10, 0.90
"""A model cannot do what it does in 10 % of runs at most, and can do what it does in 90 % at least."""

Key = tuple[str, str, Place]
"""Experiment, model, and operation or place on the axis."""


class TooFewRuns(Exception):
    """A claim cannot be decided yet."""


@dataclass(frozen=True)
class Case:
    """The runs of a cell, and what to call it; the model alone where several cells are spoken of."""

    label: str
    runs: Judged
    model: str = ""

    @property
    def rate(self) -> str:
        """Solved runs of all."""
        return f"{self.label} {self.runs.k}/{self.runs.n}"


@dataclass(frozen=True)
class Cases:
    """The cells that claims are about.

    Args:
        cells: by experiment, model, and operation or place on the axis.
        labels: how models are called.
        seeds: how many runs a cell of each experiment must have.
    """

    cells: Mapping[Key, Judged]
    labels: Mapping[str, str]
    seeds: Mapping[str, int]

    def __call__(self, experiment: str, model: str, at: Place) -> Case:
        """A cell.

        Raises:
            TooFewRuns: it has fewer runs than seeds.
        """
        runs, name = self.cells.get((experiment, model, at), Judged()), self.labels.get(model, model)
        place = f"at {at:g}" if isinstance(at, float) else f"on {symbol(at)}" if symbol(at) else f"at {at}"
        label = f"{name} {place}"
        if runs.n < self.seeds[experiment]:
            raise TooFewRuns(f"{experiment}, {label}: {runs.n} of {self.seeds[experiment]} runs")
        return Case(label, runs, name)


def cases_of(cells: Cells, experiments: Iterable[Experiment]) -> Cases:
    """The cells that claims are about, out of experiments whose runs are judged."""
    found: dict[Key, Judged] = {}
    labels: dict[str, str] = {}
    seeds: dict[str, int] = {}
    for experiment in experiments:
        seeds[experiment.name] = experiment.seeds
        for spec, at, cell in cells.of(experiment):
            found[experiment.name, spec.model.name, operation(spec) if at == "" else at] = cell
            labels[spec.model.name] = spec.model.label
    return Cases(found, labels, seeds)


@dataclass(frozen=True)
class Outcome:
    """Whether a hypothesis holds, and the numbers that say so."""

    holds: bool
    numbers: str

    @staticmethod
    def all(outcomes: Iterable["Outcome"]) -> "Outcome":
        """Whether all of several hypotheses hold."""
        outcomes = list(outcomes)
        return Outcome(all(one.holds for one in outcomes), "; ".join(one.numbers for one in outcomes))


@dataclass(frozen=True)
class Claim:
    """Something that the paper says its experiments show.

    Args:
        name: what it is called here.
        where: where the paper says it.
        text: what it says, in our words.
        criterion: what decides it.
        experiments: whose runs it needs.
        test: what the runs say.
        paper: key of its paper, which sets it.
    """

    name: str
    where: str
    text: str
    criterion: str
    experiments: tuple[str, ...]
    test: Callable[[Cases], Outcome]
    paper: str = ""


def pool(label: str, cases: Iterable[Case]) -> Case:
    """Several cells as one."""
    runs = [case.runs for case in cases]

    def joined(name: str) -> Floats:
        return np.concatenate([getattr(one, name) for one in runs])

    together = Judged(
        n=sum(one.n for one in runs),
        k=sum(one.k for one in runs),
        solved_at=joined("solved_at"),
        sparsity=joined("sparsity"),
        gate_solved=joined("gate_solved"),
        gate_unsolved=joined("gate_unsolved"),
    )
    return Case(label, together)


def more_often(one: Case, other: Case) -> Outcome:
    """One is solved more often than the other: the 95 % interval of the difference is above 0."""
    difference = statistics.rate_difference(one.runs.k, one.runs.n, other.runs.k, other.runs.n)
    return Outcome(difference.low > 0, f"{one.rate}, {other.rate}: {_points(difference)}")


def alike(one: Case, other: Case, margin: float = 0.10) -> Outcome:
    """Both are solved as often, but for `margin`: the 95 % interval of the difference lies within."""
    difference = statistics.rate_difference(one.runs.k, one.runs.n, other.runs.k, other.runs.n)
    within = max(-difference.low, difference.high) <= margin
    return Outcome(within, f"{one.rate}, {other.rate}: {_points(difference)}")


def _points(difference: Interval) -> str:
    return f"{100 * difference.low:+.0f} to {100 * difference.high:+.0f} points".replace("-", "−")


def at_most(case: Case, bound: float = FEW) -> Outcome:
    """The 95 % interval of the success rate ends at `bound` or before."""
    high = statistics.wilson(case.runs.k, case.runs.n).high
    return Outcome(high <= bound, f"{case.rate}, at most {percent(high)}")


def at_least(case: Case, bound: float = MOST) -> Outcome:
    """The 95 % interval of the success rate begins at `bound` or after."""
    low = statistics.wilson(case.runs.k, case.runs.n).low
    return Outcome(low >= bound, f"{case.rate}, at least {percent(low)}")


def share(label: str, k: int, n: int, bound: float = MOST) -> Outcome:
    """At least a share of things, by the 95 % interval; of nothing, no share."""
    if n == 0:
        return Outcome(False, f"{label}: none to look at")
    low = statistics.wilson(k, n).low
    return Outcome(low >= bound, f"{label}: {k} of {n}, at least {percent(low)}")


def sooner(pairs: Sequence[tuple[Case, Case]]) -> Outcome:
    """Solved runs of the first of each pair come before those of the second, by the rank-sum test at 5 %."""
    return _smaller(pairs, "solved_at", "before")


def sparser(pairs: Sequence[tuple[Case, Case]]) -> Outcome:
    """Solved runs of the first of each pair have smaller sparsity errors than those of the second, likewise."""
    return _smaller(pairs, "sparsity", "sparser than")


def _smaller(pairs: Sequence[tuple[Case, Case]], name: str, word: str) -> Outcome:
    one, other = (case.label if len(pairs) == 1 else case.model for case in pairs[0])
    values = [(getattr(a.runs, name), getattr(b.runs, name)) for a, b in pairs]
    if not any(b.size for _, b in values):  # who solves nothing is not fast
        solved = sum(a.size for a, _ in values)
        return Outcome(solved > 0, f"{other} has no solved run, {one} {solved}")
    often, p = statistics.rank_sum(values)
    if np.isnan(often):
        return Outcome(False, f"{one} has no solved run where {other} has")
    if often == 1 and p >= LEVEL:  # nothing speaks against it, and nothing more could speak for it
        counts = " and ".join(str(sum(part.size for part in side)) for side in zip(*values, strict=True))
        raise TooFewRuns(f"{one} {word} {other} in all pairs, p = {p:.2g}: {counts} solved runs are too few")
    medians = " and ".join(scientific(float(np.median(np.concatenate(side)))) for side in zip(*values, strict=True))
    written = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return Outcome(p < LEVEL, f"{one} {word} {other} in {percent(often)} of pairs, {written}, medians {medians}")
