"""Tables of the results, as Markdown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from benchmarks import machine

from .cases import CASES, CLEAN, KINDS, NOISY, Case
from .harness import load, misses
from .judge import TOLERANCE
from .methods import BUDGET_S, GPLEARN_S, METHODS

Fits = Sequence[dict[str, Any]]

VISIBLE = 0.3
"""Distance from the true formula, in deviations of the noise, from which a residual has structure that can be seen."""


def table() -> str:
    """Return the results as Markdown."""
    known = {name: fits for name in METHODS if (fits := load(name))}
    groups = [*dict.fromkeys(case.group for case in CLEAN)]
    noises = [("0.1 % noise", 0.001), ("1 % noise", 0.01), ("5 % noise", 0.05)]
    formulas = len({case.formula for case in CLEAN})
    lines = [
        "# Recovered formulas",
        "",
        f"{formulas} formulas in {len(CLEAN)} tables of data, and {len(CASES)} tables with those that have noise.",
        f"A formula is recovered if its error on three times the range of the columns is at most {TOLERANCE:g} of the",
        "target, or if it is so once its constants are fitted again without noise; then no part of it may be useless.",
        "",
        "## Without noise",
        "",
        _compared(known, [(group, [case for case in CLEAN if case.group == group]) for group in groups]),
        "",
        f"Arithmos: {_searches(_of(known['arithmos'], CLEAN))}.",
        "",
        "## With noise",
        "",
        _compared(
            known,
            [
                (f"{group}, {label}" if noise == 0.01 else f"all groups, {label}", cases)
                for label, noise in noises
                for group, cases in _noisy(noise)
            ],
        ),
        "",
        f"Arithmos: {_searches(_of(known['arithmos'], [case for case in CASES if case.noise]))}.",
        "",
        "## Verdicts of Arithmos",
        "",
        *_verdicts(known["arithmos"]),
        "",
        "## Times",
        "",
        _times(known),
        "",
        "## What was not recovered",
        "",
        "```",
        misses() or "Nothing.",
        "```",
        "",
        *_about(known),
    ]
    return "\n".join(lines)


def _noisy(noise: float) -> list[tuple[str, list[Case]]]:
    """Return cases of one size of noise: by group for 1 %, together for the others."""
    cases = [case for case in CASES if case.noise == noise]
    if noise != 0.01:
        return [("", cases)]
    return [(group, [case for case in cases if case.group == group]) for group in NOISY]


def _of(fits: dict[str, Any], cases: Iterable[Case]) -> list[dict[str, Any]]:
    """Return the fits of some cases, of all seeds."""
    keys = {case.key for case in cases}
    return [fit for name, fit in fits.items() if name.rpartition(" | ")[0] in keys]


def _compared(known: dict[str, dict[str, Any]], parts: Sequence[tuple[str, list[Case]]]) -> str:
    """Return a table of recovered formulas, one line per part and one column per method."""
    rows = [[name, *(_share(_of(fits, cases)) for fits in known.values())] for name, cases in parts]
    every = [case for _, cases in parts for case in cases]
    rows.append(["**all**", *(_share(_of(fits, every)) for fits in known.values())])
    return machine.table(["group", *(METHODS[name].label for name in known)], rows)


def _share(fits: Fits) -> str:
    if not fits:
        return "–"
    right = sum(fit["recovered"] for fit in fits)
    return f"{right} of {len(fits)} ({right / len(fits):.0%})"


def _searches(fits: Fits) -> str:
    """Say how many fits each version of the code made."""
    return ", ".join(f"{count} fits by {name}" for name, count in sorted(Counter(f["version"] for f in fits).items()))


def _verdicts(fits: dict[str, Any]) -> list[str]:
    rows = []
    for label, cases in (
        ("exact rows", [case for case in CASES if case.exact]),
        ("rounded to cents", [case for case in CASES if case.decimals is not None]),
        ("noise", [case for case in CASES if case.noise]),
    ):
        made = _of(fits, cases)
        counts = [f"{sum(fit.get('verdict') == v for fit in made)}" for v in ("exact", "noise", "not found")]
        wrong = [f"{sum(map(_false_exact, made))}", f"{sum(map(_structure_left, made))}"]
        rows.append([label, *counts, *wrong, _searches(made)])
    for kind in KINDS:
        made = [fit for name, fit in fits.items() if name.startswith(f"no formula | {kind} | seed")]
        counts = [f"{sum(fit.get('verdict') == v for fit in made)}" for v in ("exact", "noise", "not found")]
        rows.append([f"no formula: {kind}", *counts, counts[0], counts[1], _searches(made)])
    heads = ["target", "*exact*", "*noise*", "*not found*", "false *exact*", "*noise* with structure", "search"]
    return [
        machine.table(heads, rows),
        "",
        "*Exact* is false if the formula is not recovered. *Noise* has structure left if the formula is not recovered",
        f"and is off by more than {VISIBLE:g} deviations of the noise within the range, or by anything without noise.",
        "",
        f"Intervals of constants that contain the constant meant: {_covered(fits)}.",
    ]


def _false_exact(fit: dict[str, Any]) -> bool:
    return fit.get("verdict") == "exact" and not fit["recovered"]


def _structure_left(fit: dict[str, Any]) -> bool:
    return fit.get("verdict") == "noise" and not fit["recovered"] and fit["near"] > VISIBLE * fit["noise"]


def _covered(fits: dict[str, Any]) -> str:
    inside = [within for fit in fits.values() for within in fit.get("covered", [])]
    return f"{sum(inside)} of {len(inside)}" if inside else "none were estimated"


def _times(known: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, fits in known.items():
        for version in sorted({fit["version"] for fit in fits.values()}):
            times = sorted(fit["processor_s"] for fit in fits.values() if fit["version"] == version)
            figures = (median(times), times[int(0.95 * len(times))], times[-1])
            rows.append([f"{METHODS[name].label} {version}", len(times), *(f"{t:.1f}" for t in figures)])
    return machine.table(["method", "fits", "median, s", "95 %, s", "longest, s"], rows)


def _about(known: dict[str, dict[str, Any]]) -> list[str]:
    versions = sorted(
        {f"{METHODS[name].package} {fit['version']}" for name, fits in known.items() for fit in fits.values()}
    )
    return [
        "Seconds are processor time on one core after the first fit of a process. Arithmos has its default budget,",
        f"others at most {BUDGET_S:.0f} s, gplearn {GPLEARN_S:.0f} s, and Operon 400,000 evaluations. Counts are of",
        "the fits made, fewer for some methods. A method without fits is not shown. PySR is missing because Julia was",
        "not available.",
        "",
        f"{machine.describe('numpy')} Made by `benchmarks/formulas` with {', '.join(versions)}.",
    ]
