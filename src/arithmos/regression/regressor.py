"""`ArithmeticRegressor`: find a formula in data, with a certificate of how far to trust it."""

import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import _checks, _platform
from ..formula import Expression
from ..tasks.rows import check_integers
from .certificate import VERDICTS
from .output import Found, OutputRows, SearchPlan, find
from .progress import Telling
from .terms import Floats, to_sympy, values
from .units import Units, units_of

LEAST_ROWS = 3
LARGEST = 1e100
"""Largest magnitude; beyond it, squares come near the limit of float64."""
MOST_COMPARED = 20_000
"""With more rows, those that occur several times are not joined."""


@dataclass(frozen=True)
class ParetoFormula:
    """Formula on the Pareto front: no simpler one of its output has a smaller error.

    Args:
        output: index of the output.
        formula: the formula.
        complexity: number of columns, constants and exponents written in it.
        residual: root-mean-square residual on all rows, relative to the target.
        r2: share of the variance explained, on all rows.
        chosen: whether the estimator predicts by it.
    """

    output: int
    formula: Expression
    complexity: int
    residual: float
    r2: float
    chosen: bool


class ArithmeticRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Find the formula behind data, if it consists of + − × ÷, powers and roots of columns, and constants.

    A search in closed form comes first: power laws by logarithms, sparse polynomials, ratios, and powers of these.
    Networks that multiply powers of sums follow, trained by Levenberg-Marquardt in float64. Constants become the
    numbers that were meant where the data allow it. Some rows take no part in the search and check the formula. With
    several targets, each output is searched for separately.

    The same `random_state` gives the same formula, unless the time budget ended the fit. Ctrl-C during a fit ends the
    search and keeps the best formulas so far.

    Args:
        constants: whether to allow constants that are not integers.
        complexity: largest number of columns, constants and exponents in a formula; None for no limit.
        budget_s: seconds of search per output after which the fit returns the best formula so far.
        check_share: share of the rows that take no part in the search and check the formula.
        max_rows: number of rows to search on, drawn at random from larger data. The verdict is on all rows.
        units: units of measurement by the name of the column or target, such as `{"mass": "kg", "speed": "m/s"}`.
            Formulas that add different units, or do not have the unit of the target, are left out; numbers other than
            1 and -1 may have any unit. Columns without names are x1, x2, …; targets are y, or y1, y2, ….
        n_jobs: number of outputs to search for at a time; -1 for one per core.
        random_state: seed or generator for drawing rows and for initial weights.
        verbose: 1 to print progress, 0 for silence.

    Attributes:
        formula_: an `arithmos.formula.Expression`; `print(model.formula_)`, `model.formula_.latex()`.
        certificate_: a `Certificate`; with several outputs, that of the worst.
        certificates_: one `Certificate` per output.
        formulas_: the Pareto front of each output as `ParetoFormula` records, simplest first.
        n_features_in_, feature_names_in_: as in scikit-learn.

    Example:
        >>> x = np.random.default_rng(0).uniform(1, 2, (200, 4))
        >>> model = ArithmeticRegressor(random_state=0).fit(x, (x[:, 0] + x[:, 1]) / (x[:, 2] * x[:, 3]))
        >>> print(model.formula_, model.certificate_.verdict)
        (x1 + x2)/(x3*x4) exact
    """

    def __init__(
        self,
        *,
        constants: bool = True,
        complexity: int | None = None,
        budget_s: float = 60.0,
        check_share: float = 0.2,
        max_rows: int = 2000,
        units: Mapping[str, str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.constants = constants
        self.complexity = complexity
        self.budget_s = budget_s
        self.check_share = check_share
        self.max_rows = max_rows
        self.units = units
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "ArithmeticRegressor":
        """Find the formula of `y`.

        Args:
            X: `[rows, columns]`, numbers without gaps.
            y: `[rows]` or `[rows, outputs]`.
            sample_weight: `[rows]`, weights of the squared residuals; rows of weight 0 are left out.
        """
        begun = time.monotonic()
        self._check()
        for name, given in (("X", X), ("y", y)):
            _check_integers(name, given)
        x, t = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=LEAST_ROWS
        )
        for name in self._names():
            _checks.text("a name of a column", name)
        t = np.asarray(t, np.float64)
        self._one_output = t.ndim == 1
        units = self._units(_target_names(y, t))
        w = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        x, t, w = _joined(x, t.reshape(len(t), -1), w)
        for name, given in (("X", x), ("y", t)):
            if np.abs(given).max(initial=0) > LARGEST:
                raise ValueError(f"{name} must be within ±{LARGEST:.0e}, got {np.abs(given).max():.3g}")
        varies = np.ptp(x, axis=0) > 0
        if not varies.all():
            names = ", ".join(name for name, v in zip(self._names(), varies, strict=True) if not v)
            warnings.warn(f"columns that are the same in every row are not used: {names}", stacklevel=2)
        for number in np.flatnonzero(np.ptp(t, axis=0) == 0):
            which = "y" if t.shape[1] == 1 else f"output {number + 1} of y"
            warnings.warn(f"{which} is {t[0, number]:g} in every row: there is nothing to explain", stacklevel=2)
        random = check_random_state(self.random_state)
        order = random.permutation(len(x))
        rows = [OutputRows(x, y, w, varies, order, self._names(), unit) for y, unit in zip(t.T, units, strict=True)]
        with Telling(self.verbose) as telling:
            self._found = self._search(rows, int(random.randint(2**31)), telling.say)
        self._conclude(x, t, w, begun)
        return self

    def _search(self, rows: list[OutputRows], seed: int, say: Callable[[str], None]) -> list[Found]:
        plan = SearchPlan(self.constants, self.complexity, self.budget_s, self.check_share, self.max_rows, seed)
        stop = Event()
        workers = min(len(rows), self._workers())
        if workers == 1:
            return [find(part, plan, stop, say) for part in rows]
        with ThreadPoolExecutor(workers) as threads:
            futures = [threads.submit(partial(find, part, plan, stop, say)) for part in rows]
            try:
                return [future.result() for future in futures]
            except KeyboardInterrupt:
                stop.set()
                return [future.result() for future in futures]

    def predict(self, X: ArrayLike) -> Floats:
        """Evaluate the formula on rows; returns `[rows]` or `[rows, outputs]`."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        predicted = np.stack([values(found.node, x) for found in self._found], 1)
        return predicted[:, 0] if self._one_output else predicted

    def _check(self) -> None:
        for name, least in (("max_rows", LEAST_ROWS), ("complexity", 1)):
            value = getattr(self, name)
            if name == "complexity" and value is None:
                continue
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
        if not self.budget_s > 0:
            raise ValueError(f"budget_s must be above 0, got {self.budget_s!r}")
        if not 0 < self.check_share < 1:
            raise ValueError(f"check_share must be above 0 and below 1, got {self.check_share!r}")
        if self.n_jobs is not None and (self.n_jobs < -1 or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be -1 for one per core, or at least 1, got {self.n_jobs!r}")

    def _workers(self) -> int:
        if self.n_jobs == -1:
            return _platform.cores()
        return self.n_jobs or 1

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(1, self.n_features_in_ + 1)] if names is None else [*map(str, names)]

    def _units(self, targets: list[str]) -> "list[Units] | list[None]":
        return units_of(self.units, self._names(), targets) if self.units else [None] * len(targets)

    def _conclude(self, x: Floats, t: Floats, w: Floats, begun: float) -> None:
        """Set the fitted attributes."""
        import sympy

        names = self._names()
        symbols = tuple(sympy.Symbol(name, real=True) for name in names)
        elapsed = time.monotonic() - begun
        self.certificates_ = [found.certificate(names, elapsed) for found in self._found]
        self.certificate_ = max(self.certificates_, key=lambda one: (VERDICTS.index(one.verdict), one.residual))
        self.formula_ = Expression(tuple(to_sympy(found.node, symbols) for found in self._found), symbols)
        self.formulas_ = [
            ParetoFormula(
                number,
                Expression((to_sympy(one.node, symbols),), symbols),
                one.complexity,
                one.residual,
                one.r2,
                one.node == found.node,
            )
            for number, found in enumerate(self._found)
            for one in found.front
        ]


def _target_names(given: Any, t: Floats) -> list[str]:
    """Return the names of the targets, by default y or y1, y2, …."""
    if hasattr(given, "columns"):
        return [*map(str, given.columns)]
    if t.ndim == 1 or t.shape[1] == 1:
        return [str(getattr(given, "name", None) or "y")]
    return [f"y{number}" for number in range(1, t.shape[1] + 1)]


def _joined(x: Floats, t: Floats, w: Floats) -> tuple[Floats, Floats, Floats]:
    """Leave out rows of weight 0 and join rows that occur several times, adding their weights."""
    kept = w > 0
    x, t, w = x[kept], t[kept], w[kept]
    if not len(x):
        raise ValueError("sample_weight must be above 0 for some rows")
    if len(x) <= MOST_COMPARED:
        both, index = np.unique(np.concatenate([x, t], 1), axis=0, return_inverse=True)
        x, t = both[:, : x.shape[1]], both[:, x.shape[1] :]
        w = np.bincount(index.reshape(-1), w).astype(np.float64)
    return x, t, w / w.mean()


def _check_integers(name: str, given: Any) -> None:
    """Raise if there are integers that float64 cannot hold; the columns of a table may have several types."""
    if hasattr(given, "columns"):
        for column in given.columns:
            check_integers(f"column {column!r} of {name}", given[column])
    else:
        check_integers(name, given)
