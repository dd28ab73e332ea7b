"""Read the columns of a CSV file as numbers and report what was left out."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import _checks
from ..tasks.read import first_line
from ..tasks.rows import EXACT
from .notation import GAPS, Notation, notation, numbers

SEPARATORS = ",;\t"
LEAST_ROWS = 3
MOST_COLUMNS = 10_000
MOSTLY = 0.5
"""A column with a larger share of gaps is left out; otherwise, the rows with gaps are."""
MOST_CATEGORIES = 20
"""A column of text with more different values than that is not called categories."""

_DATES = {
    r"\d{4}-\d\d?-\d\d?([T ].*)?": "ISO8601",
    r"\d{4}/\d\d?/\d\d?": "%Y/%m/%d",
    r"\d\d?\.\d\d?\.\d{4}": "%d.%m.%Y",
}
"""Forms of dates whose order of day and month is beyond doubt."""
_SLASHED = r"\d\d?/\d\d?/\d{2,4}"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DataTable:
    """Inputs and targets of a regression.

    Args:
        names, targets: names of the input and target columns.
        x, y: their values, `[rows, columns]`.
        places: number of each input column in the file, from 0.
        left_out: one line for each thing left out, with the reason.
        notes: one line for each thing that was read in a way to know about.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    x: Floats
    y: Floats
    places: tuple[int, ...]
    left_out: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """Lines to print: what was left out, and what to know about the rest."""
        return [*(f"left out: {line}" for line in self.left_out), *(f"note: {line}" for line in self.notes)]


def read_columns(path: str | Path, targets: Sequence[str], columns: Sequence[str] | None = None) -> DataTable:
    """Read a CSV file whose first line names its columns.

    Numbers may have a decimal comma and marks between thousands. Columns of text, of dates and of categories, columns
    with integers beyond 2^53, columns that are mostly empty or infinite, columns that are constant or equal to another
    are left out, and then rows with gaps or infinite values and rows that repeat others. If such a column is a target
    or was asked for by name, that is an error; but dates that were asked for become days since the first of them.

    Args:
        path: the file; values are separated by commas, semicolons or tabs.
        targets: names of the columns to explain.
        columns: names of the columns to explain them by; by default, all others.

    Raises:
        ValueError: the file cannot be learned from; the message says why.
        OSError: the file cannot be read.
    """
    frame, form = _read(Path(path))
    order = [*frame.columns]
    targets, columns = [*map(_name, targets)], columns and [*map(_name, columns)]
    wanted = [*targets, *(columns or [])]
    _check_names(path, frame, targets, columns)
    frame = frame[[*(columns or [str(name) for name in frame if name not in targets]), *targets]]
    notes = [form.note()]
    frame = frame.copy()
    for name in frame.columns:
        if name in wanted and (days := _days(frame[name])) is not None:
            frame[name] = days.values
            notes.append(f"column {name!r} was read as days since {days.first}")
        elif (found := _written_otherwise(frame[name], form)) is not None:
            frame[name] = found
    unfit = {name: why for name in frame.columns if (why := _unfit(frame[name]))}
    for name, why in unfit.items():
        if name in wanted:
            raise ValueError(f"column {name!r} {why}")
    left_out = [f"column {name!r}, which {why}" for name, why in unfit.items()]
    whole, reasons = _whole_rows(frame.drop(columns=[*unfit]).astype(np.float64), path)
    left_out += reasons
    for name in targets:
        if whole[name].eq(whole[name].iloc[0]).all():
            raise ValueError(f"column {name!r} is {whole[name].iloc[0]:g} in every row: there is nothing to explain")
    inputs = whole.drop(columns=[*targets])
    useless = dict(_useless(inputs))
    left_out += [f"column {name!r}, which {why}" for name, why in useless.items()]
    inputs = inputs.drop(columns=[*useless])
    if inputs.columns.empty:
        raise ValueError(f"{path} has no column of numbers to explain {', '.join(targets)} by")
    x, y = inputs.to_numpy(np.float64), whole[[*targets]].to_numpy(np.float64)
    places = tuple(order.index(name) for name in inputs.columns)
    return DataTable(tuple(inputs.columns), tuple(targets), x, y, places, tuple(left_out), tuple(filter(None, notes)))


def _check_names(path: str | Path, frame: pd.DataFrame, targets: Sequence[str], columns: Sequence[str] | None) -> None:
    for name in [*targets, *(columns or [])]:
        if name not in frame:
            near = get_close_matches(name, frame.columns, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, frame.columns[:20]))}"
            raise ValueError(f"{path} has no column {name!r}; {hint}")
    if both := set(targets) & set(columns or []):
        raise ValueError(f"{both.pop()!r} is both a target and a column to explain it by")


def _read(path: Path) -> tuple[pd.DataFrame, Notation]:
    try:
        head = first_line(path)
        separator = max(SEPARATORS, key=head.count)
        if (count := head.count(separator) + 1) > MOST_COLUMNS:
            raise ValueError(f"{path} must have at most {MOST_COLUMNS:,} columns, got {count:,}")
        form = notation(path, separator)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Nullable types: otherwise integers in a column with gaps would be read as float64, and large ones rounded.
            values: dict[str, Any] = {
                "dtype_backend": "numpy_nullable",
                "decimal": form.decimal,
                "na_values": GAPS,
            }
            options: dict[str, Any] = {"sep": separator, "encoding": "utf-8-sig", "skipinitialspace": True}
            top = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
            names = top.iloc[0].map(_name)
            frame: pd.DataFrame = pd.read_csv(path, index_col=False, low_memory=False, **values, **options)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8; save it as 'CSV UTF-8'") from error
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
    return frame.rename(columns=_name), form


def _name(name: object) -> str:
    """Return a name on one line, with single spaces."""
    return " ".join(str(name).split())


def _is_text(column: "pd.Series[Any]") -> bool:
    return not pd.api.types.is_numeric_dtype(column)


def _written_otherwise(column: "pd.Series[Any]", form: Notation) -> "pd.Series[float] | None":
    """Return a column of text as numbers if that is what all of it is, without integers beyond 2^53."""
    if not _is_text(column) or column.notna().sum() == 0:
        return None
    text = column.astype("string")
    found = numbers(text, form)
    if (found.isna() & text.notna()).any() or text.str.fullmatch(r"[+-]?\d{17,}").any():
        return None
    return found.astype("Float64")


@dataclass(frozen=True)
class _Days:
    values: "pd.Series[float]"
    first: str


def _days(column: "pd.Series[Any]") -> _Days | None:
    """Return a column of dates as days since the first of them; None for other columns."""
    form = _date_form(column)
    if form is None:
        return None
    moments = pd.to_datetime(column.astype("object"), format=form, errors="coerce", utc=True)
    if (moments.isna() & column.notna()).any():
        return None
    days = (moments - moments.min()) / pd.Timedelta(days=1)
    return _Days(days.astype("Float64"), str(moments.min().date()))


def _date_form(column: "pd.Series[Any]") -> str | None:
    """Return the format of a column of dates; None for other columns."""
    text = column.dropna()
    if not _is_text(column) or text.empty:
        return None
    text = text.astype("string")
    for form, name in _DATES.items():
        if text.str.fullmatch(form).all():
            return name
    return None


def _unfit(column: "pd.Series[Any]") -> str:
    """Return why a column cannot be used, or an empty string."""
    if column.isna().mean() > MOSTLY:
        return f"is empty in {column.isna().sum()} of {len(column)} rows"
    if pd.api.types.is_integer_dtype(column):
        large = column[(column > EXACT) | (column < -EXACT)]
    elif not _is_text(column):
        infinite = column.isin([np.inf, -np.inf])
        return f"is infinite in {infinite.sum()} of {len(column)} rows" if infinite.mean() > MOSTLY else ""
    else:
        text = column[pd.to_numeric(column, errors="coerce").isna() & column.notna()]
        if len(text):
            return _kind_of_text(column, text)
        large = column[column.notna() & column.astype(str).str.fullmatch(r"[+-]?\d{17,}")]
    if len(large):
        example = f"{large.iloc[0]} in row {large.index[0] + 1}"
        return f"has integers beyond 2^53, where float64 skips some, such as {example}"
    return ""


def _kind_of_text(column: "pd.Series[Any]", text: "pd.Series[Any]") -> str:
    """Return what a column of text holds, with an example: dates, categories, or anything."""
    example = f"such as {_checks.shown(text.iloc[0])} in row {text.index[0] + 1}"
    if _date_form(column) is not None or column.dropna().astype("string").str.fullmatch(_SLASHED).all():
        return f"holds dates, {example}"
    kinds = text.nunique()
    if kinds == 1 and len(text) == len(column):
        return f"is {_checks.shown(text.iloc[0])} in every row"
    if len(text) == column.notna().sum() and kinds <= min(MOST_CATEGORIES, len(text) / 2):
        return f"holds {kinds} categories, {example}"
    return f"is text, {example}"


def _whole_rows(numbers: pd.DataFrame, path: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows without gaps and infinite values, each once, and what was left out."""
    gaps = numbers.isna().any(axis=1)
    infinite = numbers.isin([np.inf, -np.inf]).any(axis=1) & ~gaps
    whole = numbers[~(gaps | infinite)]
    again = whole.duplicated()
    counts = {"have gaps": gaps.sum(), "have infinite values": infinite.sum(), "repeat other rows": again.sum()}
    reasons = [f"{count} of {len(numbers)} rows, which {what}" for what, count in counts.items() if count]
    if len(whole) - again.sum() < LEAST_ROWS:
        without = "gaps or infinite values" if infinite.any() else "gaps"
        different = "different " if again.any() else ""
        got = len(whole) - again.sum()
        raise ValueError(f"{path} must have at least {LEAST_ROWS} {different}rows without {without}, got {got}")
    return whole[~again], reasons


def _useless(inputs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield columns that are constant or equal to an earlier one, with the reason."""
    known: dict[bytes, str] = {}
    for name, column in inputs.items():
        values = column.to_numpy(np.float64) + 0.0  # -0.0 equals 0.0
        if (values == values[0]).all():
            yield str(name), f"is {values[0]:g} in every row"
        elif (first := known.setdefault(values.tobytes(), str(name))) != name:
            yield str(name), f"equals column {first!r} in every row"
