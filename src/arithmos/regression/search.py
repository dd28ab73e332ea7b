"""Search for a formula by training networks of several shapes and seeds in rounds of growing length.

Each round trains new seeds of NAU > NMU, a product of sums, on an engine. The first round learns the target; later
rounds also learn the residual of the formula chosen so far, and so add a product to it. Each network is refined in
float64, snapped, and offered as a candidate. The search ends when a formula explains the data to float precision,
when several networks led to one that leaves only noise, or when the time is up.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from ..engines import Control, Engines, Job, Run
from ..optim import SparsitySchedule
from ..spec import Adam, Layer, Model, Spec
from ..tasks import Rows
from .candidates import Output, rms
from .finish import EXACT, MOST_WEIGHTS, expand, flip, refine, settle, snap, unexplained
from .products import Floats, Products, ordered

GROWTH = 4
"""Growth of the number of iterations from one round to the next."""

LONGEST = 200_000
"""Most iterations of a run."""

FINISHED = 12
"""Runs to refine per shape and round, the best ones."""

AGREED = 2
"""Runs that must agree on a formula that is not exact before the search ends with it."""

LAYERS = (Layer("NAU"), Layer("NMU"))
LEARNING_RATE = 0.01
STRENGTH = 0.01
"""Strength of the sparsity regularizer, relative to the target's variance."""


@dataclass(frozen=True)
class Effort:
    """Effort of a search.

    Args:
        iterations: iterations of a run in the first round.
        seeds: runs per shape and round.
        rounds: largest number of rounds.
        factors: largest number of factors in a product.
        constants: whether coefficients and the intercept may be any number.
        budget_s: time limit in seconds, counted from the first iteration.
    """

    iterations: int
    seeds: int
    rounds: int
    factors: int
    constants: bool
    budget_s: float


class Budget:
    """Time limit, counted from the first iteration, so that compilation is not charged.

    Args:
        seconds: the limit.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, math.inf

    def begin(self) -> None:
        """Start the clock on the first call."""
        if self._end == math.inf:
            self._end = time.monotonic() + self._seconds

    def spent(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self._end


@dataclass(frozen=True)
class Search:
    """Summary of a search.

    Args:
        runs: number of networks trained.
        rounds: number of rounds.
        engine: name of the engine that trained them.
    """

    runs: int
    rounds: int
    engine: str


def search(
    outputs: Sequence[Output],
    plan: Effort,
    engines: Engines,
    *,
    seed: int,
    say: Callable[[str], None] = lambda line: None,
    advance: Callable[[int, int], None] = lambda done, of: None,
) -> Search:
    """Fill the outputs with candidates.

    Args:
        outputs: outputs to explain.
        plan: effort of the search.
        engines: engines of this machine.
        seed: seed of the first run; every run has its own.
        say: receives one line per round.
        advance: receives the number of iterations done and the total of the round.
    """
    for output in outputs:
        start(output)
    todo, runs, made, engine = [output for output in outputs if not settled(output)], 0, 0, ""
    budget, seeds = Budget(plan.budget_s), count(seed, plan.seeds * plan.factors)
    while todo and made < plan.rounds and not budget.spent():
        made += 1
        questions = [question for output in todo for question in _questions(output, made)]
        jobs = {question: _jobs(question, plan, made, next(seeds)) for question in questions}
        trained = _train([job for part in jobs.values() for job in part], engines, budget, say, advance)
        runs, engine = runs + len(trained), trained[0].engine if trained else engine
        for question, part in jobs.items():
            specs = [job.spec for job in part]
            harvest(question, [run for run in trained if run.spec in specs], budget)
        todo = [output for output in todo if not settled(output)]
        say(f"round {made}: {runs} networks trained, {len(outputs) - len(todo)} of {len(outputs)} outputs settled")
    return Search(runs, made, engine)


def settled(output: Output) -> bool:
    """Return whether the chosen formula is exact, or leaves only noise and was found by several runs."""
    chosen = output.chosen
    if chosen.exact:
        return True
    return len(chosen.runs) >= AGREED and not unexplained(chosen.formula, output.x, output.y)


def start(output: Output) -> None:
    """Offer the formulas that need no network: zero, a constant, a sum of columns."""
    nothing = Products((), np.empty(0))
    output.offer(nothing, 0.0, nothing)
    for columns in ([], _columns(output.x.shape[1])):
        formula = settle(columns, output.x, output.y, intercept=output.constants)
        output.offer(formula, 0.0, formula)


def _columns(count: int) -> list[Floats]:
    """Return the columns themselves, as products of one factor."""
    return list(np.eye(count)[:, None, :])


@dataclass(frozen=True, eq=False)
class Question:
    """Training target of a set of networks.

    Args:
        output: output whose target it is.
        base: formula whose residual is learned, or None for the target itself.
        rest: whether a sum of columns and an intercept may be added to the products.
    """

    output: Output
    base: Products | None
    rest: bool


def _questions(output: Output, number: int) -> list[Question]:
    """Return the target and, from the second round on, the residuals of the chosen formula and the best product."""
    if number == 1:
        return [Question(output, None, False)]
    bases: dict[tuple[object, ...], Products] = {}
    for candidate in [output.chosen, *sorted(output.candidates.values(), key=lambda candidate: candidate.error)]:
        products = [(w, c) for w, c in _pairs(candidate.formula) if len(w) > 1]
        if products and (candidate is output.chosen or len(products) == 1):
            base = Products([w for w, _ in products], np.array([c for _, c in products]))
            bases.setdefault(base.key, base)
    return [Question(output, base, True) for base in [None, *list(bases.values())[:2]]]


def _pairs(formula: Products) -> list[tuple[Floats, float]]:
    return list(zip(formula.factors, formula.coefficients.tolist(), strict=True))


def _jobs(question: Question, plan: Effort, number: int, seed: int) -> list[Job]:
    """Return the jobs of a round, one per shape."""
    output = question.output
    length = min(plan.iterations * GROWTH ** (number - 1), LONGEST)
    target = output.y if question.base is None else output.y - question.base(output.x)
    x, y = output.x / output.scales, target / output.scale
    rows = Rows(x, y, test=(x[:1], y[:1]))
    model = Model("NAU>NMU", LAYERS, SparsitySchedule(STRENGTH * float(y.var()), length / 2, 3 * length / 4))
    jobs = []
    for hidden in range(min(2, plan.factors), plan.factors + 1):
        spec = Spec(
            task=rows,
            model=model,
            hidden_size=hidden,
            iterations=length,
            evaluate_every=max(1, length // 20),
            optimizer=Adam(lr=LEARNING_RATE),
        )
        jobs.append(Job(spec, tuple(range(seed, seed + plan.seeds))))
        seed += plan.seeds
    return jobs


def _train(
    jobs: Sequence[Job],
    engines: Engines,
    budget: Budget,
    say: Callable[[str], None],
    advance: Callable[[int, int], None],
) -> list[Run]:
    """Return the runs that finished in time, ordered by job and seed."""
    total, done = sum((job.spec.iterations + 1) * len(job.seeds) for job in jobs), 0

    def tick(_: Spec, iterations: int) -> None:
        nonlocal done
        budget.begin()
        done += iterations
        advance(done, total)

    control = Control(advance=tick, stopped=budget.spent, say=say)
    order = {job.spec: number for number, job in enumerate(jobs)}
    widest = max((job.spec for job in jobs), key=lambda spec: spec.hidden_size)  # what runs it runs the others
    runs = list(engines.choose(widest).run(jobs, control))
    return sorted(runs, key=lambda run: (order[run.spec], run.seed))


def harvest(question: Question, runs: Sequence[Run], budget: Budget) -> None:
    """Offer the formulas near the runs, best runs first, until the output is settled or the time is up."""
    output, taken, best = question.output, dict.fromkeys((run.spec for run in runs), 0), []
    for run in sorted(runs, key=lambda run: run.best_validation):
        taken[run.spec] += 1
        if np.isfinite(run.best_validation) and taken[run.spec] <= FINISHED:
            best.append((run.seed, [*read(run, output)]))
    for depth in range(max((len(guesses) for _, guesses in best), default=0)):
        for seed, guesses in best:
            if settled(output) or budget.spent():
                return
            if depth < len(guesses):
                output.read.add(seed)
                finish(question, guesses[depth], seed)


def read(run: Run, output: Output) -> Iterator[Floats]:
    """Yield the products that a network may stand for, the likeliest first.

    The factors are those whose NMU weight is above one half; then the two, three or more with the largest weights.
    """
    columns, hidden, _ = run.spec.sizes
    sums, picks = np.split(run.best_weights.astype(np.float64), [columns * hidden])
    order, likely = np.argsort(-picks, kind="stable"), max(2, int((picks > 0.5).sum()))
    factors = (sums.reshape(hidden, columns) / output.scales)[order]
    factors[0] *= output.scale
    for most in sorted(range(min(2, hidden), hidden + 1), key=lambda most: abs(most - likely)):
        yield factors[:most]


def finish(question: Question, product: Floats, run: int) -> None:
    """Offer the exact formulas next to a product, together with the base it is added to.

    The product is refined to its nearest least-squares optimum first. With fewer rows than weights, or with very many
    weights, the formulas next to the product as trained are offered too.
    """
    output, rest = question.output, question.rest
    x, y = output.x, output.y
    base = [] if question.base is None else [np.vstack([w[:1] * c, w[1:]]) for w, c in _pairs(question.base)]
    factors = [*base, product, *([np.zeros((1, x.shape[1]))] if rest else [])]
    intercept = 0.0 if rest and output.constants else None
    weights = sum(w.size for w in factors)
    starts = [refine(factors, intercept, x, y)] if weights <= MOST_WEIGHTS else []
    if not starts or weights > len(x):
        starts.append(Products(factors, np.ones(len(factors))))
    for near in starts:
        if not all(np.isfinite(w).all() for w in near.factors):
            continue
        snapped = {ordered(w).tobytes(): (w, far) for w, far in (snap(w) for w in near.factors if len(w) > 1)}
        columns = _columns(x.shape[1]) if rest else []
        name = (rest, *sorted(snapped))
        known = output.tried.get(name)
        formula = known or settle([*(w for w, _ in snapped.values()), *columns], x, y, intercept=intercept is not None)
        output.tried[name] = formula
        rounding = max((snapped[w.tobytes()][1] for w in formula.factors if w.tobytes() in snapped), default=0.0)
        output.offer(formula, rounding, near, run)
        if settled(output):
            return
        others = [] if known else [(flip(formula, x, y), 1.0), (expand(formula), rounding)]
        if not known or rms(near(x) - y) <= EXACT * rms(y):
            others.append((expand(near), 0.0))
        for other, moved in others:
            if other is not formula and other is not near:
                other = settle([*other.factors, *columns], x, y, intercept=intercept is not None)
                output.offer(other, moved, near, run)
