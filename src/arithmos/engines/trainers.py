"""Trainers of the torch engine: what makes one iteration of a stack of runs, by the optimizer of their spec."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..spec import LM, Spec
from .contract import STACK, Floats, State
from .cost import weights
from .networks import Networks
from .second_order import SecondOrderTrainer, formula_search
from .states import NOTHING
from .updates import FirstOrderTrainer, Restarts

STACK_ON_GPU = 1024
"""Most runs of one spec side by side on a GPU, which a smaller stack does not fill."""

INPUTS_ON_GPU = 2**26
"""Numbers in a batch of the inputs of a stack on a GPU, above which it is not made larger than elsewhere."""

JACOBIAN = {"cpu": 2**22, "cuda": 2**28}
"""Numbers in the Jacobians of a stack: those that stay near the core, or use a GPU well."""


class Trainer(Protocol):
    """Training of a stack of runs."""

    @property
    def dtype(self) -> torch.dtype:
        """Type of the batches."""

    @property
    def finished(self) -> bool:
        """Whether no further iteration changes a weight."""

    def batch(self, step: int) -> int:
        """Return the step whose batch an iteration has."""

    def observe(self, step: int, validation: Floats) -> None:
        """Take note of the validation errors of a record."""

    def advance(self, step: int, x: Tensor, t: Tensor, validation: Floats) -> None:
        """Run one iteration on a batch, given the validation errors of the last record."""

    def moments(self, name: str) -> list[Tensor]:
        """Return an array of a suspended run by name, for every parameter."""

    def state(self, run: int) -> State:
        """Return what one run has to remember besides."""

    def resume(self, step: int, moments: Mapping[str, Sequence[Tensor]], states: Sequence[State]) -> None:
        """Resume suspended runs, given what `moments` and `state` returned."""


def make_trainer(spec: Spec, seeds: tuple[int, ...], networks: Networks) -> Trainer:
    """Return the trainer of a stack."""
    if isinstance(spec.optimizer, LM):
        return SecondOrderTrainer(spec, seeds, networks)
    if getattr(spec.optimizer, "lbfgs", 0):
        from .equation import EquationTrainer

        return EquationTrainer(spec, seeds, networks)
    return FirstOrderTrainer(spec, seeds, networks)


def blank_state(spec: Spec) -> State:
    """Return a state as that of `Trainer.state`, for its names, types and shapes."""
    if isinstance(spec.optimizer, LM):
        return formula_search(spec, (0,), torch.device("cpu")).state(0)
    if getattr(spec.optimizer, "lbfgs", 0):
        return dict.fromkeys(("parameters", "squares"), np.zeros(weights(spec)))
    return Restarts(spec, (0,)).state(0) if spec.optimizer.reinitialize else NOTHING


def stack_size(spec: Spec, device: torch.device) -> int:
    """Return the most runs of a spec that train side by side."""
    if not isinstance(spec.optimizer, LM):
        if device.type == "cpu":
            return STACK
        return max(STACK, min(STACK_ON_GPU, INPUTS_ON_GPU // (spec.batch_size * max(spec.sizes))))
    factors = min(spec.optimizer.factors, spec.hidden_size, 2)  # more are rarely needed
    jacobian = spec.batch_size * spec.task.input_size * factors
    return max(1, min(STACK, JACOBIAN[device.type] // jacobian))
