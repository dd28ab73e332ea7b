"""Rows that a search fits and rows that it holds out, from a pair of tensors or a stream of batches."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .adam import Batch
from .exact import SplitRows

HELD = 5
"""One row of this many is held out."""
MOST_HELD = 10_000


def from_pair(data: Batch, inputs: int, outputs: int, validation: Batch | None) -> SplitRows:
    """Split a pair (x, t): every fifth row is held out by default, and no more rows are fitted than are needed."""
    x, t = check("data", data, inputs, outputs)
    if validation is None:
        held = torch.arange(len(x)) % HELD == HELD - 1
        fit, rest = (x[~held], t[~held]), (x[held][:MOST_HELD], t[held][:MOST_HELD])
    else:
        fit, rest = (x, t), check("validation", validation, inputs, outputs)
    most = 2 * enough(inputs)
    fit = (fit[0][:most], fit[1][:most])
    return _rows(fit, rest)


def from_stream(data: Callable[[int], Batch], inputs: int, outputs: int, validation: Batch | None) -> SplitRows:
    """Draw batches until there are enough rows; the rows held out are fresh by default."""
    steps = iter(range(2**31))

    def draw(count: int) -> Batch:
        batches: list[tuple[Tensor, Tensor]] = []
        while sum(len(x) for x, _ in batches) < count:
            batches.append(check("data", data(next(steps)), inputs, outputs))
        x, t = (torch.cat(side) for side in zip(*batches, strict=True))
        return x, t

    fit = draw(enough(inputs))
    return _rows(fit, draw(256) if validation is None else check("validation", validation, inputs, outputs))


def enough(inputs: int) -> int:
    """Return the number of rows from which the start of a search is near the formula, if it has two factors."""
    return 8 * inputs + 512


def check(name: str, data: Batch, inputs: int, outputs: int) -> Batch:
    """Return data as a pair (x, t) of two-dimensional tensors, or raise."""
    try:
        x, t = data
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair of tensors (x, t) or a function of the step that returns one") from None
    if not (isinstance(x, Tensor) and isinstance(t, Tensor)):
        raise TypeError(f"{name} must be a pair of tensors (x, t), got {type(x).__name__} and {type(t).__name__}")
    rows = x.shape[:-1].numel() if x.dim() else 0
    if x.dim() < 2 or x.shape[-1] != inputs or tuple(t.shape) != (*x.shape[:-1], outputs):
        raise ValueError(
            f"{name} must be x of shape (*, {inputs}) and t of shape (*, {outputs}), got {tuple(x.shape)} and "
            f"{tuple(t.shape)}"
        )
    if rows == 0:
        raise ValueError(f"{name} must have at least one row, got none")
    for letter, values in (("x", x), ("t", t)):
        if not values.isfinite().all():
            raise ValueError(f"{name} must be finite, got NaN or infinity in {letter}")
    return x.detach().reshape(rows, inputs), t.detach().reshape(rows, outputs)


def _rows(fit: Batch, held: Batch) -> SplitRows:
    x, t = fit
    if len(t) < 2:
        raise ValueError(f"data must have at least 2 rows to fit, got {len(t)}")
    for output, column in enumerate(t.mT):
        if bool((column == column[0]).all()):
            raise ValueError(f"targets must vary, got {column[0].item():g} in every row of output {output}")
    kinds = [torch.finfo(each.dtype).eps if each.is_floating_point() else math.nan for each in (x, t)]
    epsilon = max([kind for kind in kinds if kind == kind], default=torch.finfo(torch.float64).eps)
    return SplitRows((x.double(), t.double()), (held[0].double(), held[1].double()), epsilon)
