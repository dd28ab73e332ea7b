"""`Published`: the printed numbers of a table or figure, read from a CSV file.

Columns: `model`, by the name that the experiment gives it; `operation`, or `at`, the place on the axis; `n` runs and
`k` solved ones; then any number of measures, each followed by its bounds `_low` and `_high` if it has some. An empty
field is a number that was not reported. The success rate is k/n.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("model", "n", "k")


@dataclass(frozen=True)
class Published:
    """The printed numbers of a table or figure.

    Args:
        path: CSV file of the cells.
        gates: CSV file of where gates end: `operation`, `model`, `solved`, `gate` and `count`.
        stated: runs behind each number, as the paper states; those of the file by default.
    """

    path: Path
    gates: Path | None = None
    stated: int | None = None

    @property
    def name(self) -> str:
        """Name of the file, without its suffix."""
        return self.path.stem

    @cached_property
    def table(self) -> "pd.DataFrame":
        """The cells, one per row."""
        import pandas as pd

        frame = pd.read_csv(self.path)
        missing = [name for name in NEEDED if name not in frame]
        if missing or ("operation" in frame) == ("at" in frame):
            wanted = ", ".join([*NEEDED, "and either operation or at"])
            raise ValueError(f"{self.path} must have the columns {wanted}, got {', '.join(map(str, frame))}")
        return frame.assign(success_rate=frame["k"] / frame["n"])

    @cached_property
    def cells(self) -> Mapping[tuple[str, Any], Mapping[str, Any]]:
        """The cells by model and operation, or by model and place on the axis."""
        place = "at" if "at" in self.table else "operation"
        rows = [{str(name): value for name, value in row.items()} for row in self.table.to_dict("records")]
        return {(row["model"], row[place]): row for row in rows}

    @cached_property
    def gate_counts(self) -> "pd.DataFrame":
        """Where gates end; empty if that was not published."""
        import pandas as pd

        columns = ["operation", "model", "solved", "gate", "count"]
        return pd.DataFrame(columns=columns) if self.gates is None else pd.read_csv(self.gates)
