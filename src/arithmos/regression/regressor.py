"""`ArithmeticRegressor`: find a formula in data, with a certificate of how far to trust it."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _checks
from ..engines import Engines
from ..formula import Expression, expression
from ..tasks.rows import check_integers
from .candidates import Candidate, Output, rms
from .finish import EXACT, refit, unexplained
from .products import Floats, Products, network
from .progress import Telling
from .search import Effort, Search, search

LEAST_ROWS = 3
LARGEST = 1e15
"""Largest target; beyond it, squares of targets come near the limit of float32, in which networks are trained."""

FitVerdict = Literal["exact", "noise", "unexplained"]


@dataclass(frozen=True)
class Certificate:
    """Evidence for a formula. With several outputs, each figure is that of the worst.

    Args:
        verdict: "exact" if the formula explains all rows to float precision; "noise" if a test finds no dependence of
            the residual on the columns; "unexplained" otherwise.
        largest_rounding: largest distance between a weight of this network, up to the scale of its unit, and the -1, 0
            or 1 that it was rounded to.
        residual_before, residual_after: root-mean-square residual on the held-out rows, relative to the target: of the
            refined network, and of the formula.
        constants: numbers in the formula that are not weights of a unit: coefficients other than ±1, and intercepts.
        unused: columns that the formula does not use.
        agreeing: networks that led to the formula, each from its own initial weights.
        read: networks that were read; reading stops at an exact formula.
        networks: networks that were trained.
        rounds: rounds of training.
        engine: engine that trained them; empty if a sum of columns was enough.
        elapsed_s: seconds that the whole fit took.
    """

    verdict: FitVerdict
    largest_rounding: float
    residual_before: float
    residual_after: float
    constants: tuple[float, ...]
    unused: tuple[str, ...]
    agreeing: int
    read: int
    networks: int
    rounds: int
    engine: str
    elapsed_s: float

    @property
    def exact(self) -> bool:
        """Whether the formula explains all rows to float precision."""
        return self.verdict == "exact"

    def __str__(self) -> str:
        says = {
            "exact": "explains every row to float precision",
            "noise": "leaves nothing but noise",
            "unexplained": "does not explain the data: the residual depends on the columns",
        }
        constants = ", ".join(f"{c:.6g}" for c in self.constants) or "none"
        return "\n".join(
            [
                f"verdict           {self.verdict}: {says[self.verdict]}",
                f"residual          {self.residual_after:.2g} of the target, {self.residual_before:.2g} unrounded",
                f"largest rounding  {self.largest_rounding:.2g}",
                f"constants         {constants}",
                f"columns unused    {len(self.unused)}{': ' + _some(self.unused) if self.unused else ''}",
                f"networks          {self.networks} trained, {self.read} read, {self.agreeing} led to the formula",
                f"time              {self.elapsed_s:.1f} s",
            ]
        )


def _some(names: Sequence[str], most: int = 8) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Alternative:
    """Another formula for an output.

    Args:
        output: index of the output.
        formula: the formula.
        complexity: number of columns and constants written in it.
        residual: root-mean-square residual on the held-out rows, relative to the target.
        agreeing: number of networks that led to it.
    """

    output: int
    formula: Expression
    complexity: int
    residual: float
    agreeing: int


class ArithmeticRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Find the formula behind data, if it consists of sums, differences and products of columns.

    Networks of NAU and NMU layers, in several shapes and with many seeds, are trained on the fastest engine available.
    Their weights are refined in float64 and rounded to -1, 0 and 1. Held-out rows and simplicity decide which formula
    to return. With several targets, each output is searched for separately.

    The same `random_state` gives the same formula on the same engine, unless the time budget ended the fit.

    Args:
        constants: whether to allow coefficients that are not integers, and an intercept. Without them, the formula is
            one that the weights of units alone can express.
        scale: whether to divide each column by its root mean square during training; useful for columns of very
            different sizes. The formula is in the units of the data in either case.
        max_factors: largest number of factors in a product.
        n_seeds: networks per shape and round.
        iterations: training iterations per network in the first round; each later round takes four times as many.
        rounds: largest number of rounds.
        budget_s: seconds of search after which the fit returns the best formula so far. Compilation by the cpu engine,
            about ten seconds once per process, does not count.
        validation_share: share of the rows held out for choosing a formula.
        max_rows: number of rows to search on, drawn at random from larger data. The verdict is on all rows.
        engine: "auto", "cuda", "cpu" or "torch".
        n_jobs: threads of the cpu engine; -1 or None for all cores.
        random_state: seed or generator for drawing rows and for the networks.
        verbose: 1 to print progress, 0 for silence.

    Attributes:
        formula_: an `arithmos.formula.Expression`; `print(model.formula_)`, `model.formula_.latex()`.
        certificate_: a `Certificate`.
        alternatives_: other formulas, as `Alternative`s; each has a smaller error than all simpler ones.
        network_: the formula as a network of units, ready for export.
        n_features_in_, feature_names_in_: as in scikit-learn.

    Example:
        >>> x = np.random.default_rng(0).uniform(1, 2, (200, 4))
        >>> model = ArithmeticRegressor(random_state=0).fit(x, (x[:, 0] + x[:, 1]) * (x[:, 2] - x[:, 3]))
        >>> print(model.formula_, model.certificate_.verdict)
        (x1 + x2)*(x3 - x4) exact
    """

    def __init__(
        self,
        *,
        constants: bool = True,
        scale: bool = False,
        max_factors: int = 4,
        n_seeds: int = 8,
        iterations: int = 2000,
        rounds: int = 6,
        budget_s: float = 60.0,
        validation_share: float = 0.2,
        max_rows: int = 5000,
        engine: str = "auto",
        n_jobs: int | None = -1,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.constants = constants
        self.scale = scale
        self.max_factors = max_factors
        self.n_seeds = n_seeds
        self.iterations = iterations
        self.rounds = rounds
        self.budget_s = budget_s
        self.validation_share = validation_share
        self.max_rows = max_rows
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> "ArithmeticRegressor":
        """Find the formula of `y`.

        Args:
            X: `[rows, columns]`, numbers without gaps.
            y: `[rows]` or `[rows, outputs]`.
        """
        begun = time.monotonic()
        self._check()
        for name, values in (("X", X), ("y", y)):
            _check_integers(name, values)
        x, t = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=LEAST_ROWS
        )
        for name in self._names():
            _checks.text("a name of a column", name)
        t = np.asarray(t, np.float64)
        self._one_output = t.ndim == 1
        t = t.reshape(len(t), -1)
        if np.abs(t).max() > LARGEST:
            raise ValueError(f"y must be within ±{LARGEST:.0e}, got {np.abs(t).max():.3g}; express it in larger units")
        varies = np.ptp(x, axis=0) > 0
        if not varies.all():
            names = ", ".join(name for name, v in zip(self._names(), varies, strict=True) if not v)
            warnings.warn(f"columns that are the same in every row are not used: {names}", stacklevel=2)
        for number in np.flatnonzero(np.ptp(t, axis=0) == 0):
            which = "y" if t.shape[1] == 1 else f"output {number + 1} of y"
            warnings.warn(f"{which} is {t[0, number]:g} in every row: there is nothing to explain", stacklevel=2)
        random = check_random_state(self.random_state)
        outputs = self._outputs(x[:, varies] if varies.any() else x, t, random)
        plan = Effort(self.iterations, self.n_seeds, self.rounds, self.max_factors, self.constants, self.budget_s)
        with Telling(self.verbose) as telling:
            engines = Engines(self.engine, threads=self._threads(), say=telling.say)
            seed = int(random.randint(2**30))
            made = search(outputs, plan, engines, seed=seed, say=telling.say, advance=telling.advance)
        self._conclude(outputs, made, x, t, varies, begun)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Evaluate the formula on rows; returns `[rows]` or `[rows, outputs]`."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        values = np.stack([formula(x) for formula in self._products], 1)
        return values[:, 0] if self._one_output else values

    def _check(self) -> None:
        for name, least in (
            ("max_factors", 1),
            ("n_seeds", 1),
            ("iterations", 1),
            ("rounds", 1),
            ("max_rows", LEAST_ROWS),
        ):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if not self.budget_s > 0:
            raise ValueError(f"budget_s must be above 0, got {self.budget_s!r}")
        if not 0 < self.validation_share < 1:
            raise ValueError(f"validation_share must be above 0 and below 1, got {self.validation_share!r}")
        if self.n_jobs is not None and (self.n_jobs < -1 or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be -1 for all cores, or at least 1, got {self.n_jobs!r}")

    def _threads(self) -> int | None:
        return None if self.n_jobs in (None, -1) else self.n_jobs

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(1, self.n_features_in_ + 1)] if names is None else [*map(str, names)]

    def _outputs(self, x: Floats, t: Floats, random: np.random.RandomState) -> list[Output]:
        """Split the rows into training and held-out ones, the same for every output."""
        order = random.permutation(len(x))[: self.max_rows]
        held = min(max(1, round(self.validation_share * len(order))), len(order) - 2)
        learn, hold = np.sort(order[held:]), np.sort(order[:held])
        sizes = np.sqrt((x[learn] ** 2).mean(0)) if self.scale else np.ones(x.shape[1])
        sizes = np.where(sizes > 0, sizes, 1.0)
        outputs = []
        for y in t.T:
            size = rms(y[learn]) if self.scale else 1.0
            outputs.append(Output(x[learn], y[learn], x[hold], y[hold], self.constants, sizes, size or 1.0))
        return outputs

    def _conclude(
        self, outputs: Sequence[Output], made: Search, x: Floats, t: Floats, varies: Any, begun: float
    ) -> None:
        """Set the fitted attributes."""

        def of_all(formula: Products) -> Products:
            wide = [np.zeros((len(w), x.shape[1])) for w in formula.factors]
            for w, factors in zip(wide, formula.factors, strict=True):
                w[:, varies if varies.any() else slice(None)] = factors
            return Products(wide, formula.coefficients, formula.intercept)

        chosen = [output.chosen for output in outputs]
        self._products = [refit(of_all(c.formula), x, y) for c, y in zip(chosen, t.T, strict=True)]
        verdicts = [
            _verdict(formula, candidate, x, y)
            for formula, candidate, y in zip(self._products, chosen, t.T, strict=True)
        ]
        names = self._names()
        used = np.unique(np.concatenate([formula.used for formula in self._products]))
        sizes = [rms(output.held_y) or 1.0 for output in outputs]
        self.network_ = network(self._products, x.shape[1])
        self.formula_ = expression(self.network_, names, snap=0)
        self.alternatives_ = [
            Alternative(
                number,
                expression(network([of_all(candidate.formula)], x.shape[1]), names, snap=0),
                candidate.formula.complexity,
                candidate.error**0.5 / size,
                len(candidate.runs),
            )
            for number, (output, size) in enumerate(zip(outputs, sizes, strict=True))
            for candidate in output.ranked()[1:]
        ]
        self.certificate_ = Certificate(
            verdict=max(verdicts, key=["exact", "noise", "unexplained"].index),
            largest_rounding=max(candidate.rounding for candidate in chosen),
            residual_before=max(candidate.before / size for candidate, size in zip(chosen, sizes, strict=True)),
            residual_after=max(candidate.error**0.5 / size for candidate, size in zip(chosen, sizes, strict=True)),
            constants=tuple(constant for formula in self._products for constant in formula.constants),
            unused=tuple(name for i, name in enumerate(names) if i not in used),
            agreeing=sum(len(candidate.runs) for candidate in chosen),
            read=sum(len(output.read) for output in outputs),
            networks=made.runs,
            rounds=made.rounds,
            engine=made.engine,
            elapsed_s=time.monotonic() - begun,
        )


def _check_integers(name: str, values: Any) -> None:
    """Raise if there are integers that float64 cannot hold; the columns of a table may have several types."""
    if hasattr(values, "columns"):
        for column in values.columns:
            check_integers(f"column {column!r} of {name}", values[column])
    else:
        check_integers(name, values)


def _verdict(formula: Products, candidate: Candidate, x: Floats, y: Floats) -> FitVerdict:
    if candidate.exact and rms(formula(x) - y) <= EXACT * rms(y):
        return "exact"
    return "unexplained" if unexplained(formula, x, y) else "noise"
