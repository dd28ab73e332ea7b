"""Comparison of a user's unit with the published models."""

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torch import nn

from ..nn._unit import Unit
from ..optim import SparsitySchedule
from ..papers import Experiment
from ..spec import MODELS, TABLE_MODELS, Adam, Layer, Spec, as_unit
from ..store import Store
from ..tasks import Arithmetic, Task, is_task
from ._plan import unequal
from ._run import Progress, run

if TYPE_CHECKING:
    import pandas as pd


def compare(
    unit: Unit | type[nn.Module],
    *,
    first: str = "NAU",
    task: str | Task = "mul",
    seeds: int = 100,
    iterations: int = 5_000_000,
    learning_rate: float = 1e-3,
    schedule: SparsitySchedule | None = None,
    evaluate_every: int = 1000,
    models: Sequence[str] | None = None,
    engine: str = "auto",
    store: str | Path | Store = "runs",
    progress: Progress | None = None,
) -> "pd.DataFrame":
    """Compare a unit with the published models on the same task; returns a table with one row per model.

    Args:
        unit: a layer class or a `Unit`.
        first: unit of the first layer; `unit` is the second.
        task: an operation, with the paper's defaults, or a task.
        seeds: number of seeds.
        iterations: last iteration.
        learning_rate: learning rate of Adam.
        schedule: schedule of the sparsity regularizer, for `unit` and for the models that have one; by default as
            published.
        evaluate_every: iterations between two evaluations.
        models: names of the models to compare with; by default those of the paper's tables.
        engine: as in `run`. Runs that fail are missing from the table, and a warning says why.
        store: as in `run`.
        progress: as in `run`.
    """
    from ..report.tables.summary import summarize

    own = as_unit(unit)
    name = f"{first}>{own.name}"
    problem = task if is_task(task) else Arithmetic(operation=task)  # type: ignore[arg-type]
    mine = dataclasses.replace(MODELS["NMU"], name=name, label=name, layers=(Layer(first), Layer(own)))
    compared = [mine, *(MODELS[m] for m in (TABLE_MODELS if models is None else models))]
    if schedule is not None:
        compared = [dataclasses.replace(m, schedule=schedule) if m.schedule.strength else m for m in compared]
    experiment = Experiment(
        name=name,
        item="",
        title=f"{own.label} compared with the published models",
        specs=tuple(
            Spec(
                task=problem,
                model=model,
                iterations=iterations,
                evaluate_every=evaluate_every,
                optimizer=Adam(lr=learning_rate),
            )
            for model in compared
        ),
        seeds=seeds,
    )
    for line in unequal([experiment]):
        warnings.warn(line, stacklevel=2)
    store = store if isinstance(store, Store) else Store(store)
    for missed in run([experiment], engine=engine, store=store, progress=progress).missed:
        warnings.warn(f"not run: {missed}", stacklevel=2)
    return summarize(store, experiment)
