"""Numbers that agree could have failed: differences planted in our own runs are found, as often as is stated."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.factories import make_run

from arithmos.judging.cells import Cells, Judged
from arithmos.papers import EXPERIMENTS
from arithmos.papers.madsen2020.estimators import COMPARISONS, GATE_BINS
from arithmos.papers.power import POINTS, POWER
from arithmos.papers.verdicts import scale_of, verdicts_of
from arithmos.report import verdicts
from arithmos.store import Store

TABLE = EXPERIMENTS["table-1"]
SAMPLE = 6
"""The everyday suite plants in every so many-th number."""


@dataclass(frozen=True)
class Number:
    """A published number, the verdict on it, and what that was made of."""

    key: tuple
    cell: Judged
    printed: dict
    experiment: object
    iterations: int
    row: dict

    @property
    def measure(self):
        return self.row["measure"]

    def found(self, cell):
        """Whether it would differ if our runs were others, and all other numbers as they are."""
        compared = COMPARISONS[self.measure](cell, self.printed, self.experiment.published, self.iterations)
        return compared.p <= self.row["level"]


@pytest.fixture(scope="module")
def agreeing(cells, published, recounted):
    """All numbers that agree with the stored runs."""
    rows = iter(recounted.to_dict("records"))
    numbers = []
    for experiment in published:
        for spec, at, cell in cells.of(experiment):
            own = experiment.printed(spec, at)
            for measure in COMPARISONS:
                if not np.isnan(own.get(measure, np.nan)):
                    row = next(rows)
                    key = (spec.id, experiment.seeds, at, "released")
                    numbers.append(Number(key, cell, own, experiment, spec.iterations, row))
                    assert (row["experiment"], row["measure"]) == (experiment.name, measure)
    return [number for number in numbers if number.row["verdict"] == "agrees"]


def planted(number, difference, rng):
    """Our runs so many times as late, or as dense, or solved more and less often than print says by as much."""
    cell, scale = number.cell, scale_of(number.measure)
    if scale is POINTS:
        rate = number.printed["k"] / runs_behind(number)
        rate = rate if number.measure == "success_rate" else number.printed[number.measure]
        rates = [other for other in (rate - difference, rate + difference) if 0 <= other <= 1]
        return [with_rate(number, int(rng.binomial(cell.n, other))) for other in rates]
    name = "sparsity" if number.measure == "sparsity_mean" else "solved_at"
    values = getattr(cell, name)
    factors = [times for times in (difference, 1 / difference) if name == "solved_at" or values.max() * times < 0.5]
    return [replace(cell, **{name: values * times}) for times in factors]


def runs_behind(number):
    """Runs behind a printed rate, second logs left out."""
    k, n = number.printed["k"], number.printed["n"]
    return 50 if number.experiment.axis and n > 50 >= k else n


def with_rate(number, k):
    if number.measure == "success_rate":
        return replace(number.cell, k=k)
    gate = (0 if number.measure == "gate_multiplies" else GATE_BINS) / GATE_BINS
    return replace(number.cell, gate_solved=np.full(k, gate), gate_unsolved=np.full(number.cell.n - k, 0.5))


def shares_found(numbers, difference):
    """By measure, the share of planted differences that are found."""
    rng, found = np.random.default_rng(0), {}
    for number in numbers:
        for cell in planted(number, difference(number), rng):
            found.setdefault(number.measure, []).append(number.found(cell))
    return {measure: float(np.mean(every)) for measure, every in found.items()}, found


def check(numbers):
    """Differences of 50 points, or twofold ones, are found; so are the smallest ones that are said to be."""
    stated, _ = shares_found(numbers, lambda number: scale_of(number.measure).limit)
    assert min(stated.values()) >= POWER, stated
    smallest, every = shares_found(numbers, lambda number: number.row["finds"])
    assert float(np.mean(np.concatenate([*every.values()]))) >= POWER, smallest
    nothing, _ = shares_found(numbers, lambda number: 0.0 if scale_of(number.measure) is POINTS else 1.0)
    assert max(nothing.values()) < 0.05, nothing
    return stated


def test_planted_differences_are_found(agreeing):
    check(agreeing[::SAMPLE])


@pytest.mark.slow
def test_every_number_that_agrees_could_have_failed(agreeing):
    stated = check(agreeing)
    assert set(stated) == set(COMPARISONS)
    assert min(stated.values()) >= 0.9


@pytest.mark.slow
def test_planted_differences_change_the_verdict(cells, agreeing):
    """Not the test alone, but the verdict, with all numbers of its kind seen together again."""
    names = ["model", "operation", "at", "measure"]
    steps = [number for number in agreeing if number.measure == "solved_at_mean"]
    found = []
    for number in steps[::5]:
        other = replace(number.cell, solved_at=number.cell.solved_at * 2)
        changed = verdicts_of(Cells(cells.criterion, {**cells.found, number.key: other}), [number.experiment])
        same = (changed[names] == [number.row[name] for name in names]).all(axis=1)
        found.append(changed[same]["verdict"].item() == "differs")
        assert found[-1] == number.found(other)
    assert np.mean(found) >= 0.95


def test_numbers_that_are_twofold_apart_do_not_agree(agreeing):
    """Of what 0.1 called agreement, 131 means and errors were more than twofold apart."""
    numbers = [number.row for number in agreeing if scale_of(number.measure) is not POINTS]
    apart = [(row["published"], row["ours"]) for row in numbers]
    assert max(max(ours / theirs, theirs / ours) for theirs, ours in apart) < 2


def test_planted_in_a_copy_of_the_store(results, tmp_path):
    """Steps of the NMU in Table 1, twice as late in the copy."""
    names = ["best_test", "threshold_released", "solved_at_released", "best_sparsity"]
    spec = next(spec for spec in TABLE.specs if spec.model.name == "NMU")
    runs = results.load(specs=[spec], columns=["best_test", "thresholds", "solved_at", "best_sparsity"])
    for times, word in ((1, "agrees"), (2, "differs")):
        copy = Store(tmp_path / str(times))
        at = runs["solved_at_released"]
        rows = runs.assign(solved_at_released=at.where(at < 0, times * at)).to_dict("records")
        copy.append(make_run(spec, row["seed"], "cpu", **{name: row[name] for name in names}) for row in rows)
        frame = verdicts(copy, [TABLE]).set_index(["model", "measure"]).loc["NMU"]["verdict"]
        assert frame["success_rate"] == "agrees"
        assert (frame["solved_at_median"], frame["solved_at_mean"]) == (word, word)
