"""`Finding`: what was found out about an experiment, in words."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWN = "the project's own runs"


@dataclass(frozen=True)
class Finding:
    """A written finding on an experiment, or on some of its cells.

    Args:
        experiment: name of the experiment.
        text: what was found.
        model: only of this model; empty for all.
        operation: only of this operation; empty for all.
        at: only at this place on the axis; None for all.
        measure: only on this number of a cell; empty for all.
        own: about the runs in the project's results/, not about those of whatever store is at hand.
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
        """The text, after whose runs it is about where that might be mistaken."""
        return f"{OWN.capitalize()}: {self.text}" if self.own else self.text

    def concerns(self, row: Mapping[str, Any]) -> bool:
        """Whether it is about a cell, given its `experiment`, `model`, `operation`, `at` and `measure`."""
        names = ("experiment", "model", "operation", "at", "measure")
        return all(getattr(self, name) in ("", None, row[name]) for name in names)


def read_findings(path: Path) -> tuple[Finding, ...]:
    """Return the findings of a TOML file, one per `[[finding]]` table, in their order."""
    return tuple(Finding(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["finding"])
