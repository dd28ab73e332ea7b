"""What networks make of digits: the number that each reads off the images, and the weights of its cell."""

import numpy as np
import pandas as pd

from ..store import Snapshot, Store
from ..tasks import DigitSequences
from .cells import Asked

SIDES = {True: "with R_z", False: "without R_z"}


def reads(experiment: Asked) -> bool:
    """Whether an experiment is about what networks make of digits, and not about how long their sequences are."""
    return not experiment.axis and all(isinstance(spec.task, DigitSequences) for spec in experiment.specs)


def readings(store: Store | Snapshot, experiment: Asked) -> pd.DataFrame:
    """What the runs of an experiment read, and how they go on with it, at their best records.

    A row a number: `unit` of the cell, `label`, "with R_z" or "without R_z", `seed`; `kind`, "digit" or "weight";
    `at`, the digit, or what the weight is for, "image" or "state"; `value`, what is read off the images of the digit
    on average, or the weight.

    Args:
        store: where the runs are.
        experiment: what they are of, its cells with one weight for the image and one for the state.
    """
    stored = store.load(specs=experiment.specs, columns=["digits", "extra", "best_weights"])
    stored = stored.reindex(columns=[*stored, *{"digit_outputs"} - {*stored}])
    rows = []
    for spec in experiment.specs:
        about = {"unit": spec.model.layers[0].label, "label": SIDES[spec.model.inputs.strength > 0]}
        runs = stored[stored["spec_id"] == spec.id]
        engine = runs["engine"].value_counts().idxmax() if len(runs) else ""
        runs = runs[(runs["engine"] == engine) & runs["seed"].between(0, experiment.seeds - 1)]
        for seed, digits, outputs, weights in zip(
            runs["seed"], runs["digits"], runs["digit_outputs"], runs["best_weights"], strict=True
        ):
            numbers = [("digit", f"{digit}", value) for digit, value in zip(digits, outputs, strict=True)]
            numbers += [("weight", name, value) for name, value in zip(("image", "state"), weights, strict=True)]
            rows += [
                {**about, "seed": seed, "kind": kind, "at": at, "value": float(value)}
                for kind, at, value in numbers
                if np.isfinite(value)
            ]
    return pd.DataFrame(rows, columns=["unit", "label", "seed", "kind", "at", "value"])
