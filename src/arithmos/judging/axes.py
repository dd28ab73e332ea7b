"""Where the cells of an experiment stand: on the axis of its figure, or nowhere in a table.

A spec is one cell, but for one of sequences, which has a cell for every length that it is tested on.
"""

from collections.abc import Iterator

from ..papers import Experiment
from ..papers.experiment import LENGTH as LENGTH
from ..papers.experiment import axis_value as axis_value
from ..papers.experiment import operation as operation
from ..spec import Spec
from ..tasks import OPERATIONS, DigitSequences

Place = float | str
"""A number, or a category; empty in a table."""


def symbol(operation: str) -> str:
    """An operation as it is written; empty for a user's data."""
    return OPERATIONS[operation][0] if operation in OPERATIONS else ""


def places(experiment: Experiment) -> Iterator[tuple[Spec, Place]]:
    """The cells of an experiment in its order: a spec each, and its place."""
    for spec in experiment.specs:
        if experiment.axis == LENGTH and isinstance(spec.task, DigitSequences):
            yield from ((spec, float(length)) for length in spec.task.test_lengths)
        else:
            yield spec, axis_value(spec, experiment.axis) if experiment.axis else ""
