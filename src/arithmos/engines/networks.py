"""Modules of several runs, called as one; the leading axis of tensors is the run.

Modules are stacked with `torch.func.vmap`. A module that cannot be stacked is called alone, as ordinary PyTorch: its
buffers belong to its run, and its random numbers are seeded by the run's seed and the step.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from .. import philox
from ..nn._noise import RunNoise, drawn_from, no_noise
from ..optim import sparsity_error, sparsity_loss
from ..spec import GENERATOR, Spec
from .contract import State
from .states import BUFFER, NOTHING, buffers

_BLOCK = 256


class Modules:
    """One module per run, all of one class.

    Args:
        modules: the modules, with the initial weights of their runs.
        seeds: seeds of the runs.
        device: device to move the modules to.
        stacked: whether to stack the modules. A module that is not stacked must be the only one.

    Attributes:
        module: the module that is called, in training mode.
        parameters: parameters by name; with a leading axis if they are stacked.
        bounds: parameters that are projected into a range, with its ends.
    """

    def __init__(
        self, modules: Sequence[nn.Module], seeds: Sequence[int], device: torch.device, *, stacked: bool = True
    ) -> None:
        if not stacked and len(modules) > 1:
            raise ValueError(f"modules that are not stacked must be called one by one, got {len(modules)}")
        self.seeds, self.device, self.stacked = seeds, device, stacked
        if stacked:
            parameters, buffers = stack_module_state(list(modules)) if _has_state(modules[0]) else ({}, {})
            self.parameters = {name: _leaf(value, device) for name, value in parameters.items()}
            self._buffers = {name: value.to(device) for name, value in buffers.items()}
        self._seeds = torch.tensor(seeds, dtype=torch.int64, device=device)
        self._noise: RunNoise | None = None
        self.module = modules[0].to(device).train()
        if not stacked:
            self.parameters = dict(self.module.named_parameters())
        self.bounds: list[tuple[Tensor, float, float]] = []

    @property
    def buffers(self) -> dict[str, Tensor]:
        """Buffers by name, with a leading axis if they are stacked."""
        return self._buffers if self.stacked else dict(self.module.named_buffers())

    def function(self, module: nn.Module, prefix: str = "") -> Callable[..., Any]:
        """Return the forward of a module as a function of tensors whose leading axis is the run.

        Args:
            module: `self.module`, or a module around it.
            prefix: name of `self.module` within that module, followed by a dot.

        Returns:
            A function of a tuple of tensors and of further arguments, which are the same for all runs and come first
            in the module's forward. Tensors that are `shared` by all runs have no leading axis.
        """

        def call(seed: Tensor, state: Mapping[str, Tensor], tensors: tuple[Tensor, ...], *rest: object) -> Any:
            with self._drawing(seed):
                state = {prefix + name: value for name, value in state.items()}
                return functional_call(module, state, (*rest, *tensors))

        def stacked(tensors: tuple[Tensor, ...], *rest: object, shared: bool = False) -> Any:
            axes = (0, 0, None if shared else 0, *[None] * len(rest))
            state = {**self.parameters, **self.buffers}
            return vmap(call, in_dims=axes, randomness="error")(self._seeds, state, tensors, *rest)

        def alone(tensors: tuple[Tensor, ...], *rest: object, shared: bool = False) -> Any:
            with self._drawing(self._seeds[0]):
                result = module(*rest, *(tensors if shared else [tensor[0] for tensor in tensors]))
            return result[None] if isinstance(result, Tensor) else tuple(value[None] for value in result)

        return stacked if self.stacked else alone

    def _drawing(self, seed: Tensor) -> AbstractContextManager[None]:
        return drawn_from(no_noise if self._noise is None else self._noise.source(seed))

    @contextmanager
    def training(self, step: int) -> Iterator[None]:
        """Seed the noise of units for a training iteration, and all random numbers of a module that is called alone."""
        self._noise = RunNoise(step)
        try:
            with self._seeded(step, 0):
                yield
        finally:
            self._noise = None

    @contextmanager
    def judging(self, step: int) -> Iterator[None]:
        """Put the modules into evaluation mode without gradients, and seed as `training` does."""
        self.module.eval()
        try:
            with torch.no_grad(), self._seeded(step, 1):
                yield
        finally:
            self.module.train()

    @contextmanager
    def _seeded(self, step: int, column: int) -> Iterator[None]:
        """Seed torch's global generators, which all threads share, and restore them afterwards."""
        if self.stacked:
            yield
            return
        word = int(_noise(self.seeds[0], step // _BLOCK)[step % _BLOCK, column])
        generators = [torch.default_generator]
        if self.device.type == "cuda":
            generators.append(torch.cuda.default_generators[self.device.index or 0])
        with GENERATOR:
            before = [generator.get_state() for generator in generators]
            try:
                for generator in generators:
                    generator.manual_seed(word)
                yield
            finally:
                for generator, state in zip(generators, before, strict=True):
                    generator.set_state(state)

    @torch.no_grad()
    def project(self) -> None:
        """Project the parameters into their ranges."""
        for parameter, low, high in self.bounds:
            parameter.clamp_(low, high)

    def state(self) -> State:
        """Return the buffers of a module that is called alone, for a suspended run; stacked ones never change."""
        if self.stacked:
            return NOTHING
        return buffers(self.module)

    @torch.no_grad()
    def restore(self, state: State) -> None:
        """Restore the buffers of a suspended run."""
        if not self.stacked:
            for name, value in self.buffers.items():
                value.copy_(torch.from_numpy(np.asarray(state[BUFFER + name])))


class Networks(Modules):
    """Networks of runs of one spec.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        device: device to train on.
        stacked: as in `Modules`.
    """

    def __init__(self, spec: Spec, seeds: Sequence[int], device: torch.device, *, stacked: bool = True) -> None:
        networks = [spec.network(seed) for seed in seeds]
        super().__init__(networks, seeds, device, stacked=stacked)
        self.bounds = [
            (self.parameters[f"{index}.{name}"], low, high)
            for index, layer in enumerate(networks[0])
            for name, (low, high) in getattr(layer, "bounds", dict)().items()
        ]
        self.outputs = self.function(self.module)
        """Outputs for inputs."""
        self.errors = self.function(_Training(networks[0]), "network.")
        """Mean squared error and sparsity loss for inputs, targets and whether the sparsity is regularized."""
        self.inspect = self.function(_Inspection(networks[0]), "network.")
        """Sparsity error, mean gate and whether a parameter is NaN, for inputs."""


class _Training(nn.Module):
    """Mean squared error of a network, and the sparsity of its weights if it is asked for."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, regularized: bool, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        error = (self.network(x) - t).square().mean()
        return error, sparsity_loss(self.network) if regularized else error.new_zeros(())


class _Inspection(nn.Module):
    """Sparsity error, mean gate of the last layer, and whether a weight is NaN, for a record."""

    def __init__(self, network: nn.Sequential) -> None:
        super().__init__()
        self.network = network
        self.has_weights = any(callable(getattr(layer, "weights", None)) for layer in network)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sparsity = sparsity_error(self.network) if self.has_weights else x.new_full((), torch.nan)
        last = self.network[-1]
        gate = x.new_full((), torch.nan)
        if callable(value := getattr(last, "gate_value", None)):
            gate = value(self.network[:-1](x)).mean()
        broken = torch.stack([p.isnan().any() for p in self.network.parameters()]).any()
        return sparsity, gate, broken


@lru_cache(maxsize=64)
def _noise(seed: int, block: int) -> philox.Words:
    """Return random words of consecutive steps: two per step, for training and for a record."""
    counter = np.zeros((_BLOCK, 4), np.uint32)
    counter[:, 2] = block * _BLOCK + np.arange(_BLOCK)
    counter[:, 3] = philox.NOISE
    return philox.philox(counter, (seed, philox.RUN))[:, :2]


def _has_state(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None or next(module.buffers(), None) is not None


def _leaf(value: Tensor, device: torch.device) -> Tensor:
    return value.detach().to(device).requires_grad_(value.requires_grad)
