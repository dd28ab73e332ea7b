"""Evaluation of a stack of runs: what their readers read, and the errors of their cells, on the fixed sets."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
import torch
from torch import Tensor

from ...tasks import DigitSequences
from ..contract import Floats
from .cells import ModelGroup
from .sequences import Evaluation

_READ = {"cpu": 256, "cuda": 2**14}
"""Images, counted once per run, to read at a time in an evaluation."""


class Evaluator:
    """Evaluation of the runs of a stack.

    Args:
        task: their task.
        runs: how many there are.
        groups: their cells.
        read: function that reads numbers `[s, n]` off images `[s, n, 28, 28]`, each run with its own reader.
        device: device to evaluate on.
        graph: whether to record and replay the cells' part; only on a GPU.
    """

    def __init__(
        self,
        task: DigitSequences,
        runs: int,
        groups: Sequence[ModelGroup],
        read: Callable[[Tensor], Tensor],
        device: torch.device,
        *,
        graph: bool,
    ) -> None:
        self.task, self.runs, self.groups, self.read, self.device, self.graph = task, runs, groups, read, device, graph
        self.sets = {
            "validation": Evaluation(task, "validation", (task.length,), device),
            "training": Evaluation(task, "training", (task.length,), device),
            "test": Evaluation(task, "test", task.test_lengths, device),
        }
        self._walk: tuple[torch.cuda.CUDAGraph, dict[str, Tensor], Tensor] | None = None

    @torch.no_grad()
    def values(self, step: int) -> tuple[Floats, Floats]:
        """Return values and outputs of the record at a step, as `StackRecords` takes them."""
        numbers = {name: self._read(chosen.images) for name, chosen in self.sets.items()}
        outputs = self._outputs(numbers["test"], self.sets["test"].labels)
        with ExitStack() as judging, np.errstate(over="ignore"):  # an error beyond float32 is infinite
            for group in self.groups:
                judging.enter_context(group.cells.judging(step))
            values = self._values(numbers).cpu().numpy().astype(np.float32)
            return values, outputs.cpu().numpy().astype(np.float32)

    def _values(self, numbers: dict[str, Tensor]) -> Tensor:
        """Return `_evaluated`, through a recorded graph if there is one: its steps are many and small."""
        if not self.graph:
            return self._evaluated(numbers)
        if self._walk is None:
            kept = {name: value.clone() for name, value in numbers.items()}
            warm(lambda: self._evaluated(kept), self.device, times=1)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                values = self._evaluated(kept)
            self._walk = graph, kept, values
        graph, kept, values = self._walk
        for name, value in numbers.items():
            kept[name].copy_(value)
        graph.replay()
        return values

    def _evaluated(self, numbers: dict[str, Tensor]) -> Tensor:
        """Return the values `[s, 3 + lengths]` of a record, as `StackRecords` takes them, from numbers of each set."""
        errors = {name: self._errors(chosen, numbers[name]) for name, chosen in self.sets.items()}
        sparsity = torch.cat([group.cells.error() for group in self.groups]).double()[:, None]
        return torch.cat([errors["validation"], errors["training"], sparsity, errors["test"]], dim=1)

    def _read(self, images: Tensor) -> Tensor:
        """Return what each run reads `[s, n]` off shared images `[n, 28, 28]`."""
        rows = max(1, _READ[self.device.type] // self.runs)
        parts = images.split(rows)  # type: ignore[no-untyped-call]
        return torch.cat([self.read(part.expand(self.runs, -1, -1, -1)) for part in parts], dim=1)

    def _errors(self, chosen: Evaluation, numbers: Tensor) -> Tensor:
        """Return the mean squared error over all steps `[s, lengths]`, in float64."""
        errors = []
        for group in self.groups:
            own, cells = numbers[group.start : group.stop], group.cells
            state = cells.start(own[:, chosen.places[0]])
            total = torch.zeros(state.shape[:2], dtype=torch.float64, device=self.device)
            for places, targets in zip(chosen.places, chosen.targets, strict=True):
                going = len(places)
                state = cells.step(own[:, places], state[:, :going])
                total[:, :going] += (cells.output(state).double() - targets).square()
            sums = [total[:, first:last].sum(1) for first, last in chosen.spans]
            errors.append(torch.stack(sums, dim=1))
        return torch.cat(errors) / chosen.counts

    def _outputs(self, numbers: Tensor, labels: Tensor) -> Tensor:
        """Return the mean and standard deviation `[s, 2, digits]` of what is read off the images of each digit."""
        digits = torch.tensor(self.task.digits, device=self.device)
        shows = (labels[:, None] == digits).double()  # [n, digits]
        shows /= shows.sum(0)
        means = numbers.double() @ shows
        squares = (numbers.double() - means[:, torch.searchsorted(digits, labels)]).square()
        return torch.stack([means, (squares @ shows).sqrt()], dim=1)


def warm(function: Callable[[], object], device: torch.device, times: int = 3) -> None:
    """Call a function before it is recorded, on its own stream, as torch requires."""
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(times):
            function()
    torch.cuda.current_stream(device).wait_stream(stream)
