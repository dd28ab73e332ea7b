"""Batches of a stack of runs as torch tensors, by the definition of `arithmos.philox`, for many seeds at once.

On a GPU the words are computed by torch's integer arithmetic; on a CPU that would take most of an iteration, so the
compiled generator computes them there.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from .. import philox
from ..nn._noise import words
from ..spec import Spec
from ..tasks import TableDraws, UniformDraws

Pair = tuple[Tensor, Tensor]

_FOLDS: dict[str, Callable[[Tensor], Tensor]] = {
    "add": lambda sums: sums.sum(-1),
    "sub": lambda sums: reduce(torch.sub, sums.unbind(-1)),
    "mul": lambda sums: reduce(torch.mul, sums.unbind(-1)),
    "div": lambda sums: reduce(torch.div, sums.unbind(-1)),
    "squared": lambda sums: sums[..., 0].square(),
    "root": lambda sums: sums[..., 0].sqrt(),
    "reciprocal": lambda sums: sums[..., 0].reciprocal(),
}


class Batches:
    """Training batches `[s, b, i]`, `[s, b, o]` by step, and the two fixed sets `[b, i]`, `[s, b, o]`.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        device: device of the tensors.
        dtype: type of training batches. Inputs are the same numbers in any; targets are rounded to it.
    """

    def __init__(
        self, spec: Spec, seeds: tuple[int, ...], device: torch.device, dtype: torch.dtype = torch.float32
    ) -> None:
        self.spec, self.task, self.device, self.dtype = spec, spec.observations, device, dtype
        self.seeds = torch.tensor(seeds, dtype=torch.int64, device=device)
        self._words = words if device.type == "cuda" else compiled_words
        self.validation = self._fixed([self.task.validation(seed) for seed in seeds])
        self.test = self._fixed([self.task.test(seed) for seed in seeds])
        own = [self.task.draws(seed) for seed in seeds]
        draws = self.draws = own[0]
        if isinstance(draws, UniformDraws):
            subsets = np.array([one.subsets for one in own if isinstance(one, UniformDraws)])  # [s, subset, 2]
            place = np.arange(draws.input_size)[:, None]
            inside = (subsets[:, None, :, 0] <= place) & (place < subsets[:, None, :, 1])
            self.members = torch.from_numpy(inside.astype(np.float64)).to(device)  # [s, i, subset]
            self.ranges = torch.tensor(
                [(low, np.float32(high) - np.float32(low)) for low, high in draws.interpolation],
                dtype=torch.float32,
                device=device,
            ).double()
        elif isinstance(draws, TableDraws):
            self._training = self._pair(draws.inputs, draws.targets)

    def _pair(self, *arrays: np.ndarray) -> Pair:
        x, t = (torch.from_numpy(array.copy()).to(self.device) for array in arrays)
        return x, t

    def _fixed(self, sets: list[tuple[np.ndarray, np.ndarray]]) -> Pair:
        return self._pair(sets[0][0], np.stack([t for _, t in sets]))

    def at(self, step: int) -> Pair:
        """Return inputs and targets of one iteration."""
        if self.draws is not None:
            return self.from_words(self.words(step))
        pairs = [self.task.batch(seed, step, self.spec.batch_size) for seed in self.seeds.tolist()]
        x, t = self._pair(*map(np.stack, zip(*pairs, strict=True)))
        return x.to(self.dtype), t.to(self.dtype)

    def words(self, step: int) -> Tensor:
        """Return the random words of one iteration, of a task that says how it draws: `[s, b, columns]`, int64."""
        stream, columns = self.stream
        return self._words(self.seeds, stream, step, self.spec.batch_size, columns)

    @property
    def stream(self) -> tuple[int, int]:
        """The stream of the random words of batches, and the number of words of an observation."""
        if isinstance(self.draws, UniformDraws):
            return philox.TRAIN, self.draws.input_size
        return philox.ROWS, 1

    def from_words(self, word: Tensor) -> Pair:
        """Return the inputs and targets that random words make."""
        draws = self.draws
        if not isinstance(draws, UniformDraws):
            chosen = (word[..., 0] * len(self._training[0])) >> 32
            return self._training[0][chosen].to(self.dtype), self._training[1][chosen].to(self.dtype)
        low, width = self.ranges[word & 1 if len(self.ranges) > 1 else 0].unbind(-1)
        x = (low + width * ((word >> 9).double() * 2.0**-23)).float()
        return self.from_sums(x, x.double() @ self.members)

    def from_sums(self, x: Tensor, sums: Tensor) -> Pair:
        """Return the inputs and the targets, given the sums over subsets of uniform inputs: `[s, b, subset]`."""
        assert isinstance(self.draws, UniformDraws)
        return x.to(self.dtype), _FOLDS[self.draws.operation](sums).to(self.dtype).unsqueeze(-1)


class TracedWords:
    """The words of `Batches.words`, as operations on tensors alone, so that they can be part of a compiled graph.

    Counters and multipliers are tensors, because torch's compiler would multiply an index and a literal in 32 bits.
    Each round is computed for the axes on which it depends: the first ones do not depend on all.

    Args:
        batches: the batches.
    """

    def __init__(self, batches: Batches) -> None:
        device, (self._stream, self._columns) = batches.device, batches.stream
        self._seeds = batches.seeds[:, None, None].clone()
        self._row = torch.arange(batches.spec.batch_size, device=device)[:, None]
        self._group = torch.arange(-(-self._columns // 4), device=device)
        self._multipliers = [torch.tensor(one, device=device) for one in philox.MULTIPLIERS]

    def at(self, step: Tensor) -> Tensor:
        """Return the words of an iteration, which is an int64 tensor of no axes: `[s, b, columns]`, int64."""
        counter = (self._row, self._group, step, self._stream)
        made = philox.mixed(*counter, self._seeds, philox.RUN, multipliers=self._multipliers)
        return torch.stack(made, dim=-1).flatten(2)[..., : self._columns]


def compiled_words(seeds: Tensor, stream: int, step: int, rows: int, columns: int) -> Tensor:
    """Return the same as `words`, by the compiled generator of the cpu engine."""
    from .cpu.philox import draw

    out = np.empty((len(seeds), rows, -(-columns // 4) * 4), np.int64)
    draw(seeds.numpy(), stream, step, out)
    return torch.from_numpy(out)[..., :columns]
