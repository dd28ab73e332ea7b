"""The torch engine: any network of units or of a user's modules, with stacked seeds and one optimizer step for all.

It is the reference implementation with which the fused engines are compared, so it defines a run in the plainest way:
the order of evaluation, step and projection, the gradients and the optimizer are torch's own.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..spec import Spec
from .batches import Batches
from .compiled import CompiledStep, NotCompiled, worth_compiling
from .contract import NO_CONTROL, Control, Failed, Floats, Job, Run, State, unit_code
from .digits import run as run_digits
from .judge import Judge
from .networks import Networks
from .probe import finding
from .resume import guarded
from .states import ARRAYS, TRAINER, judged, part, state_of
from .stopwatch import Stopwatch
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
            if job in digits:
                continue
            found = finding(job.spec, self.device)
            most = 1 if found.alone else stack_size(job.spec, self.device)
            states = {seed: control.resume(job.spec, seed) for seed in job.seeds}

            def step_of(seed: int, states: dict[int, State | None] = states) -> int:
                state = states[seed]
                return -1 if state is None else int(state["step"][0])

            for _, group in groupby(sorted(job.seeds, key=lambda seed: (-step_of(seed), seed)), key=step_of):
                seeds = tuple(group)
                for start in range(0, len(seeds), most):
                    if control.stopped():
                        return
                    wanted = tuple(seed for seed in seeds[start : start + most] if control.wanted(job.spec, seed))
                    if not wanted:
                        continue
                    try:
                        stack = _Stack(job.spec, wanted, self.device, control, stacked=not found.alone)
                        stack.resume(states)
                        with _threads(stack):
                            finished = stack.train()
                    except Failed as error:
                        control.failed(job.spec, wanted, str(error))
                        continue
                    yield from _made_on(self.device, finished)


def _made_on(device: torch.device, runs: Iterable[Run]) -> Iterator[Run]:
    """Yield the runs, with the name of the GPU that made them, if it is one."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return (replace(run, gpu=gpu) for run in runs)


@contextmanager
def _threads(stack: "_Stack") -> Iterator[None]:
    """Use one thread for a stack so small that several would only wait for each other."""
    before = torch.get_num_threads()
    sizes = stack.spec.sizes
    work = len(stack.seeds) * stack.spec.batch_size * sum(a * b for a, b in pairwise(sizes))
    try:
        torch.set_num_threads(1 if work < _SMALL else before)
        yield
    finally:
        torch.set_num_threads(before)


class _Stack:
    """Runs of one spec that train side by side, one seed per position on the leading axis of every tensor.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        device: device to train on.
        control: control of `TorchEngine.run`.
        stacked: whether to stack the networks; a single network need not be.

    Raises:
        Failed: a unit raised an error.
    """

    def __init__(
        self, spec: Spec, seeds: tuple[int, ...], device: torch.device, control: Control, *, stacked: bool = True
    ) -> None:
        self.spec, self.seeds, self.device, self.control = spec, seeds, device, control
        with unit_code():
            self.networks = Networks(spec, seeds, device, stacked=stacked)
        self.parameters = self.networks.parameters.values()
        self.trainer = make_trainer(spec, seeds, self.networks)
        self.batches = Batches(spec, seeds, device, self.trainer.dtype)
        self.judge = Judge(spec, seeds, self.flat().shape[1], control)
        self.step = 0
        self.elapsed_s = 0.0
        self._compiled: CompiledStep | None = None
        if isinstance(self.trainer, FirstOrderTrainer) and worth_compiling(spec, device, stacked=stacked):
            self._compiled = CompiledStep(spec, self.networks, self.batches, self.trainer, control.say)

    def train(self) -> list[Run]:
        """Train the stack to its end and return its runs, or suspend them when the caller stops it."""
        spec = self.spec
        stopwatch = Stopwatch(self.control, spec, len(self.seeds), step=self.step, elapsed_s=self.elapsed_s)
        while self.step <= spec.iterations:
            try:
                with unit_code():
                    if self.step % spec.evaluate_every == 0:
                        self._record(self._batch()[0].float())
                        if self.judge.ended.all():
                            break
                        if self.trainer.finished:
                            self.step += 1
                            self._coast()
                            break
                    self._iterate()
            except Failed:
                stopwatch.end()
                raise
            if stopwatch.look(self.step):
                self.elapsed_s = stopwatch.elapsed_s
                self._suspend()
                if stopwatch.stopped:
                    return []
        stopwatch.end()
        self.judge.ended |= np.isnan(self.flat()).any(axis=1)
        return self.judge.runs(TorchEngine.name, self.flat(), stopwatch.elapsed_s)

    def _batch(self) -> tuple[Tensor, Tensor]:
        return self.batches.at(self.trainer.batch(self.step))

    def _iterate(self) -> None:
        """Run the next iteration, compiled if that is worth it and works."""
        if self._compiled is not None:
            try:
                self._compiled.advance(self.step)
                self.step += 1
                return
            except NotCompiled as error:
                self._compiled = None
                self.control.say(f"{self.spec.model.name} is trained without being compiled: {error}")
        self.advance(*self._batch())

    def advance(self, x: Tensor, t: Tensor) -> None:
        """Run one iteration on a batch."""
        self.trainer.advance(self.step, x, t, self.judge.last[:, 0])
        self.step += 1

    def _coast(self) -> None:
        """Add the records that are left of runs whose weights stay as they are."""
        last = np.concatenate([self.judge.last, np.full((len(self.seeds), 1), np.nan, np.float32)], axis=1)
        flat, every = self.flat(), self.spec.evaluate_every
        for step in range(-(-self.step // every) * every, self.spec.iterations + 1, every):
            self.judge.observe(step, last, flat, np.zeros(len(self.seeds), bool))
        self.step = self.spec.iterations + 1

    def _record(self, x: Tensor) -> None:
        with self.networks.judging(self.step):
            sparsity, gate, broken = self.networks.inspect((x,))
            errors = [self._error(*self.batches.validation), self._error(*self.batches.test)]
        with np.errstate(over="ignore"):  # an error beyond float32 is infinite
            values = np.stack([*errors, sparsity.cpu().numpy(), gate.cpu().numpy()], axis=1).astype(np.float32)
        self.judge.observe(self.step, values, self.flat(), broken.cpu().numpy())
        self.trainer.observe(self.step, values[:, 0])

    def _error(self, x: Tensor, t: Tensor) -> NDArray[np.float64]:
        """Return the mean squared error of each run on shared inputs `[b, i]` with targets `[s, b, o]`."""
        widest = max(a * b for a, b in pairwise(self.spec.sizes))
        rows = max(1, _EVALUATION_FLOATS // (len(self.seeds) * widest))
        total = torch.zeros(len(self.seeds), dtype=torch.float64, device=self.device)
        for start in range(0, len(x), rows):
            y = self.networks.outputs((x[start : start + rows],), shared=True)
            total += (y - t[:, start : start + rows]).double().square().sum(dim=(1, 2))
        return (total / (t.shape[1] * t.shape[2])).cpu().numpy()

    def flat(self, name: str = "parameters") -> Floats:
        """Return the parameters, or a moment of the optimizer by name, as `[seeds, all]`."""
        chosen = self.parameters if name == "parameters" else self.trainer.moments(name)
        runs = len(self.seeds)
        return torch.cat([value.detach().reshape(runs, -1) for value in chosen], dim=1).cpu().numpy()

    def _suspend(self) -> None:
        arrays = {name: self.flat(name) for name in ARRAYS}
        for run, seed in enumerate(self.seeds):
            own = {name: array[run] for name, array in arrays.items()}
            elapsed_s, buffers = self.elapsed_s / len(self.seeds), self.networks.state()
            state = state_of(self.step, elapsed_s, own, self.judge.state(run), buffers, self.trainer.state(run))
            self.control.suspend(self.spec, seed, state)

    def resume(self, states: dict[int, State | None]) -> None:
        """Resume suspended runs, all of them at the same step, or none."""
        suspended = [state for seed in self.seeds if (state := states[seed]) is not None]
        if not suspended:
            return
        self.step = int(suspended[0]["step"][0])
        self.elapsed_s = float(sum(state["elapsed_s"][0] for state in suspended))
        for run, state in enumerate(suspended):
            self.judge.restore(run, judged(state))
            self.networks.restore(state)
        stored = {
            name: torch.from_numpy(np.stack([state[name] for state in suspended])).to(self.device) for name in ARRAYS
        }
        position, moments = 0, {name: list[Tensor]() for name in ARRAYS[1:]}
        for value in self.parameters:
            count = value.numel() // len(self.seeds)
            place = slice(position, position + count)
            position += count
            with torch.no_grad():
                value.copy_(stored["parameters"][:, place].view_as(value))
            for name, own in moments.items():
                own.append(stored[name][:, place].reshape(value.shape).clone())
        self.trainer.resume(self.step, moments, [part(state, TRAINER) for state in suspended])
