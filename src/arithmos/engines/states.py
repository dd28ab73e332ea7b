"""States of suspended runs, as all engines put them together: arrays by name."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from ..spec import Spec
from .contract import Floats, State

ARRAYS = ("parameters", "exp_avg", "exp_avg_sq")
"""What is trained: parameters and Adam's moments, each flat."""

JUDGED = "judge."
"""Prefix of the names of what is remembered of a run's records."""


def initial(spec: Spec, seed: int) -> Floats:
    """Initial parameters of a run, flat and in the order of the network."""
    with torch.no_grad():
        flat: Floats = torch.cat([p.flatten() for p in spec.network(seed).parameters()]).numpy()
    return flat


def state_of(step: int, elapsed_s: float, arrays: Mapping[str, NDArray[np.generic]], judged: State) -> State:
    """A state: iterations made, seconds taken, the arrays of `ARRAYS`, and what is remembered of the records."""
    return {
        "step": np.array([step], np.int64),
        "elapsed_s": np.array([elapsed_s], np.float64),
        **{name: arrays[name] for name in ARRAYS},
        **{JUDGED + name: value for name, value in judged.items()},
    }


def judged(state: State) -> State:
    """What a state remembers of the records of its run."""
    return {name.removeprefix(JUDGED): value for name, value in state.items() if name.startswith(JUDGED)}
