"""Schema of a stored run: one row, with a type and a meaning for every column.

The meanings are stored in each file, in the metadata of its fields. Everything that describes the spec is flat, so that
a table can be grouped in any tool without parsing JSON.
"""

import io
import math
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .. import __version__
from .._platform import processor
from ..engines.code import CODE
from ..engines.contract import NEVER, Run, State
from ._described import OF_TASKS, flat

if TYPE_CHECKING:
    import pandas as pd

    from ..spec import Spec

TEXT, COUNT, REAL, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
FLOATS, COUNTS = pa.list_(pa.float32()), pa.list_(pa.int64())
REAL_BY_NAME, COUNT_BY_NAME, FLOATS_BY_NAME = (pa.map_(TEXT, kind) for kind in (REAL, COUNT, FLOATS))
TIME = pa.timestamp("us", tz="UTC")
TYPES = {str: TEXT, int: COUNT, float: REAL, list: COUNTS}

COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "spec_id": (TEXT, "name of the spec: digest of its canonical JSON"),
    "seed": (COUNT, "seed of the run; spec_id, seed and engine together name it"),
    "engine": (TEXT, "engine that made the run"),
    "spec": (TEXT, "the spec in canonical JSON"),
    "model": (TEXT, "name of the model"),
    "label": (TEXT, "name of the model in a printed table"),
    "layers": (TEXT, "units from input to output, joined by >"),
    "options": (TEXT, "options of each layer, a JSON list"),
    "task": (TEXT, "kind of task: arithmetic, digits for sequences of them, or rows for a user's data"),
    **{name: (TYPES[type_], meaning) for name, (type_, meaning) in OF_TASKS.items()},
    "input_size": (COUNT, "length of the input"),
    "output_size": (COUNT, "length of the output"),
    "input_strength": (REAL, "digits: strength of the regularizer of the cell's inputs"),
    "hidden_size": (COUNT, "width between the layers"),
    "iterations": (COUNT, "last iteration of the training"),
    "batch_size": (COUNT, "observations per iteration"),
    "evaluate_every": (COUNT, "iterations between two records"),
    "learning_rate": (REAL, "learning rate; null for a second-order optimizer"),
    "sparsity_strength": (REAL, "final strength of the sparsity loss"),
    "sparsity_start": (REAL, "iteration at which its strength begins to grow"),
    "sparsity_end": (REAL, "iteration at which its strength is reached"),
    "thresholds": (REAL_BY_NAME, "test errors below which the run is solved, by name"),
    "records": (COUNT, "evaluations made"),
    "ended_early": (FLAG, "the run met NaN and ended before its last iteration"),
    "best_step": (COUNT, "iteration of the best record: lowest validation error"),
    "best_validation": (REAL, "validation error of the best record"),
    "best_test": (REAL, "test error of the best record"),
    "best_sparsity": (REAL, "sparsity error of the best record"),
    "best_gate": (REAL, "mean gate of the last layer at the best record; NaN without a gate"),
    "solved_at": (COUNT_BY_NAME, "first iteration below each of the thresholds; -1 for never"),
    "end_validation": (REAL, "validation error of the last record"),
    "end_test": (REAL, "test error of the last record"),
    "end_sparsity": (REAL, "sparsity error of the last record"),
    "exact": (FLAG, "whether the best record's network, with its weights rounded, is the formula; null if not judged"),
    "best_weights": (FLOATS, "effective weights at the best record: matrices row by row, layer by layer"),
    "end_weights": (FLOATS, "effective weights after the last update"),
    "curve_step": (COUNTS, "learning curve: iterations of its records"),
    "curve_validation": (FLOATS, "learning curve: validation errors"),
    "curve_test": (FLOATS, "learning curve: test errors"),
    "curve_sparsity": (FLOATS, "learning curve: sparsity errors"),
    "extra": (FLOATS_BY_NAME, "further results of the task, by name"),
    "elapsed_s": (REAL, "seconds of the run's share of the engine"),
    "gpu": (TEXT, "name of the GPU that made the run; empty for a CPU, null where it was not recorded yet"),
    "version": (TEXT, "version of arithmos that made the run"),
    "python": (TEXT, "version of Python"),
    "torch": (TEXT, "version of PyTorch"),
    "numpy": (TEXT, "version of NumPy"),
    "processor": (TEXT, "kind of CPU of the machine that stored the run"),
    "written": (TIME, "when the run was stored; of several rows of one run that keep as much, the first counts"),
}

RUNS = pa.schema([pa.field(name, kind, metadata={"meaning": text}) for name, (kind, text) in COLUMNS.items()])

KEY = ("spec_id", "seed", "engine")
"""Columns that identify a run."""

NUMBERS = (*tuple(COLUMNS)[tuple(COLUMNS).index("thresholds") : tuple(COLUMNS).index("exact")], "extra")
"""Measured columns: the same in every row of a run, unless two of them conflict."""

PREFIXES = {"thresholds": "threshold_", "solved_at": "solved_at_", "extra": ""}
"""Columns of values by name; a data frame has one column per name, with this prefix."""

CURVE = ("curve_step", "curve_validation", "curve_test", "curve_sparsity")

HEAVY = (*CURVE, "best_weights", "end_weights")
"""Columns that a thinned store lacks in most rows: nearly all of a store's bytes."""

LIGHT = tuple(name for name in COLUMNS if name not in (*HEAVY, "extra"))
"""Columns that are read by default."""

STATES = pa.schema(
    [
        ("spec_id", TEXT),
        ("seed", COUNT),
        ("engine", TEXT),
        ("version", TEXT),  # version of arithmos, and digest of the code that made the state
        ("written", TIME),
        ("names", pa.list_(TEXT)),
        ("arrays", pa.list_(pa.binary())),  # each in NumPy's file format
    ]
)

_FROM_RUN = [name for name in COLUMNS if name in Run.__dataclass_fields__ and name != "spec"]


def table_of_runs(runs: Sequence[Run], written: datetime) -> pa.Table:
    """Return runs as rows."""
    specs = {id(run.spec): run.spec for run in runs}
    columns = {key: _describe(spec) for key, spec in specs.items()}
    common = {"version": __version__, **_environment(), "written": written}
    rows = [columns[id(run.spec)] | _measured(run) | common for run in runs]
    return pa.Table.from_pylist(rows, schema=RUNS)


def _describe(spec: "Spec") -> dict[str, Any]:
    return {"spec": spec.json(), "model": spec.model.name, "label": spec.model.label} | flat(spec.json())


def _measured(run: Run) -> dict[str, Any]:
    curve = {name: getattr(run.curve, name.removeprefix("curve_")) for name in CURVE}
    named = {name: list(getattr(run, name).items()) for name in PREFIXES}
    return {name: getattr(run, name) for name in _FROM_RUN} | named | curve


def entries(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of values by name as lists of `key` and `value`, which more functions accept."""
    kind = column.type
    return column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))


def frame_of(table: pa.Table) -> "pd.DataFrame":
    """Return a table as a data frame, with one column per name for columns of values by name.

    Where a row has no such name, thresholds are NaN, steps are -1 for never, and anything else is null.
    """
    for column, prefix in PREFIXES.items():
        if column in table.schema.names:
            place, values = table.schema.get_field_index(column), table[column]
            table = table.remove_column(place)
            for name in reversed(pc.unique(pc.struct_field(pc.list_flatten(entries(values)), "key")).to_pylist()):
                found = pc.map_lookup(values, pa.scalar(name), "first")
                found = pc.fill_null(found, NEVER) if column == "solved_at" else found
                table = table.add_column(place, prefix + name, found)
    frame: pd.DataFrame = table.to_pandas()
    return frame


@lru_cache(maxsize=1)
def _environment() -> dict[str, str]:
    versions = {name: version(name) for name in ("torch", "numpy")}
    return {"python": platform.python_version(), **versions, "processor": processor()}


def row_of_state(spec: "Spec", seed: int, engine: str, state: State) -> dict[str, Any]:
    """Return a suspended run as a row, without its time."""
    arrays = []
    for name, array in state.items():
        buffer = io.BytesIO()
        try:
            np.save(buffer, array, allow_pickle=False)
        except ValueError as error:
            raise TypeError(f"state {name!r} must be an array of plain numbers, got {array!r}") from error
        arrays.append(buffer.getvalue())
    key = {"spec_id": spec.id, "seed": seed, "engine": engine, "version": f"{__version__} {CODE}"}
    return key | {"names": list(state), "arrays": arrays}


def state_of_row(names: Sequence[str], arrays: Sequence[bytes]) -> State:
    """Return the arrays of a suspended run.

    Raises:
        ValueError: the row does not hold arrays of plain numbers.
    """
    try:
        return {name: _array(data) for name, data in zip(names, arrays, strict=True)}
    except (
        EOFError,
        OSError,
        OverflowError,
        SyntaxError,
        TypeError,
        TokenError,
    ) as error:  # raised by NumPy on malformed bytes
        raise ValueError(str(error)) from error


def _array(data: bytes) -> NDArray[np.generic]:
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array must be in version 1.0 of NumPy's format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=256)
    if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():  # before memory is allocated
        raise ValueError(f"an array of {dtype} and shape {shape} does not have {len(data) - stream.tell()} bytes")
    loaded: NDArray[np.generic] = np.load(io.BytesIO(data), allow_pickle=False)
    return loaded


def now() -> datetime:
    """Return the time in UTC, to the microsecond."""
    return datetime.now(UTC)
