"""States of suspended runs in the form that all engines share: arrays by name."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..spec import Spec
from .contract import Floats, State, unit_code

ARRAYS = ("parameters", "exp_avg", "exp_avg_sq")
"""Trained arrays: parameters and Adam's moments, each flat."""

JUDGED = "judge."
"""Prefix of the arrays about a run's records."""

BUFFER = "buffer."
"""Prefix of the buffers of a network that is trained alone."""

TRAINER = "trainer."
"""Prefix of the arrays that only some optimizers have."""

NOTHING: State = {}


class PerRun:
    """Arrays, and lists of arrays, with the run as their leading axis, which checkpoints hold run by run.

    Attributes:
        STATE: their names.
    """

    STATE: tuple[str, ...]

    def state(self, run: int) -> State:
        """Return what one run has in them, for a checkpoint."""
        return {name: getattr(self, name)[run].copy() for name in self.STATE}

    def restore(self, run: int, state: State) -> None:
        """Restore what `state` returned."""
        for name in self.STATE:
            getattr(self, name)[run] = state[name]


def initial(spec: Spec, seed: int) -> Floats:
    """Return the initial parameters of a run, flat and in the order of the network.

    Raises:
        Failed: a unit raised an error.
    """
    with unit_code():
        return flattened(spec.network(seed))


@torch.no_grad()
def flattened(network: nn.Module) -> Floats:
    """Return the parameters of a network, flat and in order."""
    flat: Floats = torch.cat([p.flatten() for p in network.parameters()]).numpy()
    return flat


def state_of(
    step: int,
    elapsed_s: float,
    arrays: Mapping[str, NDArray[np.generic]],
    judged: State,
    buffers: State = NOTHING,
    trainer: State = NOTHING,
) -> State:
    """Return a state: iterations made, seconds taken, the arrays of `ARRAYS`, records, buffers, and what only some
    optimizers have.
    """
    return {
        "step": np.array([step], np.int64),
        "elapsed_s": np.array([elapsed_s], np.float64),
        **{name: arrays[name] for name in ARRAYS},
        **{JUDGED + name: value for name, value in judged.items()},
        **{BUFFER + name: value for name, value in buffers.items()},
        **{TRAINER + name: value for name, value in trainer.items()},
    }


def buffers(network: nn.Module) -> State:
    """Return the buffers of a network, by name."""
    return {name: value.cpu().numpy().copy() for name, value in network.named_buffers()}


def judged(state: State) -> State:
    """Return what a state holds about the records of its run."""
    return part(state, JUDGED)


def part(state: State, prefix: str) -> State:
    """Return the arrays of a state whose names have a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
