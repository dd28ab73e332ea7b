"""The parts, alone and in pairs, against their formulas in float64: at most twice the error of float32 torch.

The lines of a program are called one by one on scratch that is full of NaN.
"""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from arithmos.engines.cpu import maps
from arithmos.engines.cpu._compile import LANES
from arithmos.engines.cpu.kernel import error_gradient
from arithmos.engines.cpu.memory import make_scratch
from arithmos.engines.cpu.program import write
from arithmos.engines.cpu.updates import adam, corrections
from arithmos.functional import clamp
from arithmos.nn._init import GlorotUniform
from arithmos.nn._layer import sparsity
from arithmos.nn._parts import EPSILON, Clamp, ExpLog, Free, Gate, Leaf, Product, Sigmoid, Sum, TanhSigmoid
from arithmos.tasks import Rows

INIT = GlorotUniform()
MAPS = st.sampled_from(
    [Free(), Sigmoid(), TanhSigmoid(), Clamp(-1.0, 1.0), Clamp(0.0, 1.0), Clamp(0.0, 1.0, clip=False)]
)
LEAVES = st.builds(
    Leaf,
    map=MAPS,
    aggregation=st.sampled_from([Sum(), ExpLog(), Product()]),
    init=st.just(INIT),
    activation=st.sampled_from(["none", "none", "relu", "relu6"]),
    bias=st.booleans(),
    sparsity=st.sampled_from(["none", "signed", "unsigned"]),
)
LAYERS = LEAVES | st.builds(Gate, add=LEAVES, mul=LEAVES) | LEAVES.map(lambda leaf: Gate(leaf, leaf, shared=True))
SIZES = st.tuples(st.integers(1, 9), st.integers(1, 5), st.integers(1, 3))


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e19, 1e20])
def test_a_step_of_adam_is_torch_s(size):
    """The square of a gradient of 10^20 is infinite in float32, and its share in the second moment is not."""
    rng = np.random.default_rng(1)
    g = (size * rng.uniform(-1, 1, 64)).astype(np.float32)
    p, m, v = rng.normal(size=64).astype(np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    theirs = torch.from_numpy(p.copy()).requires_grad_()
    theirs.grad = torch.from_numpy(g.copy())
    optimizer = torch.optim.Adam([theirs])
    optimizer.step()
    step_size, correction, _ = corrections(0, 1e-3, 0.9, 0.999)
    adam(step_size, correction, 0.9, 0.999, 1e-8, g, p, m, v)
    assert_allclose(v, optimizer.state[theirs]["exp_avg_sq"], rtol=1e-6)
    assert_allclose(m, optimizer.state[theirs]["exp_avg"], rtol=1e-6)
    assert_allclose(p, theirs.detach(), rtol=1e-6)


class Reference:
    """Formulas as they stand in `arithmos.nn._parts`, on parameters that are taken one after the other."""

    def __init__(self, parameters, dtype):
        self.p = torch.tensor(parameters, dtype=dtype, requires_grad=True)
        self.position, self.regularizer = 0, torch.zeros((), dtype=dtype)

    def take(self, *shape):
        size = int(np.prod(shape))
        self.position += size
        return self.p[self.position - size : self.position].view(shape)

    def weights(self, leaf, i, o):
        w = stored = self.take(o, i)
        if leaf.sparsity != "none":
            self.regularizer = self.regularizer + sparsity(stored, signed=leaf.sparsity == "signed")
        if isinstance(leaf.map, TanhSigmoid):
            w = stored.tanh() * self.take(o, i).sigmoid()
        elif isinstance(leaf.map, Sigmoid):
            w = stored.sigmoid()
        elif isinstance(leaf.map, Clamp) and leaf.map.clip:
            w = clamp(stored, leaf.map.low, leaf.map.high)
        return w, self.take(o) if leaf.bias else 0.0

    def leaf(self, leaf, x, w, bias):
        if isinstance(leaf.aggregation, Sum):
            z = x @ w.T
        elif isinstance(leaf.aggregation, ExpLog):
            z = ((x.abs() + EPSILON).log() @ w.T).exp()
        else:
            z = (w * x.unsqueeze(-2) + 1 - w).prod(-1)
        return {"none": lambda a: a, "relu": torch.relu, "relu6": torch.nn.functional.relu6}[leaf.activation](z + bias)

    def layer(self, parts, x, o):
        i = x.shape[-1]
        if isinstance(parts, Leaf):
            return self.leaf(parts, x, *self.weights(parts, i, o))
        add = self.weights(parts.add, i, o)
        mul = add if parts.shared else self.weights(parts.mul, i, o)
        g = (x @ self.take(o, i).T).sigmoid()
        return g * self.leaf(parts.add, x, *add) + (1 - g) * self.leaf(parts.mul, x, *mul)


def by_torch(parts, sizes, p, x, t, strength, dtype):
    """Outputs, and the gradient of mean squared error and regularizer."""
    network = Reference(p, dtype)
    y = torch.tensor(x, dtype=dtype)
    for part, o in zip(parts, sizes[1:], strict=True):
        y = network.layer(part, y, o)
    ((y - torch.tensor(t, dtype=dtype)).square().mean() + strength * network.regularizer).backward()
    return y.detach().double().numpy(), network.p.grad.double().numpy()


def by_parts(parts, sizes, p, x, t, strength):
    """The same by the lines of the program."""
    program = write(parts, sizes)
    task = Rows(np.ones((3, sizes[0])), np.ones((3, sizes[-1])))
    padded = np.concatenate([p, np.zeros(-p.size % 16, np.float32)])
    arrays = make_scratch(program, task, padded)
    arrays["x"][: sizes[0]], arrays["t"][:] = x.T, t.T
    names = {**program.functions, **arrays, "float32": np.float32, "inf": np.inf, "strength": strength}

    def call(lines):
        for line in lines:
            eval(line, names)

    call(program.weigh + program.forward)
    error_gradient(arrays["y"], arrays["t"], np.full(LANES, 2 / t.size, np.float32), arrays["dy"])
    call(program.backward + program.gradient)
    if strength:
        call(program.regularize)
    call(program.project)
    return arrays["y"].T.astype(np.float64), arrays["g"][: p.size].astype(np.float64), padded[: p.size]


def draw(parts, sizes, seed):
    """Parameters, inputs and targets.

    What an exp-log reads is kept away from zero, where its error is a matter of luck in any engine.
    """
    rng = np.random.default_rng(seed)
    count = sum(write(parts, sizes).parameters.values())
    positive = "ExpLog" in repr(parts[1:])
    p = rng.uniform(0.1 if positive else -1.2, 1.2, count).astype(np.float32)
    x = rng.uniform(0.5 if positive else -2, 2, (LANES, sizes[0])).astype(np.float32)
    return p, x, rng.uniform(-1, 1, (LANES, sizes[-1])).astype(np.float32)


def errors(parts, sizes, p, x, t, strength=0.5):
    """Relative errors of outputs and gradient: ours, and those of float32 torch."""
    exact, plain = (by_torch(parts, sizes, p, x, t, strength, dtype) for dtype in (torch.float64, torch.float32))
    found = by_parts(parts, sizes, p, x, t, strength)
    return [
        [
            np.linalg.norm(mine - right) / (np.linalg.norm(right) + 1e-30)
            for mine, right in zip(some, exact, strict=True)
        ]
        for some in (found[:2], plain)
    ]


def check(parts, sizes, *drawn):
    """At most twice the error of torch, over all draws together."""
    ours, theirs = np.sqrt(np.mean(np.square([errors(parts, sizes, *draw) for draw in drawn]), axis=0))
    assert (ours <= 2 * theirs + 1e-6).all(), f"outputs, gradient: {ours}, torch {theirs}"


@settings(max_examples=100)
@given(st.lists(LAYERS, min_size=1, max_size=2), SIZES, st.integers(0, 10**6))
def test_layers_of_any_parts(parts, sizes, seed):
    sizes = (sizes[0], *[sizes[1]] * (len(parts) - 1), sizes[2])
    check(parts, sizes, *(draw(parts, sizes, seed + k) for k in range(5)))


@pytest.mark.parametrize("aggregation", [Sum(), ExpLog(), Product()], ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("inputs", [1, 4, 37, 100])
def test_many_inputs(aggregation, inputs):
    parts = [Leaf(Free(), aggregation, INIT), Leaf(Free(), Sum(), INIT)]
    p, x, t = draw(parts, (inputs, 3, 2), seed=1)
    check(parts, (inputs, 3, 2), (p * 0.05, x, t))


def test_products_with_zeros_among_their_factors():
    parts = [Leaf(Clamp(0.0, 1.0), Product(), INIT), Leaf(Free(), Sum(), INIT)]
    p, x, t = draw(parts, (6, 2, 1), seed=3)
    p[:12] = np.tile([1.0, 0.5, 0.0], 4)
    x[:20, 0], x[10:30, 1], x[5:25, 3] = 0.0, -1.0, 0.0  # factors w x + 1 - w that are 0, up to three at once
    check(parts, (6, 2, 1), (p, x, t))
    second = [parts[1], parts[0]]
    p, x, t = draw(second, (3, 2, 1), seed=4)
    p[:6], p[6:], x[:10] = 0.0, 1.0, 0.0
    check(second, (3, 2, 1), (p, x, t))


def test_slopes_of_the_regularizer_are_those_of_torch():
    w = np.array([-1.5, -1, -0.75, -0.5, -0.25, -0.0, 0, 0.25, 0.5, 0.75, 1, 1.5], np.float32)
    for signed in (True, False):
        stored = torch.tensor(w[None], requires_grad=True)
        (3.0 * sparsity(stored, signed=signed)).backward()
        g = np.zeros_like(w)
        maps.add_sparsity_gradient(w, signed, 3.0, g)
        np.testing.assert_allclose(g, stored.grad[0], rtol=1e-6)
        assert_array_equal(g[[3, 8]] == 0, [signed, True])
        assert_array_equal(g[[5, 6, 10]], 0)


def test_a_clip_passes_the_gradient_on_its_boundary_only():
    p, dw = np.array([-1.1, -1, 0.3, 1, 1.1], np.float32), np.full(5, 2, np.float32)
    w, g = np.full((2, 5), np.nan, np.float32)
    maps.clip(p, np.float32(-1), np.float32(1), w)
    maps.clip_gradient(p, np.float32(-1), np.float32(1), dw, g)
    assert_array_equal(w, np.clip(p, -1, 1))
    assert_array_equal(g, [0, 2, 2, 2, 0])


def test_a_range_is_kept_only_where_the_map_projects():
    for project, expected in ((True, [0, 1]), (False, [-1.2, 1.2])):
        parts = [Leaf(Clamp(0.0, 1.0, project=project), Sum(), INIT)]
        _, x, t = draw(parts, (1, 2), 0)
        *_, p = by_parts(parts, (1, 2), np.array([-1.2, 1.2], np.float32), x, t, 0.0)
        np.testing.assert_allclose(p, expected)


def test_nan_passes_everywhere():
    parts = [
        Leaf(Clamp(-1.0, 1.0), Sum(), INIT, activation="relu6", bias=True),
        Gate(Leaf(Sigmoid(), ExpLog(), INIT), Leaf(Clamp(0.0, 1.0), Product(), INIT)),
    ]
    p, x, t = draw(parts, (3, 2, 1), 0)
    p[:] = np.nan
    y, _, after = by_parts(parts, (3, 2, 1), p, x, t, 0.5)
    assert np.isnan(y).all()
    assert np.isnan(after).all()
