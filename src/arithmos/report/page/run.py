"""Text pages on specs and runs: the verdict, the learning curve, the weights."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._frames import records
from ...engines.stored import described
from ...formula.stored import judge
from ...judging.references import Reference, best_errors, judge_runs, references, with_thresholds
from ...judging.runs import solved
from ...papers import find_spec
from ...spec.stored import problem, sequential
from ...store import COLUMNS, Store
from ...tasks.threshold import reference_rules
from ..tables import listing
from ..tables.grid import to_json

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_GONE = "This store does not keep the {} of this run."

Row = Mapping[str, Any]


def spec_page(store: Store, spec_id: str, *, as_json: bool = False) -> str:
    """Return a page on a spec and its stored runs, as text or as JSON.

    Raises:
        KeyError: the spec is neither in the store nor in the catalogue.
    """
    runs = store.load(specs=[spec_id], columns=["spec", "thresholds", *listing.MEASURED])
    known = find_spec(spec_id) if runs.empty else None
    if known is None and runs.empty:
        raise KeyError(f"spec {spec_id!r} is neither in {store.path} nor in the catalogue")
    spec = runs["spec"].iloc[0] if known is None else known.json()
    runs = judge_runs(store, runs)
    if as_json:
        return json.dumps({"spec": json.loads(spec), "runs": json.loads(to_json(runs[list(listing.RUNS)]))}, indent=1)
    listed = listing.write(runs[list(listing.RUNS)], f"{len(runs)} runs of {spec_id} in {store.path}", listing.RUNS)
    return f"{json.dumps(json.loads(spec), indent=1)}\n\n{listed}"


def run_page(store: Store, spec_id: str, seed: int, *, as_json: bool = False) -> str:
    """Return a page on a run, for each engine that made it: the verdict, the curves, the weights; or all as JSON.

    Raises:
        KeyError: the store has no such run.
    """
    runs = store.load(specs=[spec_id], columns=list(COLUMNS))
    runs = runs[runs["seed"] == seed]
    if runs.empty:
        raise KeyError(f"{store.path} has no run of spec {spec_id!r} with seed {seed}")
    if as_json:
        return to_json(runs.assign(spec=runs["spec"].map(json.loads)))
    known = references(store)
    rows = records(with_thresholds(store, runs))
    return "\n\n".join(_describe(row, known.get(problem(row["spec"]))) for row in rows)


def _describe(row: Row, reference: Reference | None) -> str:
    spec = f"{row['layers']}, {row['operation'] or 'rows'}, {row['input_size']} inputs, {row['hidden_size']} hidden"
    return "\n".join(
        [
            f"{row['model']} ({spec}), seed {row['seed']}, {row['engine']} engine, spec {row['spec_id']}",
            "",
            *_verdict(row),
            "",
            *(_curves(row) if row["curve_step"] is not None else [_GONE.format("learning curve")]),
            "",
            *(_weights(row) if row["best_weights"] is not None else [_GONE.format("weights")]),
            *(_digits(row, reference) if sequential(row["spec"]) else []),
        ]
    )


def _verdict(row: Row) -> Iterator[str]:
    names = [name for name in row if name.startswith("threshold_")]
    for name in names or [""]:
        criterion, limit = name.removeprefix("threshold_") or "solved", row.get(name, math.nan)
        if np.isnan(limit):
            yield f"{criterion:<10} not judged: test error {row['best_test']:.3g}, no threshold"
            continue
        verdict, at = "solved" if solved(row["best_test"], limit) else "not solved", int(row[f"solved_at_{criterion}"])
        first = f"first below it at step {at:,}" if at >= 0 else "never below it"
        yield f"{criterion:<10} {verdict}: test error {row['best_test']:.3g}, threshold {limit:.3g}, {first}"
    exact = row["exact"] if row["exact"] is not None else judge(row["spec"], [row["seed"]], [row["best_weights"]])[0]
    if exact is not None:
        verdict = "is" if exact else "is not"
        yield f"{'exact':<10} with its weights rounded, the network of the best record {verdict} the task's formula"
    ended = ", ended early on NaN" if row["ended_early"] else ""
    gate = "" if np.isnan(row["best_gate"]) else f", gate {row['best_gate']:.3g}"
    yield (
        f"{'best':<10} step {row['best_step']:,}: validation error {row['best_validation']:.3g}, "
        f"sparsity error {row['best_sparsity']:.3g}{gate}"
    )
    yield (
        f"{'end':<10} validation error {row['end_validation']:.3g}, test error {row['end_test']:.3g}, "
        f"sparsity error {row['end_sparsity']:.3g}; {row['records']} records, {row['elapsed_s']:.3g} s{ended}"
    )


def _curves(row: Row) -> Iterator[str]:
    steps = np.asarray(row["curve_step"])
    yield f"Learning curves on a logarithmic scale, steps {steps.min(initial=0):,} to {steps.max(initial=0):,}"
    for name in ("validation", "test", "sparsity"):
        values = np.asarray(row[f"curve_{name}"], np.float64)
        known = values[np.isfinite(values) & (values > 0)]
        scale = f"{known.min():.1e} to {known.max():.1e}" if known.size else "nothing to show"
        yield f"{name:<10} {spark(values)} {scale}"


def spark(values: NDArray[np.float64], width: int = _WIDTH) -> str:
    """Return values as a line of bars on a logarithmic scale, with a dot for each that cannot be shown.

    Example:
        >>> spark(np.array([100.0, 10.0, 1.0, 0.0, np.nan]))
        '█▅▁··'
    """
    values = values[np.linspace(0, len(values) - 1, min(width, len(values))).round().astype(int)]
    shown = np.isfinite(values) & (values > 0)
    if not shown.any():
        return "·" * len(values)
    logs = np.log(np.where(shown, values, 1.0))
    low, high = logs[shown].min(), logs[shown].max()
    place = ((logs - low) / max(high - low, 1e-12) * (len(_BARS) - 1)).round()
    return "".join(_BARS[int(i)] if known else "·" for i, known in zip(place, shown, strict=True))


def _weights(row: Row) -> Iterator[str]:
    yield f"Effective weights at the best record, step {row['best_step']:,}"
    for name, values in matrices(row):
        yield f"{name} [{' × '.join(map(str, values.shape))}]"
        yield np.array2string(values, precision=3, suppress_small=True, max_line_width=100, threshold=2000)


def _digits(row: Row, reference: Reference | None) -> Iterator[str]:
    """Yield the numbers that a run reads off digits, and its errors at every length with their thresholds."""
    yield ""
    yield "Numbers read off the test images of each digit at the best record, and their standard deviations"
    for name in ("digits", "digit_outputs", "digit_spreads"):
        yield " ".join(f"{value:>8.3g}" for value in row[name])
    yield ""
    names = [*reference_rules(row["operation"])]
    yield f"Test errors at the best record by length of the sequence, and thresholds: {', '.join(names)}"
    limits = [{} if reference is None else reference.thresholds(name) for name in names]
    for length, error in zip(row["test_lengths"], best_errors(row), strict=True):
        known = [limit.get(length, math.nan) for limit in limits]
        words = [
            "no threshold" if np.isnan(limit) else f"{'<' if solved(error, limit) else '≥'} {limit:.3g}"
            for limit in known
        ]
        yield f"{length:>6} {error:>10.3g} {' '.join(f'{word:<14}' for word in words)}".rstrip()


def matrices(row: Row) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the effective weights of a stored run at its best record, by name: matrices, biases, gates.

    They are one array if the unit is unknown here, or if the number of weights does not fit it.
    """
    weights = np.asarray(row["best_weights"], np.float32)
    try:
        arrays = described(row["spec"]).arrays
    except ValueError:
        arrays = []
    if sum(math.prod(shape) for _, shape in arrays) != weights.size:
        arrays = [("parameters", weights.shape)]
    position = 0
    for name, shape in arrays:
        yield name, weights[position : position + math.prod(shape)].reshape(shape)
        position += math.prod(shape)
