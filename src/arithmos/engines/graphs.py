"""Many compiled iterations at once on a GPU: a CUDA graph that the host launches and otherwise leaves alone.

What changes from iteration to iteration is a row of numbers: the iteration itself, from which the graph draws its
batch, the strength of the regularizer, and Adam's correction and step sizes. The host writes the rows of a stretch of
iterations into a table on the device. Graphs read up to `STEPS` rows each; what is left of a stretch are single calls
of the same compiled iteration, so how runs are cut into stretches changes no bit.
"""

import time
import warnings
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from ..spec import Spec
from ..tasks import UniformDraws
from .batches import Batches, Pair, TracedWords
from .compiled import CompiledStep, Graph, copied
from .contract import explained
from .networks import Networks
from .updates import FirstOrderTrainer

STEPS = 100
"""Most iterations in one graph."""

STRETCH = 2000
"""Most iterations for which the caller does not hear of its runs."""

STRETCH_S = 0.5
"""Most seconds of the same, about; but at least one graph."""

WARM_UP = 3
"""Number of calls before a capture: libraries choose their algorithms and allocate memory in the first of them."""

Capture = Callable[[torch.device, Callable[[], None], Callable[[], None]], Callable[[], None]]


def captured(
    device: torch.device, warm_up: Callable[[], None], iterate: Callable[[], None]
) -> Callable[[], None]:  # pragma: no cover - needs a GPU
    """Return a function that repeats on the device what a function does there; only the warm-up is performed now."""
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            warm_up()
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        iterate()
    replay: Callable[[], None] = graph.replay
    return replay


class Drawn(Protocol):
    """Batches drawn by a kernel; see `draw.DrawnBatches`."""

    x: Tensor
    sums: Tensor

    def draw(self, row: Tensor) -> None:
        """Draw the batch of the iteration whose number is the first of a row."""


def drawn(batches: Batches) -> Drawn | None:
    """Return batches drawn by a kernel of their own, or None if their words are part of the compiled graph.

    Raises:
        Exception: the kernel does not work, or draws other numbers than it should.
    """
    if batches.device.type != "cuda" or not isinstance(batches.draws, UniformDraws):
        return None
    from .draw import MOST_INPUTS, DrawnBatches

    if batches.draws.input_size > MOST_INPUTS:
        return None
    made, step = DrawnBatches(batches), 123_456
    made.draw(torch.tensor([float(step)], dtype=torch.float64, device=batches.device))
    (x, t), (own_x, own_t) = batches.at(step), batches.from_sums(made.x, made.sums)
    if not torch.equal(x, own_x) or not torch.allclose(t, own_t, rtol=1e-6, equal_nan=True):
        raise RuntimeError("it draws other numbers than it should")
    return made


class GraphedSteps(CompiledStep):
    """Iterations of a stack on a GPU, compiled and captured when the first of them is run.

    Args:
        spec: spec of the runs.
        networks: their networks.
        batches: their batches.
        trainer: their trainer, whose moments are updated.
        say: receives a line before something is compiled.
        capture: `captured`, or what replaces it where there is no GPU.
        draws: `drawn`, or the same.
    """

    def __init__(
        self,
        spec: Spec,
        networks: Networks,
        batches: Batches,
        trainer: FirstOrderTrainer,
        say: Callable[[str], None],
        capture: Capture = captured,
        draws: Callable[[Batches], Drawn | None] = drawn,
    ) -> None:
        super().__init__(spec, networks, batches, trainer, say)
        self._device, self._capture = batches.device, capture
        self._draws = draws
        self._drawn: Drawn | None = None
        self._traced: TracedWords | None = None
        every = spec.evaluate_every
        self.steps = every // -(-every // STEPS)
        """Iterations in one graph: a part of those between two records."""
        self._row, self._chunk = (
            torch.zeros(*shape, 3 + len(self._names), dtype=torch.float64, device=self._device)
            for shape in ((), (self.steps,))
        )
        self._replays: dict[bool, tuple[list[int], Callable[[], None]]] = {}
        self._longest = self.steps
        self._timed = False

    def advance(self, step: int, end: int) -> int:
        """Run a stretch of iterations, at most up to an end, and return the next one."""
        regularized = self.regularized(step)
        count = 1
        while count < min(end - step, self._longest) and self.regularized(step + count) == regularized:
            count += 1
        if not self._graphs:
            self._draw_by_kernel()
        values = (*self._state(), self._row, *([self._drawn.x, self._drawn.sums] if self._drawn else []))
        graph = self._graph(step, regularized, values)
        replay = self._replay(step, regularized, values) if count >= self.steps else None
        begun = self._now()
        rows = [[float(one), *self._numbers(one)] for one in range(step, step + count)]
        table = torch.tensor(rows, dtype=torch.float64).to(self._device)
        done = 0
        if replay is not None:
            for done in range(self.steps, count + 1, self.steps):
                self._chunk.copy_(table[done - self.steps : done])
                replay()
        for row in table[done:]:
            self._iterate(graph, row, values)
        if replay is not None and not self._timed:
            self._timed = True
            graphs = STRETCH_S / max(self._now() - begun, 1e-9)
            self._longest = max(1, min(int(graphs), STRETCH // self.steps)) * self.steps
        return step + count

    def _draw_by_kernel(self) -> None:
        """Let a kernel draw the batches if there is one and it works; otherwise the compiled graph draws them."""
        try:
            self._drawn = self._draws(self.batches)
        except Exception as error:
            self._say(f"batches of {self.spec.model.name} are drawn without a kernel of their own: {explained(error)}")
        if self._drawn is None:
            self._traced = TracedWords(self.batches)

    def _iterate(self, graph: Graph, row: Tensor, values: tuple[object, ...]) -> None:
        """Run the iteration of a row: on the device, or in a capture."""
        self._row.copy_(row)
        if self._drawn is not None:
            self._drawn.draw(self._row)
        graph(*values)

    def _now(self) -> float:
        """Return the time, after the device's work if that is being timed."""
        if not self._timed and self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter()

    def _replay(self, step: int, regularized: bool, values: tuple[object, ...]) -> Callable[[], None]:
        """Return a function that runs the iterations of the rows in the chunk, captured if these tensors are new."""
        places = [one.data_ptr() for tensors in self._state() for one in tensors]
        known, replay = self._replays.get(regularized, ([], None))
        if replay is None or known != places:
            graph, copies = self._graphs[regularized], copied(values)

            def iterate() -> None:
                for row in self._chunk:
                    self._iterate(graph, row, values)

            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # as in `_compile`
                    replay = self._capture(self._device, lambda: graph(*copies), iterate)
            except Exception as error:
                raise self._failed(step, error) from error
            self._replays[regularized] = places, replay
        return replay

    def _inputs(self, rest: tuple[Tensor, ...]) -> tuple[Tensor, Pair]:
        row, *drawn = rest
        if self._traced is not None:
            return row[1:].float(), self.batches.from_words(self._traced.at(row[0].long()))
        return row[1:].float(), self.batches.from_sums(*drawn)
