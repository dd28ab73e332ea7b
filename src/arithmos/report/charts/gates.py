"""Histogram of the gates at the best records, beside the published counts."""

import numpy as np
import pandas as pd

from ...judging.cells import Cells
from ...nn import UNITS
from ...papers import Experiment

CENTERS = [center / 24 for center in range(25)]
"""Centers of the bins."""


def gated(experiment: Experiment) -> bool:
    """Return whether all networks of an experiment end in a unit of the paper with a gate."""
    last = [spec.model.layers[-1] for spec in experiment.specs]
    return all(layer.name in UNITS and hasattr(UNITS[layer.name].module, "gate_value") for layer in last)


def gate_counts(cells: Cells, experiment: Experiment) -> pd.DataFrame:
    """Count runs by the bin of their gate: one row per nonempty bin of each model.

    Columns are `operation`, `model`, `label`, `source` ("ours" or "published"), `verdict` ("solved" or "not solved"),
    `gate`, the center of the bin, `count`, and `share` of the runs. A gate of 1 is addition, 0 multiplication.

    Args:
        cells: its judged runs.
        experiment: the experiment.
    """
    names = ["operation", "model", "label"]
    specs = pd.DataFrame([experiment.describe(spec, "") for spec in experiment.specs])[names]
    ours = [
        (*row, "ours", verdict, gate, 1)
        for row, (_, _, cell) in zip(specs.itertuples(index=False), cells.of(experiment), strict=True)
        for verdict, gates in (("solved", cell.gate_solved), ("not solved", cell.gate_unsolved))
        for gate in gates
    ]
    columns = [*names, "source", "verdict", "gate", "count"]
    both = [pd.DataFrame(ours, columns=columns), _published(experiment, specs)[columns]]
    counts = pd.concat([frame for frame in both if len(frame)] or both[:1])
    counts = counts.assign(gate=(counts["gate"].astype(float) * 24).round() / 24)
    bins = counts.groupby(columns[:-1], sort=False)["count"].sum().reset_index()
    return bins.assign(share=bins["count"] / bins.groupby([*names, "source"])["count"].transform("sum"))


def _published(experiment: Experiment, names: pd.DataFrame) -> pd.DataFrame:
    """Return the published counts of the experiment's models; none if its table is not the published one."""
    if experiment.published is None:
        return names.assign(source="", verdict="", gate=0.0, count=0)[:0]
    counts = experiment.published.gate_counts
    counts = counts.assign(source="published", verdict=np.where(counts["solved"], "solved", "not solved"))
    return names.merge(counts, on=["operation", "model"])
