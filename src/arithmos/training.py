"""Training of arithmetic units: regularizers, constraints, and the whole recipe in `train`.

Any module can take part through the methods it has: `weights()` (effective weight matrices by name), `sparsity()` (a
differentiable scalar) and `bounds()` (ranges by parameter name). A module that has a method answers for everything
inside it; otherwise its children are searched.
"""

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.utils.hooks import RemovableHandle

from . import _checks
from ._typing import Float

__all__ = [
    "SparsitySchedule",
    "Training",
    "constrain",
    "input_regularizer_add",
    "input_regularizer_mul",
    "sparsity_error",
    "sparsity_loss",
    "train",
]

Batch = tuple[Tensor, Tensor]


def _having(module: nn.Module, method: str) -> list[Any]:
    """Return the outermost modules that have a method, each once."""
    if callable(getattr(module, method, None)):
        return [module]
    found = (inner for child in module.children() for inner in _having(child, method))
    return list(dict.fromkeys(found))


def sparsity_loss(module: nn.Module) -> Float[Tensor, ""]:
    r"""Distance of the weights from 0 and ±1: the regularizer that drives a unit to an exact formula.

    .. math:: \sum_W \mathrm{mean}_{oi} \min(|w_{oi}|, |1 - |w_{oi}||)

    over the regularized weight matrices of the module (NMU: without the inner absolute value); 0 without any.

    Example:
        >>> from arithmos.nn import NAU, NMU
        >>> nau, nmu = NAU(4, 2), NMU(2, 1)
        >>> _ = nn.init.constant_(nau.weight, 0.25), nn.init.constant_(nmu.weight, 0.9)
        >>> print(f"{sparsity_loss(nn.Sequential(nau, nmu)).item():.2f}")
        0.35
    """
    terms = [part.sparsity() for part in _having(module, "sparsity")]
    return torch.stack(terms).sum() if terms else next(module.parameters(), torch.empty(())).new_zeros(())


@torch.no_grad()
def sparsity_error(module: nn.Module) -> Float[Tensor, ""]:
    r"""Largest distance of a weight from 0 and ±1: a measure of how exact the learned formula is, not a loss.

    .. math:: \max_{W, oi} \min(|w_{oi}|, |1 - |w_{oi}||)

    over the effective weight matrices of the module. Both sides of a gate count; biases and gates do not.

    Example:
        >>> from arithmos.nn import NMU
        >>> nmu = NMU(2, 1)
        >>> _ = nn.init.constant_(nmu.weight, 0.75)
        >>> sparsity_error(nmu)
        tensor(0.2500)
    """
    magnitudes = [w.abs() for part in _having(module, "weights") for w in part.weights().values()]
    if not magnitudes:
        raise ValueError(f"{type(module).__name__} has no arithmetic weights, so there is no sparsity error")
    return torch.stack([torch.minimum(w, (1 - w).abs()).max() for w in magnitudes]).max()


@dataclass(frozen=True)
class SparsitySchedule:
    r"""Strength of the sparsity loss at a step: 0 until `start`, then a straight line to `strength` at `end`.

    .. math:: \lambda(t) = \lambda\,\mathrm{clip}\left(\frac{t - start}{end - start}, 0, 1\right)

    With `start == end`, the full strength applies from that step on.

    Example:
        >>> schedule = SparsitySchedule(strength=10, start=100, end=200)
        >>> [schedule(step) for step in (0, 100, 150, 200, 1000)]
        [0.0, 0.0, 5.0, 10.0, 10.0]
    """

    strength: float
    start: float
    end: float

    def __post_init__(self) -> None:
        for name in ("strength", "start", "end"):
            object.__setattr__(self, name, _checks.number(name, getattr(self, name)))
        if self.strength < 0:
            raise ValueError(f"strength must not be negative, got {self.strength}")
        if not 0 <= self.start <= self.end:
            raise ValueError(f"start and end must be 0 <= start <= end, got start={self.start}, end={self.end}")

    def __call__(self, step: float) -> float:
        if step >= self.end:
            return float(self.strength)
        if step <= self.start:
            return 0.0
        return self.strength * (step - self.start) / (self.end - self.start)


def constrain(optimizer: torch.optim.Optimizer, module: nn.Module) -> RemovableHandle:
    """Project the module's parameters into their ranges after every step of the optimizer.

    Without it, a parameter drifts to where the clip of the forward pass has no gradient, and stays there. The
    optimizer's own state is not changed. A module whose parameters have no range is left alone. Call this before
    the first step; a warning says if earlier steps have moved parameters out of their ranges.

    Returns:
        A handle; its `remove()` removes the projection.

    Example:
        >>> from arithmos.nn import NMU
        >>> nmu = NMU(2, 1)
        >>> optimizer = torch.optim.SGD(nmu.parameters(), lr=100.0)
        >>> handle = constrain(optimizer, nmu)
        >>> nmu(torch.full((1, 2), 3.0)).sum().backward()
        >>> optimizer.step()
        >>> nmu.weight.tolist()
        [[0.0, 0.0]]
    """
    bounded = [
        (part.get_parameter(name), low, high)
        for part in _having(module, "bounds")
        for name, (low, high) in part.bounds().items()
    ]
    stepped = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    if bounded and stepped.isdisjoint(id(parameter) for parameter, _, _ in bounded):
        raise ValueError(
            f"optimizer steps none of the parameters of {type(module).__name__} that have a range; "
            "create it from the parameters of this module"
        )

    if optimizer.state and any(((p < low) | (p > high)).any() for p, low, high in bounded):
        warnings.warn(
            f"earlier steps have moved parameters of {type(module).__name__} out of their range, where they do not "
            "learn; call constrain before the first step",
            stacklevel=2,
        )

    @torch.no_grad()
    def project(*_: object) -> None:
        for parameter, low, high in bounded:
            parameter.clamp_(low, high)

    return optimizer.register_step_post_hook(project)


def input_regularizer_add(weight: Float[Tensor, "o i"], mean_input: Float[Tensor, " i"]) -> Float[Tensor, ""]:
    r"""Penalty that pulls inputs which an additive unit ignores towards 0, its neutral value.

    .. math:: R_z = \mathrm{mean}_{oi} (1 - |w_{oi}|)\,\bar x_i^2

    Args:
        weight: effective weights.
        mean_input: mean of the unit's input over batch and time. Its gradient trains the preceding layers.

    Example:
        >>> input_regularizer_add(torch.tensor([[1.0, -0.5]]), torch.tensor([3.0, 2.0]))
        tensor(1.)
    """
    _check_mean_input(weight, mean_input)
    return ((1 - weight.abs()) * mean_input**2).mean()


def input_regularizer_mul(weight: Float[Tensor, "o i"], mean_input: Float[Tensor, " i"]) -> Float[Tensor, ""]:
    r"""Penalty that pulls inputs which a multiplicative unit ignores towards 1, its neutral value.

    .. math:: R_z = \mathrm{mean}_{oi} (1 - w_{oi})\,(1 - \bar x_i)^2

    Args:
        weight: effective weights.
        mean_input: mean of the unit's input over batch and time. Its gradient trains the preceding layers. The
            published runs of `NACMulNMU` used the mean of log(|x| + 1e-7) here.

    Example:
        >>> input_regularizer_mul(torch.tensor([[1.0, 0.5]]), torch.tensor([3.0, 3.0]))
        tensor(1.)
    """
    _check_mean_input(weight, mean_input)
    return ((1 - weight) * (1 - mean_input) ** 2).mean()


def _check_mean_input(weight: Tensor, mean_input: Tensor) -> None:
    if weight.ndim != 2 or mean_input.shape != weight.shape[1:]:
        raise ValueError(
            f"weight must be (out, in) and mean_input (in,), got {tuple(weight.shape)} and {tuple(mean_input.shape)}"
        )


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
