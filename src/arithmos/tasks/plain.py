"""The plain form of a task: values as JSON has them, with the task's kind and version."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .. import _checks


class Kind(Protocol):
    """A class of tasks."""

    kind: str
    version: int


def values(task: Kind, plain: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the values of a plain form by name, without its kind and version.

    Raises:
        ValueError: it is of another kind or version, or has other names.
    """
    table = _checks.table("task", plain)
    kind, version = table.pop("kind", None), table.pop("version", None)
    _checks.one_of("kind of the task", kind, [task.kind])
    if version != task.version:
        raise ValueError(
            f"version of the task {kind!r} must be {task.version}, that of this arithmos, got {_checks.shown(version)}"
        )
    return _checks.table("task", table, names)
