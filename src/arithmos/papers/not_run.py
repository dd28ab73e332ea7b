"""`NotRun`: published numbers without runs of ours, and the reason."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .published import Published


@dataclass(frozen=True)
class NotRun:
    """Published numbers that were not run, and why.

    They are rows of an experiment's table for which the experiment has no spec, or whose runs are not made, or a table
    that no experiment has.

    Args:
        name: name of the experiment; for a table without one, a name of its own.
        reason: why they were not run, without a full stop.
        models: models of the experiment's table that it is about; empty for all.
        item: place of the numbers in the paper; by default that of the experiment.
        published: the table, if no experiment has it.
        paper: key of its paper, which sets it.
    """

    name: str
    reason: str
    models: tuple[str, ...] = ()
    item: str = ""
    published: Published | None = None
    paper: str = ""


def read_not_run(path: Path) -> tuple[NotRun, ...]:
    """Return the groups of a TOML file, one per `[[not_run]]` table, in their order.

    The keys are `name`, `reason`, `models`, `item`, and `file`, a CSV file of published numbers beside the TOML file.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["not_run"]
    return tuple(_group(path.parent, **entry) for entry in entries)


def _group(
    folder: Path, *, name: str, reason: str, models: tuple[str, ...] = (), item: str = "", file: str = ""
) -> NotRun:
    return NotRun(name, reason, tuple(models), item, Published(folder / file) if file else None)
