"""Lists of experiments, models, specs and runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..._choices import Format
from ..._formatting import duration, scientific
from .grid import Cell, Grid, plain_rows

if TYPE_CHECKING:  # the list of experiments needs neither torch nor pandas
    import pandas as pd

    from ...engines import Engines
    from ...papers import Experiment
    from ...spec import Model

Columns = Mapping[str, tuple[str, Callable[[Any], str]]]

CATALOGUE: Columns = {
    "name": ("Name", str),
    "item": ("In the paper", str),
    "runs": ("Runs", str),
    "iterations": ("Iterations", scientific),
    "stored": ("Stored", str),
    "seconds": ("Time left", lambda seconds: duration(seconds) if seconds else "done"),
}
MODELS: Columns = {
    "model": ("Name", str),
    "label": ("Label", str),
    "layers": ("Layers", str),
    "regularizer": ("Regularizer", str),
    "engines": ("Engines", str),
}
PLAN: Columns = {
    "engine": ("Engine", str),
    "runs": ("Runs", str),
    "iterations": ("Iterations", scientific),
    "seconds": ("Time", duration),
}
SPECS: Columns = {
    "spec_id": ("Spec", str),
    "operation": ("Operation", str),
    "model": ("Model", str),
    "input_size": ("Inputs", str),
    "hidden_size": ("Hidden", str),
    "iterations": ("Iterations", scientific),
    "seeds": ("Seeds", str),
}
RUNS: Columns = {
    "seed": ("Seed", str),
    "engine": ("Engine", str),
    "solved": ("Solved", lambda solved: "yes" if solved else "no"),
    "exact": ("Exact", lambda exact: {True: "yes", False: "no"}.get(exact, "—")),
    "solved_at": ("Solved at", lambda step: str(step) if step >= 0 else "—"),
    "best_step": ("Best record", str),
    "best_test": ("Test error", "{:.3g}".format),
    "best_sparsity": ("Sparsity error", "{:.3g}".format),
    "ended_early": ("Ended early", lambda ended: "yes" if ended else ""),
}

OPTIONAL = ("Ended early", "Iterations", "Regularizer", "Sparsity error", "Best record")
"""Columns that a narrow terminal can do without, the least important first."""

MEASURED = ["exact", "solved_at", "best_step", "best_test", "best_sparsity", "ended_early"]
"""Store columns of a list of runs."""


def write(
    frame: "pd.DataFrame", title: str, columns: Columns, format: Format = "text", *, width: int | None = None
) -> str:
    """Render a list in one of the formats of a table; columns that are not described are shown as they are."""
    return write_rows(frame.to_dict("records"), title, columns, format, names=[*map(str, frame)], width=width)


def write_rows(
    rows: Sequence[Mapping[Any, Any]],
    title: str,
    columns: Columns,
    format: Format = "text",
    *,
    names: Sequence[str],
    width: int | None = None,
) -> str:
    """Render rows of named values as `write` does a frame."""
    if format == "json":
        return plain_rows(rows)
    shown = [columns.get(name, (name.replace("_", " ").capitalize(), str)) for name in names]
    cells = [[Cell(show(row[name])) for name, (_, show) in zip(names, shown, strict=True)] for row in rows]
    return Grid(title, [header for header, _ in shown], [cells], optional=OPTIONAL).write(format, width)


def models(chosen: "Iterable[Model]", engines: "Engines") -> "pd.DataFrame":
    """Return models with their layers, their regularizer, and the engines of this machine that can run them."""
    import pandas as pd

    from ...spec import Spec
    from ...tasks import TEN_PARAMETERS

    rows = []
    for model in chosen:
        schedule = model.schedule
        ramp = f"{schedule.strength:g} from {schedule.start:,} to {schedule.end:,}" if schedule.strength else ""
        spec = Spec(task=TEN_PARAMETERS, model=model)
        rows.append(
            {
                "model": model.name,
                "label": model.label,
                "layers": ">".join(layer.name for layer in model.layers),
                "regularizer": ramp,
                "engines": ", ".join(engines.able(spec)),
            }
        )
    return pd.DataFrame(rows)


def specs(experiment: "Experiment") -> "pd.DataFrame":
    """Return the specs of an experiment."""
    import pandas as pd

    from ...papers.experiment import axis_value

    return pd.DataFrame(
        {
            "spec_id": spec.id,
            "operation": spec.task.operation,
            "model": spec.model.name,
            **({experiment.axis: axis_value(spec, experiment.axis)} if experiment.axis else {}),
            "input_size": spec.task.input_size,
            "hidden_size": spec.hidden_size,
            "iterations": spec.iterations,
            "seeds": experiment.seeds,
        }
        for spec in experiment.specs
    )
