"""Where gates stand at the best record of a run: how many of them in each bin, beside the published counts."""

import numpy as np
import pandas as pd

from .. import published
from ..experiments import Experiment
from ..nn._parts import Gate
from ..store import Store

CENTERS = [center / 24 for center in range(25)]
"""Centers of the bins."""


def gated(experiment: Experiment) -> bool:
    """Whether all networks of an experiment end in a gate."""
    return all(isinstance(spec.parts[-1], Gate) for spec in experiment.specs)


def gate_counts(store: Store, experiment: Experiment, summary: pd.DataFrame) -> pd.DataFrame:
    """How many runs have their gate in which bin: a row for each bin of each model that has some.

    `operation`, `model`, `label`, `source` ("ours" or "published"), `verdict` ("solved" or "not solved"), `gate`, the
    center of the bin, `count`, and `share` of the runs. Gates are 1 for addition and 0 for multiplication.

    Args:
        store: where the runs are.
        experiment: what they are of.
        summary: what `summarize` made of it; the engines and the criterion of the runs are taken from there.
    """
    criterion = next(iter(summary["criterion"]), "released")
    limit = f"threshold_{criterion}"
    runs = store.load(specs=experiment.specs, columns=["best_gate", "best_test", limit])
    runs = runs[runs["seed"].between(0, experiment.seeds - 1) & runs["best_gate"].notna()]
    names = ["operation", "model", "label"]
    runs = summary[[*names, "spec_id", "engine"]].merge(runs, on=["spec_id", "engine"])
    runs = runs.assign(source="ours", solved=runs["best_test"] < runs[limit], gate=runs["best_gate"], count=1)
    counts = pd.concat([runs, _published(experiment, summary[names])])[[*names, "source", "solved", "gate", "count"]]
    counts = counts.assign(
        gate=(counts["gate"].astype(float) * 24).round() / 24,
        verdict=np.where(counts["solved"].astype(bool), "solved", "not solved"),
    )
    cell = [*names, "source"]
    bins = counts.groupby([*cell, "verdict", "gate"], sort=False)["count"].sum().reset_index()
    return bins.assign(share=bins["count"] / bins.groupby(cell)["count"].transform("sum"))


def _published(experiment: Experiment, names: pd.DataFrame) -> pd.DataFrame:
    """The published counts of the models that the experiment has; none where its table is not the published one."""
    counts = published.load("figure_gate_histogram").assign(source="published")
    return names.merge(counts if experiment.published == "table_gate" else counts[:0], on=["operation", "model"])
