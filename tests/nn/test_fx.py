import subprocess
import sys

import pytest
import torch

from arithmos.nn import UNITS

TRACED = """
import sys, torch
from torch import fx, nn
from arithmos.nn import UNITS

torch.manual_seed(0)
model = nn.Sequential(UNITS["NAU"].build(3, 2), UNITS[sys.argv[1]].build(2, 2))
x = torch.rand(5, 3) + 1
traced = fx.symbolic_trace(model)
torch.testing.assert_close(traced(x), model(x))
"""


@pytest.mark.parametrize("name", ["NAU", "NMU", "NACMul", "NALU", "Linear"])
def test_torch_fx_traces_layers(name):
    """In a process of its own: here, jaxtyping checks that inputs are tensors, and a proxy is not one."""
    subprocess.run([sys.executable, "-c", TRACED, name], check=True, timeout=120)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_lbfgs_stays_finite(unit):
    torch.manual_seed(0)
    layer, x = unit.build(3, 2), torch.rand(64, 3) + 1
    target = x[:, :2].sum(1, keepdim=True).expand(-1, 2)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=20, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        error = (layer(x) - target).square().mean()
        error.backward()
        return error.detach()

    optimizer.step(loss)
    assert all(parameter.isfinite().all() for parameter in layer.parameters())
