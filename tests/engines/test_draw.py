"""The Triton kernel that draws batches: interpreted where there is no GPU, and run on one."""

import dataclasses
import os
import subprocess
import sys

import pytest
import torch

pytest.importorskip("triton")

SAME = """
import torch
from arithmos.engines.batches import Batches
from arithmos.engines.draw import DrawnBatches
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

def compare(device):
    cases = (10, ((0.1, 0.2), (1.1, 1.2)), 5), (11, ((-1.0, 2.0),), 128), (100, ((1.0, 2.0),), 128)
    for size, ranges, rows in cases:
        task = Arithmetic(operation="mul", input_size=size, interpolation=ranges)
        spec = Spec(task=task, model=MODELS["NMU"], batch_size=rows)
        batches = Batches(spec, (0, 7, 2**32 - 1), torch.device(device))
        drawn = DrawnBatches(batches)
        drawn.x.fill_(torch.nan)
        drawn.sums.fill_(torch.nan)
        for step in (0, 123_456, 2**31 + 5):
            drawn.draw(torch.tensor([float(step), 1.0], dtype=torch.float64, device=device))
            x, _ = batches.at(step)
            assert torch.equal(drawn.x, x), (size, step)
            torch.testing.assert_close(drawn.sums, x.double() @ batches.members, rtol=1e-14, atol=1e-14)
"""

INTERPRETED = """
import numpy as np
from triton.runtime.interpreter import TensorHandle

class Elements(np.ndarray):
    def __int__(self):
        return int(self.item())  # the interpreter counts on what NumPy gave up in 2.4

handle = TensorHandle.__init__
TensorHandle.__init__ = lambda self, data, *rest: handle(self, data.view(Elements), *rest)

compare("cpu")
"""


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_interpreted_kernel_draws_the_same():
    python(SAME + INTERPRETED, TRITON_INTERPRET="1")


@pytest.mark.gpu
def test_the_kernel_draws_the_same():
    python(SAME + 'compare("cuda")')


@pytest.mark.gpu
@pytest.mark.parametrize("size", [4, 300, 2048])
def test_the_kernel_is_used_for_all_sizes(size):
    from arithmos.engines.batches import Batches
    from arithmos.engines.graphs import drawn
    from arithmos.spec import MODELS, Spec
    from arithmos.tasks import Arithmetic

    spec = Spec(task=dataclasses.replace(Arithmetic(operation="mul"), input_size=size), model=MODELS["NMU"])
    assert drawn(Batches(spec, (0, 1), torch.device("cuda"))) is not None
