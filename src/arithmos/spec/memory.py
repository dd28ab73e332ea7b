"""Memory that a run needs, computed from its spec before anything is allocated."""

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .spec import Spec

MOST_BYTES = 2**33
"""Most memory of a run. The limit is the same for all machines: a spec must not depend on where it is read."""

_FLOAT = 4
_STATE = 4 * _FLOAT
"""Bytes per weight, with its gradient and Adam's two moments."""

_RECORD = 5 * _FLOAT
"""Bytes per record of a curve: its step in 64 bits, two errors, sparsity error."""


def check(spec: "Spec") -> None:
    """Raise if a run needs more memory than it may have."""
    needs = _needs(spec)
    total = sum(needs.values())
    if total > MOST_BYTES:
        cause = max(needs, key=lambda arguments: needs[arguments])
        raise ValueError(
            f"{cause} must be smaller: a run would need {total / 2**30:,.0f} GiB of memory or more, the limit is "
            f"{MOST_BYTES / 2**30:.0f} GiB"
        )


def check_curve(spec: "Spec") -> None:
    """Raise if a run needs more memory to keep every record than it may have."""
    total = _RECORD * spec.records
    if total > MOST_BYTES:
        raise ValueError(
            f"all_records must be False, or evaluate_every larger than {spec.evaluate_every}: {spec.records:,} "
            f"records of a run need {total / 2**30:,.0f} GiB of memory, the limit is {MOST_BYTES / 2**30:.0f} GiB"
        )


def _needs(spec: "Spec") -> dict[str, int]:
    """Return lower bounds of the bytes needed, by the arguments that cause them."""
    sizes, task = spec.sizes, spec.task
    widest = "input_size" if task.input_size >= max(sizes[1:]) else "hidden_size"
    weights = sum(i * o for i, o in pairwise(sizes))
    needs = {widest: _STATE * weights, f"batch_size or {widest}": _FLOAT * spec.batch_size * sum(sizes)}
    for arguments, size in task.memory(spec.batch_size, spec.records).items():
        needs[arguments] = needs.get(arguments, 0) + size
    return needs
