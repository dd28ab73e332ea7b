"""Where the cells of an experiment stand: on the axis of its figure, or nowhere in a table."""

from collections.abc import Iterator

from ..experiments import Experiment
from ..experiments.experiment import axis_value as axis_value
from ..experiments.experiment import operation as operation
from ..spec import Spec

Place = float | str
"""A number, or a category; empty in a table."""


def places(experiment: Experiment) -> Iterator[tuple[Spec, Place]]:
    """The cells of an experiment in its order: a spec each, and its place."""
    for spec in experiment.specs:
        yield spec, axis_value(spec, experiment.axis) if experiment.axis else ""
