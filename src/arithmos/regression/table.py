"""Read the columns of a CSV file as numbers and report what was left out."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import _checks
from ..tasks.read import first_line
from ..tasks.rows import EXACT
from .products import Floats

SEPARATORS = ",;\t"
LEAST_ROWS = 3
MOST_COLUMNS = 10_000
MOSTLY = 0.5
"""A column with a larger share of gaps is left out; otherwise, the rows with gaps are."""


@dataclass(frozen=True)
class DataTable:
    """Inputs and targets of a regression.

    Args:
        names, targets: names of the input and target columns.
        x, y: their values, `[rows, columns]`.
        left_out: one line for each thing left out, with the reason.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    x: Floats
    y: Floats
    left_out: tuple[str, ...]


def read_columns(path: str | Path, targets: Sequence[str], columns: Sequence[str] | None = None) -> DataTable:
    """Read a CSV file whose first line names its columns.

    Columns of text, columns with integers beyond 2^53, columns that are mostly empty or infinite and columns that are
    constant are left out, and then rows with gaps or infinite values. If such a column is a target or was asked for by
    name, that is an error.

    Args:
        path: the file; values are separated by commas, semicolons or tabs.
        targets: names of the columns to explain.
        columns: names of the columns to explain them by; by default, all others.

    Raises:
        ValueError: the file cannot be learned from; the message says why.
        OSError: the file cannot be read.
    """
    frame = _read(Path(path))
    targets, columns = [*map(_name, targets)], columns and [*map(_name, columns)]
    wanted = [*targets, *(columns or [])]
    for name in wanted:
        if name not in frame:
            near = get_close_matches(name, frame.columns, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, frame.columns[:20]))}"
            raise ValueError(f"{path} has no column {name!r}; {hint}")
    if both := set(targets) & set(columns or []):
        raise ValueError(f"{both.pop()!r} is both a target and a column to explain it by")
    frame = frame[[*(columns or [str(name) for name in frame if name not in targets]), *targets]]
    unfit = {name: why for name in frame.columns if (why := _unfit(frame[name]))}
    for name, why in unfit.items():
        if name in wanted:
            raise ValueError(f"column {name!r} {why}")
    left_out = [f"column {name!r}, which {why}" for name, why in unfit.items()]
    frame = frame.drop(columns=[*unfit])
    numbers = frame.astype(np.float64)
    gaps = numbers.isna().any(axis=1)
    infinite = numbers.isin([np.inf, -np.inf]).any(axis=1) & ~gaps
    for rows, what in ((gaps, "gaps"), (infinite, "infinite values")):
        if rows.any():
            left_out.append(f"{rows.sum()} of {len(numbers)} rows, which have {what}")
    whole = numbers[~(gaps | infinite)]
    if len(whole) < LEAST_ROWS:
        without = "gaps or infinite values" if infinite.any() else "gaps"
        raise ValueError(f"{path} must have at least {LEAST_ROWS} rows without {without}, got {len(whole)}")
    for name in targets:
        if whole[name].eq(whole[name].iloc[0]).all():
            raise ValueError(f"column {name!r} is {whole[name].iloc[0]:g} in every row: there is nothing to explain")
    inputs = whole.drop(columns=[*targets])
    varies = inputs.ne(inputs.iloc[0]).any()
    constant = inputs.iloc[0][~varies]
    left_out += [f"column {name!r}, which is {value:g} in every row" for name, value in constant.items()]
    if not varies.any():
        raise ValueError(f"{path} has no column of numbers to explain {', '.join(targets)} by")
    names = inputs.columns[varies]
    x, y = whole[names].to_numpy(np.float64), whole[[*targets]].to_numpy(np.float64)
    return DataTable(tuple(names), tuple(targets), x, y, tuple(left_out))


def _read(path: Path) -> pd.DataFrame:
    try:
        head = first_line(path)
        separator = max(SEPARATORS, key=head.count)
        if (count := head.count(separator) + 1) > MOST_COLUMNS:
            raise ValueError(f"{path} must have at most {MOST_COLUMNS:,} columns, got {count:,}")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Nullable types: otherwise integers in a column with gaps would be read as float64, and large ones rounded.
            gaps: dict[str, Any] = {"dtype_backend": "numpy_nullable"}
            form: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig", "skipinitialspace": True}
            names = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **form).iloc[0].map(_name)
            frame: pd.DataFrame = pd.read_csv(path, index_col=False, low_memory=False, **gaps, **form)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8") from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path} is empty") from error
    except pd.errors.ParserWarning as error:
        raise ValueError(f"{path} is not a table: its rows have more values than its first line has names") from error
    except pd.errors.ParserError as error:
        raise ValueError(f"{path} is not a table: {str(error).strip()}") from error
    for number, name in enumerate(names, 1):
        if not name.isprintable():
            raise ValueError(f"{path} must have printable column names; column {number} is named {_checks.shown(name)}")
    if len(twice := names[names.duplicated() & names.ne("")]):  # pandas renames them silently
        raise ValueError(f"{path} has two columns {twice.iloc[0]!r}; rename or remove one")
    return frame.rename(columns=_name)


def _name(name: object) -> str:
    """Return a name on one line, with single spaces."""
    return " ".join(str(name).split())


def _unfit(column: "pd.Series[float]") -> str:
    """Return why a column cannot be used, or an empty string."""
    if column.isna().mean() > MOSTLY:
        return f"is empty in {column.isna().sum()} of {len(column)} rows"
    if pd.api.types.is_integer_dtype(column):
        large = column[(column > EXACT) | (column < -EXACT)]
    elif pd.api.types.is_numeric_dtype(column):
        infinite = column.isin([np.inf, -np.inf])
        return f"is infinite in {infinite.sum()} of {len(column)} rows" if infinite.mean() > MOSTLY else ""
    else:
        numbers = pd.to_numeric(column, errors="coerce")
        text = column[numbers.isna() & column.notna()]
        if len(text):
            return f"is text, such as {text.iloc[0]!r} in row {text.index[0] + 1}"
        large = column[column.notna() & column.astype(str).str.fullmatch(r"[+-]?\d{17,}")]
    if len(large):
        example = f"{large.iloc[0]} in row {large.index[0] + 1}"
        return f"has integers beyond 2^53, where float64 skips some, such as {example}"
    return ""
