"""Evaluation of networks in floating point."""

from collections.abc import Sequence

import numpy as np

from ..nn._aggregate import EPSILON
from .stages import Array, Branch, Stage

TINY = np.finfo(np.float64).tiny
"""Magnitude in place of 0, whose logarithm is finite: a weight of 0 leaves an input out, whatever it is."""


def forward(
    stages: Sequence[Stage], x: Array, open_gates: Sequence[Array | None] | None = None
) -> tuple[Array, list[Array | None]]:
    """Return the outputs and the gates of each stage of a network with float weights.

    Args:
        stages: the network; its arrays may have leading axes, one network per entry.
        x: `[..., time, in_features]`; a network that is not recurrent takes each row on its own.
        open_gates: for each gated stage, which of its gates are open, `[..., out]`; the others are closed. By default
            the gates keep their values.
    """
    gates: list[Array | None] = []
    for stage, is_open in zip(stages, open_gates or [None] * len(stages), strict=True):
        if stage.initial is None:
            x, gate = _apply(stage, x, is_open)
        else:
            state, steps = np.full((*x.shape[:-2], stage.out_features), stage.initial), []
            for t in range(x.shape[-2]):
                steps.append(_apply(stage, np.concatenate([x[..., t, :], state], axis=-1), is_open))
                state = steps[-1][0]
            x = np.stack([h for h, _ in steps], axis=-2)
            gate = None if stage.gate is None else np.stack([g for _, g in steps if g is not None], axis=-2)
        gates.append(gate)
    return x, gates


def _apply(stage: Stage, x: Array, is_open: Array | None) -> tuple[Array, Array | None]:
    with np.errstate(all="ignore"):
        values = [_aggregate(branch, x) for branch in stage.branches]
        if is_open is not None:
            return np.where(is_open[..., None, :], *values), is_open
        if stage.gate is None:
            return values[0], None
        gate = 1 / (1 + np.exp(-(x @ np.swapaxes(stage.gate, -1, -2))))
        return gate * values[0] + (1 - gate) * values[1], gate


def _aggregate(branch: Branch, x: Array) -> Array:
    weight = np.swapaxes(branch.weight, -1, -2)
    z: Array
    match branch.aggregation:
        case "sum":
            z = x @ weight
        case "product":
            z = (x[..., None] * weight[..., None, :, :] + 1 - weight[..., None, :, :]).prod(axis=-2)
        case "exp-log":
            z = np.exp(np.log(np.abs(x) + EPSILON) @ weight)
        case "power":
            z = np.exp(np.log(np.maximum(np.abs(x), TINY)) @ weight) * np.cos(np.pi * ((x < 0) @ weight))
    if branch.bias is not None:
        z = z + branch.bias[..., None, :]
    match branch.activation:
        case "relu":
            z = np.maximum(z, 0)
        case "relu6":
            z = np.clip(z, 0, 6)
    return z
