"""`Experiment`: the runs of one table or figure."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .. import _checks
from ..judging.sequences import Place
from ..spec import NO_SCHEDULE, Layer, Model, Spec
from .published import Published

RECORDS = 200
"""Evaluations of a run whose length is given in epochs, if it has that many epochs."""

MOST_SEEDS = 1_000_000

LENGTH = "test_length"
"""Axis of sequences: the lengths that each spec is tested on."""
INIT = "init"
"""Axis of initial weights: the option of this name of a network's first layer."""


@dataclass(frozen=True)
class Experiment:
    """Runs of one table or figure.

    Args:
        name: name on the command line.
        item: its place in the paper.
        title: title on one line.
        specs: specs to run, in the order in which they are shown.
        seeds: number of seeds of each, 0 … seeds - 1.
        axis: what a figure sweeps: the name of a field of the spec, its task or its schedule, "init" for the initial
            weights, or "test_length" for the lengths that each spec is tested on; empty for a table.
        published: its published values, if any.
        paper: key of its paper, which sets it; empty for a user's experiment.
        criterion: name of the thresholds that decide by default; empty for the first of its paper, or of its tasks.
        by_weights: whether its numbers are computed from the weights of its networks, which cells then have.
    """

    name: str
    item: str
    title: str
    specs: tuple[Spec, ...]
    seeds: int = 100
    axis: str = ""
    published: Published | None = None
    paper: str = ""
    criterion: str = ""
    by_weights: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", _checks.whole("seeds", self.seeds, 1, MOST_SEEDS))

    @property
    def qualified_name(self) -> str:
        """Name that is unique among all papers, such as "madsen2020/table-2"."""
        return f"{self.paper}/{self.name}" if self.paper else self.name

    @property
    def runs(self) -> int:
        """Number of runs in all."""
        return len(self.specs) * self.seeds

    @property
    def iterations(self) -> int:
        """Number of training iterations in all."""
        return sum(spec.iterations + 1 for spec in self.specs) * self.seeds

    def places(self) -> Iterator[tuple[Spec, Place]]:
        """Yield the cells in order: a spec and its position on the axis, which is empty in a table.

        A spec of sequences has a cell for every length that it is tested on.
        """
        for spec in self.specs:
            if self.axis == LENGTH and spec.task.test_lengths:
                yield from ((spec, float(length)) for length in spec.task.test_lengths)
            else:
                yield spec, axis_value(spec, self.axis) if self.axis else ""

    def describe(self, spec: Spec, at: Place) -> dict[str, Any]:
        """Return the names of a cell: operation, model, label, position on the axis if there is one, and spec."""
        row: dict[str, Any] = {"operation": spec.task.operation, "model": spec.model.name, "label": spec.model.label}
        return row | ({self.axis: at} if self.axis else {}) | {"spec_id": spec.id}

    def printed(self, spec: Spec, at: Place) -> Mapping[str, Any]:
        """Return the published values of a cell; empty if there are none."""
        key = (spec.model.name, at if self.axis else spec.task.operation)
        return self.published.cells.get(key, {}) if self.published else {}

    def cell(self, unit: str) -> Model:
        """Return a unit, by its name or `path/to/file.py:Class`, as a model of sequences.

        Its sparsity regularizer is that of the experiment's own cells that have one.
        """
        own = [spec.model.schedule for spec in self.specs if spec.model.schedule.strength]
        layer = Layer(unit)
        return Model(unit, (layer,), own[0] if own else NO_SCHEDULE, layer.label)

    def select(
        self,
        *,
        models: Collection[Model] | None = None,
        operations: Collection[str] | None = None,
        seeds: int | None = None,
        iterations: int | None = None,
        epochs: int | None = None,
    ) -> "Experiment":
        """Return a part of the experiment, or a shorter version of it.

        A model that the experiment does not have is run on each of its problems. Published values do not apply to runs
        of another length and are dropped.

        Args:
            models: the models to run.
            operations: the operations to run.
            seeds: number of seeds.
            iterations: last iteration.
            epochs: number of epochs, for sequences of digits, with a record before each, or at some 200 of them, and
                one at the end.
        """
        specs = list(self.specs)
        if operations is not None:
            _check(operations, specs, self.name)
            specs = [spec for spec in specs if spec.task.operation in operations]
        if models is not None:
            order = list(dict.fromkeys(spec.task.operation for spec in specs))
            chosen = dict.fromkeys(spec for model in models for spec in _problems(specs, model))
            specs = sorted(chosen, key=lambda spec: order.index(spec.task.operation))
        published = self.published
        if epochs is not None:
            if iterations is not None:
                raise ValueError(f"only one of epochs and iterations must be given, got {epochs} and {iterations}")
            specs = [_shortened(spec, epochs, self.name) for spec in specs]
            published = None
        if (
            iterations is not None
            and _checks.whole("iterations", iterations, 1)
            and any(spec.iterations != iterations for spec in specs)
        ):
            specs = [dataclasses.replace(spec, iterations=iterations) for spec in specs]
            published = None
        if seeds is None:
            seeds = self.seeds
        return dataclasses.replace(self, specs=tuple(specs), seeds=seeds, published=published)


def axis_value(spec: Spec, axis: str) -> float | str:
    """Return the position of a spec on the axis of a figure: a field of the spec, its task, schedule or optimizer.

    On the axis of lengths it has several, from its shortest to its longest; on that of initial weights it is the option
    of its first layer.
    """
    if axis == LENGTH and spec.task.test_lengths:
        return f"{min(spec.task.test_lengths)} to {max(spec.task.test_lengths)}"
    if axis == INIT:
        return str(dict(spec.model.layers[0].options).get(INIT, "default"))
    for place in (spec, spec.task, spec.model.schedule, spec.optimizer):
        value = getattr(place, axis, None)
        if isinstance(value, tuple) and axis == "layer_rates":
            return ", ".join(map("{:g}".format, value)) or "1"
        if isinstance(value, tuple):
            pattern = "[{:g},{:g})" if axis == "fixed" else "U[{:g},{:g}]"
            return "∪".join(pattern.format(low, high) for low, high in value)
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, str):
            return value
    raise ValueError(
        f"axis must be a number or a range of the spec, its task, its schedule or its optimizer, got {axis!r}"
    )


def _shortened(spec: Spec, epochs: int, experiment: str) -> Spec:
    if not (epoch := spec.task.epoch(spec.batch_size)):
        raise ValueError(f"{experiment} has no epochs, because its observations are always new; give iterations")
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs}")
    return dataclasses.replace(spec, iterations=epochs * epoch, evaluate_every=max(1, epochs // RECORDS) * epoch)


def _check(operations: Collection[str], specs: list[Spec], experiment: str) -> None:
    known = dict.fromkeys(spec.task.operation for spec in specs)
    for name in operations:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"{experiment} has no operation {name!r}; {hint}it has {', '.join(known)}")


def _problems(specs: list[Spec], model: Model) -> list[Spec]:
    """Return the specs that a model takes part in; for a model from outside, every problem once."""
    own = [spec for spec in specs if spec.model.name == model.name and spec.model.layers == model.layers]
    return own or list(dict.fromkeys(dataclasses.replace(spec, model=model) for spec in specs))
