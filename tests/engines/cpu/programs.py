"""Generated programs run line by line as plain Python, on scratch that is full of NaN."""

from itertools import pairwise

import numpy as np
import torch
from torch import nn

from arithmos.engines.cpu import maths
from arithmos.engines.cpu._compile import LANES
from arithmos.engines.cpu.kernel import error_gradient
from arithmos.engines.cpu.memory import make_scratch
from arithmos.engines.cpu.program import write
from arithmos.engines.trace import trace
from arithmos.engines.trace.values import INPUTS, OUTPUTS
from arithmos.nn._noise import drawn_from
from arithmos.optim import sparsity_loss
from arithmos.tasks import Rows


class Single:
    """Compiled functions, whose results are float32 as they are in a kernel, and not Python's floats."""

    def __getattr__(self, name):
        function = getattr(maths, name)
        return lambda *args: np.float32(function(*map(np.float32, args)))


class Lines:
    """Program of a network, whose layers are built by functions of inputs and outputs."""

    def __init__(self, builders, sizes):
        self.sizes = sizes
        self.network = nn.Sequential(*(build(*pair) for build, pair in zip(builders, pairwise(sizes), strict=True)))
        self.program = write([trace(build(INPUTS, OUTPUTS)) for build in builders], self.network, sizes)
        plain = {"compiled": lambda function: function, "apart": lambda: None, "maths": Single(), "np": np}
        self.names = plain | {"float32": np.float32, "inf": np.inf, "LANES": LANES} | self.program.names
        for text in self.program.functions:
            exec(text, self.names)

    @property
    def count(self):
        return sum(self.program.parameters.values())

    def run(self, p, x, t, strength=0.0, noises=()):
        """Outputs, gradient and projected parameters of one block."""
        program = self.program
        task = Rows(np.ones((3, self.sizes[0])), np.ones((3, self.sizes[-1])))
        padded = np.concatenate([p, np.zeros(-p.size % 16, np.float32)])
        arrays = make_scratch(program, task, padded)
        for name, one in program.buffers.items():
            arrays[name] = self.network[one.layer].get_buffer(one.name).flatten().numpy()
        for name, noise in zip(program.noises, noises, strict=True):
            arrays[name][: noise.shape[1]] = noise.T
        arrays["x"][: self.sizes[0]], arrays["t"][:] = x.T, t.T
        widths = {f"n_{k}": size for k, size in enumerate(self.sizes)}
        names = {**self.names, **arrays, **widths, "strength": strength, "block": 0}

        def call(lines):
            with np.errstate(all="ignore"):
                for line in lines:
                    eval(line, names)

        call(program.weigh + program.forward)
        error_gradient(arrays["y"], arrays["t"], np.full(LANES, 2 / t.size, np.float32), arrays["dy"])
        call(program.backward + program.gradient)
        if strength:
            call(program.regularize)
        call(program.project)
        return arrays["y"].T.astype(np.float64), arrays["g"][: p.size].astype(np.float64), padded[: p.size]

    def torch(self, p, x, t, strength=0.0, noises=(), dtype=torch.float64):
        """Outputs and gradient by torch."""
        network = self.network.to(dtype).train()
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(torch.tensor(p, dtype=dtype), network.parameters())
        network.zero_grad()
        given = iter([torch.tensor(noise, dtype=dtype) for noise in noises])
        with drawn_from(lambda like, low, high: next(given)):
            y = network(torch.tensor(x, dtype=dtype))
        loss = (y - torch.tensor(t, dtype=dtype)).square().mean()
        if strength:
            loss = loss + strength * sparsity_loss(network)
        loss.backward()
        found = [torch.zeros_like(q) if q.grad is None else q.grad for q in network.parameters()]
        gradient = torch.cat([g.flatten() for g in found])
        network.float()
        return y.detach().double().numpy(), gradient.double().numpy()


def errors(lines, p, x, t, **options):
    """Relative errors of outputs and gradient: ours, and those of float32 torch."""
    exact, plain = (lines.torch(p, x, t, **options, dtype=dtype) for dtype in (torch.float64, torch.float32))
    found = lines.run(p, x, t, **options)[:2]
    return [
        [
            np.linalg.norm(mine - right) / (np.linalg.norm(right) + 1e-30)
            for mine, right in zip(some, exact, strict=True)
        ]
        for some in (found, plain)
    ]


def check(lines, *drawn, **options):
    """At most twice the error of torch, over all draws together."""
    ours, theirs = np.sqrt(np.mean(np.square([errors(lines, *draw, **options) for draw in drawn]), axis=0))
    assert (ours <= 2 * theirs + 1e-6).all(), f"outputs, gradient: {ours}, torch {theirs}"


def draw(lines, seed, low=-1.2, least=-2.0):
    """Parameters, inputs and targets."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(low, 1.2, lines.count).astype(np.float32)
    x = rng.uniform(least, 2, (LANES, lines.sizes[0])).astype(np.float32)
    return p, x, rng.uniform(-1, 1, (LANES, lines.sizes[-1])).astype(np.float32)
