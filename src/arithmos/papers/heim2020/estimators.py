"""Errors of networks on a grid, which Heim et al. (2020) print as means over runs, with the standard error.

The text calls them medians with the median absolute deviation; the released table is made of means.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import nn

from ... import statistics
from ...engines.weights import are_effective, filled
from ...formula.network import of_weights
from ...formula.numeric import forward
from ...judging.cells import Floats, Judged
from ...spec import Layer
from ...statistics import Interval
from ..comparison import Compared, Comparison, Printed, mean
from ..published import Published
from .experiments import CONTENTS, FUNCTIONS, POSITIVE, WIDE, targets

ROUNDING = 0.005
"""Largest error of a printed number."""
SPECS = {spec.model.name: spec for spec in CONTENTS[0].specs}


def errors(model: str, weights: Floats) -> Floats:
    """Return the mean absolute error of each output, `[runs, outputs]`, from the weights after the last update."""
    layers, sizes = SPECS[model].model.layers, SPECS[model].sizes
    found = []
    for x in (WIDE, POSITIVE):
        with np.errstate(all="ignore"):
            found.append(np.abs(outputs(layers, sizes, weights, x) - targets(x)).mean(axis=-2))
    return np.concatenate([found[0][:, :-1], found[1][:, -1:]], axis=-1)


def outputs(layers: Sequence[Layer], sizes: Sequence[int], weights: Floats, x: Floats) -> Floats:
    """Return the outputs of networks, `[runs, rows, outputs]`, from the weights that their runs keep."""
    if are_effective(layers):
        return forward(of_weights(layers, sizes, weights), x)[0]
    values = []
    for flat in weights:
        network = nn.Sequential(*filled(layers, sizes, flat)).eval()
        with torch.no_grad():
            values.append(network(torch.from_numpy(x)).numpy())
    return np.stack(values)


def compared(name: str, cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare the mean error of an output."""
    if not len(cell.weights):
        return Compared(Interval(np.nan))
    own = errors(printed["model"], cell.weights)[:, FUNCTIONS.index(name)]
    own = own[np.isfinite(own)]
    return mean(
        own, {**printed, "k": printed["n"]}, f"error_{name}", 2 * float(own.max()), statistics.student_t(own), ROUNDING
    )


COMPARISONS: Mapping[str, Comparison] = {f"error_{name}": partial(compared, name) for name in FUNCTIONS}
