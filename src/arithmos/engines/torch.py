"""The torch engine: any network of units or of a user's modules, with stacked seeds and one optimizer step for all.

It is the reference implementation with which the fused engines are compared, so it defines a run in the plainest way:
the order of evaluation, step and projection, the gradients and the optimizer are torch's own.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..optim.threads import one_thread
from ..spec import Spec
from .batches import Batches
from .compiled import CompiledStep, NotCompiled, worth_compiling
from .contract import NO_CONTROL, Control, Floats, Job, Run, State, unit_code
from .digits import run as run_digits
from .graphs import GraphedSteps
from .judge import Judge
from .networks import Networks
from .probe import finding
from .resume import guarded
from .stacks import SeededSpecs, TrainingStack, in_stacks
from .states import ARRAYS, TRAINER, part
from .trainers import make_trainer, stack_size
from .updates import FirstOrderTrainer

_EVALUATION_FLOATS = 2**24
_SMALL = 2**20


class TorchEngine:
    """Engine that trains stacks of seeds with torch.

    Args:
        device: "cpu" or "cuda"; by default a CPU, or, for networks that read images, a GPU if there is one.
    """

    name = "torch"

    def __init__(self, device: str | None = None) -> None:
        self.device = torch.device(device or "cpu")
        self._reading = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def refuses(self, spec: Spec) -> str | None:
        """Return why a network fails its trial, or None if it can be run; see `arithmos.engines.probe`."""
        return finding(spec, self.device).refused or None

    def run(self, jobs: Sequence[Job], control: Control = NO_CONTROL) -> Iterator[Run]:
        """Yield finished runs, job after job; seeds suspended at the same step are resumed together, and first.

        Networks that cannot be stacked are trained seed by seed.
        """
        control, able = guarded(control), []
        for job in jobs:
            if why := finding(job.spec, self.device).refused:
                control.failed(job.spec, job.seeds, why)
            else:
                able.append(job)
        digits = [job for job in able if job.spec.task.sequential]
        if digits:
            yield from _made_on(self._reading, run_digits(digits, control, self._reading))
        for job in able:
            if not job.spec.task.sequential:
                most = 1 if finding(job.spec, self.device).alone else stack_size(job.spec, self.device)
                if not (yield from in_stacks([job], control, most, partial(self._train, control))):
                    return

    def _train(self, control: Control, runs: SeededSpecs, states: Sequence[State]) -> list[Run]:
        spec, seeds = runs[0][0], tuple(seed for _, seed in runs)
        stack = _Stack(spec, seeds, self.device, control, stacked=not finding(spec, self.device).alone)
        if states:
            stack.resume(states)
        with one_thread(_small(stack)):
            return [*_made_on(self.device, stack.train())]


def _made_on(device: torch.device, runs: Iterable[Run]) -> Iterator[Run]:
    """Yield the runs, with the name of the GPU that made them, if it is one."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return (replace(run, gpu=gpu) for run in runs)


def _small(stack: "_Stack") -> bool:
    """Return whether a stack is so small that one thread is faster than several."""
    work = len(stack.runs) * stack.spec.batch_size * sum(a * b for a, b in pairwise(stack.spec.sizes))
    return work < _SMALL


class _Stack(TrainingStack):
    """Runs of one spec that train side by side.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        device: device to train on.
        control: control of `TorchEngine.run`.
        stacked: whether to stack the networks; a single network need not be.

    Raises:
        Failed: a unit raised an error.
    """

    records: Judge

    def __init__(
        self, spec: Spec, seeds: tuple[int, ...], device: torch.device, control: Control, *, stacked: bool = True
    ) -> None:
        super().__init__([(spec, seed) for seed in seeds], device, control)
        with unit_code():
            self.networks = Networks(spec, seeds, device, stacked=stacked)
        self.parameters = self.networks.parameters.values()
        self.trainer = make_trainer(spec, seeds, self.networks)
        self.batches = Batches(spec, seeds, device, self.trainer.dtype)
        self.records = Judge(spec, seeds, self.flat().shape[1], control)
        self._compiled: CompiledStep | None = None
        if isinstance(self.trainer, FirstOrderTrainer) and worth_compiling(spec, device, stacked=stacked):
            make = GraphedSteps if device.type == "cuda" else CompiledStep
            self._compiled = make(spec, self.networks, self.batches, self.trainer, control.say)

    def _batch(self) -> tuple[Tensor, Tensor]:
        return self.batches.at(self.trainer.batch(self.step))

    def iterate(self) -> None:
        """Run the next iteration, compiled if that is worth it and works; on a GPU then more, up to the next record."""
        if self.trainer.finished and self.step % self.spec.evaluate_every == 0:
            self._coast()
            return
        if self._compiled is not None:
            every = self.spec.evaluate_every
            end = min((self.step // every + 1) * every, self.spec.iterations + 1)
            try:
                self.step = self._compiled.advance(self.step, end)
                return
            except NotCompiled as error:
                self._compiled = None
                self.control.say(f"{self.spec.model.name} is trained without being compiled: {error}")
        self.advance(*self._batch())

    def advance(self, x: Tensor, t: Tensor) -> None:
        """Run one iteration on a batch."""
        self.trainer.advance(self.step, x, t, self.records.last[:, 0])
        self.step += 1

    def _coast(self) -> None:
        """Add the records after this step's, of runs whose weights stay as they are."""
        last = np.concatenate([self.records.last, np.full((len(self.runs), 1), np.nan, np.float32)], axis=1)
        flat, every = self.flat(), self.spec.evaluate_every
        for step in range(self.step + every, self.spec.iterations + 1, every):
            self.records.observe(step, last, flat, np.zeros(len(self.runs), bool))
        self.step = self.spec.iterations + 1

    def record(self) -> None:
        """Evaluate all runs and add a record."""
        x = self._batch()[0].float()
        with self.networks.judging(self.step):
            sparsity, gate, broken = self.networks.inspect((x,))
            errors = [self._error(*self.batches.validation), self._error(*self.batches.test)]
        with np.errstate(over="ignore"):  # an error beyond float32 is infinite
            values = np.stack([*errors, sparsity.cpu().numpy(), gate.cpu().numpy()], axis=1).astype(np.float32)
        self.records.observe(self.step, values, self.flat(), broken.cpu().numpy())
        self.trainer.observe(self.step, values[:, 0])

    def _error(self, x: Tensor, t: Tensor) -> NDArray[np.float64]:
        """Return the mean squared error of each run on shared inputs `[b, i]` with targets `[s, b, o]`."""
        widest = max(a * b for a, b in pairwise(self.spec.sizes))
        rows = max(1, _EVALUATION_FLOATS // (len(self.runs) * widest))
        total = torch.zeros(len(self.runs), dtype=torch.float64, device=self.device)
        for start in range(0, len(x), rows):
            y = self.networks.outputs((x[start : start + rows],), shared=True)
            total += (y - t[:, start : start + rows]).double().square().sum(dim=(1, 2))
        return (total / (t.shape[1] * t.shape[2])).cpu().numpy()

    def flat(self, name: str = "parameters") -> Floats:
        """Return the parameters, or a moment of the optimizer by name, as `[seeds, all]`."""
        chosen = self.parameters if name == "parameters" else self.trainer.moments(name)
        runs = len(self.runs)
        return torch.cat([value.detach().reshape(runs, -1) for value in chosen], dim=1).cpu().numpy()

    def finished(self, elapsed_s: float) -> list[Run]:
        """Return the finished runs."""
        self.records.ended |= np.isnan(self.flat()).any(axis=1)
        return self.records.runs(TorchEngine.name, self.flat(), elapsed_s)

    def own_state(self, run: int) -> tuple[State, State]:
        """Return the buffers of a run, and the state of its trainer."""
        return self.networks.state(), self.trainer.state(run)

    def resume(self, states: Sequence[State]) -> None:
        """Resume suspended runs, all of them at the same step."""
        super().resume(states)
        for state in states:
            self.networks.restore(state)
        stored = {
            name: torch.from_numpy(np.stack([state[name] for state in states])).to(self.device) for name in ARRAYS
        }
        position, moments = 0, {name: list[Tensor]() for name in ARRAYS[1:]}
        for value in self.parameters:
            count = value.numel() // len(self.runs)
            place = slice(position, position + count)
            position += count
            with torch.no_grad():
                value.copy_(stored["parameters"][:, place].view_as(value))
            for name, own in moments.items():
                own.append(stored[name][:, place].reshape(value.shape).clone())
        self.trainer.resume(self.step, moments, [part(state, TRAINER) for state in states])
