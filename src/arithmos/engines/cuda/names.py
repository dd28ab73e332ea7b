"""Definitions that the host shares with its kernels: constants, and the settings of a launch.

`declarations` is the C++ of it, which every kernel begins with.
"""

import ctypes
from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from ... import philox
from ...tasks import OPERATIONS
from ..contract import NEVER

RANGES = ("UNIT", "SHIFTED", "SCALED", "TWO_PARTS", "ROWS")
"""Ways to make training inputs from random words."""


class Count(IntEnum):
    """Positions in the counts of a run; `SOLVED` is the first of as many as there are thresholds."""

    STEP, RECORDS, BEST_STEP, CURVE, ENDED, SOLVED = range(6)


class Error(IntEnum):
    """Positions in the errors of a run, and their number."""

    BEST_VALIDATION, BEST_TEST, BEST_SPARSITY, BEST_GATE, END_VALIDATION, END_TEST, END_SPARSITY, ERRORS = range(8)


class Ended(IntEnum):
    """Whether a run has ended, and how."""

    RUNNING, FINISHED, MET_NAN = range(3)


WORDS = {
    **{f"M{i}": word for i, word in enumerate(philox.MULTIPLIERS)},
    **{f"W{i}": word for i, word in enumerate(philox.INCREMENTS)},
    "ROUNDS": philox.ROUNDS,
    "RUN_KEY": philox.RUN,
    "TRAIN_STREAM": philox.TRAIN,
    "ROWS_STREAM": philox.ROWS,
    "UNIT_STREAM": philox.UNIT,
    "MOST_BITS": philox.MOST_BITS,
}

_TYPES = {
    "double": ctypes.c_double,
    "i64": ctypes.c_int64,
    "u32": ctypes.c_uint32,
    "int": ctypes.c_int32,
    "float": ctypes.c_float,
}

FIELDS = (
    ("const u32*", "seeds", "[slot]"),
    ("const int*", "subsets", "[slot, SUBSETS] first input of each"),
    ("const int*", "sets", "[slot] which targets of the fixed sets are this run's"),
    ("const float4*", "validation", "[i / 4, row]"),
    ("const float4*", "test", "[i / 4, row]"),
    ("const float*", "validation_t", "[set, row, o]"),
    ("const float*", "test_t", "[set, row, o]"),
    ("const float4*", "rows", "[row, i / 4] training rows of a user's data"),
    ("const float*", "rows_t", "[row, o]"),
    ("const float2*", "adam", "[step] lr / (1 - beta1^t), 1 / sqrt(1 - beta2^t)"),
    ("const int*", "curve_records", "[curve]"),
    ("float*", "parameters", "[slot, p]"),
    ("float*", "first", "[slot, p] Adam's moments"),
    ("float*", "second", "[slot, p]"),
    ("float*", "best", "[slot, p]"),
    ("float*", "curve", "[slot, curve, 3]"),
    ("const float*", "constants", "[slot, CONSTANTS]"),
    ("const float*", "loss_scales", "[slot]"),
    ("float*", "errors", "[slot, ERRORS]"),
    ("i64*", "counts", "[slot, SOLVED + threshold_count]"),
    ("const double*", "thresholds", "[threshold]"),
    *(("i64", name, "") for name in ("iterations", "ramp_start")),
    *(
        ("u32", name, "")
        for name in (
            "every",
            "validation_rows",
            "test_rows",
            "row_count",
            "adam_steps",
            "curve_length",
            "threshold_count",
        )
    ),
    *(("float", name, "") for name in ("gain1", "beta2", "gain2", "epsilon", "strength", "ramp_offset", "ramp_slope")),
    ("float", "width[2]", ""),
    ("float", "low[2]", ""),
)
"""Settings of a launch: type in C++, name, shape. Pointers first, then 8-byte, then 4-byte values: no padding."""


def _field(kind: str, name: str) -> tuple[str, Any]:
    plain, _, size = name.rstrip("]").partition("[")
    own: Any = ctypes.c_uint64 if kind.endswith("*") else _TYPES[kind]
    return plain, own * int(size) if size else own


class Settings(ctypes.Structure):
    """Settings that all runs of a launch share, with the same layout in C++."""

    _fields_ = [_field(kind, name) for kind, name, _ in FIELDS]


def declarations() -> str:
    """Return these definitions as C++."""
    enums: list[Iterable[str]] = [RANGES, [name.upper() for name in OPERATIONS]]
    enums += [each.__members__ for each in (Count, Error, Ended)]
    return "\n".join(
        [
            "typedef unsigned int u32;",
            "typedef unsigned long long u64;",
            "typedef long long i64;",
            *(f"enum {{ {', '.join(each)} }};" for each in enums),
            *(f"constexpr u32 {name} = {word}u;" for name, word in WORDS.items()),
            f"constexpr i64 NEVER = {NEVER};",
            "struct Settings {",
            *(f"    {kind} {name};" + (f"  // {shape}" if shape else "") for kind, name, shape in FIELDS),
            "};",
            f"static_assert(sizeof(Settings) == {ctypes.sizeof(Settings)});",
        ]
    )
