"""The recipe of the published experiments: Adam, the scheduled sparsity loss, and weights kept in their ranges."""

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from .constraints import constrain
from .preconditioner import input_weights, precondition, preconditioner
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


@dataclass(frozen=True)
class AdamOptions:
    """Options of training by Adam, as those of `arithmos.train`."""

    learning_rate: float = 1e-3
    schedule: Callable[[int], float] | None = None
    every: int | None = None
    callback: Callable[[int, float], None] | None = None
    time_limit: float = math.inf
    layer_rates: Sequence[float] = ()
    scale_loss: bool = False
    precondition: bool = False


def train_by_adam(
    model: nn.Module,
    batches: Iterable[Batch] | Callable[[int], Batch],
    steps: int,
    validation: Batch,
    options: AdamOptions,
) -> Training:
    """Train by the recipe of the published experiments; the arguments are those of `arithmos.train`."""
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    every = max(1, steps // 200) if options.every is None else options.every
    schedule = options.schedule or SparsitySchedule(strength=10, start=steps / 2, end=3 * steps / 4)

    optimizer = torch.optim.Adam(_groups(model, options), lr=options.learning_rate)
    scale = _variance(validation[1]) if options.scale_loss else 1.0
    constrain(optimizer, model)
    weights, moments = _preconditioned(model, validation[0]) if options.precondition else ([], None)
    stream = _stream(batches)
    history: list[tuple[int, float]] = []
    best = (0, math.inf)
    state = copy.deepcopy(model.state_dict())

    end = time.monotonic() + options.time_limit
    for step in range(steps + 1):
        over = time.monotonic() >= end
        if step % every == 0 or step == steps or over:
            model.eval()
            with torch.no_grad():
                error = _error(model, *validation).item()
            history.append((step, error))
            if error < best[1]:
                best, state = (step, error), copy.deepcopy(model.state_dict())
            if options.callback is not None:
                options.callback(step, error)
            model.train()
        if over:
            break
        if step < steps:
            loss = _error(model, *next(stream)) / scale + schedule(step) * sparsity_loss(model)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            for weight in weights:
                if weight.grad is not None and moments is not None:
                    weight.grad = precondition(weight.grad, *moments)
            optimizer.step()

    model.load_state_dict(state)
    model.eval()
    return Training(*best, history)


def _groups(model: nn.Module, options: AdamOptions) -> list[dict[str, Any]]:
    """Return the parameters with their learning rates: those of each layer together if layers have rates."""
    if not options.layer_rates:
        return [{"params": list(model.parameters())}]
    layers = list(model.children())
    if len(options.layer_rates) != len(layers):
        raise ValueError(
            f"layer_rates must be one per layer of the model, {len(layers)} of them, got {len(options.layer_rates)}"
        )
    if any(rate <= 0 for rate in options.layer_rates):
        raise ValueError(f"layer_rates must be above 0, got {tuple(options.layer_rates)}")
    if sum(len(list(layer.parameters())) for layer in layers) != len(list(model.parameters())):
        raise ValueError("layer_rates must not be given if the model has parameters outside of its layers")
    return [
        {"params": list(layer.parameters()), "lr": options.learning_rate * rate}
        for layer, rate in zip(layers, options.layer_rates, strict=True)
    ]


def _preconditioned(model: nn.Module, x: Tensor) -> tuple[list[nn.Parameter], tuple[Tensor, Tensor]]:
    """Return the weights of the inputs in the first layer that has parameters, and the preconditioner of the inputs."""
    rows = x.detach().reshape(-1, x.shape[-1])
    first = next((layer for layer in model.children() if list(layer.parameters())), model)
    weights = [first.get_parameter(name) for name in input_weights(first, rows.shape[-1])]
    if not weights:
        raise ValueError(f"precondition needs a first layer with a weight per input, got {type(first).__name__}")
    scale, direction = preconditioner(rows)
    return weights, (scale.to(weights[0]), direction.to(weights[0]))


def _variance(t: Tensor) -> float:
    variance = float(t.detach().double().var(correction=0))
    if not 0 < variance < math.inf:
        raise ValueError(f"the validation targets must vary to scale the loss, got a variance of {variance:g}")
    return variance


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
