"""Comparison of a program with the module it was read from, at the sizes of a run."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from ...nn._noise import Source, drawn_from, no_noise
from ...optim import sparsity_loss
from .derive import gradients
from .evaluate import evaluate, spread
from .forward import UnitProgram
from .program import INPUT, SEED, Term, walk

ROWS = 16
STATE = ("parameter", "buffer")


def misread(module: nn.Module, unit: UnitProgram, in_features: int, out_features: int) -> str:
    """Return in what a module differs from its program; empty if in nothing.

    Output, gradients and regularizer are compared at the module's parameters and at others, in both modes.

    Args:
        module: the module; its parameters change.
        unit: its program.
        in_features: size of its input.
        out_features: size of its output.
    """
    generator = torch.Generator().manual_seed(0)
    sizes = {"b": ROWS, "o": out_features, "i": in_features}
    x = torch.empty(ROWS, in_features).uniform_(-3, 3, generator=generator)
    seed = torch.empty(ROWS, out_features).uniform_(-1, 1, generator=generator)
    noises = [torch.empty(ROWS, sizes[d.axis]).uniform_(d.low, d.high, generator=generator) for d in unit.draws]
    for drawn in (False, True):
        if drawn:
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.uniform_(-1, 1, generator=generator)
                for name, (low, high) in unit.bounds.items():
                    module.get_parameter(name).clamp_(low, high)
        for mode, root in (("training", unit.training), ("evaluation", unit.evaluation)):
            module.train(mode == "training").zero_grad()
            with drawn_from(_given(noises) if mode == "training" else no_noise):
                found = module(x)
            leaves = _leaves([root], module, x, noises) | {SEED: seed.unsqueeze(-1)}
            with torch.no_grad():
                [output] = evaluate([root], leaves, sizes)
            if not _close(output.expand(ROWS, out_features, 1)[..., 0], found):
                return f"its output is another in {mode} mode, where sizes or values are other than when it was read"
            if mode == "training":
                (found * seed).sum().backward()
                if wrong := _wrong_gradient(module, root, SEED, leaves, sizes):
                    return f"the gradient of {wrong} is not that of its forward pass"
    module.train().zero_grad()
    leaves = _leaves([unit.sparsity], module, x, ())
    loss = sparsity_loss(module)
    if not _close(evaluate([unit.sparsity], leaves, sizes)[0].flatten(), loss.reshape(1)):
        return "its sparsity() is another, where sizes are other than when it was read"
    return ""


def _leaves(roots: Iterable[Term], module: nn.Module, x: Tensor, noises: Iterable[Tensor]) -> dict[Term, Tensor]:
    drawn = list(noises)
    state = {name: value.detach() for name, value in (*module.named_parameters(), *module.named_buffers())}
    found = {INPUT: x.unsqueeze(1)}
    for node in walk(roots):
        if node.op in STATE:
            found[node] = spread(node.data, state[node.data.name])
        elif node.op == "noise":
            found[node] = drawn[node.data].unsqueeze(1 if "i" in node.axes else 2)
    return found


@torch.no_grad()
def _wrong_gradient(
    module: nn.Module, root: Term, seed: Term, leaves: dict[Term, Tensor], sizes: dict[str, int]
) -> str:
    """Return the name of a parameter whose gradient differs from that of the program; empty if there is none."""
    wanted = [node for node in leaves if node.op == "parameter"]
    own = gradients({root: seed}, wanted)
    values = dict(zip(own, evaluate(own.values(), leaves, sizes), strict=True))
    for node in wanted:
        parameter = module.get_parameter(node.data.name)
        if not parameter.requires_grad:
            continue
        theirs = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        theirs = spread(node.data, theirs)
        mine = values.get(node, torch.zeros_like(theirs)).expand_as(theirs)
        if not _close(mine, theirs):
            return str(node.data.name)
    return ""


def _given(noises: Iterable[Tensor]) -> Source:
    """Return a source of given noise."""
    drawn = iter(noises)
    return lambda like, low, high: next(drawn)


def close(found: Tensor, expected: Tensor) -> bool:
    """Return whether two tensors are equal up to rounding, relative to the largest of their elements."""
    if found.shape != expected.shape:
        return False
    scale = float(expected.detach().nan_to_num(0.0, 0.0, 0.0).abs().max()) if expected.numel() else 0.0
    return torch.allclose(found, expected.to(found), rtol=1e-4, atol=1e-4 * scale, equal_nan=True)


def _close(found: Tensor, expected: Tensor) -> bool:
    """Return whether two tensors are equal up to rounding, where the second is finite."""
    expected = expected.detach()
    finite = expected.isfinite()
    return close(torch.where(finite, found, 0), torch.where(finite, expected, 0))
