"""Tasks: the source of a network's observations, and the criterion by which a run is solved."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _checks
from .arithmetic import OPERATIONS as OPERATIONS
from .arithmetic import TEN_PARAMETERS as TEN_PARAMETERS
from .arithmetic import Arithmetic as Arithmetic
from .arithmetic import symbol as symbol
from .digits import DigitSequences as DigitSequences
from .module_threshold import module_threshold as module_threshold
from .rows import Rows as Rows
from .sampled import Sampled as Sampled
from .sir import FractionalSIR as FractionalSIR
from .task import Observations as Observations
from .task import ReferenceRule as ReferenceRule
from .task import TableDraws as TableDraws
from .task import Task as Task
from .task import UniformDraws as UniformDraws
from .threshold import Threshold as Threshold
from .threshold import threshold as threshold

if TYPE_CHECKING:
    from typing_extensions import TypeIs

KINDS: dict[str, type[Task]] = {
    "arithmetic": Arithmetic,
    "rows": Rows,
    "digits": DigitSequences,
    "sampled": Sampled,
    "sir": FractionalSIR,
}
"""Tasks by the `kind` in their plain form."""


def is_task(value: object) -> "TypeIs[Task]":
    """Return whether a value is a task, of one of `KINDS`."""
    return isinstance(value, tuple(KINDS.values()))


def from_plain(plain: Mapping[str, Any], data: Mapping[str, Any] | None = None) -> Task:
    """Return the task with a plain form: `from_plain(task.plain()) == task`.

    Args:
        plain: result of a task's `plain`.
        data: arguments of the task that its plain form only names by a digest: `inputs`, `targets` and `test` of
            `Rows`, and `source` of `DigitSequences`, if it is not MNIST.

    Raises:
        ValueError: the plain form is of an unknown kind or another version, a value in it is wrong, or data is missing.
    """
    kind = _checks.one_of("kind of the task", _checks.table("task", plain).get("kind"), KINDS)
    make: Callable[..., Task] = KINDS[kind].from_plain
    return make(plain, **(data or {}))
