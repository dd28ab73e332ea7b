"""The torch engine: any network of units or of a user's modules, seeds stacked, one optimizer step for all.

It is the truth that the fused engines are compared with, so it says what a run is in the plainest words: the order
of evaluation, step and projection, the gradients and the optimizer are torch's own.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ..spec import Spec
from ..tasks import DigitSequences
from ..training import sparsity_error, sparsity_loss
from .batches import Batches
from .contract import NO_CONTROL, STACK, Control, Floats, Job, Run, State
from .digits import run as run_digits
from .judge import Judge
from .resume import guarded
from .states import ARRAYS, judged, state_of
from .stopwatch import Stopwatch

_EVALUATION_FLOATS = 2**24
_SMALL = 2**20


class _Training(nn.Module):
    """Mean squared error of a network, and the sparsity of its weights where that is asked for."""

    def __init__(self, network: nn.Sequential) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, t: Tensor, regularized: bool) -> tuple[Tensor, Tensor]:
        error = (self.network(x) - t).square().mean()
        return error, sparsity_loss(self.network) if regularized else error.new_zeros(())


class _Inspection(nn.Module):
    """What a record shows beside the two errors: sparsity error, mean gate of the last layer, NaN among the weights."""

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


class TorchEngine:
    """Trains stacks of seeds with torch.

    Args:
        device: where: "cpu" or "cuda"; unless told, a CPU, or for networks that read images a GPU if there is one.
    """

    name = "torch"

    def __init__(self, device: str | None = None) -> None:
        self.device = torch.device(device or "cpu")
        self._reading = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def refuses(self, spec: Spec) -> str | None:
        """Nothing: it runs every spec."""
        return None

    def run(self, jobs: Sequence[Job], control: Control = NO_CONTROL) -> Iterator[Run]:
        """Finished runs, job after job; seeds that were suspended at the same step go on together, and first."""
        control = guarded(control)
        digits = [job for job in jobs if isinstance(job.spec.task, DigitSequences)]
        if digits:
            yield from _made_on(self._reading, run_digits(digits, control, self._reading))
        for job in jobs:
            if job in digits:
                continue
            states = {seed: control.resume(job.spec, seed) for seed in job.seeds}

            def step_of(seed: int, states: dict[int, State | None] = states) -> int:
                state = states[seed]
                return -1 if state is None else int(state["step"][0])

            for _, group in groupby(sorted(job.seeds, key=lambda seed: (-step_of(seed), seed)), key=step_of):
                seeds = tuple(group)
                for start in range(0, len(seeds), STACK):
                    if control.stopped():
                        return
                    wanted = [seed for seed in seeds[start : start + STACK] if control.wanted(job.spec, seed)]
                    if not wanted:
                        continue
                    stack = _Stack(job.spec, tuple(wanted), self.device, control)
                    stack.resume(states)
                    with _threads(stack):
                        finished = stack.train()
                    yield from _made_on(self.device, finished)


def _made_on(device: torch.device, runs: Iterable[Run]) -> Iterator[Run]:
    """The runs, with the name of the GPU that they were made on, if it is one."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return (replace(run, gpu=gpu) for run in runs)


@contextmanager
def _threads(stack: "_Stack") -> Iterator[None]:
    """One thread for a stack so small that several would only wait for each other."""
    before = torch.get_num_threads()
    sizes = stack.spec.sizes
    work = len(stack.seeds) * stack.spec.batch_size * sum(a * b for a, b in pairwise(sizes))
    try:
        torch.set_num_threads(1 if work < _SMALL else before)
        yield
    finally:
        torch.set_num_threads(before)


class _Stack:
    """Runs of one spec that train side by side, seed by seed on the leading axis of every tensor."""

    def __init__(self, spec: Spec, seeds: tuple[int, ...], device: torch.device, control: Control) -> None:
        self.spec, self.seeds, self.device, self.control = spec, seeds, device, control
        networks = [spec.network(seed) for seed in seeds]
        parameters, _ = stack_module_state(networks)
        self.network = networks[0].to(device)
        self.parameters = {name: value.detach().to(device).requires_grad_() for name, value in parameters.items()}
        adam = spec.optimizer
        self.optimizer = torch.optim.Adam(
            self.parameters.values(), lr=adam.lr, betas=(adam.beta1, adam.beta2), eps=adam.eps
        )
        self.bounds = {
            f"{index}.{name}": limits
            for index, layer in enumerate(self.network)
            for name, limits in getattr(layer, "bounds", dict)().items()
        }
        self.batches = Batches(spec, seeds, device)
        self.judge = Judge(spec, seeds, self.flat().shape[1], control)
        self.step = 0
        self.elapsed_s = 0.0
        self._errors = self._stacked(_Training(self.network))
        self._inspect = self._stacked(_Inspection(self.network))
        self._outputs = self._stacked(self.network)

    def _stacked(self, module: nn.Module) -> Callable[..., tuple[Tensor, ...]]:
        """The module as a function of the stacked parameters and stacked inputs."""
        prefix = "" if module is self.network else "network."

        def call(parameters: dict[str, Tensor], tensors: tuple[Tensor, ...], *rest: object) -> tuple[Tensor, ...]:
            named = {prefix + name: value for name, value in parameters.items()}
            result: tuple[Tensor, ...] = functional_call(module, named, (*tensors, *rest))
            return result

        def stacked(tensors: tuple[Tensor, ...], *rest: object, shared: bool = False) -> tuple[Tensor, ...]:
            axes = (0, None if shared else 0, *[None] * len(rest))
            return vmap(call, in_dims=axes, randomness="error")(self.parameters, tensors, *rest)

        return stacked

    def train(self) -> list[Run]:
        """Trains the stack to its end and returns its runs, or suspends them when the caller stops it."""
        spec = self.spec
        stopwatch = Stopwatch(self.control, spec, len(self.seeds), step=self.step, elapsed_s=self.elapsed_s)
        while self.step <= spec.iterations:
            x, t = self.batches.at(self.step)
            if self.step % spec.evaluate_every == 0:
                self._record(x)
                if self.judge.ended.all():
                    break
            self.advance(x, t)
            if stopwatch.look(self.step):
                self.elapsed_s = stopwatch.elapsed_s
                self._suspend()
                if stopwatch.stopped:
                    return []
        stopwatch.end()
        self.judge.ended |= np.isnan(self.flat()).any(axis=1)
        return self.judge.runs(TorchEngine.name, self.flat(), stopwatch.elapsed_s)

    def advance(self, x: Tensor, t: Tensor) -> None:
        """One iteration: gradient, Adam, projection."""
        strength = self.spec.model.schedule(self.step)
        error, sparsity = self._errors((x, t), strength > 0)
        self.optimizer.zero_grad()
        (error + strength * sparsity).sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        with torch.no_grad():
            for name, (low, high) in self.bounds.items():
                self.parameters[name].clamp_(low, high)
        self.step += 1

    @torch.no_grad()
    def _record(self, x: Tensor) -> None:
        sparsity, gate, broken = self._inspect((x,))
        errors = [self._error(*self.batches.validation), self._error(*self.batches.test)]
        with np.errstate(over="ignore"):  # an error beyond float32 is infinite
            values = np.stack([*errors, sparsity.cpu().numpy(), gate.cpu().numpy()], axis=1).astype(np.float32)
        self.judge.observe(self.step, values, self.flat(), broken.cpu().numpy())

    def _error(self, x: Tensor, t: Tensor) -> NDArray[np.float64]:
        """Mean squared error of each run on observations that all runs share: inputs `[b, i]`, targets `[s, b, o]`."""
        widest = max(a * b for a, b in pairwise(self.spec.sizes))
        rows = max(1, _EVALUATION_FLOATS // (len(self.seeds) * widest))
        total = torch.zeros(len(self.seeds), dtype=torch.float64, device=self.device)
        for start in range(0, len(x), rows):
            y = self._outputs((x[start : start + rows],), shared=True)
            total += (y - t[:, start : start + rows]).double().square().sum(dim=(1, 2))  # type: ignore[operator]
        return (total / (t.shape[1] * t.shape[2])).cpu().numpy()

    def flat(self, name: str = "parameters") -> Floats:
        """Parameters, or a moment of the optimizer by its name, as `[seeds, all]`."""
        values = self.parameters.values()
        chosen = values if name == "parameters" else [self.optimizer.state[value][name] for value in values]
        return torch.cat([value.detach().reshape(len(value), -1) for value in chosen], dim=1).cpu().numpy()

    def _suspend(self) -> None:
        arrays = {name: self.flat(name) for name in ARRAYS}
        for run, seed in enumerate(self.seeds):
            own = {name: array[run] for name, array in arrays.items()}
            state = state_of(self.step, self.elapsed_s / len(self.seeds), own, self.judge.state(run))
            self.control.suspend(self.spec, seed, state)

    def resume(self, states: dict[int, State | None]) -> None:
        """Puts the runs where they were suspended; all of them at the same step, or none."""
        suspended = [state for seed in self.seeds if (state := states[seed]) is not None]
        if not suspended:
            return
        self.step = int(suspended[0]["step"][0])
        self.elapsed_s = float(sum(state["elapsed_s"][0] for state in suspended))
        for run, state in enumerate(suspended):
            self.judge.restore(run, judged(state))
        flat, exp_avg, exp_avg_sq = (
            torch.from_numpy(np.stack([state[name] for state in suspended])).to(self.device) for name in ARRAYS
        )
        position = 0
        for value in self.parameters.values():
            count = value[0].numel()
            place = slice(position, position + count)
            position += count
            with torch.no_grad():
                value.copy_(flat[:, place].view_as(value))
            self.optimizer.state[value] = {
                "step": torch.tensor(float(self.step)),
                "exp_avg": exp_avg[:, place].reshape(value.shape).clone(),
                "exp_avg_sq": exp_avg_sq[:, place].reshape(value.shape).clone(),
            }
