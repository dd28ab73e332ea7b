"""Comparison of our numbers with those of Mistry et al. (2022), which were taken from the drawing of their figures."""

from collections.abc import Mapping

from ...judging.cells import Judged
from ..comparison import Compared, Comparison, Printed, mean, success_rate
from ..published import Published

STEPS = 3.0
"""Error of a mean of solved-at steps, by the grid of the drawing."""
SPARSITY = 2.0**-23
"""Error of a mean of sparsity errors: that of the drawing is smaller than the spacing of float32 at 1, by which the
weights of two programs differ."""


def solved_at_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare means of solved-at steps.

    The published estimator has a fault, a fixed variance, which does not show where runs differ as little as here.
    """
    return mean(cell.solved_at, printed, "solved_at_mean", float(iterations), cell.solved_at_mean, STEPS)


def sparsity_mean(cell: Judged, printed: Printed, published: Published, iterations: int) -> Compared:
    """Compare means of sparsity errors."""
    return mean(cell.sparsity, printed, "sparsity_mean", 0.5, cell.sparsity_mean, SPARSITY)


COMPARISONS: Mapping[str, Comparison] = {
    "success_rate": success_rate,
    "solved_at_mean": solved_at_mean,
    "sparsity_mean": sparsity_mean,
}
