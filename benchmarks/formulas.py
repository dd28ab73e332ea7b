"""Count how many formulas are recovered from 1,000 rows by Arithmos, gplearn and pykan.

    python benchmarks/formulas.py run arithmos
    python benchmarks/formulas.py run gplearn          # with a Python that has it installed; likewise pykan
    python benchmarks/formulas.py table > benchmarks/formulas.md

Results that are already in the folder `formulas` are not computed again. Inputs are U[1, 2]; a formula counts as
recovered if its error on U[2, 6], relative to the target's standard deviation there, is below a millionth, and for
noisy rows below a hundredth of the noise. The budget is processor time.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import numpy as np

RESULTS = Path(__file__).parent / "formulas"
ROWS, BUDGET_S = 1000, 60.0
NOISES = (0.0, 0.01)
REPEATS = 3
"""Sets of rows that our own fits see of each task; the others see the first."""


@dataclass(frozen=True)
class Task:
    """A formula of some columns, and whether the others are asked for it too."""

    columns: int
    text: str
    function: Callable[[Any], Any]
    compared: bool = False
    extra: bool = False

    def rows(self, low: float, high: float, seed: int, noise: float = 0.0) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        x = rng.uniform(low, high, (ROWS, self.columns))
        y = np.asarray(self.function(x.T)).T
        return x, y + noise * y.std(0) * rng.normal(size=y.shape)


TASKS = [
    Task(4, "(x1 + x2)(x1 + x2 + x3 + x4)", lambda x: (x[0] + x[1]) * x.sum(0), compared=True),
    Task(4, "x1 x2", lambda x: x[0] * x[1], compared=True),
    Task(4, "(x1 + x2)²", lambda x: (x[0] + x[1]) ** 2, compared=True),
    Task(4, "(x1 − x2)(x3 + x4)", lambda x: (x[0] - x[1]) * (x[2] + x[3]), compared=True),
    Task(4, "x1 + x2; x1 x2; (x1 − x2)²", lambda x: np.stack([x[0] + x[1], x[0] * x[1], (x[0] - x[1]) ** 2])),
    Task(5, "(x1 − x2)²", lambda x: (x[0] - x[1]) ** 2, compared=True),
    Task(5, "x1 x2 x3", lambda x: x[0] * x[1] * x[2], compared=True),
    Task(
        6,
        "(x1 + x2)(x3 + x4)(x5 + x6)",
        lambda x: (x[0] + x[1]) * (x[2] + x[3]) * (x[4] + x[5]),
        compared=True,
    ),
    Task(6, "(x1 + x2)(x2 + x3)(x3 + x1)", lambda x: (x[0] + x[1]) * (x[1] + x[2]) * (x[2] + x[0])),
    Task(8, "x1 x2 x3 x4", lambda x: x[0] * x[1] * x[2] * x[3]),
    Task(10, "x1 + x2 − x3", lambda x: x[0] + x[1] - x[2]),
    Task(10, "x1 (x2 + x3 + x4 − x5)", lambda x: x[0] * (x[1] + x[2] + x[3] - x[4]), compared=True),
    Task(10, "(x1 − x2)(x3 − x4)", lambda x: (x[0] - x[1]) * (x[2] - x[3])),
    Task(10, "x1² (x2 + x3)", lambda x: x[0] ** 2 * (x[1] + x[2])),
    Task(
        10,
        "(x1 + x2) x3; (x1 − x4)(x2 + x5)",
        lambda x: np.stack([(x[0] + x[1]) * x[2], (x[0] - x[3]) * (x[1] + x[4])]),
    ),
    Task(20, "(x1 + … + x10)(x11 + … + x20)", lambda x: x[:10].sum(0) * x[10:].sum(0), compared=True),
    Task(20, "(x1 + … + x5)²", lambda x: x[:5].sum(0) ** 2),
    Task(50, "(x1 + x2)(x3 − x4)(x5 + x6)", lambda x: (x[0] + x[1]) * (x[2] - x[3]) * (x[4] + x[5])),
    Task(100, "x1 x2, of 100", lambda x: x[0] * x[1]),
    Task(100, "(x1 − x2)(x3 + x4 + x5), of 100", lambda x: (x[0] - x[1]) * (x[2] + x[3] + x[4])),
    Task(
        100,
        "(x1 + … + x25)(x13 + … + x37), of 100",
        lambda x: x[:25].sum(0) * x[12:37].sum(0),
        compared=True,
    ),
    Task(6, "x1 x2 + x3 x4", lambda x: x[0] * x[1] + x[2] * x[3], extra=True),
    Task(6, "x1 x2 x3 + x4", lambda x: x[0] * x[1] * x[2] + x[3], extra=True),
    Task(10, "x1 x2 + x3 x4 − x5", lambda x: x[0] * x[1] + x[2] * x[3] - x[4], extra=True),
    Task(6, "3.7 x1 (x2 + x3)", lambda x: 3.7 * x[0] * (x[1] + x[2]), extra=True),
    Task(4, "0.5 x1 x2² + 9.81 x1 x3", lambda x: 0.5 * x[0] * x[1] ** 2 + 9.81 * x[0] * x[2], extra=True),
]


def by_arithmos(x: Any, y: Any) -> tuple[Callable[[Any], Any], str, dict[str, Any]]:
    from arithmos.regression import ArithmeticRegressor

    model = ArithmeticRegressor(random_state=0, budget_s=10 * BUDGET_S, rounds=3, n_jobs=1).fit(x, y)
    certificate = model.certificate_
    more = {"verdict": certificate.verdict, "rounds": certificate.rounds, "networks": certificate.networks}
    return model.predict, str(model.formula_), more


def by_gplearn(x: Any, y: Any) -> tuple[Callable[[Any], Any], str, dict[str, Any]]:
    """Only sums, differences and products, no constants: what these formulas are made of, and nothing to go astray."""
    from gplearn.genetic import SymbolicRegressor

    begun = time.process_time()
    model = SymbolicRegressor(
        population_size=2000,
        function_set=("add", "sub", "mul"),
        const_range=None,
        metric="rmse",
        parsimony_coefficient=0.001,
        stopping_criteria=1e-9,
        max_samples=1.0,
        generations=1,
        warm_start=True,
        random_state=0,
    )
    while True:
        model.fit(x, y)
        best = model.run_details_["best_fitness"][-1]
        if best <= 1e-9 or time.process_time() - begun > BUDGET_S:
            break
        model.set_params(generations=model.generations + 1)
    return model.predict, str(model._program), {"generations": model.generations}


def by_pykan(x: Any, y: Any) -> tuple[Callable[[Any], Any], str, dict[str, Any]]:
    """The way of its manual: a network with products, trained, pruned, trained, made symbolic, trained.

    One of two shapes, by the error on held-out rows; a node that multiplies two inputs is the shape of most formulas.
    """
    import sympy
    import torch
    from kan.utils import ex_round

    torch.set_default_dtype(torch.float64)
    model, stage, _ = min((_kan(x, y, shape) for shape in ([0, 1], [1, 2])), key=lambda made: made[2])
    text = "none: the time was up"
    if stage == "symbolic":
        text = str(ex_round(sympy.expand(model.symbolic_formula()[0][0]), 4))

    def predict(rows: Any) -> Any:
        with torch.no_grad():
            return model(torch.from_numpy(rows)).numpy().reshape(-1)

    return predict, text, {"stage": stage}


def _kan(x: Any, y: Any, hidden: list[int]) -> tuple[Any, str, float]:
    """A network, how far it came in half of the time, and its error on held-out rows."""
    import torch
    from kan import KAN

    begun, held = time.process_time(), len(x) // 5
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y[:, None])
    data = {
        "train_input": inputs[held:],
        "train_label": targets[held:],
        "test_input": inputs[:held],
        "test_label": targets[:held],
    }
    model = KAN(width=[x.shape[1], hidden, 1], grid=3, k=3, seed=0, ckpt_path=tempfile.mkdtemp())
    stage = "trained"

    def left() -> bool:
        return time.process_time() - begun < BUDGET_S / 2

    model.fit(data, opt="LBFGS", steps=20, lamb=0.001)
    if left():
        model(data["train_input"])
        model, stage = model.prune(), "pruned"
        model.fit(data, opt="LBFGS", steps=20)
    if left():
        model(data["train_input"])
        model.auto_symbolic(lib=["x", "x^2"], verbose=0)
        stage = "symbolic"
        while left() and model.fit(data, opt="LBFGS", steps=20)["test_loss"][-1] > 1e-9:
            pass
    with torch.no_grad():
        error = float(((model(data["test_input"]) - data["test_label"]) ** 2).mean())
    return model, stage, error if np.isfinite(error) else np.inf


METHODS = {"arithmos": by_arithmos, "gplearn": by_gplearn, "pykan": by_pykan}


def run(method: str, task: Task, noise: float, seed: int) -> dict[str, Any]:
    """One fit, and how it does where it has not been."""
    x, y = task.rows(1, 2, seed, noise)
    begun, cpu = time.perf_counter(), time.process_time()
    predict, text, more = METHODS[method](x, y)
    took, processor = time.perf_counter() - begun, time.process_time() - cpu
    far, expected = task.rows(2, 6, seed=1000)
    error = np.sqrt(np.mean((predict(far) - expected) ** 2, axis=0)) / expected.std(axis=0)
    limit = max(1e-6, 0.01 * noise)
    return {
        "recovered": bool(np.max(error) < limit),
        "error": float(np.max(error)),
        "formula": text,
        "seconds": took,
        "processor_s": processor,
        **more,
    }


def name_of(method: str, task: Task, noise: float) -> str:
    return f"{method} | {task.columns} | {task.text} | {noise:g}"


def run_all(method: str) -> None:
    """What is missing of a method; ours on all tasks, with and without noise, the others on those to compare."""
    if method == "arithmos":  # kernels are compiled once a process
        begun = time.process_time()
        by_arithmos(*TASKS[0].rows(1, 2, seed=9))
        save("arithmos | first fit", [{"processor_s": time.process_time() - begun}])
    for noise in NOISES if method == "arithmos" else NOISES[:1]:
        for task in TASKS:
            name = name_of(method, task, noise)
            if name in load() or not (method == "arithmos" or task.compared):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = [run(method, task, noise, seed) for seed in range(REPEATS if method == "arithmos" else 1)]
                except Exception as error:
                    found = [{"recovered": False, "failed": f"{type(error).__name__}: {error}"[:200]}]
            save(name, found)
            print(name, json.dumps(found), flush=True)


def load() -> dict[str, Any]:
    known: dict[str, Any] = {}
    for file in sorted(RESULTS.glob("*.json")):
        known |= json.loads(file.read_text(encoding="utf-8"))
    return known


def save(name: str, found: list[dict[str, Any]]) -> None:
    from importlib.metadata import version

    method = name.split(" | ")[0]
    file = RESULTS / f"{method}.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[name] = {"version": version(method), "fits": found}
    RESULTS.mkdir(exist_ok=True)
    file.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def table() -> str:
    """Return the results as Markdown."""
    known = load()
    fits = {name: entry["fits"] for name, entry in known.items()}
    lines = ["# Recovered formulas", ""]
    groups = {
        "Products of sums": [task for task in TASKS if not task.extra],
        "Sums of products, and constants": [task for task in TASKS if task.extra],
    }
    for title, tasks in groups.items():
        lines += [f"## {title}", "", "| columns | formula | exact rows | s | 1 % noise | s |", "|---" * 6 + "|"]
        every = [[fits.get(name_of("arithmos", task, noise), []) for noise in NOISES] for task in tasks]
        for task, cells in zip(tasks, every, strict=True):
            row = " | ".join(f"{_share(cell)} | {_seconds(cell)}" for cell in cells)
            lines.append(f"| {task.columns} | {task.text} | {row} |")
        for number, word in enumerate(("exact rows", "rows with 1 % noise")):
            lines += ["", f"Recovered from {word}: {_share([fit for cells in every for fit in cells[number]])}."]
        lines.append("")
    failures = [
        f"- {name.partition(' | ')[2]}: {fit.get('failed') or fit['formula']}"
        for name, made in fits.items()
        for fit in made
        if name.startswith("arithmos") and not fit.get("recovered", True)
    ]
    lines += ["## What was not recovered", "", *(failures or ["Nothing."]), "", "## Comparison with others", ""]
    lines += ["| formula | " + " | ".join(f"{method} | error on U[2, 6] | s" for method in METHODS) + " |"]
    lines += ["|---" * (1 + 3 * len(METHODS)) + "|"]
    for task in (task for task in TASKS if task.compared):
        cells = [fits.get(name_of(method, task, 0.0), [])[:1] for method in METHODS]
        row = " | ".join(f"{_mark(cell)} | {_error(cell)} | {_seconds(cell)}" for cell in cells)
        lines.append(f"| {task.text} | {row} |")
    versions = ", ".join(sorted({f"{name.split(' | ')[0]} {entry['version']}" for name, entry in known.items()}))
    first = _mean(fits.get("arithmos | first fit", []), "processor_s")
    lines += [
        "",
        f"Seconds are processor time on one core; our first fit in a process takes {first:.0f} s, because it compiles.",
        f"The others had {BUDGET_S:.0f} s per formula.",
        "",
        f"{machine.describe('numpy')} Made by `benchmarks/formulas.py` with {versions}.",
    ]
    return "\n".join(lines)


def _share(made: list[dict[str, Any]]) -> str:
    return f"{sum(fit['recovered'] for fit in made)} of {len(made)}" if made else "–"


def _seconds(made: list[dict[str, Any]]) -> str:
    return f"{_mean(made, 'processor_s'):.1f}" if made else "–"


def _mean(made: list[dict[str, Any]], key: str) -> float:
    values = [fit[key] for fit in made if key in fit]
    return float(np.mean(values)) if values else float("nan")


def _mark(made: list[dict[str, Any]]) -> str:
    return "–" if not made else "yes" if made[0]["recovered"] else "no"


def _error(made: list[dict[str, Any]]) -> str:
    error = _mean(made, "error")
    return "–" if not made else "0" if error < 1e-12 else f"{error:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run").add_argument("method", choices=METHODS)
    verbs.add_parser("table")
    options = parser.parse_args()
    if options.verb == "run":
        run_all(options.method)
    else:
        print(table())


if __name__ == "__main__":
    main()
