"""Notation of the numbers in a CSV file: decimal comma or point, and marks between thousands."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pandas as pd

SAMPLE = 2000
"""Lines that are looked at to determine the notation."""
GAPS = ("?", "-", "--", "–", "—", ".")
"""Marks of missing values, besides those that pandas knows, such as NA, null and n/a."""

_COMMA = re.compile(r"[+−-]?(\d+|\d{1,3}(\.\d{3})+),(\d+)")
_POINT = re.compile(r"[+−-]?(\d+|\d{1,3}(,\d{3})+)\.(\d+)")
_SPACED = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
"""Space or apostrophe between thousands."""
_FIELD = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True)
class Notation:
    """Notation of the numbers in a file.

    Args:
        separator: character between the values of a row.
        decimal: decimal mark, a point or a comma; the other one may stand between thousands.
        doubt: a number that might be meant otherwise; empty if there is none.
    """

    separator: str
    decimal: str = "."
    doubt: str = ""

    @property
    def thousands(self) -> str:
        """Mark between thousands."""
        return "." if self.decimal == "," else ","

    def note(self) -> str:
        """Return how numbers were read, in a line; empty if it is the usual way."""
        if self.doubt:
            return f"numbers such as {self.doubt} were read as {self.plain(self.doubt)}"
        return "numbers were read with a decimal comma" if self.decimal == "," else ""

    def plain(self, number: str) -> str:
        """Return a number without marks between thousands and with a decimal point."""
        return number.replace(self.thousands, "").replace(self.decimal, ".")


def notation(path: Path, separator: str) -> Notation:
    """Determine how a file writes its numbers, by its first lines.

    A number such as 1.234,5 or 0,25 shows a decimal comma, and one such as 1,234.5 or 0.25 a decimal point. Where all
    numbers with a comma look like 1,234, the comma is a decimal mark in files separated by semicolons, as spreadsheets
    write them where the comma is one, and otherwise stands between thousands.
    """
    with path.open(encoding="utf-8-sig") as file:
        fields = [*_fields(islice(file, 1, SAMPLE), separator)]
    commas, points = _marked(fields, _COMMA), _marked(fields, _POINT)
    if any(map(_decides, points)) or not commas:
        return Notation(separator)
    if any(map(_decides, commas)):
        return Notation(separator, ",")
    return Notation(separator, "," if separator == ";" else ".", commas[0][0])


def _fields(lines: Iterable[str], separator: str) -> Iterator[str]:
    """Yield the fields of some lines; quoted ones may contain the separator."""
    for line in lines:
        for quoted in _FIELD.findall(line):
            yield quoted.strip()
        for field in _FIELD.sub("", line).split(separator):
            yield field.strip()


def _marked(fields: Iterable[str], form: re.Pattern[str]) -> list[re.Match[str]]:
    return [found for field in fields if (found := form.fullmatch(field))]


def _decides(found: re.Match[str]) -> bool:
    """Return whether a number can be read in one way only: 1.234,5 and 0,123, but not 1,234."""
    whole, groups, rest = found.groups()
    return groups is not None or len(rest) != 3 or len(whole) > 3 or whole == "0"


def numbers(column: "pd.Series[str]", form: Notation) -> "pd.Series[float]":
    """Return text as numbers, also with marks between thousands and with the sign −; else NaN."""
    plain = column.str.strip().str.replace(_SPACED, "", regex=True).str.replace("−", "-")
    group, decimal = re.escape(form.thousands), re.escape(form.decimal)
    grouped = plain.str.fullmatch(rf"[+-]?\d{{1,3}}({group}\d{{3}})+({decimal}\d+)?").fillna(False)
    plain = plain.mask(grouped, plain.str.replace(form.thousands, "", regex=False))
    if form.decimal == ",":
        plain = plain.mask(plain.str.contains(".", regex=False)).str.replace(",", ".", regex=False)
    found: pd.Series[float] = pd.to_numeric(plain, errors="coerce")
    return found
