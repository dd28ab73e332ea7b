"""Rules that the rows of a part must follow; a part that breaks one is set aside.

Rows that follow them can be read by every command.
"""

import json
from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..engines.contract import NEVER
from ..tasks import KINDS
from ._described import FLAT, OF_TASKS, flat, weights
from ._schema import CURVE, HEAVY, PREFIXES, TIME, entries

Counts = NDArray[np.int64]

OPTIONAL = {*OF_TASKS, "input_strength", "learning_rate", "exact", "gpu", *HEAVY}
"""Columns that are null where there is nothing to say."""

MOST_NAMES = 64
"""Most different names among the values of a column."""

NOT_NEGATIVE = ("best_sparsity", "end_sparsity", "elapsed_s")

LATEST = 2**55
"""Latest valid time: microseconds until the year 3111."""


def needed(columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns that are needed to check those to be read."""
    found = {"spec_id", "spec"} if {*FLAT[1:], *HEAVY, "extra", "spec"} & {*columns} else set()
    if {*CURVE, "extra"} & {*columns}:
        found |= {"curve_step", "best_step"}
    return tuple(found)


def check(table: pa.Table) -> None:
    """Check the columns that were read.

    Raises:
        ValueError: a row cannot be that of a run, or of a suspended one.
    """
    for field in table.schema:
        column = table[field.name]
        if field.name not in OPTIONAL and column.null_count:
            raise ValueError(f"{field.name} is null")
        if field.name in PREFIXES:
            _check_named(field.name, column)
        elif pa.types.is_integer(field.type):
            _within(field.name, column, 0, 2**32 - 1)
        elif field.name in NOT_NEGATIVE:
            _within(field.name, column, 0, float("inf"))
        elif field.type == TIME:
            _within(field.name, column.cast(pa.int64()), 0, LATEST)
        elif pa.types.is_list(field.type) and pc.list_flatten(column).null_count:
            raise ValueError(f"{field.name} has null in it")
    names = set(table.schema.names)
    if len(curves := [name for name in CURVE if name in names]) > 1:
        _check_lengths(table, curves)
    if "curve_step" in names:
        _check_steps(table["curve_step"])
    if "spec" in names:
        _check_specs(table)


def _check_named(name: str, column: pa.ChunkedArray) -> None:
    """Check values by name."""
    pairs = pc.list_flatten(entries(column))
    keys, values = (pc.struct_field(pairs, part) for part in ("key", "value"))
    if len(pc.unique(keys)) > MOST_NAMES:
        raise ValueError(f"{name} has more than {MOST_NAMES} names")
    inner = pc.list_flatten(values) if pa.types.is_list(values.type) else values
    if pairs.null_count or values.null_count or inner.null_count:
        raise ValueError(f"{name} has null in it")
    if pa.types.is_integer(values.type):
        _within(name, values, NEVER, 2**32 - 1)


def _within(name: str, column: pa.ChunkedArray, least: float, most: float) -> None:
    limits = pc.min_max(column).as_py()
    for value in limits.values():
        if value is not None and (value < least or value > most):  # NaN is neither
            raise ValueError(f"{name} must be from {least} to {most}, got {value}")


def _check_lengths(table: pa.Table, names: list[str]) -> None:
    first, *others = (_lengths(table[name]) for name in names)
    for name, lengths in zip(names[1:], others, strict=True):
        if not np.array_equal(lengths, first):
            raise ValueError(f"{name} is not as long as {names[0]}")


def _check_steps(column: pa.ChunkedArray) -> None:
    lengths, steps = _lengths(column).clip(0), pc.list_flatten(column).to_numpy()
    first = np.zeros(len(steps), bool)
    first[(np.cumsum(lengths) - lengths)[lengths > 0]] = True
    if (steps < 0).any() or (np.diff(steps, prepend=-1) <= 0)[~first].any():
        raise ValueError("curve_step does not grow")


def _check_specs(table: pa.Table) -> None:
    """Check that columns follow from the spec."""
    encoded = table["spec"].combine_chunks().dictionary_encode()
    specs = encoded.dictionary.to_pylist()
    rows, of = [flat(spec) for spec in specs], encoded.indices.to_numpy()
    for field in table.schema:
        if field.name in FLAT:
            wanted = pa.array([row[field.name] for row in rows], field.type).take(encoded.indices)
            if not table[field.name].combine_chunks().equals(wanted):
                raise ValueError(f"{field.name} is not that of the spec")
    tasks = [json.loads(spec)["task"] for spec in specs]
    more = np.array([bool(KINDS[task["kind"]].extra_sizes(task, 1)) for task in tasks], bool)
    known = np.array([weights(spec) if extra else 0 for spec, extra in zip(specs, more, strict=True)], int)
    if "extra" in table.schema.names:
        _check_extra(table, tasks, of)
    _check_whole(table, more[of], known[of])


def _check_extra(table: pa.Table, tasks: list[Any], of: NDArray[np.integer[Any]]) -> None:
    """Check that each row has the further results of its task, and as many of them."""
    pairs = entries(table["extra"])
    flattened, ends = pc.list_flatten(pairs), np.cumsum([0, *_lengths(pairs)])
    keys, values = (pc.struct_field(flattened, part) for part in ("key", "value"))
    pairs_of = [*zip(keys.to_pylist(), _lengths(values).tolist(), strict=True)]
    for row, (task, records) in enumerate(zip(of.tolist(), _lengths(table["curve_step"]).tolist(), strict=True)):
        found = pairs_of[ends[row] : ends[row + 1]]
        if found != [*KINDS[tasks[task]["kind"]].extra_sizes(tasks[task], records).items()]:
            raise ValueError("extra is not what the task has")


def _check_whole(table: pa.Table, about: NDArray[np.bool_], weights: Counts) -> None:
    """Check what verdicts rest on, for tasks with further results.

    Args:
        table: rows of runs.
        about: mask of the rows of such tasks.
        weights: number of weights of each; 0 if it is not known.
    """
    found = {name: _lengths(table[name]) for name in HEAVY if name in table.schema.names}
    if "curve_step" in found and (found["curve_step"][about] < 1).any():
        raise ValueError("curve_step is empty")
    for name in ("best_weights", "end_weights"):
        if name in found and (found[name] != np.where(weights > 0, weights, found[name].clip(0)))[about].any():
            raise ValueError(f"{name} is not as long as the network has it")
    if {"curve_step", "best_step"} <= {*table.schema.names} and about.any():
        last = pc.list_flatten(table["curve_step"]).to_numpy()[np.cumsum(found["curve_step"].clip(0))[about] - 1]
        if (table["best_step"].to_numpy()[about] > last).any():
            raise ValueError("best_step is after the last step of the curve")


def _lengths(column: pa.ChunkedArray) -> Counts:
    """Return the lengths of the lists of a column; -1 for null."""
    lengths: Counts = pc.fill_null(pc.list_value_length(column), -1).to_numpy()
    return lengths
