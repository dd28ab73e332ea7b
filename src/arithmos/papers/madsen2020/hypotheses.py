"""Hypotheses that the claims of Madsen & Johansen (2020) amount to, and their tests on the runs."""

from collections.abc import Callable, Sequence

import numpy as np

from ... import statistics
from ...judging.cells import Floats, Judged
from ...statistics import Interval
from ..evidence import (
    FEW,
    LEVEL,
    MOST,
    Case,
    Cases,
    Decision,
    TooFewRuns,
    above,
    alike,
    at_least,
    at_most,
    more_often,
    no_more_often,
    pool,
    share,
    sooner,
    sparser,
    undistinguished,
)
from .experiments import ABLATIONS, HIDDEN, MULTIPLIERS, STRENGTHS

Test = Callable[[Cases], Decision]

RESAMPLES = 2000

OTHERS = [model.name for model in MULTIPLIERS if model.name != "NMU"]
NMU, NO_SPARSE, NO_CLAMP, NEITHER = (model.name for model in ABLATIONS)


def against(experiment: str, model: str, others: Sequence[str], at: float | str) -> Test:
    """Test that the model is solved more often than each of the others."""
    return lambda cases: Decision.all(
        more_often(cases(experiment, model, at), cases(experiment, other, at)) for other in others
    )


def ahead(experiment: str, model: str, others: Sequence[str], *places: float | str) -> Test:
    """Test that the model is solved sooner than each of the others, at each position."""
    return lambda cases: Decision.all(
        sooner([(cases(experiment, model, at), cases(experiment, other, at))]) for at in places for other in others
    )


def fails_at(experiment: str, models: Sequence[str], *places: float | str) -> Test:
    """Test that none of the models succeeds at any of the positions."""
    return lambda cases: Decision.all(at_most(cases(experiment, model, at)) for at in places for model in models)


def ablated(cases: Cases, model: str, hidden: Sequence[int] = tuple(HIDDEN)) -> list[Case]:
    """Return a model of the ablation at each hidden size."""
    return [cases("ablation", model, float(size)) for size in hidden]


def addition_success(cases: Cases) -> Decision:
    """Test that NAU and NAC₊ always solve + and −."""
    parts = []
    for at in ("add", "sub"):
        nau, nac = cases("table-2", "NAU", at), cases("table-2", "NACAdd", at)
        parts += [alike(nau, nac), at_least(nau), at_least(nac)]
    return Decision.all(parts)


def linear_subtraction(cases: Cases) -> Decision:
    """Test that a linear model solves − in less than half of its runs, and less often than +."""
    add, sub = (cases("table-2", "Linear", at) for at in ("add", "sub"))
    return Decision.all([at_most(sub, 0.5), more_often(add, sub)])


def no_bias(cases: Cases) -> Decision:
    """Test that solved runs of NAC₊ have weights far from −1, 0 and 1."""
    parts = []
    for at in ("add", "sub"):
        case = cases("table-2", "NACAdd", at)
        median = statistics.median(case.runs.sparsity)
        bounds = f"{median.low:.2g} to {median.high:.2g}"
        parts.append(Decision(above(median, 0.1), f"{case.label}: median of {len(case.runs.sparsity)} is {bounds}"))
    return Decision.all(parts)


def negative_inputs(cases: Cases) -> Decision:
    """Test that the NMU is solved more often on inputs of both signs than the others, which fail."""
    own, *others = (cases("input-range", model, "U[-2,2]") for model in ("NMU", *OTHERS))
    return Decision.all([*[more_often(own, other) for other in others], *map(at_most, others)])


def no_clamp(cases: Cases) -> Decision:
    """Test that without the clamp success rates are alike, and medians of solved-at not much later."""
    own, other = ablated(cases, NMU), ablated(cases, NO_CLAMP)
    rates = alike(pool("no clamp", other), pool("NMU", own))
    both = [(a.runs.solved_at, b.runs.solved_at) for a, b in zip(other, own, strict=True)]
    later = _later([(a, b) for a, b in both if a.size and b.size])
    soon = {True: False, False: True, None: None}[above(later, 0.1)]
    bounds = f"{later.low:+.0%} to {later.high:+.0%}".replace("-", "−")
    return Decision.all([rates, Decision(soon, f"medians {bounds} later on average")])


def _later(pairs: Sequence[tuple[Floats, Floats]]) -> Interval:
    """Return how much later the medians of the first of each pair are, on average, with a 95 % bootstrap interval."""
    rng = np.random.default_rng(0)

    def medians(x: Floats) -> Floats:
        drawn: Floats = np.median(x[rng.integers(x.size, size=(RESAMPLES, x.size))], axis=1)
        return drawn

    if not pairs:
        return Interval(np.nan)
    ratios = np.mean([medians(a) / medians(b) for a, b in pairs], axis=0) - 1
    estimate = float(np.mean([np.median(a) / np.median(b) for a, b in pairs])) - 1
    low, high = np.quantile(ratios, (LEVEL / 2, 1 - LEVEL / 2))
    return Interval(estimate, float(low), float(high))


def not_critical(cases: Cases) -> Decision:
    """Test that each variant of the ablation keeps half of the NMU's success rate."""
    own, *variants = (pool(model, ablated(cases, model)) for model in (NMU, NO_SPARSE, NO_CLAMP, NEITHER))
    half = own.runs.k / own.runs.n / 2
    return Decision.all([Decision(True, own.rate), *[at_least(variant, half) for variant in variants]])


def _adds(case: Case) -> Case:
    """Return a case in which gates that choose addition are counted as solved runs."""
    return Case(case.label, Judged(k=int(np.count_nonzero(case.runs.gate > 0.5)), n=case.runs.n))


def separate_adds(cases: Cases) -> Decision:
    """Test that NALU's gates choose addition more often with separate weights, on each task."""
    return Decision.all(
        more_often(*[_adds(cases("gate", model, at)) for model in ("GateNALUSeparate", "GateNALUShared")])
        for at in ("mul", "add")
    )


def addition_needs_gate(cases: Cases) -> Decision:
    """Test that NALU solves + where its gate chooses addition, and nowhere else."""
    both = pool("NALU", [cases("gate", model, "add") for model in ("GateNALUSeparate", "GateNALUShared")]).runs
    n, k = (int(np.count_nonzero(gate > 0.5)) for gate in (both.gate, both.gate_solved))
    elsewhere = Case("solved elsewhere", Judged(k=both.k - k, n=both.n - n))
    return Decision.all([share("solved where the gate adds", k, n), *([at_most(elsewhere)] if both.n > n else [])])


def multiplication_beyond_gate(cases: Cases) -> Decision:
    """Test that the NMU is solved more often than NAC• where gates choose multiplication."""
    chosen = []
    for model in ("GateNAUNMU", "GateNALUSeparate", "GateNALUShared"):
        case = cases("gate", model, "mul")
        n, k = (int(np.count_nonzero(gate < 0.5)) for gate in (case.runs.gate, case.runs.gate_solved))
        chosen.append(Case(case.label, Judged(k=k, n=n)))
    if idle := [case.label for case in chosen if not case.runs.n]:
        return Decision(None, f"no gate of {', '.join(idle)} multiplies")
    return Decision.all(more_often(chosen[0], other) for other in chosen[1:])


def gate_is_random(cases: Cases) -> Decision:
    """Test that the choice of gates does not depend on the task and is not always the same."""
    parts = []
    for model in ("GateNALUSeparate", "GateNALUShared", "GateNAUNMU"):
        mul, add = (_adds(cases("gate", model, at)) for at in ("mul", "add"))
        same = undistinguished(mul, add)
        mixed = [outcome for case in (mul, add) for outcome in (at_least(case, FEW), at_most(case, MOST))]
        parts.append(Decision(Decision.all([same, *mixed]).holds, f"gates that add: {same.numbers}"))
    return Decision.all(parts)


def barely_roots(cases: Cases) -> Decision:
    """Test that NAC• and NALU solve √z now and then."""
    both = [cases("all-models", model, "root") for model in ("NACMul", "NALU")]
    seldom = Decision.all(at_most(case, 0.2) for case in both)
    if all(case.runs.k for case in both):
        return seldom
    return Decision(False if seldom.holds is False else None, seldom.numbers)


def twice(model: str) -> Test:
    """Test that solved runs of z² multiply the subset sum by itself, which is how two rounded layers can give z²."""

    def test(cases: Cases) -> Decision:
        case = cases("all-models", model, "squared")
        if case.runs.seen < case.runs.n:
            raise TooFewRuns(f"all-models, {case.label}: weights of {case.runs.seen} of {case.runs.n} runs")
        label = f"solved runs of {case.label} with the subset twice"
        return share(label, case.runs.exact_solved, case.runs.k)

    return test


def strength_is_best(experiment: str, model: str, chosen: float) -> Test:
    """Test that no other strength of the regularizer is solved more often by 10 points."""

    def test(cases: Cases) -> Decision:
        every = {strength: cases(experiment, model, strength) for strength in STRENGTHS}
        best = Decision.all(no_more_often(case, every[chosen]) for case in every.values() if case is not every[chosen])
        return Decision(best.holds, ", ".join(case.rate for case in every.values()))

    return test


def sparser_than_nac(cases: Cases) -> Decision:
    """Test that the NAU is sparser than NAC₊ on + and −."""
    return Decision.all(
        sparser([(cases("table-2", "NAU", at), cases("table-2", "NACAdd", at))]) for at in ("add", "sub")
    )


def in_ranges(*ranges: str) -> Test:
    """Test that the NMU solves more than half of its runs in each range."""
    return lambda cases: Decision.all(at_least(cases("input-range", "NMU", at), 0.5) for at in ranges)


def unconstrained(cases: Cases) -> Decision:
    """Test that every variant of the ablation succeeds with two hidden units."""
    return Decision.all(
        at_least(case) for model in (NO_SPARSE, NO_CLAMP, NEITHER) for case in ablated(cases, model, [2])
    )
