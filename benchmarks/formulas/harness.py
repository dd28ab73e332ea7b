"""Run fits in parallel processes, and keep their results so that a later run resumes."""

import hashlib
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from .cases import CASES, KINDS, Case, without_formula
from .judge import judge
from .methods import METHODS

RESULTS = Path(__file__).parent
REPEATS = 100
"""Fits per kind of target without a formula."""

Task = tuple[str, str, int]
"""Method, key of the case or kind of target, and seed."""


def run(method: str, seeds: int, workers: int, *, only: str, every: int, again: bool) -> None:
    """Run the fits that are missing, the first seed of every case first."""
    known, current = load(method), _version(method)
    tasks = [(method, case.key, seed) for seed in range(seeds) for case in CASES[::every]]
    if method == "arithmos":
        tasks += [(method, f"no formula | {kind}", seed) for seed in range(REPEATS) for kind in KINDS]
    todo = []
    for task in tasks:
        fit = known.get(_name(task))
        stale = again and fit is not None and fit["version"] != current and missed(fit)
        if only in task[1] and (fit is None or stale):
            todo.append(task)
    print(f"{len(todo)} of {len(tasks)} fits to run", flush=True)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(fit_one, task) for task in todo]):
            task, fit = done.result()
            known[_name(task)] = fit
            save(method, known)
            mark = "ok  " if not missed(fit) else "MISS"
            print(f"{mark} {fit['processor_s']:6.1f} s  {_name(task)}  {fit.get('formula', '')[:120]}", flush=True)


def missed(fit: dict[str, Any]) -> bool:
    """Return whether a fit did not recover its formula, or claimed one where there is none."""
    return not fit["recovered"]


@cache
def _code() -> str:
    """Return a name of the version of our search: a digest of its files."""
    import arithmos

    folder = Path(arithmos.__file__).parent
    files = sorted(file for room in ("regression", "formula", "optim") for file in (folder / room).glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def _version(method: str) -> str:
    if method == "arithmos":
        import arithmos

        return f"{arithmos.__version__} ({_code()})"
    return version(METHODS[method].package)


@cache
def _warm(method: str) -> None:
    """Fit once outside the clock: packages compile and import at the first fit of a process."""
    x = np.random.default_rng(0).uniform(1, 2, (50, 2))
    METHODS[method].fit(x, x[:, 0] * x[:, 1])


def fit_one(task: Task) -> tuple[Task, dict[str, Any]]:
    """Run one fit, and judge it."""
    method, key, seed = task
    fit: dict[str, Any] = {"version": _version(method)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = cpu = None
        try:
            _warm(method)
            case = next((case for case in CASES if case.key == key), None)
            x, y = case.data(seed) if case else without_formula(key.partition(" | ")[2], seed)
            begun, cpu = time.perf_counter(), time.process_time()
            found = METHODS[method].fit(x, y)
            fit |= {"seconds": time.perf_counter() - begun, "processor_s": time.process_time() - cpu}
            fit |= {"formula": "; ".join(found.texts)[:200]} | found.more
            fit |= judged(case, found) if case else {"recovered": found.more["verdict"] not in ("exact", "noise")}
        except Exception as error:
            spent = 0.0 if cpu is None else time.process_time() - cpu
            fit |= {"recovered": False, "failed": f"{type(error).__name__}: {error}"[:200], "processor_s": spent}
    return task, {name: _short(value) for name, value in fit.items()}


def judged(case: Case, found: Any) -> dict[str, Any]:
    """Return the judgement of a formula in plain values."""
    verdict = judge(case, found.predict, found.texts)
    within = [
        low <= meant <= high
        for value, meant in verdict.constants
        for given, low, high in found.more.get("intervals", [])
        if np.isclose(value, given, rtol=1e-9)
    ]
    plain = {"recovered": verdict.recovered, "error": verdict.error, "near": verdict.near, "noise": case.noise}
    return plain | ({"covered": within} if within else {})


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _name(task: Task) -> str:
    return f"{task[1]} | seed {task[2]}"


def load(method: str) -> dict[str, dict[str, Any]]:
    """Return the fits of a method by name."""
    file = RESULTS / f"{method}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def save(method: str, fits: dict[str, dict[str, Any]]) -> None:
    """Write the fits of a method, one per line."""
    lines = (f" {json.dumps(name)}: {json.dumps(fit)}" for name, fit in sorted(fits.items()))
    file = RESULTS / f"{method}.json"
    partial = file.with_suffix(".partial")
    partial.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    partial.replace(file)


def misses() -> str:
    """Return what Arithmos did not recover, one line per fit."""
    lines = []
    for name, fit in load("arithmos").items():
        if missed(fit):
            case = next((case for case in CASES if name.startswith(f"{case.key} | seed")), None)
            found = fit.get("failed") or f"{fit.get('verdict')}: {fit.get('formula', '')[:160]}"
            true = f" = {case.formula[:80]}, {case.ranges[:60]}" if case else ""
            lines.append(f"{name}{true}\n    {fit['processor_s']:.1f} s, error {fit.get('error')}; {found}")
    return "\n".join(lines)
