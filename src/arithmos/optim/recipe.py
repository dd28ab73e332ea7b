"""Training of a whole model in one call."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, overload

import torch
from torch import Tensor, nn

from .. import _checks
from .adam import AdamOptions, Batch, Training, train_by_adam
from .exact import SearchClock, Solution, solve
from .layouts import layout
from .rows import HELD, from_pair, from_stream

METHODS = ("adam", "auto")


@overload
def train(
    model: nn.Module,
    data: Iterable[Batch] | Callable[[int], Batch],
    steps: int,
    *,
    validation: Batch,
    method: Literal["adam"] = "adam",
    learning_rate: float = 1e-3,
    schedule: Callable[[int], float] | None = None,
    every: int | None = None,
    callback: Callable[[int, float], None] | None = None,
    time_limit: float | None = None,
    layer_rates: Sequence[float] = (),
    scale_loss: bool = False,
    precondition: bool = False,
) -> Training: ...


@overload
def train(
    model: nn.Module,
    data: Batch | Callable[[int], Batch],
    steps: int = 20_000,
    *,
    validation: Batch | None = None,
    method: Literal["auto"],
    learning_rate: float = 1e-3,
    schedule: Callable[[int], float] | None = None,
    every: int | None = None,
    callback: Callable[[int, float], None] | None = None,
    time_limit: float | None = None,
    layer_rates: Sequence[float] = (),
    scale_loss: bool = False,
    precondition: bool = False,
) -> Solution: ...


def train(
    model: nn.Module,
    data: Batch | Iterable[Batch] | Callable[[int], Batch],
    steps: int = 20_000,
    *,
    validation: Batch | None = None,
    method: Literal["adam", "auto"] = "adam",
    learning_rate: float = 1e-3,
    schedule: Callable[[int], float] | None = None,
    every: int | None = None,
    callback: Callable[[int, float], None] | None = None,
    time_limit: float | None = None,
    layer_rates: Sequence[float] = (),
    scale_loss: bool = False,
    precondition: bool = False,
) -> Training | Solution:
    """Train a model of arithmetic units, and leave it in its best state and in evaluation mode.

    With `method="adam"` the recipe is that of the published experiments: Adam on the mean squared error plus the
    scheduled sparsity loss, with parameters kept in their ranges; the state with the lowest validation error is kept.

    With `method="auto"` the exact formula is searched for by second-order methods, which takes seconds where Adam takes
    hours. It serves an `NAU`, `NMU` or `RealNPU` alone, and an `NAU` followed by an `NAU`, `NMU` or `RealNPU`. Factors
    are grown one by one, unused ones are switched off exactly, weights are rounded, and the formula is verified on rows
    held out. Any other model is trained by Adam, and the result says so.

    Args:
        model: any module.
        data: for Adam, (x, t) pairs: an iterable, restarted when it ends, or a function of the step. For "auto", one
            pair of tensors (x, t) with all rows, or a function of the step.
        steps: number of updates of Adam.
        validation: the (x, t) pair that selects the best state of Adam, or verifies a formula. "auto" holds out every
            fifth row, or draws fresh rows, by default.
        method: "adam" or "auto".
        learning_rate: learning rate of Adam.
        schedule: strength of Adam's sparsity loss at a step. By default it rises from 0 to 10 between 1/2 and 3/4 of
            `steps`; an earlier rise makes short runs settle on a wrong formula.
        every: steps of Adam between evaluations; by default `steps` / 200.
        callback: called with step and validation error at each evaluation of Adam, with the model in evaluation mode;
            with iteration and the best error so far, as a share of the targets' mean square, in a search.
        time_limit: seconds after which the best state so far is kept. By default 300 for a search, and none for Adam.
        layer_rates: factor of Adam's learning rate for each child of the model; empty for 1 everywhere. A lower rate
            for a layer that multiplies keeps its weights from reaching 0 before its inputs mean anything.
        scale_loss: whether Adam's squared error is divided by the variance of the validation targets, so that
            `schedule` means the same for targets of any size.
        precondition: whether the gradient of the weights in Adam's first layer is multiplied by the inverse root of the
            second moments of the validation inputs. Inputs with a large mean then take far fewer steps.

    Returns:
        `Training` from "adam", `Solution` from "auto".

    Example:
        >>> from arithmos.nn import NAU, NMU
        >>> x = torch.rand(500, 10, generator=torch.Generator().manual_seed(0))
        >>> t = x[:, :3].sum(1, keepdim=True) * x[:, 5:].sum(1, keepdim=True)
        >>> model = nn.Sequential(NAU(10, 2), NMU(2, 1))
        >>> result = train(model, (x, t), method="auto")
        >>> print(result.message)
        Found the exact formula.
        >>> sorted(model[0].weight.sum(1).tolist())
        [3.0, 5.0]
    """
    _checks.one_of("method", method, METHODS)
    limit = math.inf if time_limit is None else _checks.positive("time_limit", time_limit)
    options = AdamOptions(learning_rate, schedule, every, callback, limit, layer_rates, scale_loss, precondition)
    if method == "adam":
        if validation is None:
            raise TypeError('validation must be an (x, t) pair with method="adam"')
        return train_by_adam(model, data, steps, validation, options)  # type: ignore[arg-type]

    known = layout(model)
    if known is not None:
        source = from_stream if callable(data) else from_pair
        rows = source(data, known.inputs, known.outputs, validation)  # type: ignore[arg-type]
        clock = SearchClock(300.0 if time_limit is None else limit, callback, time.monotonic())
        return solve(model, known, rows, clock)
    batches, held = _first_order(data, validation)
    training = train_by_adam(model, batches, steps, held, options)
    message = f"{type(model).__name__} has layers that are not searched; trained by Adam, which finds no exact formula."
    return Solution(False, training.error, (), training.step, 1, 0, "adam", message, training)


def _first_order(
    data: Batch | Iterable[Batch] | Callable[[int], Batch], validation: Batch | None
) -> tuple[Callable[[int], Batch], Batch]:
    """Return batches and validation rows for Adam from what "auto" takes."""
    if callable(data):
        return data, data(2**31 - 1) if validation is None else validation
    x, t = data
    if not (isinstance(x, Tensor) and isinstance(t, Tensor) and len(x) == len(t) and len(x) >= HELD):
        raise ValueError(f"data must be a pair of tensors (x, t) with at least {HELD} rows each")
    held = torch.arange(len(x)) % HELD == HELD - 1
    kept = (x, t) if validation is not None else (x[~held], t[~held])

    def batch(step: int) -> Batch:
        chosen = torch.randint(len(kept[0]), (min(128, len(kept[0])),))
        return kept[0][chosen], kept[1][chosen]

    return batch, (x[held], t[held]) if validation is None else validation
