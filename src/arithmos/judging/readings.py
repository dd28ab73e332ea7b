"""Readings of digits: the numbers that networks read off images, and the weights of their cells."""

import numpy as np
import pandas as pd

from ..store import Snapshot, Store
from .cells import Asked
from .runs import of_one_engine

SIDES = {True: "with R_z", False: "without R_z"}


def reads(experiment: Asked) -> bool:
    """Return whether an experiment is about readings of digits, and not about the length of sequences."""
    return not experiment.axis and all(spec.task.sequential for spec in experiment.specs)


def readings(store: Store | Snapshot, experiment: Asked) -> pd.DataFrame:
    """Return what the runs of an experiment read, and the weights of their cells, at their best records.

    There is one row per number: `unit` of the cell, `label`, "with R_z" or "without R_z", `seed`; `kind`, "digit" or
    "weight"; `at`, the digit, or what the weight is for, "image" or "state"; `value`, what is read off the images of
    the digit on average, or the weight.

    Args:
        store: where the runs are.
        experiment: the experiment, whose cells have one weight for the image and one for the state.
    """
    stored = of_one_engine(
        store.load(specs=experiment.specs, columns=["digits", "extra", "best_weights"]), experiment.seeds
    )
    rows = []
    for spec in experiment.specs:
        about = {"unit": spec.model.layers[0].label, "label": SIDES[spec.model.inputs.strength > 0]}
        runs = stored[stored["spec_id"] == spec.id]
        for run in runs.to_dict("records"):
            pairs = zip(run["digits"], run["digit_outputs"], strict=True)
            numbers = [("digit", f"{digit}", value) for digit, value in pairs]
            numbers += [
                ("weight", at, value) for at, value in zip(("image", "state"), run["best_weights"], strict=True)
            ]
            rows += [
                {**about, "seed": run["seed"], "kind": kind, "at": at, "value": float(value)}
                for kind, at, value in numbers
                if np.isfinite(value)
            ]
    return pd.DataFrame(rows, columns=["unit", "label", "seed", "kind", "at", "value"])
