"""Programs evaluated by torch, on tensors with the three axes b, o and i: the reference for generated code."""

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from .program import AXES, SAME_NAME, Term, View, walk

_ELEMENTWISE: dict[str, Callable[..., Tensor]] = {
    **{name: getattr(torch, name) for name in (*SAME_NAME, "add", "sub", "div", "pow")},
    "copy": torch.clone,
    "min": torch.minimum,
    "max_of": torch.maximum,
    "and": torch.logical_and,
    "or": torch.logical_or,
    "not": torch.logical_not,
    "where": torch.where,
}


def evaluate(roots: Iterable[Term], leaves: Mapping[Term, Tensor], sizes: Mapping[str, int]) -> list[Tensor]:
    """Return the values of nodes, each with the axes b, o and i, of size 1 where a value lacks an axis.

    Args:
        roots: the nodes.
        leaves: values of leaves that are neither constants nor sizes, in the same form.
        sizes: sizes of the axes.
    """
    roots = list(roots)
    like = next(iter(leaves.values()))
    values: dict[Term, Tensor] = {}
    for node in walk(roots):
        values[node] = leaves[node] if node in leaves else _value(node, values, sizes, like)
    return [values[root] for root in roots]


def _value(node: Term, values: Mapping[Term, Tensor], sizes: Mapping[str, int], like: Tensor) -> Tensor:
    args = [values[arg] for arg in node.args]
    if node.op in ("const", "size"):
        return like.new_full((1, 1, 1), node.data if node.op == "const" else sizes[node.data])
    dims = [AXES.index(axis) for axis in node.data or ()]
    if node.op == "sum":
        return args[0].sum(dims, keepdim=True)
    if node.op == "max":
        return args[0].amax(dims, keepdim=True)
    if node.op == "prod":
        return args[0].prod(dims[0], keepdim=True)
    if node.op == "others":
        return _others(*args)
    return _ELEMENTWISE[node.op](*args)


def _others(factor: Tensor, adjoint: Tensor) -> Tensor:
    before = torch.cumprod(torch.cat([torch.ones_like(factor[..., :1]), factor[..., :-1]], -1), -1)
    after = torch.cumprod(torch.cat([torch.ones_like(factor[..., :1]), factor[..., 1:].flip(-1)], -1), -1).flip(-1)
    return adjoint * before * after


def spread(view: View, tensor: Tensor) -> Tensor:
    """Return a parameter or buffer, or a piece of it, with the axes b, o and i."""
    if view.pieces > 1:
        tensor = tensor.chunk(view.pieces, view.dims.index("i"))[view.piece]
    kept = [axis for axis in view.dims if axis]
    tensor = tensor.reshape([n for n, axis in zip(tensor.shape, view.dims, strict=True) if axis])
    tensor = tensor.permute([kept.index(axis) for axis in AXES if axis in kept])
    for place, axis in enumerate(AXES):
        if axis not in kept:
            tensor = tensor.unsqueeze(place)
    return tensor
