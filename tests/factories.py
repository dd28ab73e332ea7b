"""Plausible runs without an engine."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arithmos.data import Digits
from arithmos.engines.contract import NEVER, Control, Curve, Run, State, curve_records
from arithmos.engines.judge import Judge
from arithmos.engines.states import ARRAYS, initial, state_of
from arithmos.engines.weights import kept_weights, layout
from arithmos.spec import Spec
from arithmos.spec import model as named
from arithmos.store._migrations import DIGITS, OLD
from arithmos.tasks import Arithmetic, DigitSequences


def make_spec(operation: str = "mul", model: str = "NMU", **changes: Any) -> Spec:
    """A small spec: 4 inputs, 5,000 iterations, 6 records."""
    task = changes.pop("task", None) or Arithmetic(operation=operation, input_size=4, subset_ratio=0.5)
    return Spec(**{"task": task, "model": named(model), "iterations": 5_000} | changes)


def make_run(spec: Spec | None = None, seed: int = 0, engine: str = "torch", **changes: Any) -> Run:
    """A run of falling errors, drawn from its name; solved if the seed is even.

    Changes may be of one threshold: `threshold_released=1e-3`, `solved_at_corrected=4000`.
    """
    spec = spec or make_spec()
    if isinstance(spec.task, DigitSequences):
        return make_digits_run(spec, seed, engine, solved=seed % 2 == 0, **changes)
    rng = np.random.default_rng([seed, int(spec.id, 16)])
    step = curve_records(spec) * spec.evaluate_every
    test = np.geomspace(10, 1e-8 if seed % 2 == 0 else 1, len(step)) * rng.uniform(0.5, 1, len(step))
    solved = np.flatnonzero(test < 1e-5)
    solved_at = int(step[solved[0]]) if len(solved) else NEVER
    arrays = [shape for layer in layout(spec.model.layers, spec.sizes) for shape in layer.values()]
    weights = rng.uniform(-1, 1, sum(map(math.prod, arrays)))
    measured: dict[str, Any] = {
        "thresholds": {"released": 1e-5, "corrected": 2e-5},
        "records": spec.records,
        "ended_early": False,
        "best_step": int(step[-1]),
        "best_validation": float(test[-1]) / 10,
        "best_test": float(test[-1]),
        "best_sparsity": float(rng.uniform(0, 1e-3)),
        "best_gate": float("nan"),
        "solved_at": {"released": solved_at, "corrected": solved_at},
        "end_validation": float(test[-1]) / 10,
        "end_test": float(test[-1]),
        "end_sparsity": float(rng.uniform(0, 1e-3)),
        "best_weights": weights.astype(np.float32),
        "end_weights": weights.astype(np.float32),
        "curve": Curve(step, *(values.astype(np.float32) for values in (test / 10, test, np.sqrt(test)))),
        "elapsed_s": float(rng.uniform(0.1, 1)),
    }
    for column, prefix in (("thresholds", "threshold_"), ("solved_at", "solved_at_")):
        for name in [name for name in changes if name.startswith(prefix)]:
            measured[column] |= {name.removeprefix(prefix): changes.pop(name)}
    return Run(spec=spec, seed=seed, engine=engine, **measured | changes)


def make_runs(count: int, spec: Spec | None = None, engine: str = "torch") -> list[Run]:
    """Runs of the seeds 0, 1, …"""
    spec = spec or make_spec()
    return [make_run(spec, seed, engine) for seed in range(count)]


def make_digits(train: int = 400, test: int = 120, digits: tuple[int, ...] = tuple(range(10))) -> Digits:
    """Images that show their digit as so many bright rows, with noise: easy to read, and not MNIST."""
    rng = np.random.default_rng(train)

    def draw(count: int) -> tuple[Any, Any]:
        labels = rng.choice(np.array(digits, np.uint8), count)
        bright = np.arange(28)[None, :] < 2 + 2 * labels[:, None]
        images = np.where(bright[:, :, None], 200, 0) + rng.integers(0, 50, (count, 28, 28))
        return images.astype(np.uint8), labels

    return Digits(*draw(train), *draw(test))


def make_digits_run(spec: Spec, seed: int = 0, engine: str = "torch", *, solved: bool = True, **changes: Any) -> Run:
    """A run on sequences of digits whose test errors grow with the length; far from its reference unless solved."""
    assert isinstance(spec.task, DigitSequences)
    rng = np.random.default_rng([seed, int(spec.id, 16)])
    step = curve_records(spec) * spec.evaluate_every
    falling = np.geomspace(10, 0.1 if solved else 5, len(step)) * rng.uniform(0.9, 1, len(step))
    lengths = falling[:, None] * np.array(spec.task.test_lengths) ** 2
    test = lengths[:, spec.task.test_lengths.index(spec.task.length)]
    best = int(np.argmin(falling))
    cell = [p.detach().numpy().ravel() for p in spec.network(seed)[1].parameters()]
    parameters = np.concatenate([*cell, np.empty(0)]).astype(np.float32)
    weights = kept_weights(spec.model.layers, spec.sizes, parameters)
    digits = np.array(spec.task.digits, np.float32)
    measured: dict[str, Any] = {
        "thresholds": {},
        "solved_at": {},
        "best_gate": float("nan"),
        "records": spec.records,
        "ended_early": False,
        "best_step": int(step[best]),
        "best_validation": float(falling[best]),
        "best_test": float(test[best]),
        "best_sparsity": 1e-5,
        "end_validation": float(falling[-1]),
        "end_test": float(test[-1]),
        "end_sparsity": 1e-5,
        "best_weights": weights,
        "end_weights": weights,
        "curve": Curve(step, *(v.astype(np.float32) for v in (falling, test, np.full(len(step), 1e-5)))),
        "elapsed_s": 60.0,
        "extra": {
            "curve_training": (falling / 2).astype(np.float32),
            "curve_lengths": lengths.ravel().astype(np.float32),
            "digit_outputs": digits,
            "digit_spreads": digits / 100,
        },
    }
    return Run(spec=spec, seed=seed, engine=engine, **measured | changes)


def make_sound_state(spec: Spec, step: int) -> State:
    """A state that an engine may resume, of a run on single observations; its weights are the initial ones."""
    flat = initial(spec, 0)
    remembered = Judge(spec, (0,), flat.size, Control()).state(0)
    records = np.array(-(-step // spec.evaluate_every))
    return state_of(step, 1.0, dict.fromkeys(ARRAYS, flat), remembered | {"records": records})


def make_state(step: int = 0) -> State:
    """What an engine might leave of a run that was cut."""
    values = np.random.default_rng(step).normal(size=(3, 10)).astype(np.float32)
    return {"parameters": values[0], "m": values[1], "v": values[2], "step": np.array(step), "file": np.arange(3)}


def first_version(table: pa.Table) -> pa.Table:
    """Rows of runs, none of them on digits, as the first arithmos wrote them."""
    frame = table.select(["thresholds", "solved_at"])
    for column, prefix in OLD.items():
        for name in ("released", "corrected"):
            table = table.append_column(prefix + name, pc.map_lookup(frame[column], pa.scalar(name), "first"))
    later = {*DIGITS, *OLD, "extra", "exact", "gpu"}
    return table.select([name for name in table.schema.names if name not in later])
