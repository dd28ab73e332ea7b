"""The cells of many runs at once: runs of one model are a group, and a group is stepped by one `vmap`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ...nn._parts import EPSILON, ExpLog, Leaf, Sum
from ...spec import Spec
from ...training import input_regularizer_add, input_regularizer_mul, sparsity_error, sparsity_loss


class _Cell(nn.Module):
    """A cell along sequences of numbers, and what its regularizers make of that."""

    def __init__(self, cell: nn.Module, spec: Spec) -> None:
        super().__init__()
        self.cell: Any = cell
        self.regularizer = spec.model.inputs
        leaf = spec.parts[0]
        self.aggregation = leaf.aggregation if isinstance(leaf, Leaf) else None

    def forward(self, name: str, *tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        method: Callable[..., Tensor] = getattr(self, name)
        return method(*tensors)

    def start(self, x: Tensor) -> Tensor:
        """The state before the first of numbers `[b]`."""
        state: Tensor = self.cell.initial_state(x[:, None, None])
        return state

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """The state `[b, …]` after one more of numbers `[b]`."""
        after: Tensor = self.cell.step(x[:, None], state)
        return after

    def output(self, state: Tensor) -> Tensor:
        """What is seen `[b]` of a state."""
        seen: Tensor = self.cell.output(state)[..., 0]
        return seen

    def run(self, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs `[b, time]` for numbers `[b, time]`, and the regularizer of inputs.

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
        if isinstance(self.aggregation, ExpLog) and self.regularizer.logs:
            inputs = (inputs.abs() + EPSILON).log()
        mean = (inputs.mean(dim=1) * weight[:, None]).sum(dim=0)
        form = input_regularizer_add if isinstance(self.aggregation, Sum) else input_regularizer_mul
        return self.regularizer.strength * form(self.cell.unit.weights()["weight"], mean)

    def sparsity(self, like: Tensor) -> Tensor:
        """What the sparsity loss makes of the weights."""
        return sparsity_loss(self.cell)

    def error(self, like: Tensor) -> Tensor:
        """The sparsity error; NaN for a cell that has no weights of the arithmetic kind."""
        unit = _unit(self.cell)
        return sparsity_error(unit) if callable(getattr(unit, "weights", None)) else like.new_full((), torch.nan)


class Cells:
    """The cells of runs of one model.

    Args:
        spec: the model's.
        cells: one a run, with the run's initial weights.
        device: where.
    """

    def __init__(self, spec: Spec, cells: Sequence[nn.Module], device: torch.device) -> None:
        self.spec, self.count = spec, len(cells)
        stacked = stack_module_state(list(cells))[0] if any(True for _ in cells[0].parameters()) else {}
        cell = cells[0].to(device)
        self._cell = _Cell(cell, spec)
        self.parameters = {name: value.detach().to(device).requires_grad_() for name, value in stacked.items()}
        self.regularized = spec.model.schedule.strength > 0 and callable(getattr(_unit(cell), "sparsity", None))
        prefix = "unit." if _unit(cell) is not cell else ""
        self.bounds = {prefix + name: limits for name, limits in getattr(_unit(cell), "bounds", dict)().items()}
        self._like = torch.zeros(self.count, device=device)

    def _call(self, name: str, *stacked: Tensor, shared: Sequence[Tensor] = ()) -> Any:
        def call(parameters: Mapping[str, Tensor], *tensors: Tensor) -> Any:
            named = {f"cell.{key}": value for key, value in parameters.items()}
            return functional_call(self._cell, named, (name, *tensors))

        axes = (0, *[0] * len(stacked), *[None] * len(shared))
        return vmap(call, in_dims=axes, randomness="error")(self.parameters, *stacked, *shared)

    def run(self, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs `[s, b, time]` for numbers `[s, b, time]`, and the regularizer of inputs `[s]`."""
        return cast(tuple[Tensor, Tensor], self._call("run", x, shared=(weight,)))

    def sparsity(self) -> Tensor:
        """The sparsity loss `[s]`."""
        return cast(Tensor, self._call("sparsity", self._like))

    def error(self) -> Tensor:
        """The sparsity error `[s]`."""
        return cast(Tensor, self._call("error", self._like))

    def start(self, x: Tensor) -> Tensor:
        """States before the first of numbers `[s, b]`."""
        return cast(Tensor, self._call("start", x))

    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """States after one more of numbers `[s, b]`."""
        return cast(Tensor, self._call("step", x, state))

    def output(self, state: Tensor) -> Tensor:
        """What is seen `[s, b]` of states."""
        return cast(Tensor, self._call("output", state))

    @torch.no_grad()
    def project(self) -> None:
        """Puts the parameters back into their range."""
        for name, (low, high) in self.bounds.items():
            self.parameters[name].clamp_(low, high)


def _unit(cell: nn.Module) -> Any:
    return getattr(cell, "unit", cell)
