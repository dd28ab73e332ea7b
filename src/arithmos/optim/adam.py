"""The recipe of the published experiments: Adam, the scheduled sparsity loss, and weights kept in their ranges."""

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from .constraints import constrain
from .regularizers import sparsity_loss
from .schedule import SparsitySchedule

Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Training:
    """Result of `train`.

    Args:
        step: number of updates before the state that was kept.
        error: its validation error.
        history: every evaluation, as (step, validation error).
    """

    step: int
    error: float
    history: list[tuple[int, float]]


def train(
    model: nn.Module,
    batches: Iterable[Batch] | Callable[[int], Batch],
    steps: int,
    *,
    validation: Batch,
    learning_rate: float = 1e-3,
    schedule: Callable[[int], float] | None = None,
    every: int | None = None,
    callback: Callable[[int, float], None] | None = None,
) -> Training:
    """Train a model of arithmetic units, and leave it in its best state and in evaluation mode.

    The recipe is that of the published experiments: Adam on the mean squared error plus the scheduled sparsity loss,
    with parameters kept in their ranges; the state with the lowest validation error is kept.

    Args:
        model: any module.
        batches: (x, t) pairs: an iterable, restarted when it ends, or a function of the step.
        steps: number of updates.
        validation: the (x, t) pair that selects the best state.
        learning_rate: learning rate of Adam.
        schedule: strength of the sparsity loss at a step. By default it rises from 0 to 10 between 1/2 and 3/4 of
            `steps`; an earlier rise makes short runs settle on a wrong formula.
        every: steps between evaluations; by default `steps` / 200.
        callback: called at each evaluation with step and validation error, with the model in evaluation mode.

    Example:
        >>> from arithmos.nn import NAU
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 1.0], [2.0, 5.0]])
        >>> model = NAU(2, 1)
        >>> result = train(model, [(x, x[:, :1])], steps=1000, validation=(x, x[:, :1]), learning_rate=0.01)
        >>> model.weight.round().abs().tolist()
        [[1.0, 0.0]]
    """
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    every = max(1, steps // 200) if every is None else every
    schedule = schedule or SparsitySchedule(strength=10, start=steps / 2, end=3 * steps / 4)

    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    constrain(optimizer, model)
    stream = _stream(batches)
    history: list[tuple[int, float]] = []
    best = (0, math.inf)
    state = copy.deepcopy(model.state_dict())

    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            model.eval()
            with torch.no_grad():
                error = _error(model, *validation).item()
            history.append((step, error))
            if error < best[1]:
                best, state = (step, error), copy.deepcopy(model.state_dict())
            if callback is not None:
                callback(step, error)
            model.train()
        if step < steps:
            loss = _error(model, *next(stream)) + schedule(step) * sparsity_loss(model)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    model.load_state_dict(state)
    model.eval()
    return Training(*best, history)


def _stream(batches: Iterable[Batch] | Callable[[int], Batch]) -> Iterator[Batch]:
    if callable(batches):
        yield from map(batches, count())
    else:
        while True:
            batch = None
            for batch in batches:
                yield batch
            if batch is None:
                raise ValueError(
                    "batches ran out before the last step; give what can be gone through again, or a function"
                )


def _error(model: nn.Module, x: Tensor, t: Tensor) -> Tensor:
    y = model(x)
    if y.shape != t.shape:
        raise ValueError(f"targets must have the shape of the output, {tuple(y.shape)}, got {tuple(t.shape)}")
    return mse_loss(y, t)
