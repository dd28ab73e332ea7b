"""Cells of many runs at once: the runs of one model form a group, which one `vmap` steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...nn._aggregate import EPSILON
from ...nn.recurrent import RecurrentCell
from ...optim import SparsitySchedule, input_regularizer_add, input_regularizer_mul, sparsity_error, sparsity_loss
from ...spec import Spec
from ..networks import Modules
from ..trace import logarithmic


class _Cell(nn.Module):
    """Cell along sequences of numbers, with its regularizers."""

    def __init__(self, cell: Any, spec: Spec) -> None:
        super().__init__()
        self.cell: RecurrentCell = cell
        self.regularizer = spec.model.inputs
        self.logs = bool(self.regularizer.strength) and self.regularizer.logs and logarithmic(spec.model.layers[0])

    def forward(self, name: str, *tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        method: Callable[..., Tensor] = getattr(self, name)
        return method(*tensors)

    def start(self, x: Tensor) -> Tensor:
        """Return the state before the first of numbers `[b]`."""
        return self.cell.initial_state(x[:, None, None])

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Return the state `[b, …]` after one more of numbers `[b]`."""
        return self.cell.step(x[:, None], state)

    def output(self, state: Tensor) -> Tensor:
        """Return the output `[b]` of a state."""
        return self.cell.output(state)[..., 0]

    def run(self, weight: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return outputs `[b, time]` for numbers `[b, time]`, and the input regularizer.

        Its mean over sequences is weighted by `weight` `[b]`, whose sum is 1.
        """
        state = self.start(x[:, 0])
        outputs, inputs = [], []
        for number in x.unbind(1):
            inputs.append(torch.stack([number, self.output(state)], dim=-1))
            state = self.step(number, state)
            outputs.append(self.output(state))
        return torch.stack(outputs, dim=1), self._regularize(torch.stack(inputs, dim=1), weight)

    def _regularize(self, inputs: Tensor, weight: Tensor) -> Tensor:
        if not self.regularizer.strength:
            return inputs.new_zeros(())
        if self.logs:
            inputs = (inputs.abs() + EPSILON).log()
        mean = (inputs.mean(dim=1) * weight[:, None]).sum(dim=0)
        unit = _unit(self.cell)
        form = input_regularizer_mul if unit.identity else input_regularizer_add
        return self.regularizer.strength * form(unit.weights()["weight"], mean)

    def sparsity(self, like: Tensor) -> Tensor:
        """Return the sparsity loss."""
        return sparsity_loss(self.cell)

    def error(self, like: Tensor) -> Tensor:
        """Return the sparsity error; NaN for a cell without arithmetic weights."""
        unit = _unit(self.cell)
        return sparsity_error(unit) if callable(getattr(unit, "weights", None)) else like.new_full((), torch.nan)


class CellStack(Modules):
    """Cells of the runs of one model.

    Args:
        spec: spec of the model.
        seeds: one per run.
        cells: one per run, with the run's initial weights.
        device: device to train on.
    """

    def __init__(self, spec: Spec, seeds: Sequence[int], cells: Sequence[nn.Module], device: torch.device) -> None:
        super().__init__(cells, seeds, device)
        cell = self.module
        call, like = self.function(_Cell(cell, spec), "cell."), torch.zeros(len(cells), device=device)
        self.regularized = spec.model.schedule.strength > 0 and callable(getattr(_unit(cell), "sparsity", None))
        prefix = "unit." if _unit(cell) is not cell else ""
        limits: dict[str, tuple[float, float]] = getattr(_unit(cell), "bounds", dict)()
        self.bounds = [(self.parameters[prefix + name], *ends) for name, ends in limits.items()]
        self.run: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = lambda x, weight: call((x,), "run", weight)
        """Outputs `[s, b, time]` for numbers `[s, b, time]`, and the input regularizer `[s]`."""
        self.start: Callable[[Tensor], Tensor] = lambda x: call((x,), "start")
        """States before the first of numbers `[s, b]`."""
        self.step: Callable[[Tensor, Tensor], Tensor] = lambda x, state: call((x, state), "step")
        """States after one more of numbers `[s, b]`."""
        self.output: Callable[[Tensor], Tensor] = lambda state: call((state,), "output")
        """Outputs `[s, b]` of states."""
        self.sparsity: Callable[[], Tensor] = lambda: call((like,), "sparsity")
        """Sparsity loss `[s]`."""
        self.error: Callable[[], Tensor] = lambda: call((like,), "error")
        """Sparsity error `[s]`."""


@dataclass(frozen=True)
class ModelGroup:
    """Adjacent runs of one model in the stack, with their cells and, on a GPU, the stream that steps them."""

    start: int
    stop: int
    cells: CellStack
    schedule: SparsitySchedule
    stream: torch.cuda.Stream | None


def _unit(cell: nn.Module) -> Any:
    return getattr(cell, "unit", cell)
