"""Errors of networks, which Heim et al. (2020) print: on a grid for the simple task, on test inputs for the large one.

The text calls all of them medians with the median absolute deviation. Those of the simple task are means with the
standard error; those of the large task are medians of the ten runs with the smallest test errors.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ... import statistics
from ...engines.weights import are_effective, filled
from ...formula.network import of_weights
from ...formula.numeric import forward
from ...judging.cells import Floats, Judged, T
from ...optim.threads import one_thread
from ...spec import Layer
from ...statistics import Interval
from ..comparison import Compared, Comparison, Printed, mean, medians
from ..published import Published
from .experiments import CONTENTS, FUNCTIONS, POSITIVE, WIDE, targets
from .large import BEST, LARGE

ROUNDING = 0.005
"""Largest error of a printed number."""
DIGITS = 0.05
"""Largest error of a number that is printed with two digits, as a share of it."""
ROWS = 1000
"""Rows to evaluate at a time, so few that a layer's values stay in the cache of a core."""
DIVERGED = "no run has a finite error"
SPECS = {spec.model.name: spec for spec in CONTENTS[0].specs}
LARGE_SPECS = {(spec.model.name, spec.task.operation): spec for experiment in LARGE for spec in experiment.specs}


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
    parts, values = torch.split(torch.from_numpy(x), ROWS), []
    with one_thread(), torch.no_grad():
        for flat in weights:
            network = nn.Sequential(*filled(layers, sizes, flat)).eval()
            values.append(torch.cat([network(part) for part in parts]).numpy())
    return np.stack(values)


@cache
def _of_weights(made: Callable[..., T], *names: str) -> Callable[[Judged], T]:
    """Return an estimator of the weights of a cell, the same one for the same names: a cell computes it once."""
    return lambda cell: made(*names, cell.weights)


def compared(name: str, cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare the mean error of an output."""
    if not len(cell.weights):
        return Compared(Interval(np.nan))
    own = cell.by(_of_weights(errors, printed["model"]))[:, FUNCTIONS.index(name)]
    own = own[np.isfinite(own)]
    if not own.size:
        return Compared(Interval(np.nan), note=DIVERGED)
    return mean(
        own, {**printed, "k": printed["n"]}, f"error_{name}", 2 * float(own.max()), statistics.student_t(own), ROUNDING
    )


def large_errors(model: str, operation: str, weights: Floats) -> tuple[Floats, Floats]:
    """Return the mean squared errors of the ten best runs of the large task, on the range of training and of test.

    Args:
        model, operation: names of the cell.
        weights: those of its runs after the last update.
    """
    spec = LARGE_SPECS[model, operation]

    def squared(weights: Floats, x: NDArray[np.float32], t: NDArray[np.float32]) -> Floats:
        with np.errstate(all="ignore"):  # run by run: the sums of all take a gigabyte
            made = (outputs(spec.model.layers, spec.sizes, one[None], x.astype(np.float64)) for one in weights)
            return np.array([np.square(found - t).mean() for found in made])

    outside = squared(weights, *spec.observations.test(0))
    best = np.argsort(outside)[:BEST]  # NaN comes last
    return squared(weights[best], *spec.observations.validation(0)), outside[best]


def large_compared(number: int, cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare the median error on the training range or on the test range."""
    if not len(cell.weights):
        return Compared(Interval(np.nan))
    own = cell.by(_of_weights(large_errors, printed["model"], printed["operation"]))[number]
    own = own[np.isfinite(own)]
    if not own.size:
        return Compared(Interval(np.nan), note=DIVERGED)
    value = printed[MEDIANS[number]]
    return medians(
        own, value, printed["n"], 2 * float(own.max()), statistics.median(own), lambda times: DIGITS * value * times
    )


MEDIANS = ("median_train", "median_test")
COMPARISONS: Mapping[str, Comparison] = {
    **{f"error_{name}": partial(compared, name) for name in FUNCTIONS},
    **{name: partial(large_compared, number) for number, name in enumerate(MEDIANS)},
}
