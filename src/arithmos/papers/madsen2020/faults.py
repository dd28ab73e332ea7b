"""Precision and known faults of the published numbers; README.md in this folder has the whole story."""

import math
from collections.abc import Mapping
from typing import Any

from ..published import Published

RESOLUTION: Mapping[str, tuple[float, float]] = {
    "figure_hidden_size": (210, 1e-5),
    "figure_input_range": (190, 1.2e-7),
    "figure_input_size": (520, 1.1e-5),
    "figure_subset_ratio": (180, 1e-7),
    "figure_overlap_ratio": (160, 8e-7),
    "figure_ablation_hidden_size": (170, 1e-5),
    "figure_regularizer_add": (66, 1.3e-5),
    "figure_regularizer_sub": (0.25, 1.3e-5),
    "figure_regularizer_mul": (100, 3e-8),
    "figure_mnist_product": (14, 1.5e-5),
    "figure_mnist_product_no_Rz": (14, 1.5e-5),
    "figure_mnist_sum": (3.6, 5e-6),
    "figure_mnist_sum_no_Rz": (3.6, 5e-6),
}
"""Half the grid of a drawing, for solved-at steps and for sparsity errors."""

OUT_OF_ORDER = ("table_static", "table_all_models")
"""Tables whose latest solved-at steps come from rows that a merge put out of order."""

_OPTIMIZER = 0.01
"""Relative error that the released optimizer leaves in a mean on a flat likelihood."""

_SMALLEST_HALF = 1.78e-5
"""Smallest halved sparsity error: below it, the fit that halves gave no standard error."""


def error(published: Published, measure: str, value: float) -> float:
    """Return the largest distance of a published number from what the released code computed.

    Tables round to two digits. Points of figures are read to twice the half grid of the drawing; a sparsity error below
    two and a half times that is printed as 0.

    Args:
        published: the table or figure.
        measure: "solved_at_median", "solved_at_mean" or "sparsity_mean".
        value: the number.

    Example:
        >>> from pathlib import Path
        >>> table, figure = Published(Path("table_static.csv")), Published(Path("figure_hidden_size.csv"))
        >>> error(table, "solved_at_median", 2.8e6), error(figure, "sparsity_mean", 0.1)
        (50000.0, 2e-05)
    """
    if published.name in RESOLUTION:
        half_grid = RESOLUTION[published.name][measure == "sparsity_mean"]
        read = 2.5 * half_grid if value == 0 else 2 * half_grid
    else:
        read = 0.5 * 10.0 ** (math.floor(math.log10(value)) - 1)
    return read + (_OPTIMIZER * value if measure == "solved_at_mean" else 0)


def readings(value: float, k: int, away: float = 0.0) -> tuple[bool, ...]:
    """Return whether a published sparsity error is half of a mean: (True,), (False,), or both if unknown.

    Args:
        value: the number.
        k: number of solved runs behind it.
        away: largest error of the number, as `error` returns it; a half that a drawing shows as 0 counts as halved.

    Example:
        >>> readings(0.23, 100), readings(4.2e-7, 98), readings(3.2e-5, 100), readings(0.0, 50, 2.75e-5)
        ((True,), (False,), (True, False), (True, False))
    """
    if k < 2 or value > 0.25 or value + away < _SMALLEST_HALF:  # half of an error of at most ½ is at most ¼
        return (False,)
    return (True,) if value - away > 2 * _SMALLEST_HALF else (True, False)


def fault(published: Published, measure: str, row: Mapping[str, Any]) -> str:
    """Return the known fault of a published number on one line, or an empty string.

    Two faults apply to all numbers and are not repeated: no mean is a sample mean, and sparsity errors above 3.6·10⁻⁵
    are halved.

    Args:
        published: the table or figure.
        measure: name of the number.
        row: the cell or point, as `load` has it.
    """
    k, n, value = int(row["k"]), int(row["n"]), row[measure]
    figure, stated = published.name in RESOLUTION, published.stated
    faults = []
    if measure == "success_rate" and stated is not None and n < stated:
        faults.append(f"{n} runs of {stated} stated")
    if measure == "success_rate" and stated is not None and n > stated:
        better = f", left out: {k}/{stated}" if k <= stated else ""
        faults.append(f"{n - stated} second logs of the same seeds{better}")
    if measure == "solved_at_mean" and published.name in OUT_OF_ORDER:
        faults.append("rows of some runs were out of order")
    if measure in ("solved_at_mean", "sparsity_mean"):
        if k == 1:
            faults.append("a single run")
        elif math.isnan(row[f"{measure}_low"]):
            faults.append("no interval" if figure else "its interval is printed as NaN")
    if measure == "sparsity_mean":
        if value == 0:
            faults.append("below the grid of the drawing")
        elif k > 1 and len(readings(value, k, error(published, measure, value))) > 1:
            faults.append("a mean or half of one")
        elif k > 1 and value > 0.25:
            faults.append("a whole mean, unlike its neighbors")
        if str(row["model"]) in ("Linear", "ReLU", "ReLU6"):
            faults.append("errors above ½ were cut to ½")
    return "; ".join(faults)
