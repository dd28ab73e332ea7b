"""The exact judge: test whether a rounded network is the formula that it should learn."""

import operator
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import nn

from .. import philox
from ..spec import Layer
from ..tasks import Task, UniformDraws, is_task
from .exact import Exact, choices, points, root, same, values
from .network import OpenGates, has_forms, of_module, of_weights, read_run
from .numeric import forward
from .stages import Array, Branch, Stage, snapped

if TYPE_CHECKING:
    import sympy

Gates = Sequence[OpenGates]

ROWS = 128
"""Rows per range of a task on which gates are examined."""
CLOSE = 1e-5
"""Relative difference in floating point beyond which two values are not compared in exact arithmetic."""

_OPERATIONS: dict[str, Any] = {
    "mul": operator.mul,
    "div": lambda a, b: Fraction(a) / b,
    "add": operator.add,
    "sub": operator.sub,
}


def recovered_runs(
    layers: Sequence[Layer], sizes: Sequence[int], task: Task, seeds: Sequence[int], weights: ArrayLike
) -> NDArray[np.bool_]:
    """Test which runs of a spec found the task's formula exactly.

    Args:
        layers: layers of the network.
        sizes: width of the input, between the layers, and of the output.
        task: their task.
        seeds: their seeds, which determine the subsets.
        weights: `[runs, weights]`, their effective weights; with a unit since 2020, the parameters.
    """
    flat = np.asarray(weights, np.float64)
    found = np.zeros(len(flat), bool)
    finite = np.flatnonzero(np.isfinite(flat).all(axis=1))
    rows, at = sample_rows(_uniform(task, 0)), points(*_bounds(_uniform(task, 0)))
    targets = [_task_targets(_uniform(task, seed), at) for seed in np.asarray(seeds)[finite].tolist()]
    if not has_forms(layers, sizes):
        for run, values_of_run in zip(finite.tolist(), targets, strict=True):
            reading = read_run(layers, sizes, flat[run], rows)
            found[run] = reading is not None and _is_formula(*reading, at, values_of_run)
        return found
    stages = of_weights(layers, sizes, flat[finite])
    open_gates, decided = _gates(stages, rows)
    rounded = _rounded(stages)
    for run in np.flatnonzero(decided & _close(rounded, open_gates, at, targets)).tolist():
        network = [_one(stage, run) for stage in rounded]
        gates = [None if gate is None else gate[run] for gate in open_gates]
        found[finite[run]] = _agrees(network, gates, at, [[target] for target in targets[run]])
    return found


def recovered(
    model: nn.Module,
    target: "Task | str | sympy.Expr | Sequence[str | sympy.Expr]",
    *,
    seed: int = 0,
    inputs: ArrayLike | None = None,
) -> bool:
    """Test whether a network, with its weights rounded, is a formula.

    Both are evaluated at random integers in exact arithmetic; `exact` describes how weights and gates are rounded.
    `expression(model, snap=0.5, inputs=inputs)` shows the rounded network.

    Args:
        model: a unit, or a `torch.nn.Sequential` of units.
        target: a task; or a formula in x1, x2, …, one per output, as text for `parse` or as a SymPy expression.
        seed: seed of the run, which determines a task's subsets.
        inputs: rows that the network is meant for, `[rows, inputs]`. By default those of the task; for a formula, all
            signs are tried, and gates must not depend on them.

    Example:
        >>> import torch
        >>> from arithmos.nn import NAU, NMU
        >>> network = torch.nn.Sequential(NAU(2, 2), NMU(2, 1))
        >>> for layer, weight in zip(network, ([[0.9, 0.8], [0.1, 0.7]], [[1.0, 0.6]])):
        ...     layer.weight.data = torch.tensor(weight)
        >>> recovered(network, "(x1 + x2)*x2"), recovered(network, "x1*x2")
        (True, False)
    """
    stages = of_module(model)
    width = stages[0].in_features
    if is_task(target):
        if target.input_size != width:
            raise ValueError(f"target must have the {width} inputs of the network, got {target.input_size}")
        rows, bounds = sample_rows(_uniform(target, seed)), _bounds(_uniform(target, seed))
    else:
        rows, bounds = _either_sign(width), ([-1.0] * width, [1.0] * width)
    if inputs is not None:
        rows = np.asarray(inputs, np.float64)
        if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
            raise ValueError(f"inputs must have the shape [rows, {width}], got {list(rows.shape)}")
        bounds = rows.min(axis=0), rows.max(axis=0)
    at = points(*bounds)
    open_gates, decided = _gates(stages, rows)
    return bool(decided) and _agrees(snapped(stages, 0.5)[0], open_gates, at, _targets(target, seed, at, stages))


def _is_formula(stages: Sequence[Stage], gates: Gates, at: NDArray[np.int64], targets: list[Exact]) -> bool:
    """Return whether one network, which is rounded here, has the targets of a run at integers."""
    rounded = _rounded(stages)
    return bool(_close(rounded, gates, at, [targets])[0]) and _agrees(rounded, gates, at, [[t] for t in targets])


def _agrees(stages: Sequence[Stage], gates: Gates, at: NDArray[np.int64], targets: Sequence[list[Exact]]) -> bool:
    known = [number for number, target in enumerate(targets) if None not in target]
    try:
        found = values(stages, gates, at[known])
    except ZeroDivisionError:
        return False
    pairs = [pair for row, number in zip(found, known, strict=True) for pair in zip(row, targets[number], strict=True)]
    return bool(pairs) and all(same(z, t) for z, t in pairs)


def _targets(
    target: "Task | str | sympy.Expr | Sequence[str | sympy.Expr]",
    seed: int,
    at: NDArray[np.int64],
    stages: Sequence[Stage],
) -> list[list[Exact]]:
    if is_task(target):
        return [[value] for value in _task_targets(_uniform(target, seed), at)]
    import sympy

    from .parse import parse

    formulas = [target] if isinstance(target, str | sympy.Expr) else list(target)
    if len(formulas) != stages[-1].out_features:
        raise ValueError(f"target must have {stages[-1].out_features} formulas, one per output, got {len(formulas)}")
    names = [f"x{number}" for number in range(1, stages[0].in_features + 1)]
    read = [formula if isinstance(formula, sympy.Expr) else parse(formula, names) for formula in formulas]
    for name in sorted({symbol.name for formula in read for symbol in formula.free_symbols} - {*names}):
        raise ValueError(f"target must be a formula in {names[0]} to {names[-1]}, got {name!r} in it")
    by_name = [{symbol: names.index(symbol.name) for symbol in formula.free_symbols} for formula in read]
    return [
        [
            formula.xreplace({symbol: sympy.Integer(point[i]) for symbol, i in places.items()})
            for formula, places in zip(read, by_name, strict=True)
        ]
        for point in at.tolist()
    ]


def _uniform(task: Task, seed: int) -> UniformDraws:
    draws = task.draws(seed)
    if not isinstance(draws, UniformDraws):
        raise ValueError(f"the target must be an operation on uniform inputs, got the task {task.kind!r}")
    return draws


def _task_targets(draws: UniformDraws, at: NDArray[np.int64]) -> list[Exact]:
    """Return the targets of a run at some points; None where there is none."""
    sums = [at[:, start:stop].sum(axis=1).tolist() for start, stop in draws.subsets]
    return [_target(draws.operation, point) for point in zip(*sums, strict=True)]


def _target(operation: str, sums: Sequence[int]) -> Exact:
    if operation == "squared":
        return sums[0] ** 2
    if operation == "root":
        return root(sums[0]) if sums[0] >= 0 else None
    try:
        if operation == "reciprocal":
            return Fraction(1) / sums[0]
        return reduce(_OPERATIONS[operation], sums)
    except ZeroDivisionError:
        return None


def _bounds(draws: UniformDraws) -> tuple[list[float], list[float]]:
    parts = [*draws.interpolation, *draws.extrapolation]
    low, high = min(low for low, _ in parts), max(high for _, high in parts)
    return [low] * draws.input_size, [high] * draws.input_size


def sample_rows(draws: UniformDraws) -> Array:
    """Return the first rows of a task's validation set and test set."""
    sets = ((philox.VALIDATION, draws.interpolation), (philox.TEST, draws.extrapolation))
    rows = [
        philox.uniform(philox.words((0, philox.SHARED), stream, 0, ROWS, draws.input_size), range_)
        for stream, range_ in sets
    ]
    return np.concatenate(rows).astype(np.float64)


def _either_sign(width: int) -> Array:
    return np.random.Generator(np.random.Philox(key=20200102)).uniform(-10, 10, (ROWS, width))


def _gates(stages: Sequence[Stage], rows: Array) -> tuple[list[NDArray[np.bool_] | None], NDArray[np.bool_]]:
    """Return which gates of each stage are open, and for which networks all are either open or closed."""
    found: list[NDArray[np.bool_] | None] = [None] * len(stages)
    decided = np.ones(stages[0].branches[0].weight.shape[:-2], bool)
    if any(stage.gate is not None for stage in stages):
        for number, gate in enumerate(forward(stages, rows)[1]):
            if gate is not None:
                found[number], sure = choices(gate)
                decided = decided & sure.all(axis=-1)
    return found, decided


def _rounded(stages: Sequence[Stage]) -> list[Stage]:
    def branch(old: Branch) -> Branch:
        weight = np.rint(old.weight * old.grid) / old.grid
        return replace(old, weight=weight, bias=None if old.bias is None else np.rint(old.bias))

    return [replace(stage, branches=tuple(map(branch, stage.branches))) for stage in stages]


def _one(stage: Stage, run: int) -> Stage:
    def branch(old: Branch) -> Branch:
        return replace(old, weight=old.weight[run], bias=None if old.bias is None else old.bias[run])

    return replace(stage, branches=tuple(map(branch, stage.branches)))


def _close(
    stages: Sequence[Stage], open_gates: Gates, at: NDArray[np.int64], targets: Sequence[Sequence[Exact]]
) -> NDArray[np.bool_]:
    """Return which rounded networks are close to their targets: most are not, and need no exact arithmetic."""
    z = forward(stages, at.astype(np.float64), open_gates)[0][..., 0]
    t = np.array([[np.nan if target is None else float(target) for target in run] for run in targets])
    with np.errstate(invalid="ignore"):
        close = np.abs(z - t) <= CLOSE * (1 + np.abs(t))
    verdict: NDArray[np.bool_] = (close | np.isnan(t)).all(axis=-1)
    return verdict
