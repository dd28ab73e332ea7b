"""`Finding`: a written finding on an experiment."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWN = "the project's own runs"


@dataclass(frozen=True)
class Finding:
    """Written finding on an experiment, or on some of its cells.

    Args:
        experiment: name of the experiment.
        text: the finding.
        model: model that it concerns; empty for all.
        operation: operation that it concerns; empty for all.
        at: position on the axis that it concerns; None for all.
        measure: number of a cell that it concerns; empty for all.
        own: whether it is about the runs in the project's results/, not about those of the store at hand.
    """

    experiment: str
    text: str
    model: str = ""
    operation: str = ""
    at: float | str | None = None
    measure: str = ""
    own: bool = False

    @property
    def sentences(self) -> str:
        """The text, preceded by whose runs it is about if those are the project's own."""
        return f"{OWN.capitalize()}: {self.text}" if self.own else self.text

    def concerns(self, row: Mapping[str, Any]) -> bool:
        """Return whether it is about a cell, given its `experiment`, `model`, `operation`, `at` and `measure`."""
        names = ("experiment", "model", "operation", "at", "measure")
        return all(getattr(self, name) in ("", None, row[name]) for name in names)


def read_findings(path: Path) -> tuple[Finding, ...]:
    """Return the findings of a TOML file, one per `[[finding]]` table, in their order."""
    return tuple(Finding(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["finding"])
