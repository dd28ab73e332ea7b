"""Single runs as tables, for `portraits` to draw."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .judged import Criterion
from .run import matrices


def curve_frame(runs: pd.DataFrame, criterion: Criterion = "released") -> pd.DataFrame:
    """The learning curves of a few runs, a row a record: `run`, `step`, `validation`, `test` and `sparsity`.

    Args:
        runs: rows of `Store.load` with the columns of the curves, `best_test` and the thresholds.
        criterion: the thresholds by which a run is called solved.
    """
    frames = []
    for row in runs.to_dict("records"):
        verdict = "solved" if row["best_test"] < row[f"threshold_{criterion}"] else "not solved"
        curve = {name: np.asarray(row[f"curve_{name}"]) for name in ("step", "validation", "test", "sparsity")}
        frames.append(pd.DataFrame({"run": f"seed {row['seed']}, {verdict}", **curve}))
    return pd.concat(frames, ignore_index=True)


def weight_frame(row: Mapping[str, Any]) -> pd.DataFrame:
    """The weights of a run at its best record, a row each: `array`, `output`, `input` and `weight`.

    Args:
        row: a row of `Store.load` with the columns that describe the network, and `best_weights`.
    """
    frames = []
    for name, values in matrices(row):
        matrix = np.atleast_2d(values)
        output, source = (axis.ravel() for axis in np.indices(matrix.shape))
        columns = {"output": output, "input": source, "weight": matrix.ravel()}
        frames.append(pd.DataFrame({"array": name, **columns}))
    return pd.concat(frames, ignore_index=True)
