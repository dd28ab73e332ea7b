"""What the rows of a part keep to, whoever wrote them; a part in which one does not is set aside."""

import hashlib

import pyarrow as pa
import pyarrow.compute as pc

from ._schema import CURVE, HEAVY, TIME

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
    names = set(table.schema.names)
    if {"spec_id", "spec"} <= names:
        _check_specs(table)
    if len(curves := [name for name in CURVE if name in names]) > 1:
        _check_lengths(table, curves)


def _within(name: str, column: pa.ChunkedArray, least: float, most: float) -> None:
    limits = pc.min_max(column).as_py()
    for value in limits.values():
        if value is not None and (value < least or value > most):  # NaN is neither
            raise ValueError(f"{name} must be from {least} to {most}, got {value}")


def _check_specs(table: pa.Table) -> None:
    pairs = table.select(["spec_id", "spec"]).group_by(["spec_id", "spec"], use_threads=False).aggregate([])
    for spec_id, spec in zip(pairs["spec_id"].to_pylist(), pairs["spec"].to_pylist(), strict=True):
        if hashlib.blake2b(spec.encode(), digest_size=8).hexdigest() != spec_id:
            raise ValueError(f"spec_id {spec_id!r} is not that of its spec")


def _check_lengths(table: pa.Table, names: list[str]) -> None:
    first, *others = (pc.list_value_length(table[name]).fill_null(-1) for name in names)
    for name, lengths in zip(names[1:], others, strict=True):
        if not lengths.equals(first):
            raise ValueError(f"{name} is not as long as {names[0]}")
