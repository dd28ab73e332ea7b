"""What the rows of a part keep to, whoever wrote them; a part in which one does not is set aside.

Whatever keeps to it can be read by every command.
"""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ._described import FLAT, flat, weights
from ._schema import CURVE, HEAVY, READING, TIME

Counts = NDArray[np.int64]

OPTIONAL = {
    *("operation", "subset_ratio", "overlap_ratio", "subset_count", "interpolation", "extrapolation", "rows"),
    *("images", "digits", "length", "test_lengths", "input_strength", "exact", "gpu"),
    *HEAVY,
}
"""Columns that are null where there is nothing to say."""

LEAST = {"solved_at_released": -1, "solved_at_corrected": -1}
"""The least that stands in a column of whole numbers; 0 in the others."""

NOT_NEGATIVE = ("best_sparsity", "end_sparsity", "elapsed_s")

LATEST = 2**55
"""Microseconds until the year 3111; a later time is none."""


def needed(columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns without which those to be read cannot be checked."""
    found = {"spec_id", "spec"} if {*FLAT[1:], *HEAVY, "spec"} & {*columns} else set()
    if {*CURVE, *READING} & {*columns}:
        found |= {"curve_step", "best_step"}
    return tuple(found)


def check(table: pa.Table) -> None:
    """Look at the columns that were read.

    Raises:
        ValueError: a row cannot be that of a run, or of a suspended one.
    """
    for field in table.schema:
        column = table[field.name]
        if field.name not in OPTIONAL and column.null_count:
            raise ValueError(f"{field.name} is null")
        if pa.types.is_integer(field.type):
            _within(field.name, column, LEAST.get(field.name, 0), 2**32 - 1)
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
    """Look whether columns follow from the spec."""
    encoded = table["spec"].combine_chunks().dictionary_encode()
    specs = encoded.dictionary.to_pylist()
    rows, of = [flat(spec) for spec in specs], encoded.indices.to_numpy()
    for field in table.schema:
        if field.name in FLAT:
            wanted = pa.array([row[field.name] for row in rows], field.type).take(encoded.indices)
            if not table[field.name].combine_chunks().equals(wanted):
                raise ValueError(f"{field.name} is not that of the spec")
    digits, tests = (np.array([len(row[name] or ()) for row in rows], int) for name in ("digits", "test_lengths"))
    known = np.array([weights(spec) if count else 0 for spec, count in zip(specs, digits, strict=True)], int)
    _check_digits(table, digits[of], tests[of], known[of])


def _check_digits(table: pa.Table, digits: Counts, tests: Counts, weights: Counts) -> None:
    """Look at what verdicts on sequences of digits rest on; other runs have nothing to read.

    Args:
        table: rows of runs.
        digits: how many digits each is about; 0 for other tasks.
        tests: how many lengths each is tested at.
        weights: how many weights each has; 0 if that is not known.
    """
    found = {name: _lengths(table[name]) for name in HEAVY if name in table.schema.names}
    about = digits > 0
    if "curve_step" in found and (found["curve_step"][about] < 1).any():
        raise ValueError("curve_step is empty")
    wanted = {"digit_outputs": digits, "digit_spreads": digits}
    if "curve_step" in found:
        wanted |= {"curve_training": found["curve_step"], "curve_lengths": found["curve_step"] * tests}
    for name in READING:
        if name in found and not np.array_equal(found[name], np.where(about, wanted[name], -1)):
            raise ValueError(f"{name} is not as long as the task has it")
    for name in ("best_weights", "end_weights"):
        if name in found and (found[name] != np.where(weights > 0, weights, found[name].clip(0)))[about].any():
            raise ValueError(f"{name} is not as long as the network has it")
    if {"curve_step", "best_step"} <= {*table.schema.names} and about.any():
        last = pc.list_flatten(table["curve_step"]).to_numpy()[np.cumsum(found["curve_step"].clip(0))[about] - 1]
        if (table["best_step"].to_numpy()[about] > last).any():
            raise ValueError("best_step is after the last step of the curve")


def _lengths(column: pa.ChunkedArray) -> Counts:
    """How long the lists of a column are; -1 for null."""
    lengths: Counts = pc.fill_null(pc.list_value_length(column), -1).to_numpy()
    return lengths
