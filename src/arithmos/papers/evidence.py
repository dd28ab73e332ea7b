"""Evidence for claims: cells of stored runs, and small tests that report their numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import statistics
from .._formatting import percent, scientific
from ..judging.cells import Cells, Floats, Judged
from ..judging.sequences import Place
from ..statistics import Interval
from ..tasks import symbol
from .experiment import Experiment
from .power import POINTS, POWER

LEVEL = 0.05
FEW, MOST = 0.10, 0.90
"""Bounds of success rates: at most 10 % of runs is failure, at least 90 % is success."""

CaseKey = tuple[str, str, Place]
"""Experiment, model, and operation or position on the axis."""


class TooFewRuns(Exception):
    """Raised when a cell has too few runs to decide a claim."""


@dataclass(frozen=True)
class Case:
    """Runs of a cell with its label, which is the model alone if several cells are compared."""

    label: str
    runs: Judged
    model: str = ""

    @property
    def rate(self) -> str:
        """Label with the number of solved runs and of all."""
        return f"{self.label} {self.runs.k}/{self.runs.n}"


@dataclass(frozen=True)
class Cases:
    """Cells that claims are about.

    Args:
        cells: cells by experiment, model, and operation or position on the axis.
        labels: labels of the models.
        seeds: number of runs that a cell of each experiment must have.
    """

    cells: Mapping[CaseKey, Judged]
    labels: Mapping[str, str]
    seeds: Mapping[str, int]

    def __call__(self, experiment: str, model: str, at: Place) -> Case:
        """Return a cell.

        Raises:
            TooFewRuns: the cell has fewer runs than the experiment has seeds.
        """
        runs, name = self.cells.get((experiment, model, at), Judged()), self.labels.get(model, model)
        place = f"at {at:g}" if isinstance(at, float) else f"on {symbol(at)}" if symbol(at) else f"at {at}"
        label = f"{name} {place}"
        if runs.n < self.seeds[experiment]:
            raise TooFewRuns(f"{experiment}, {label}: {runs.n} of {self.seeds[experiment]} runs")
        return Case(label, runs, name)


def cases_of(cells: Cells, experiments: Iterable[Experiment]) -> Cases:
    """Return the cells that claims are about, from experiments whose runs are judged."""
    found: dict[CaseKey, Judged] = {}
    labels: dict[str, str] = {}
    seeds: dict[str, int] = {}
    for experiment in experiments:
        seeds[experiment.name] = experiment.seeds
        for spec, at, cell in cells.of(experiment):
            found[experiment.name, spec.model.name, spec.task.operation if at == "" else at] = cell
            labels[spec.model.name] = spec.model.label
    return Cases(found, labels, seeds)


@dataclass(frozen=True)
class Decision:
    """Whether a hypothesis holds (None if undecided), with the numbers that show it."""

    holds: bool | None
    numbers: str

    @staticmethod
    def all(outcomes: Iterable["Decision"]) -> "Decision":
        """Combine hypotheses: one that fails decides, otherwise one that is open leaves all open."""
        outcomes = list(outcomes)
        words = [one.holds for one in outcomes]
        holds = False if False in words else None if None in words else True
        return Decision(holds, "; ".join(one.numbers for one in outcomes))


@dataclass(frozen=True)
class Claim:
    """Statement of what the paper's experiments show.

    Args:
        name: name of the claim.
        where: where the paper makes it.
        text: the statement, in our words.
        criterion: criterion that decides it.
        experiments: experiments whose runs it needs.
        test: function that tests it on the runs.
        paper: key of its paper, which sets it.
    """

    name: str
    where: str
    text: str
    criterion: str
    experiments: tuple[str, ...]
    test: Callable[[Cases], Decision]
    paper: str = ""


def pool(label: str, cases: Iterable[Case]) -> Case:
    """Pool several cells into one."""
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


def above(interval: Interval, bound: float) -> bool | None:
    """Return whether an interval lies above a bound (True), below (False), or contains it (None)."""
    return True if interval.low > bound else False if interval.high < bound else None


def more_often(one: Case, other: Case) -> Decision:
    """Test that one is solved more often than the other: the 95 % interval of the difference is above 0."""
    difference = _difference(one, other)
    return Decision(above(difference, 0.0), f"{one.rate}, {other.rate}: {points(difference)}")


def no_more_often(one: Case, other: Case, margin: float = 0.10) -> Decision:
    """Test that one is not solved more often than the other by `margin`; fails if it is solved more often at all."""
    difference = _difference(one, other)
    holds = True if difference.high <= margin else False if difference.low > 0 else None
    return Decision(holds, f"{one.rate}, {other.rate}: {points(difference)}")


def alike(one: Case, other: Case, margin: float = 0.10) -> Decision:
    """Test that both are solved equally often up to `margin`, by the 95 % interval of the difference."""
    difference = _difference(one, other)
    within = max(-difference.low, difference.high) <= margin
    beyond = max(difference.low, -difference.high) > margin
    return Decision(True if within else False if beyond else None, f"{one.rate}, {other.rate}: {points(difference)}")


def undistinguished(one: Case, other: Case) -> Decision:
    """Test that Fisher's test at 5 % does not separate the rates, although it would find a difference of 50 points."""
    (k, n), trials = (one.runs.k, one.runs.n), other.runs.n
    p = statistics.fisher_exact(k, n, other.runs.k, trials)
    power = statistics.fisher_power(k, n, trials, POINTS.limit, LEVEL)
    holds = False if p < LEVEL else True if power >= POWER else None
    return Decision(holds, f"{one.rate}, {other.rate}: p = {p:.2g}; 50 points would be found in {percent(power)}")


def _difference(one: Case, other: Case) -> Interval:
    return statistics.rate_difference(one.runs.k, one.runs.n, other.runs.k, other.runs.n)


def points(difference: Interval) -> str:
    """Format the bounds of a difference of rates."""
    return f"{100 * difference.low:+.0f} to {100 * difference.high:+.0f} points".replace("-", "−")


def at_most(case: Case, bound: float = FEW) -> Decision:
    """Test that the 95 % interval of the success rate ends at or below `bound`."""
    rate = statistics.wilson(case.runs.k, case.runs.n)
    holds = True if rate.high <= bound else False if rate.low > bound else None
    return Decision(holds, f"{case.rate}, {_percents(rate)}")


def at_least(case: Case, bound: float = MOST) -> Decision:
    """Test that the 95 % interval of the success rate starts at or above `bound`."""
    return share(case.label, case.runs.k, case.runs.n, bound)


def share(label: str, k: int, n: int, bound: float = MOST) -> Decision:
    """Test that k of n is at least a share, by the 95 % interval; undecided if n is 0."""
    if n == 0:
        return Decision(None, f"{label}: none to look at")
    rate = statistics.wilson(k, n)
    holds = True if rate.low >= bound else False if rate.high < bound else None
    return Decision(holds, f"{label} {k}/{n}, {_percents(rate)}")


def _percents(rate: Interval) -> str:
    return f"{percent(rate.low)} to {percent(rate.high)}"


def sooner(pairs: Sequence[tuple[Case, Case]]) -> Decision:
    """Test that solved runs of the first of each pair come before those of the second, by the rank-sum test at 5 %."""
    return _smaller(pairs, "solved_at", "before")


def sparser(pairs: Sequence[tuple[Case, Case]]) -> Decision:
    """Test that solved runs of the first of each pair have smaller sparsity errors, by the rank-sum test at 5 %."""
    return _smaller(pairs, "sparsity", "sparser than")


def _smaller(pairs: Sequence[tuple[Case, Case]], name: str, word: str) -> Decision:
    one, other = (case.label if len(pairs) == 1 else case.model for case in pairs[0])
    values = [(getattr(a.runs, name), getattr(b.runs, name)) for a, b in pairs]
    if not any(b.size for _, b in values):  # a model that solves nothing is slower
        solved = sum(a.size for a, _ in values)
        return Decision(True if solved else None, f"{other} has no solved run, {one} {solved}")
    often, p = statistics.rank_sum(values)
    if np.isnan(often):
        return Decision(False, f"{one} has no solved run where {other} has")
    _, reversed_p = statistics.rank_sum([(b, a) for a, b in values])
    holds = True if p < LEVEL else False if reversed_p < LEVEL else None
    medians = " and ".join(scientific(float(np.median(np.concatenate(side)))) for side in zip(*values, strict=True))
    written = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    return Decision(holds, f"{one} {word} {other} in {percent(often)} of pairs, {written}, medians {medians}")
