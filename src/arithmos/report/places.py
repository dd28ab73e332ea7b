"""Where the cells of an experiment stand: on the axis of its figure, or nowhere in a table."""

from collections.abc import Iterator

from ..experiments import Experiment
from ..spec import Spec
from ..tasks import Rows

Place = float | str
"""A number, or a category; empty in a table."""


def places(experiment: Experiment) -> Iterator[tuple[Spec, Place]]:
    """The cells of an experiment in its order: a spec each, and its place."""
    for spec in experiment.specs:
        yield spec, axis_value(spec, experiment.axis) if experiment.axis else ""


def axis_value(spec: Spec, axis: str) -> Place:
    """Where a spec stands on the axis of a figure: a field of the spec, of its task or of its schedule."""
    for place in (spec, spec.task, spec.model.schedule):
        if hasattr(place, axis):
            value = getattr(place, axis)
            if isinstance(value, tuple):
                return "∪".join(f"U[{low:g},{high:g}]" for low, high in value)
            return float(value)
    raise ValueError(f"axis must be a field of the spec, its task or its schedule, got {axis!r}")


def operation(spec: Spec) -> str:
    """The operation that a spec learns; empty for a user's data."""
    return "" if isinstance(spec.task, Rows) else spec.task.operation
