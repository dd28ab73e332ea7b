"""`findings`: what was found out about an experiment, in words, kept with the catalogue in findings.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
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


@lru_cache(maxsize=1)
def _all() -> tuple[Finding, ...]:
    text = resources.files(__package__).joinpath("madsen2020/findings.toml").read_text(encoding="utf-8")
    return tuple(Finding(**entry) for entry in tomllib.loads(text)["finding"])


def findings(experiment: str | None = None) -> list[Finding]:
    """The findings on an experiment, or all of them, in the order in which they were written.

    Example:
        >>> findings("regularizer-add")[0].at
        0.01
    """
    return [finding for finding in _all() if experiment in (None, finding.experiment)]
