"""Units made of random operations: the generated loops compute what torch computes, or the trace says why it cannot."""

import random
from pathlib import Path

import numpy as np
import torch
from tests.engines.cpu.programs import Lines
from torch import Tensor, nn

from arithmos.engines.cpu._compile import LANES
from arithmos.engines.trace import Untraceable

from . import named

ONE = ["abs", "neg", "exp", "tanh", "sigmoid", "square", "sign", "relu", "sin", "cos", "softplus", "erf", "floor"]
TWO = ["add", "sub", "mul", "div", "minimum", "maximum", "where", "pow"]
LAST = ["sum", "prod", "mean", "softmax", "amax", "cumsum", "sort", "logsumexp", "norm", "first", "matmul", "loop"]
SAFE = 0.75
"""Share of operations that are taken from the first ones of each list, which most units are made of."""


class Made(nn.Module):
    """Reductions over the inputs of random expressions in weights and inputs, and a random expression in them."""

    def __init__(self, in_features: int, out_features: int, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.seed = seed
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(0.1, 0.9, generator=generator))
        self.gate = nn.Parameter(torch.empty(out_features).uniform_(0.1, 0.9, generator=generator))

    def forward(self, x: Tensor) -> Tensor:
        rng = random.Random(self.seed)
        inner = [self.weight, x.unsqueeze(-2), self.weight * x.unsqueeze(-2)]
        sums = [reduced(rng, expression(rng, inner)) for _ in range(rng.choice([1, 1, 2, 3]))]
        return expression(rng, [*sums, self.gate.expand_as(sums[0])]) + 0 * sums[0]


def expression(rng: random.Random, leaves: list[Tensor], depth: int = 3) -> Tensor:
    """A random expression in the leaves, the last of which is in it."""
    if not depth or rng.random() < 0.2:
        return leaves[-1] if rng.random() < 0.5 else rng.choice(leaves)
    one = expression(rng, leaves, depth - 1)
    if rng.random() < 0.4:
        return applied(choice(rng, ONE), one)
    other = rng.choice([0.5, 1.0, 2.0]) if rng.random() < 0.3 else expression(rng, leaves, depth - 1)
    other = torch.as_tensor(other, dtype=one.dtype) if isinstance(other, float) else other
    name = choice(rng, TWO)
    return torch.where(one > 0, one, other) if name == "where" else getattr(torch, name)(one, other)


def choice(rng: random.Random, names: list[str]) -> str:
    return rng.choice(names[:5] if rng.random() < SAFE else names)


def applied(name: str, value: Tensor) -> Tensor:
    return getattr(nn.functional if name == "softplus" else torch, name)(value)


def reduced(rng: random.Random, value: Tensor) -> Tensor:
    name = rng.choice(LAST[:3] if rng.random() < 0.9 else LAST)
    match name:
        case "softmax" | "cumsum":
            return getattr(torch, name)(value, -1).sum(-1)
        case "sort":
            return value.sort(-1).values[..., 0]
        case "first":
            return value[..., 0]
        case "amax":
            return value.amax(-1)
        case "logsumexp" | "norm":
            return getattr(torch, name)(value, dim=-1)
        case "matmul":
            return value @ value.new_ones(value.shape[-1])
        case "loop":
            return torch.stack([part for part in value.unbind(-1)]).sum(0)
        case _:
            return getattr(torch, name)(value, -1)


def traced_unit(rng: random.Random, folder: Path) -> str:
    """Outputs and gradients of the generated loops are those of torch, up to rounding in float32."""
    seed, sizes = rng.randrange(10**9), (rng.randrange(1, 6), rng.randrange(1, 4))
    try:
        lines = Lines([lambda i, o: Made(i, o, seed)], sizes)
    except Untraceable as error:
        return named(error, str(error).split())
    draws = np.random.default_rng(seed)
    p = draws.uniform(0.1, 0.9, lines.count).astype(np.float32)
    x = draws.uniform(0.5, 2, (LANES, sizes[0])).astype(np.float32)
    t = draws.uniform(0, 1, (LANES, sizes[1])).astype(np.float32)
    (y, g, _), *right = lines.run(p, x, t), lines.torch(p, x, t), lines.torch(p, x, t, dtype=torch.float32)
    for found, exact, single in zip((y, g), *right, strict=True):
        with np.errstate(all="ignore"):  # infinite numbers are left out below
            size = 1 + np.abs(exact)
            off, rounding = (np.abs(one - exact) / size for one in (found, single))
        allowed = 20 * np.max(rounding, where=np.isfinite(rounding), initial=0) + 1e-4  # where terms cancel, by chance
        same = (off <= allowed) | ~np.isfinite(exact) | ~np.isfinite(single) | (np.abs(exact) > 1e6)
        assert same.all(), f"unit {seed}, sizes {sizes}: {found} and {exact}"
    return "accepted"
