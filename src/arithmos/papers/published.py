"""`Published`: the printed numbers of a table or figure, read from a CSV file.

Columns are `model`, by its name in the experiment; `operation`, or `at`, the position on the axis; `n` runs and `k`
solved ones; then any number of measures, each followed by its bounds `_low` and `_high` if it has any. An empty field
is a number that was not reported. The success rate is k/n.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._frames import records

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("model", "n", "k")


@dataclass(frozen=True)
class Published:
    """Printed numbers of a table or figure.

    Args:
        path: CSV file of the cells; a relative path starts at the folder of the paper.
        gates: CSV file of final gates: `operation`, `model`, `solved`, `gate` and `count`.
        stated: number of runs behind each number, as stated in the paper; by default those of the file.
    """

    path: Path
    gates: Path | None = None
    stated: int | None = None

    @property
    def name(self) -> str:
        """Name of the file, without its suffix."""
        return self.path.stem

    def within(self, folder: Path) -> "Published":
        """Return the same numbers, with relative paths taken from a folder."""
        return replace(self, path=folder / self.path, gates=self.gates and folder / self.gates)

    @cached_property
    def table(self) -> "pd.DataFrame":
        """The cells, one per row."""
        import pandas as pd

        try:
            frame = pd.read_csv(self.path)
        except ValueError as error:
            raise ValueError(f"{self.path} must be a CSV file in UTF-8: {error}") from error
        missing = [name for name in NEEDED if name not in frame]
        if missing or ("operation" in frame) == ("at" in frame):
            wanted = ", ".join([*NEEDED, "and either operation or at"])
            raise ValueError(f"{self.path} must have the columns {wanted}, got {', '.join(map(str, frame))}")
        numbers = frame.drop(columns=["model", "operation", "at"], errors="ignore")
        for name in numbers:
            words = numbers[name][pd.to_numeric(numbers[name], errors="coerce").isna() & numbers[name].notna()]
            if len(words):
                raise ValueError(f"{self.path} must have numbers in its column {name!r}, got {words.iloc[0]!r}")
        runs = frame.loc[frame["k"].notna(), ["k", "n"]]
        if not ((runs["k"] >= 0) & (runs["k"] <= runs["n"]) & (runs % 1 == 0).all(axis=1)).all():
            raise ValueError(f"{self.path} must have whole numbers k from 0 to n in every row")
        return frame.assign(success_rate=frame["k"] / frame["n"])

    @cached_property
    def cells(self) -> Mapping[tuple[str, Any], Mapping[str, Any]]:
        """The cells by model and operation, or by model and position on the axis."""
        place = "at" if "at" in self.table else "operation"
        rows = records(self.table)
        return {(row["model"], row[place]): row for row in rows}

    @cached_property
    def gate_counts(self) -> "pd.DataFrame":
        """Counts of final gates; empty if they were not published."""
        import pandas as pd

        columns = ["operation", "model", "solved", "gate", "count"]
        return pd.DataFrame(columns=columns) if self.gates is None else pd.read_csv(self.gates)
