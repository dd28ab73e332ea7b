"""Search for the exact product of powers of sums behind data, for a stack of data sets at once.

Forms are tried in turn, from one factor upwards. Within a form, Levenberg-Marquardt fits free weights; after every
iteration they are rounded, and the formula is tried on all rows. A formula is found when its errors are those of
rounding, or, for noisy targets, when rounding the fitted weights adds no more than the noise explains.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from .._typing import Float
from .damped import Iterate, iterate
from .products import ProductsOfSums, errors, rounded
from .starts import solvable, start

LIMIT, POLISH_LIMIT = 300, 30
"""Iterations per attempt from a random start, and from the solution of a linear equation."""
SETTLED = 1e-6
"""Relative decrease of the sum of squares below which an attempt has settled."""
AMBIGUOUS = 0.4
"""Distance from a whole number at which a fitted weight cannot be rounded with confidence."""
UNEXPLAINED = 0.2
"""Largest share of the variance of the targets that can be noise."""
POLISHED = 3
"""Number of solved forms that are fitted too if none of the solutions is exact."""

Exponents = tuple[float, ...]


@dataclass(frozen=True)
class Formula:
    """Product of powers of sums with whole weights.

    Args:
        weights: -1, 0 or 1 by factor and input.
        exponents: one per factor.
        noise: standard deviation of the errors that remain; 0 if they are those of rounding.
    """

    weights: Float[Tensor, "h i"]
    exponents: Exponents
    noise: float


@dataclass(frozen=True)
class Attempt:
    """One attempt at a form.

    Args:
        exponents: the form.
        number: 0 to take the weights that a rearranged, linear equation gives, 1 to fit from there, 2 and more to fit
            from a random start.
    """

    exponents: Exponents
    number: int


def whole_powers(hidden: int) -> list[Exponents]:
    """Return the forms that a product of selected sums can take, such as an NMU makes.

    Example:
        >>> whole_powers(3)
        [(1.0,), (2.0,), (1.0, 1.0), (3.0,), (1.0, 1.0, 1.0)]
    """
    forms: list[Exponents] = []
    for count in range(1, hidden + 1):
        forms += [(float(count),)] if count <= 4 else []
        forms += [(1.0,) * count] if count > 1 else []
    return forms


def real_powers(hidden: int) -> list[Exponents]:
    """Return forms that a product of any powers of sums can take, such as a RealNPU makes.

    Example:
        >>> real_powers(1)[:5]
        [(1.0,), (-1.0,), (0.5,), (2.0,), (-0.5,)]
    """
    forms: list[Exponents] = [(p,) for p in (1.0, -1.0, 0.5, 2.0, -0.5, -2.0, 3.0, -3.0, 1.5, -1.5)]
    if hidden > 1:
        forms += [(1.0, -1.0), (1.0, 1.0), (0.5, -0.5), (2.0, -2.0), (-1.0, -1.0), (0.5, 0.5)]
        forms += [(2.0, -1.0), (1.0, -2.0), (2.0, 1.0), (3.0, -1.0), (1.0, -3.0)]
    if hidden > 2:
        forms += [(1.0, 1.0, -1.0), (1.0, -1.0, -1.0), (1.0, 1.0, 1.0)]
    return forms


@dataclass
class SearchProgress:
    """Progress of the search on one data set.

    Args:
        queue: attempts to come, the current one first.
        iterations: iterations so far; solving a linear equation counts as one.
        attempts: attempts so far.
        here: iterations of the current attempt.
        state: the minimization of the current attempt, a stack of one; None before its start.
        solved: losses of the solved forms.
        best: the fit with the smallest loss, as (loss, exponents, weights).
        formula: the formula, once found.
    """

    queue: list[Attempt]
    iterations: int = 0
    attempts: int = 0
    here: int = 0
    state: Iterate | None = None
    solved: dict[Exponents, float] = field(default_factory=dict)
    best: tuple[float, Exponents, Tensor] | None = None
    formula: Formula | None = None

    @property
    def ended(self) -> bool:
        return self.formula is not None or not self.queue


class FormulaSearch:
    """Search on a stack of data sets of one size.

    Args:
        x: inputs, in float64.
        t: targets, in float64.
        forms: exponents to try, in order.
        seeds: seeds of the random starts, one per data set.
        check: further rows (x, t) that a formula must hold for; by default none.
        epsilon: relative precision of the numbers in the data.
        bound: largest weight in a sum.
        rounds: number of random starts per form of several factors.

    Example:
        >>> x = torch.rand(1, 50, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        >>> search = FormulaSearch(x, x[..., :2].sum(2) * x[..., 2], forms=whole_powers(2), seeds=[0])
        >>> while not search.progress[0].ended:
        ...     search.step()
        >>> search.progress[0].formula.weights.abs().sum(0).tolist()
        [1.0, 1.0, 1.0, 0.0]
    """

    def __init__(
        self,
        x: Float[Tensor, "s r i"],
        t: Float[Tensor, "s r"],
        *,
        forms: Sequence[Exponents],
        seeds: Sequence[int],
        check: tuple[Float[Tensor, "s c i"], Float[Tensor, "s c"]] | None = None,
        epsilon: float = 2.0**-52,
        bound: int = 1,
        rounds: int = 6,
    ) -> None:
        self.x, self.t, self.seeds, self.epsilon, self.bound = x, t, tuple(seeds), epsilon, bound
        self.check = (x[:, :0], t[:, :0]) if check is None else check
        self.all = (torch.cat([x, self.check[0]], 1), torch.cat([t, self.check[1]], 1))
        self.progress = [SearchProgress(_queue(forms, one, x.shape[1] // x.shape[2], rounds)) for one in t]

    @torch.no_grad()
    def step(self) -> None:
        """Perform one iteration of every search that has not ended."""
        groups: dict[tuple[Exponents, bool], list[int]] = {}
        for number, run in enumerate(self.progress):
            if not run.ended:
                run.iterations += 1
                started = run.state is not None
                if not started:
                    run.attempts += 1
                    run.state = Iterate.start(self._start(number, run.queue[0]))
                groups.setdefault((run.queue[0].exponents, started), []).append(number)
        for (exponents, started), members in groups.items():
            self._advance(exponents, members, fitted=started)

    def state_dict(self) -> dict[str, Any]:
        """Return the progress as plain values and tensors, without the data."""
        return {"progress": [_plain(run) for run in self.progress]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from the progress of another search on the same data."""
        if len(state["progress"]) != len(self.progress):
            raise ValueError(
                f"state must be of {len(self.progress)} data sets, as this search, got {len(state['progress'])}"
            )
        self.progress = [_from_plain(plain) for plain in state["progress"]]

    def _start(self, number: int, attempt: Attempt) -> Float[Tensor, "1 p"]:
        seed = hash((self.seeds[number], attempt.exponents, attempt.number)) % 2**63
        generator = torch.Generator().manual_seed(seed)
        weights = start(attempt.exponents, self.x[number], self.t[number], generator, attempt.number)
        return weights.flatten().unsqueeze(0)

    def _advance(self, exponents: Exponents, members: list[int], fitted: bool) -> None:
        rows = slice(None) if len(members) == len(self.progress) else torch.tensor(members, device=self.x.device)
        problem = ProductsOfSums(self.x[rows], self.t[rows], exponents)
        state = _stack([self.progress[number].state for number in members])
        if fitted:
            state = iterate(problem, state)
        else:
            state = replace(state, loss=problem.residuals(state.point).square().sum(1) / 2)
        for place, number in enumerate(members):
            run = self.progress[number]
            run.state = _pick(state, place)
            run.here += fitted
            loss, weights = state.loss[place].item(), state.point[place].view(len(exponents), -1)
            if run.best is None or loss < run.best[0]:
                run.best = (loss, exponents, weights)
        self._try(problem, state, members, rows)

    def _try(self, problem: ProductsOfSums, state: Iterate, members: list[int], rows: slice | Tensor) -> None:
        """Round the weights, test the formulas, and end the attempts that are over."""
        weights = state.point.view(len(members), len(problem.exponents), -1)
        whole, moved = rounded(weights, problem.exponents, problem.x, problem.t, self.bound)
        x, t = (each[rows] for each in self.all)
        error, explained = errors(whole, problem.exponents, x, t, self.epsilon)
        exact = (error.abs() <= explained).all(1)
        for place, number in enumerate(members):
            run = self.progress[number]
            settled, noise = _settled(run), 0.0
            least = run.here > 0 or problem.exponents == (1.0,)  # whether the weights are those of least squares
            if not exact[place] and settled and least and moved[place] < AMBIGUOUS:
                count, inputs = problem.x.shape[1:]
                fitted = 2 * state.loss[place].item() * problem.scale()[place].item() ** 2
                parameters = len(problem.exponents) * (inputs - 1) + 1
                variance = problem.t[place].var().item()
                noise = compatible(fitted, error[place, :count], error[place, count:], parameters, variance)
            if exact[place] or noise:
                run.formula = Formula(whole[place], problem.exponents, noise)
            elif settled:
                _next(run)


def compatible(
    fitted: float, whole: Float[Tensor, " r"], held: Float[Tensor, " c"], parameters: int, variance: float
) -> float:
    """Return the standard deviation of the noise if it explains the errors of a rounded formula, or 0.

    Args:
        fitted: sum of squares of the fit before rounding.
        whole: errors of the formula on the fitted rows.
        held: errors of the formula on other rows.
        parameters: number of fitted parameters.
        variance: variance of the targets.

    Example:
        >>> error = torch.randn(100, generator=torch.Generator().manual_seed(0))
        >>> 0.8 < compatible(0.9 * error.square().sum().item(), error, error[:20], parameters=10, variance=50.0) < 1.2
        True
        >>> compatible(1e-3, error, error[:20], parameters=10, variance=50.0)
        0.0
    """
    freedom = len(whole) - parameters
    if freedom <= 0:
        return 0.0
    noise = fitted / freedom
    added = (whole.square().sum().item() - fitted) / parameters
    good = noise <= UNEXPLAINED * variance and added <= noise * (1 + 4 * math.sqrt(2 / parameters + 2 / freedom))
    if good and len(held):
        good = held.square().mean().item() <= noise * (1 + 4 * math.sqrt(2 / len(held) + 2 / freedom))
    return math.sqrt(noise) if good else 0.0


def _plain(run: SearchProgress) -> dict[str, Any]:
    plain = {name: getattr(run, name) for name in ("iterations", "attempts", "here", "best")}
    plain["queue"] = [(attempt.exponents, attempt.number) for attempt in run.queue]
    plain["solved"] = list(run.solved.items())
    plain["state"] = None if run.state is None else vars(run.state)
    plain["formula"] = None if run.formula is None else vars(run.formula)
    return copy.deepcopy(plain)


def _from_plain(plain: dict[str, Any]) -> SearchProgress:
    plain = copy.deepcopy(plain)
    return SearchProgress(
        queue=[Attempt(tuple(exponents), number) for exponents, number in plain["queue"]],
        state=None if plain["state"] is None else Iterate(**plain["state"]),
        solved={tuple(exponents): loss for exponents, loss in plain["solved"]},
        formula=None if plain["formula"] is None else Formula(**plain["formula"]),
        **{name: plain[name] for name in ("iterations", "attempts", "here", "best")},
    )


def _queue(forms: Sequence[Exponents], t: Tensor, most: int, rounds: int) -> list[Attempt]:
    """Return the attempts: solve, then fit from random starts, all forms once before any is tried again."""
    usable = [form for form in forms if len(form) <= max(most, 1) and _reachable(form, t)]
    solve = [Attempt(form, 0) for form in usable if solvable(form, t)]
    fit = [form for form in usable if not solvable(form, t) or len(form) > 1]
    return solve + [Attempt(form, 2 + turn) for turn in range(rounds) for form in fit]


def _reachable(exponents: Exponents, t: Tensor) -> bool:
    """Return whether a form can have the signs of the targets."""
    signed = any(float(p).is_integer() and p % 2 for p in exponents)
    return signed or bool((t < 0).double().mean() < 0.1)


def _settled(run: SearchProgress) -> bool:
    state, attempt = run.state, run.queue[0]
    assert state is not None
    if attempt.number == 0 or not state.loss.item() < math.inf:
        return True
    limit = POLISH_LIMIT if attempt.number == 1 else LIMIT
    return run.here >= limit or (run.here > 0 and state.decrease.item() <= SETTLED)


def _next(run: SearchProgress) -> None:
    attempt = run.queue.pop(0)
    if attempt.number == 0 and run.state is not None:
        run.solved[attempt.exponents] = run.state.loss.item()
        if not run.queue or run.queue[0].number:
            nearest = sorted(run.solved, key=lambda form: run.solved[form])[:POLISHED]
            run.queue = [Attempt(form, 1) for form in nearest] + run.queue
    run.state, run.here = None, 0


def _stack(states: Sequence[Iterate | None]) -> Iterate:
    present = [state for state in states if state is not None]
    if len(present) == 1:
        return present[0]
    names = Iterate.__dataclass_fields__
    return Iterate(**{name: torch.cat([getattr(state, name) for state in present]) for name in names})


def _pick(state: Iterate, place: int) -> Iterate:
    names = Iterate.__dataclass_fields__
    return Iterate(**{name: getattr(state, name)[place : place + 1] for name in names})
