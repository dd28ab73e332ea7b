"""Runs on sequences of digits that train side by side: one reader for all, and cells grouped by model.

An iteration takes the same steps for any number of runs; on a GPU it is recorded once as a graph and replayed, without
the host during an epoch.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...optim import SparsitySchedule
from ..contract import Control, Floats, Run, State, unit_code
from ..stacks import SeededSpecs, TrainingStack
from ..states import ARRAYS
from .cells import CellStack, ModelGroup
from .evaluator import Evaluator, warm
from .reader import Convolution, grouped, read
from .records import StackRecords
from .sequences import TrainingSequences


class Stack(TrainingStack):
    """Runs on sequences of digits that train side by side.

    Args:
        runs: spec and seed of each; the specs differ only in their model, and runs of one model are adjacent.
        device: device to train on.
        control: control of the caller.
        convolve: convolution that reads the images.
        graph: whether to record and replay an iteration and the cells' part of an evaluation; only on a GPU.
    """

    records: StackRecords

    def __init__(
        self,
        runs: SeededSpecs,
        device: torch.device,
        control: Control,
        *,
        convolve: Convolution = grouped,
        graph: bool = False,
    ) -> None:
        super().__init__(runs, device, control)
        self.graph = graph
        self.read = partial(read, convolve=convolve)
        self.task = self.spec.sequences
        with unit_code():
            networks = [spec.network(seed) for spec, seed in runs]
        readers = [dict(network[0].named_parameters()) for network in networks]
        self.reader = {
            name: torch.stack([reader[name].detach() for reader in readers]).to(device).requires_grad_()
            for name in readers[0]
        }
        self.groups = []
        for _, members in groupby(range(len(runs)), key=lambda run: runs[run][0].id):
            places = list(members)
            own = runs[places[0]][0]
            with unit_code():
                cells = CellStack(own, [runs[run][1] for run in places], [networks[run][1] for run in places], device)
            stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
            self.groups.append(ModelGroup(places[0], places[-1] + 1, cells, own.model.schedule, stream))
        adam = self.spec.adam
        self.optimizer = torch.optim.Adam(
            [*self.reader.values(), *(value for group in self.groups for value in group.cells.parameters.values())],
            lr=adam.lr,
            betas=(adam.beta1, adam.beta2),
            eps=adam.eps,
            capturable=device.type == "cuda",
            fused=device.type == "cuda",
        )
        for value, _ in self._owners():
            zeros = {name: torch.zeros_like(value, requires_grad=False) for name in ARRAYS[1:]}
            counter = torch.zeros((), device=device if device.type == "cuda" else "cpu")
            self.optimizer.state[value] = {"step": counter, **zeros}
        self.training = TrainingSequences(self.spec, self.task, tuple(seed for _, seed in runs), device)
        reads = partial(self.read, self.reader)
        self.evaluator = Evaluator(self.task, len(runs), self.groups, reads, device, graph=graph)
        self.records = StackRecords(runs, self.task, self._cells())
        self._place = torch.zeros(1, dtype=torch.int64, device=device)
        self._clock = torch.zeros((), dtype=torch.float64, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None

    def finished(self, elapsed_s: float) -> list[Run]:
        """Return the finished runs."""
        self.records.ended |= self._broken()
        share, cells = elapsed_s / len(self.runs), self._cells()
        return [self.records.finished(run, "torch", cells[run], share) for run in range(len(self.runs))]

    def pausing(self) -> bool:
        """Return whether the caller may be informed: on a GPU, at the end of an epoch."""
        if self.device.type != "cuda":
            return True
        if ends := self.step % self.training.iterations == 0:
            torch.cuda.synchronize(self.device)
        return ends

    def iterate(self) -> None:
        """Run the iterations until the next record or epoch."""
        self.advance(min(self._ahead(), self.spec.iterations + 1 - self.step))

    def _ahead(self) -> int:
        """Return the iterations until the next record or epoch; one on a CPU, so that a caller can stop in between."""
        if self.device.type != "cuda":
            return 1
        every, epoch = self.spec.evaluate_every, self.training.iterations
        return min(every - self.step % every, epoch - self.step % epoch)

    def advance(self, iterations: int) -> None:
        """Run some iterations."""
        for _ in range(iterations):
            epoch, place = divmod(self.step, self.training.iterations)
            if place == 0 or self._fresh:
                self.training.begin(epoch)
                self._place.fill_(place)
                self._clock.fill_(self.step)
                self._fresh = False
            if self.graph and self._graph is None:
                self._graph = self._recorded()
            if self._graph is None:
                self._iteration()
            else:
                self._graph.replay()
            self.step += 1

    _fresh = True
    """No epoch has been started since the runs were restored."""

    def losses(self) -> Tensor:
        """Return the loss of each run on the next batch."""
        images, targets, weight = self.training.batch(self._place)
        numbers = self.read(self.reader, images.flatten(1, 2)).view_as(targets)
        losses = []
        for group in self.groups:
            with self._beside(group):
                losses.append(self._loss(group, numbers, targets, weight))
        for group in self.groups:
            if group.stream is not None:
                torch.cuda.current_stream(self.device).wait_stream(group.stream)
        return torch.cat(losses)

    def _loss(self, group: ModelGroup, numbers: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
        """Return the loss of the runs of a group, given the numbers read off the batch."""
        own = slice(group.start, group.stop)
        outputs, inputs = group.cells.run(numbers[own], weight)
        squares = (outputs - targets[own]).square()
        error = ((squares.mean(2) if self.task.every_step else squares[:, :, -1]) * weight).sum(1)
        if group.cells.regularized:
            error = error + self._strength(group.schedule) * group.cells.sparsity()
        return error + inputs

    @contextmanager
    def _beside(self, group: ModelGroup) -> Iterator[None]:
        """Run the many small steps of a group on its own stream, alongside those of other groups, on a GPU."""
        if group.stream is None:
            yield
            return
        group.stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(group.stream):
            yield

    def _strength(self, schedule: SparsitySchedule) -> Tensor:
        """Return the strength of the sparsity loss; the first iteration is step 1 of the schedule."""
        above, width = self._clock + 1 - schedule.start, schedule.end - schedule.start
        ramp = schedule.strength * above / width if width else schedule.strength * (above >= 0).double()
        return ramp.clamp(0.0, schedule.strength).float()

    def _iteration(self) -> None:
        self.optimizer.zero_grad()
        self.losses().sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        for group in self.groups:
            group.cells.project()
        self._place += 1
        self._clock += 1

    def _recorded(self) -> torch.cuda.CUDAGraph:
        """Return the graph of an iteration; the iterations that warm it up have no effect."""
        changed = [self._place, self._clock, *(value.detach() for value, _ in self._owners())]
        changed += [tensor for state in self.optimizer.state.values() for tensor in state.values()]
        before = [tensor.clone() for tensor in changed]

        def again() -> None:
            self._place.copy_(before[0])
            self._iteration()

        warm(again, self.device)
        self.optimizer.zero_grad()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._iteration()
        for tensor, value in zip(changed, before, strict=True):
            tensor.copy_(value)
        return graph

    def record(self) -> None:
        """Evaluate all runs, with their cells in evaluation mode, and add a record."""
        values, outputs = self.evaluator.values(self.step)
        self.records.observe(self.step, values, outputs, self._cells(), self._broken())

    def _owners(self) -> list[tuple[Tensor, int]]:
        """Return every parameter with the run at its first position."""
        readers = [(value, 0) for value in self.reader.values()]
        return readers + [(value, group.start) for group in self.groups for value in group.cells.parameters.values()]

    def _broken(self) -> NDArray[np.bool_]:
        """Return a mask of runs with a NaN among their parameters."""
        broken = torch.zeros(len(self.runs), dtype=torch.bool, device=self.device)
        for value, first in self._owners():
            broken[first : first + len(value)] |= value.detach().flatten(1).isnan().any(1)
        return broken.cpu().numpy()

    def flat(self, name: str = "parameters") -> list[Floats]:
        """Return each run's parameters, or a moment of the optimizer by name: those of the reader, then of the cell."""
        pieces: list[list[Floats]] = [[] for _ in self.runs]
        for value, first in self._owners():
            chosen = value.detach() if name == "parameters" else self.optimizer.state[value][name]
            array = chosen.flatten(1).cpu().numpy()
            for row, own in enumerate(array):
                pieces[first + row].append(own)
        return [np.concatenate(own) for own in pieces]

    def put(self, arrays: dict[str, list[Floats]], step: int) -> None:
        """Restore what `flat` returned under each name, before the given iteration."""
        self.step, self._fresh = step, True
        taken = [0] * len(self.runs)
        for value, first in self._owners():
            count, state = value[0].numel(), self.optimizer.state[value]
            for name in ARRAYS:
                rows = range(first, first + len(value))
                chosen = np.stack([arrays[name][run][taken[run] : taken[run] + count] for run in rows])
                tensor = value.detach() if name == "parameters" else state[name]
                tensor.copy_(torch.from_numpy(chosen).view_as(tensor))
            state["step"].fill_(step)
            for run in range(first, first + len(value)):
                taken[run] += count

    def _cells(self) -> list[Floats]:
        """Return the parameters of each run's cell."""
        cells: list[Floats] = [np.empty(0, np.float32)] * len(self.runs)
        for group in self.groups:
            values = [value.detach().flatten(1) for value in group.cells.parameters.values()]
            if values:
                cells[group.start : group.stop] = list(torch.cat(values, dim=1).cpu().numpy())
        return cells

    def resume(self, states: Sequence[State]) -> None:
        """Resume suspended runs, all of them at the same step."""
        super().resume(states)
        self.put({name: [state[name].astype(np.float32) for state in states] for name in ARRAYS}, self.step)
