"""Packages that find formulas, each behind one function from rows to a formula."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

BUDGET_S = 20.0
"""Time for one fit by others."""
GPLEARN_S = 5.0
"""Time for one fit by gplearn, about as much as Operon takes."""


@dataclass(frozen=True)
class Found:
    """A formula as a function of rows and as text in x1, x2, …, one per target; and what else is to be kept."""

    predict: Callable[[Any], Any]
    texts: list[str]
    more: dict[str, Any] = field(default_factory=dict)


def by_arithmos(x: Any, y: Any) -> Found:
    """Our own, with its defaults."""
    import sympy

    from arithmos.regression import ArithmeticRegressor

    model = ArithmeticRegressor(random_state=0, n_jobs=1).fit(x, y)
    texts = [sympy.sstr(output, full_prec=True) for output in model.formula_.outputs]
    intervals = [(c.value, c.low, c.high) for one in model.certificates_ for c in one.constants if not c.exact]
    more = {"verdict": model.certificate_.verdict, "formula": str(model.formula_), "intervals": intervals}
    return Found(model.predict, texts, more)


def by_operon(x: Any, y: Any) -> Found:
    """Genetic programming with local search for the constants; of the front by error and length, the best by BIC."""
    from pyoperon.sklearn import SymbolicRegressor

    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,sqrt,square,constant,variable",
        objectives=["r2", "length"],
        model_selection_criterion="bayesian_information_criterion",
        optimizer_iterations=3,
        max_length=40,
        max_evaluations=400_000,
        max_time=int(BUDGET_S),
        epsilon=1e-9,
        n_threads=1,
        random_state=0,
    ).fit(x, y)
    text = model.get_model_string(model.model_, 12)
    return Found(model.predict, [re.sub(r"\bX(\d+)", r"x\1", text).replace("^", "**")])


def by_gplearn(x: Any, y: Any) -> Found:
    """Genetic programming with + − × ÷ and roots."""
    from gplearn.genetic import SymbolicRegressor

    begun = time.process_time()
    model = SymbolicRegressor(
        population_size=1000,
        function_set=("add", "sub", "mul", "div", "sqrt"),
        metric="rmse",
        parsimony_coefficient=0.001,
        stopping_criteria=1e-9,
        generations=1,
        warm_start=True,
        random_state=0,
    )
    while True:
        model.fit(x, y)
        if model.run_details_["best_fitness"][-1] <= 1e-9 or time.process_time() - begun > GPLEARN_S:
            break
        model.set_params(generations=model.generations + 1)
    text = re.sub(r"\bX(\d+)", lambda found: f"x{int(found[1]) + 1}", str(model._program))
    return Found(model.predict, [_infix(text)])


def _infix(text: str) -> str:
    """Return a formula of gplearn, such as `add(x1, sqrt(x2))`, with operators."""
    import sympy

    two = {"add": "x+y", "sub": "x-y", "mul": "x*y", "div": "x/y"}
    known: dict[str, Any] = {name: sympy.Lambda(sympy.symbols("x y"), sympy.sympify(to)) for name, to in two.items()}
    known["sqrt"] = lambda value: sympy.sqrt(sympy.Abs(value))
    return sympy.sstr(sympy.sympify(text, locals=known), full_prec=True)


def by_polynomials(x: Any, y: Any) -> Found:
    """Sparse polynomials: products of up to three columns, chosen by matching pursuit or by thresholds, best by BIC."""
    from sklearn.preprocessing import PolynomialFeatures

    degree = max(d for d in (1, 2, 3) if d == 1 or (x.shape[1] + 1) ** d / (1, 2, 6)[d - 1] < 6000)
    rows = np.random.default_rng(0).permutation(len(x))[:5000]
    terms = PolynomialFeatures(degree, include_bias=False).fit(x)
    design = terms.transform(x[rows])
    center, size = design.mean(0), design.std(0)
    z, target = (design - center) / size, y[rows] - y[rows].mean()

    def score(weights: Any) -> float:
        left = float(np.mean((target - z @ weights) ** 2))
        return float(
            len(rows) * np.log(max(left, 1e-24 * float(target.var()))) + (weights != 0).sum() * np.log(len(rows))
        )

    weights = min([*_pursued(z, target), *_thresholded(z, target)], key=score) / size
    offset = float(y[rows].mean() - center @ weights)
    names = terms.get_feature_names_out([f"x{i}" for i in range(1, x.shape[1] + 1)])
    used = [(float(w), name) for w, name in zip(weights, names, strict=True) if w]
    written = [f"({w!r})*{name.replace(' ', '*').replace('^', '**')}" for w, name in used]
    return Found(lambda rows: terms.transform(rows) @ weights + offset, [" + ".join([*written, f"({offset!r})"])])


def _pursued(z: Any, target: Any) -> list[Any]:
    """Return the weights of orthogonal matching pursuit with one to sixteen terms."""
    from sklearn.linear_model import orthogonal_mp

    most = min(16, z.shape[1], len(z) // 3)
    return [orthogonal_mp(z, target, n_nonzero_coefs=count) for count in range(1, most + 1)]


def _thresholded(z: Any, target: Any) -> list[Any]:
    """Return weights by least squares, where small ones are dropped and the rest fitted again, for some thresholds."""
    found = []
    for share in (1e-6, 1e-4, 1e-3, 1e-2, 3e-2) if z.shape[1] <= len(z) // 2 else ():
        kept = np.ones(z.shape[1], bool)
        for _ in range(10):
            weights = np.zeros(z.shape[1])
            weights[kept] = np.linalg.lstsq(z[:, kept], target, rcond=None)[0]
            small = np.abs(weights) < share * np.abs(weights).max()
            if not (kept & small).any():
                break
            kept &= ~small
        found.append(np.where(kept, weights, 0.0))
    return found


def each(fit: Callable[[Any, Any], Found]) -> Callable[[Any, Any], Found]:
    """Return a method that fits several targets one after the other."""

    def all_of(x: Any, y: Any) -> Found:
        if y.ndim == 1:
            return fit(x, y)
        found = [fit(x, target) for target in y.T]
        return Found(
            lambda rows: np.stack([one.predict(rows) for one in found], 1),
            [one.texts[0] for one in found],
            found[0].more,
        )

    return all_of


@dataclass(frozen=True)
class Method:
    """A package: its distribution, its name in tables and its function."""

    package: str
    label: str
    fit: Callable[[Any, Any], Found]


METHODS = {
    "arithmos": Method("arithmos", "Arithmos", by_arithmos),
    "operon": Method("pyoperon", "Operon", each(by_operon)),
    "gplearn": Method("gplearn", "gplearn", each(by_gplearn)),
    "polynomials": Method("scikit-learn", "sparse polynomials", each(by_polynomials)),
}
