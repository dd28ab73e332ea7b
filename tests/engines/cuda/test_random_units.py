"""Random units on fibers of this processor: gradients against torch in float64, by the factor-two rule."""

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from tests.engines.cuda.runs import advance
from tests.engines.cuda.shim import HostDevice
from tests.engines.random_units import RANDOM, Random
from tests.plain import Plain

from arithmos.nn import Unit
from arithmos.optim import SparsitySchedule
from arithmos.spec import Adam, Layer, Model, Spec
from arithmos.tasks import Rows

DEVICE = HostDevice()
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking, which would compile hundreds of kernels."""


class Written(Random):
    """Random unit with its paths in one text, as options of a layer are plain values."""

    def __init__(self, in_features, out_features, paths="", mix="sum"):
        super().__init__(in_features, out_features, [path.split(",") for path in paths.split(";")], mix)


UNIT = Unit(Written, name="Written", label="Written")


def gradient(spec, state, dtype):
    return Plain(spec, 0, dtype).load(state).advance().state()["exp_avg"].astype(np.float64)


def compare(paths, mix, sizes, seed, alone):
    """Without decay, Adam's first moment is the gradient. Two draws of parameters count together."""
    unit = Layer(UNIT, (("mix", mix), ("paths", ";".join(map(",".join, paths)))))
    model = Model("random", (unit,) if alone else (Layer("Linear"), unit), SparsitySchedule(0.5, 0, 1))
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.2, 2, (60, sizes[0])).astype(np.float32)
    task = Rows(x, rng.uniform(-1, 1, (60, sizes[2])).astype(np.float32))
    spec = Spec(
        task=task, model=model, hidden_size=sizes[1], batch_size=50, optimizer=Adam(beta1=0.0), evaluate_every=99
    )
    ours, theirs = [], []
    for _ in range(2):
        size = Plain(spec, 0).flat().size
        parameters = rng.uniform(0.1, 1.2, size).astype(np.float32)
        state = {
            "step": 1,
            "parameters": parameters,
            **{n: np.zeros(size, np.float32) for n in ("exp_avg", "exp_avg_sq")},
        }
        exact, usual = (gradient(spec, state, dtype) for dtype in (torch.float64, torch.float32))
        found = advance(DEVICE, spec, 0, state)["exp_avg"]
        scale = np.linalg.norm(exact) + 1e-30
        ours.append(np.linalg.norm(found - exact) / scale)
        theirs.append(np.linalg.norm(usual - exact) / scale)
    ours, theirs = np.linalg.norm(ours), np.linalg.norm(theirs)
    assert ours <= 2 * theirs + 1e-6, (ours, theirs)


@settings(max_examples=30, deadline=None, phases=PHASES)
@given(*RANDOM)
def test_random_units(paths, mix, sizes, seed, alone):
    compare(paths, mix, sizes, seed, alone)


@pytest.mark.slow
@settings(max_examples=500, deadline=None, phases=PHASES)
@given(*RANDOM)
def test_many_random_units(paths, mix, sizes, seed, alone):
    compare(paths, mix, sizes, seed, alone)
