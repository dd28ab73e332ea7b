"""Noise that a unit draws while it trains, from the random numbers of its run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import torch
from torch import Tensor

from .. import philox
from .._typing import Float

Source = Callable[[Tensor, float, float], Tensor]

_source: ContextVar[Source | None] = ContextVar("source", default=None)


def noise(x: Float[Tensor, "*shape"], low: float = 0.0, high: float = 1.0) -> Float[Tensor, "*shape"]:
    """Draw uniform noise from [low, high), with the shape, type and device of `x`.

    In a run of the benchmark the noise depends on the run's seed, the iteration, the position in `x` and how many times
    the network has called this function in the iteration: every engine draws the same. Elsewhere it comes from torch's
    default generator. Call it in training mode only; a run is judged without noise.

    Args:
        x: tensor of the wanted shape, such as the input of a unit.
        low: lower end of the range.
        high: upper end of the range.

    Example:
        >>> n = noise(torch.ones(8, 4), 1.0, 5.0)
        >>> n.shape, bool((n >= 1).all() and (n < 5).all())
        (torch.Size([8, 4]), True)
    """
    if not low < high:
        raise ValueError(f"low must be less than high, got {low} and {high}")
    source = None if torch.compiler.is_compiling() else _source.get()  # Dynamo cannot read the variable
    return low + (high - low) * torch.rand_like(x) if source is None else source(x, low, high)


@contextmanager
def drawn_from(source: Source | None) -> Iterator[None]:
    """Let `noise` draw from a source; None for torch's default generator."""
    token = _source.set(source)
    try:
        yield
    finally:
        _source.reset(token)


def no_noise(x: Tensor, low: float, high: float) -> Tensor:
    """Refuse to draw: the source in evaluation mode, and of cells of sequences."""
    raise RuntimeError("noise() is for training on batches; check self.training first, and use no cell that needs it")


class RunNoise:
    """Noise of one iteration of a run; see `arithmos.philox` for its stream.

    Args:
        step: the iteration.
    """

    def __init__(self, step: int) -> None:
        self.step, self.calls = step, 0

    def source(self, seed: Tensor) -> Source:
        """Return the source for the run with this seed, a tensor of no axes; calls are counted over all sources."""

        def draw(x: Tensor, low: float, high: float) -> Tensor:
            stream, columns = philox.UNIT + self.calls, x.shape[-1]
            self.calls += 1
            word = words(seed.unsqueeze(0), stream, self.step, x.numel() // columns, columns)[0]
            start, end = np.float32(low), np.float32(high)
            u = (word >> 9).double() * 2.0**-23
            return (float(start) + float(end - start) * u).float().to(x.dtype).view(x.shape)

        return draw


def words(seeds: Tensor, stream: int, step: int, rows: int, columns: int) -> Tensor:
    """Return the words of `philox.words` for many seeds at once: `[s, rows, columns]`, int64."""
    groups = -(-columns // 4)
    row = torch.arange(rows, device=seeds.device)[:, None].expand(len(seeds), rows, groups)
    group = torch.arange(groups, device=seeds.device).expand_as(row)
    counter = (row, group, torch.full_like(row, step), torch.full_like(row, stream))
    made = philox.mixed(*counter, seeds[:, None, None], philox.RUN)
    return torch.stack(made, dim=-1).flatten(2)[..., :columns]
