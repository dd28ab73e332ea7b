"""Training that finds the exact formula: data in, weights of 0 and ±1 out, or word that there are none.

The formulas of a network are searched for by `FormulaSearch`, all outputs at once, and verified on rows that took no
part in the fit. Only if none is found are the weights fitted as they are, by Levenberg-Marquardt within their ranges.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from .adam import Batch, Training
from .layouts import Layout, balanced
from .levenberg_marquardt import LevenbergMarquardt
from .monomials import monomial
from .search import Formula, FormulaSearch
from .threads import one_thread

SMALL = 2**28
"""Multiplications per iteration below which a second thread costs more than it saves."""
POLISH = 30
"""Iterations of the final fit where no formula was found."""


@dataclass(frozen=True)
class Solution:
    """Result of `train` with `method="auto"`.

    Args:
        exact: whether a formula was found for every output; then the weights are those of the formulas.
        error: mean squared error on the rows held out, with the final weights.
        noise: standard deviation of the noise in the targets, per output; 0 where the formula is exact up to rounding.
        iterations: Levenberg-Marquardt iterations and solved linear equations, or steps of Adam.
        attempts: attempts of the search, over all outputs.
        factors: sums that the formulas use.
        method: "second order" or "adam".
        message: what happened, in one line.
        training: the result of Adam, if that was the method.
    """

    exact: bool
    error: float
    noise: tuple[float, ...]
    iterations: int
    attempts: int
    factors: int
    method: str
    message: str
    training: Training | None = None


@dataclass(frozen=True)
class SplitRows:
    """Rows to fit and rows held out, in float64, with the precision they came in."""

    fit: Batch
    held: Batch
    epsilon: float


@dataclass
class SearchClock:
    """Time limit and progress of a training."""

    limit: float
    callback: Callable[[int, float], None] | None
    began: float

    @property
    def over(self) -> bool:
        return time.monotonic() - self.began >= self.limit

    def tell(self, iterations: int, error: float) -> None:
        if self.callback is not None:
            self.callback(iterations, error)


def solve(model: nn.Module, layout: Layout, rows: SplitRows, clock: SearchClock) -> Solution:
    """Set the weights of a network to the formulas behind the data, or to the best fit if there are none."""
    x = rows.fit[0]
    with one_thread(x.shape[0] * (2 * x.shape[1]) ** 2 < SMALL), torch.no_grad():
        found = _powers(layout, rows) if layout.sums is None else _sums(layout, rows, clock)
    exact, factors, iterations, message = all(found.exact), 0, found.iterations, ""
    try:
        factors = layout.write(found.formulas)
    except ValueError as error:
        exact, message = False, str(error)
    if not exact:
        iterations += _fit(model, rows, clock)
    message = message or _message(found, clock)
    model.eval()
    return Solution(
        exact, _error(model, rows.held), found.noise, iterations, found.attempts, factors, "second order", message
    )


@dataclass(frozen=True)
class _Found:
    """Formulas by output, the best fit where there is none, and what it took."""

    formulas: list[Formula]
    exact: list[bool]
    iterations: int
    attempts: int

    @property
    def noise(self) -> tuple[float, ...]:
        return tuple(one.noise if ok else math.nan for one, ok in zip(self.formulas, self.exact, strict=True))


def _sums(layout: Layout, rows: SplitRows, clock: SearchClock) -> _Found:
    """Search the formulas of all outputs at once."""
    x, t = rows.fit
    held_x, held_t = rows.held
    count = layout.outputs
    search = FormulaSearch(
        layout.forms,
        torch.randint(2**31, (count,)).tolist(),
        layout.inputs,
        epsilon=rows.epsilon,
        bound=layout.bound,
        device=x.device,
    )
    held = held_x.expand(count, *held_x.shape), held_t.mT
    runs = search.progress
    while not runs[0].attempts or not (clock.over or all(run.ended for run in runs)):
        search.step(x.expand(count, *x.shape), t.mT, held)
        losses = [0.0 if run.found else run.best for run in runs]
        clock.tell(max(run.iterations for run in runs), 2 * max(losses) / len(x))
    return _Found(
        [search.formula(number) or balanced(search.best(number)) for number in range(count)],
        [run.found for run in runs],
        max(run.iterations for run in runs),
        sum(run.attempts for run in runs),
    )


def _powers(layout: Layout, rows: SplitRows) -> _Found:
    """Search the product of powers of inputs for each output."""
    (x, t), (held_x, held_t) = rows.fit, rows.held
    allowed = layout.exponents_allowed()
    pairs = zip(t.mT, held_t.mT, strict=True)
    found = [monomial(x, column, held_x, held, allowed, rows.epsilon) for column, held in pairs]
    formulas = [formula for formula, _ in found]
    exact = [not math.isnan(formula.noise) for formula in formulas]
    return _Found(formulas, exact, max(count for _, count in found), len(found))


def _fit(model: nn.Module, rows: SplitRows, clock: SearchClock) -> int:
    """Fit the weights within their ranges from where they are, and return the number of iterations."""
    parameter = next(model.parameters())
    x, t = (each.to(parameter.dtype) for each in rows.fit)
    scale = t.square().mean().sqrt().clamp_min(torch.finfo(t.dtype).tiny)
    optimizer = LevenbergMarquardt(model)
    while optimizer.account.iterations < POLISH and not optimizer.account.stopped:
        optimizer.step(lambda: (model(x) - t) / scale)
        if clock.over:
            break
    return optimizer.account.iterations


def _message(found: _Found, clock: SearchClock) -> str:
    missing = [str(output) for output, ok in enumerate(found.exact) if not ok]
    if missing:
        which = "" if len(found.exact) == 1 else f" for output {', '.join(missing)}"
        why = f"within {clock.limit:g} s" if clock.over else "in all attempts"
        return f"No exact formula was found{which} {why}; the weights are the best fit."
    if any(found.noise):
        return f"Found a formula; its errors are those of noise with a standard deviation of {max(found.noise):.3g}."
    return "Found the exact formula."


@torch.no_grad()
def _error(model: nn.Module, held: Batch) -> float:
    parameter = next(model.parameters())
    x, t = (each.to(parameter.dtype) for each in held)
    return float((model(x) - t).double().square().mean())
