"""Search for the exact product of powers of sums behind data, for a stack of data sets at once.

Forms are tried in turn, from one factor upwards. Within a form, Levenberg-Marquardt fits free weights; after every
iteration they are rounded, and the formula is tried on all rows. A formula is found when its errors are those of
rounding, or, for noisy targets, when rounding the fitted weights adds no more than the noise explains.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .. import philox
from .._typing import Float
from .damped import Iterate, iterate
from .exchange import exchanged, rounded_together
from .forms import Exponents
from .noise import compatible
from .products import ProductsOfSums, errors, rounded
from .starts import paired, reachable, solvable, start

LIMIT, POLISH_LIMIT = 300, 30
"""Iterations per attempt from a random start, and from the solution of a linear equation."""
PATIENCE, POLISH_PATIENCE = 25, 3
"""Iterations without a halved sum of squares after which an attempt has settled."""
SETTLED = 1e-6
"""Relative decrease of the sum of squares below which an attempt has settled."""
CHANCE = 1e-3
"""Probability that weights without meaning are all as near to whole numbers as those of a noisy formula must be."""
POLISHED = 3
"""Number of solved forms that are fitted too if none of the solutions is exact."""

Pair = tuple[Float[Tensor, "s r i"], Float[Tensor, "s r"]]


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
    """One attempt of a search.

    Args:
        kind: "solve" to take the weights that a rearranged, linear equation gives, "polish" to fit from those of the
            forms that came nearest, "fit" to fit from a start of its own.
        number: the form to solve or to fit, or the rank of the form to polish.
        turn: number of earlier attempts to fit the same form.
    """

    kind: Literal["solve", "polish", "fit"]
    number: int
    turn: int = 0


def attempts(forms: int, rounds: int) -> list[Attempt]:
    """Return the attempts in order: solve, polish, then fit all forms once before any is tried again.

    Example:
        >>> [(attempt.kind, attempt.number) for attempt in attempts(1, 2)]
        [('solve', 0), ('polish', 0), ('fit', 0), ('fit', 0)]
    """
    solve = [Attempt("solve", form) for form in range(forms)]
    polish = [Attempt("polish", rank) for rank in range(min(POLISHED, forms))]
    return solve + polish + [Attempt("fit", form, turn) for turn in range(rounds) for form in range(forms)]


@dataclass
class SearchProgress:
    """Progress of the search on one data set.

    Args:
        attempt: position of the current attempt.
        form: number of its form.
        here: its iterations; -1 before it has begun.
        lowest: loss below which it counts as halved.
        since: its iteration at which the loss was last halved.
        iterations: iterations of all attempts; solving a linear equation counts as one.
        attempts: attempts so far.
        best: loss of the best fit of all attempts.
        best_form: its form.
        noise: noise of the formula, once found; NaN before.
        over: whether no attempt is left.
    """

    attempt: int = 0
    form: int = 0
    here: int = -1
    lowest: float = math.inf
    since: int = 0
    iterations: int = 0
    attempts: int = 0
    best: float = math.inf
    best_form: int = -1
    noise: float = math.nan
    over: bool = False

    @property
    def found(self) -> bool:
        """Whether the formula was found."""
        return not math.isnan(self.noise)

    @property
    def ended(self) -> bool:
        """Whether the search is over, with a formula or without."""
        return self.found or self.over


class FormulaSearch:
    """Search on a stack of data sets of one size.

    Args:
        forms: exponents to try, in order.
        seeds: seeds of the random starts, one per data set.
        inputs: number of inputs.
        epsilon: relative precision of the numbers in the data.
        bound: largest weight in a sum.
        rounds: number of starts per form that is fitted.
        damping: initial damping of every attempt.
        device: device of the data.

    Example:
        >>> x = torch.rand(1, 50, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        >>> search = FormulaSearch([(1.0,), (1.0, 1.0)], seeds=[0], inputs=4)
        >>> while not search.progress[0].ended:
        ...     search.step(x, x[..., :2].sum(2) * x[..., 2])
        >>> search.formula(0).weights.abs().sum(0).tolist()
        [1.0, 1.0, 1.0, 0.0]
    """

    TENSORS = ("point", "damping", "growth", "solved", "best_point")

    def __init__(
        self,
        forms: Sequence[Exponents],
        seeds: Sequence[int],
        inputs: int,
        *,
        epsilon: float = 2.0**-52,
        bound: int = 1,
        rounds: int = 6,
        damping: float = 1e-2,
        device: torch.device | str = "cpu",
    ) -> None:
        self.forms, self.seeds, self.inputs = tuple(forms), tuple(seeds), inputs
        self.epsilon, self.bound, self.initial = epsilon, bound, damping
        self.attempts = attempts(len(self.forms), rounds)
        self.progress = [SearchProgress() for _ in self.seeds]
        runs, width = len(self.seeds), inputs * max(len(form) for form in self.forms)
        zeros = torch.zeros(runs, 1, dtype=torch.float64, device=device)
        self.point, self.best_point = zeros.repeat(1, width), zeros.repeat(1, width)
        self.damping, self.growth = zeros[:, 0].clone(), zeros[:, 0].clone()
        self.solved = torch.full((runs, len(self.forms)), math.inf, dtype=torch.float64)

    @torch.no_grad()
    def step(self, x: Float[Tensor, "s r i"], t: Float[Tensor, "s r"], held: Pair | None = None) -> None:
        """Perform one iteration of every search that has not ended.

        Args:
            x: inputs, in float64; either the same at each step, or fresh ones.
            t: targets, in float64.
            held: further rows (x, t) that a formula must hold for; by default none.
        """
        groups: dict[tuple[int, bool], list[int]] = {}
        for number, run in enumerate(self.progress):
            if not run.ended and run.here < 0:
                self._begin(number, run, x[number], t[number])
            if not run.ended:
                run.iterations += 1
                groups.setdefault((run.form, self.attempts[run.attempt].kind == "solve"), []).append(number)
        for (form, solve), members in groups.items():
            self._advance(form, members, x, t, held, fit=not solve)

    def formula(self, number: int) -> Formula | None:
        """Return the formula that was found for a data set, or None."""
        return self.current(number) if self.progress[number].found else None

    def current(self, number: int) -> Formula:
        """Return the weights of the current attempt, or the formula once it is found."""
        run = self.progress[number]
        return self._formula(self.point[number], run.form, run.noise)

    def best(self, number: int) -> Formula:
        """Return the fit with the smallest loss of all attempts."""
        return self._formula(self.best_point[number], self.progress[number].best_form, math.nan)

    def state(self, number: int) -> dict[str, NDArray[np.generic]]:
        """Return the progress on one data set as arrays by name."""
        tensors = {name: getattr(self, name)[number].cpu().numpy().copy() for name in self.TENSORS}
        return tensors | {"progress": np.array(dataclasses.astuple(self.progress[number]), np.float64)}

    def restore(self, number: int, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Resume from what `state` returned."""
        for name in self.TENSORS:
            getattr(self, name)[number] = torch.from_numpy(np.asarray(state[name]))
        names = [field.name for field in dataclasses.fields(SearchProgress)]
        values = dict(zip(names, np.asarray(state["progress"]).tolist(), strict=True))
        whole = {name: int(values[name]) for name in names if name not in ("lowest", "best", "noise")}
        self.progress[number] = SearchProgress(**values | whole | {"over": bool(values["over"])})

    def _formula(self, point: Tensor, form: int, noise: float) -> Formula:
        exponents = self.forms[form]
        return Formula(point[: len(exponents) * self.inputs].view(len(exponents), -1).clone(), exponents, noise)

    def _begin(self, number: int, run: SearchProgress, x: Tensor, t: Tensor) -> None:
        """Start the next attempt that the data allow."""
        while (form := self._form(number, self.attempts[run.attempt], len(x), t)) is None:
            run.attempt += 1
            if run.attempt == len(self.attempts):
                run.over = True
                return
        attempt = self.attempts[run.attempt]
        run.form, run.here, run.lowest, run.since = form, 0, math.inf, 0
        run.attempts += 1
        turn = {"solve": 0, "polish": 1}.get(attempt.kind, 2 + attempt.turn)
        word = philox.words((self.seeds[number], philox.RUN), philox.RESTART, run.attempt, 1, 1)[0, 0]
        weights = start(self.forms[form], x, t, torch.Generator().manual_seed(int(word)), turn)
        self.point[number, : weights.numel()] = weights.flatten()
        self.damping[number], self.growth[number] = self.initial, 2.0

    def _form(self, number: int, attempt: Attempt, rows: int, t: Tensor) -> int | None:
        """Return the number of an attempt's form, or None if it is of no use for the data."""
        if attempt.kind == "polish":
            nearest = self.solved[number].argsort(stable=True)
            form = int(nearest[attempt.number])
            return form if self.solved[number, form] < math.inf else None
        exponents = self.forms[attempt.number]
        if len(exponents) > max(rows // self.inputs, 2) or not reachable(exponents, t):
            return None
        linear = solvable(exponents, t)
        useful = linear if attempt.kind == "solve" else len(exponents) > 1 or not linear
        return attempt.number if useful else None

    def _advance(self, form: int, members: list[int], x: Tensor, t: Tensor, held: Pair | None, *, fit: bool) -> None:
        """Perform one iteration of the searches that try one form, and round and test their weights."""
        exponents = self.forms[form]
        width = len(exponents) * self.inputs
        rows = slice(None) if len(members) == len(self.progress) else torch.tensor(members, device=x.device)
        problem = ProductsOfSums(x[rows], t[rows], exponents)
        state = Iterate.start(self.point[rows, :width])
        state = dataclasses.replace(state, damping=self.damping[rows], growth=self.growth[rows])
        if fit:
            state = iterate(problem, state)
        else:
            loss = problem.residuals(state.point).square().sum(1) / 2
            state = dataclasses.replace(state, loss=loss, decrease=torch.zeros_like(loss))
        self.point[rows, :width], self.damping[rows], self.growth[rows] = state.point, state.damping, state.growth
        for number, loss, point in zip(members, state.loss.tolist(), state.point, strict=True):
            run = self.progress[number]
            run.here += fit
            if loss < run.lowest:
                run.lowest, run.since = loss / 2, run.here
            if loss < run.best or run.best_form < 0:
                run.best, run.best_form = loss, form
                self.best_point[number, :width] = point
        self._test(problem, state, members, held)

    def _test(self, problem: ProductsOfSums, state: Iterate, members: list[int], held: Pair | None) -> None:
        """Round the weights, test the formulas, and end the attempts that are over."""
        weights = state.point.view(len(members), len(problem.exponents), -1)
        whole, moved = rounded(weights, problem.exponents, problem.x, problem.t, self.bound)
        error, explained = errors(whole, problem.exponents, problem.x, problem.t, self.epsilon)
        exact = (error.abs() <= explained).all(1).tolist()
        near = (moved < CHANCE ** (1 / weights[0].numel()) / 2).tolist()
        values = zip(members, state.loss.tolist(), state.decrease.tolist(), strict=True)
        for place, (number, loss, decrease) in enumerate(values):
            run = self.progress[number]
            settled, noise = self._settled(run, loss, decrease), math.nan
            if exact[place] or (settled and near[place]):
                others = self._held(whole[place], problem.exponents, number, held)
                if exact[place] and bool((others[0].abs() <= others[1]).all()):
                    noise = 0.0
                elif settled and near[place] and (run.here or problem.exponents == (1.0,)):  # a least-squares fit
                    noise = self._noise(problem, place, loss, error[place], others[0])
            if math.isnan(noise) and settled and run.here and problem.exponents == (1.0, 1.0):
                whole[place], noise = self._exchange(problem, place, weights[place], loss, held, number)
            if not math.isnan(noise):
                run.noise = noise
                self.point[number, : whole[place].numel()] = whole[place].flatten()
            elif settled:
                if self.attempts[run.attempt].kind == "solve" and not paired(problem.exponents):  # not whole already
                    self.solved[number, run.form] = loss
                run.attempt, run.here = run.attempt + 1, -1
                run.over = run.attempt == len(self.attempts)

    def _exchange(
        self, problem: ProductsOfSums, place: int, weights: Tensor, loss: float, held: Pair | None, number: int
    ) -> tuple[Tensor, float]:
        """Round the two sums of a settled fit together; return them, and their noise if no other sums are as likely."""
        x, t = problem.x[place], problem.t[place]
        whole, moved = rounded_together(weights)
        freedom = len(x) - self._parameters(problem)
        if moved >= CHANCE ** (1 / self.inputs) / 2 or freedom <= 0:
            return whole, math.nan
        whole, odds = exchanged(whole, x, t, 2 * loss * problem.scale()[place].item() ** 2 / freedom)
        fitted, others = (x.unsqueeze(0), t.unsqueeze(0)), self._held(whole, problem.exponents, number, held)
        error, explained = errors(whole.unsqueeze(0), problem.exponents, *fitted, self.epsilon)
        if bool((error.abs() <= explained).all()) and bool((others[0].abs() <= others[1]).all()):
            return whole, 0.0
        return whole, self._noise(problem, place, loss, error[0], others[0]) if odds < CHANCE else math.nan

    def _held(self, weights: Tensor, exponents: Exponents, number: int, held: Pair | None) -> tuple[Tensor, Tensor]:
        """Return the errors of a formula on the rows held out, and those that rounding explains."""
        if held is None:
            return weights.new_zeros(0), weights.new_zeros(0)
        x, t = (each[number : number + 1] for each in held)
        error, explained = errors(weights.unsqueeze(0), exponents, x, t, self.epsilon)
        return error[0], explained[0]

    def _noise(self, problem: ProductsOfSums, place: int, loss: float, error: Tensor, held: Tensor) -> float:
        fitted = 2 * loss * problem.scale()[place].item() ** 2
        return compatible(fitted, error, held, self._parameters(problem), problem.t[place].var().item())

    def _parameters(self, problem: ProductsOfSums) -> int:
        """Return the number of parameters of a form, without the scales that its factors leave open."""
        return len(problem.exponents) * (self.inputs - 1) + 1

    def _settled(self, run: SearchProgress, loss: float, decrease: float) -> bool:
        kind = self.attempts[run.attempt].kind
        if kind == "solve" or not loss < math.inf:
            return True
        limit, patience = (POLISH_LIMIT, POLISH_PATIENCE) if kind == "polish" else (LIMIT, PATIENCE)
        return run.here >= limit or run.here - run.since >= patience or decrease <= SETTLED
