"""The Triton kernels: interpreted where there is no GPU, compiled for one, and run on one."""

import os
import subprocess
import sys
from functools import partial

import pytest
import torch

pytest.importorskip("triton")

INTERPRETED = """
import numpy as np
import torch
from triton.runtime.interpreter import TensorHandle

class Elements(np.ndarray):
    def __int__(self):
        return int(self.item())  # the interpreter counts on what NumPy gave up in 2.4

handle = TensorHandle.__init__
TensorHandle.__init__ = lambda self, data, *rest: handle(self, data.view(Elements), *rest)

from arithmos.engines.digits.fused import fused
from arithmos.engines.digits.reader import grouped

generator = torch.Generator().manual_seed(0)
for s, n, c, side, o in ((2, 2, 1, 28, 20), (1, 1, 20, 12, 50)):
    shapes = (s, n, c, side, side), (s, o, c, 5, 5), (s, o)
    x, weight, bias = (torch.randn(shape, generator=generator) for shape in shapes)
    found = []
    for convolve in (grouped, fused):
        leaves = [tensor.clone().requires_grad_(c > 1 or tensor is not x) for tensor in (x, weight / 5, bias)]
        y = convolve(*leaves)
        y.backward(torch.linspace(-1, 1, y.numel()).view(y.shape))
        found.append([y.detach(), *(leaf.grad for leaf in leaves if leaf.requires_grad)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
shared = torch.randn(2, 28, 28, generator=generator)
weight, bias = torch.randn(3, 20, 1, 5, 5, generator=generator), torch.randn(3, 20, generator=generator)
weight[1] = torch.nan
y = fused(shared.expand(3, -1, -1, -1).unsqueeze(2), weight, bias)
assert y[1].isnan().all() and not y[0].isnan().any() and not y[2].isnan().any()
"""

COMPILED = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from arithmos.engines.digits import fused

F, B, I = "*fp32", "*u8", "i32"
KERNELS = {
    "forward": (fused.forward_kernel, {"x": F, "weight": F, "bias": F, "y": F, "largest": B, "x_stride": I, "n": I}),
    "spread": (fused.spread_kernel, {"grad": F, "largest": B, "spread": F, "windows": I}),
    "weight": (fused.weight_kernel, {"x": F, "spread": F, "partial": F, "x_stride": I, "n": I, "per_split": I}),
    "first": (
        fused.first_weight_kernel,
        {"x": F, "grad": F, "largest": B, "partial": F, "x_stride": I, "n": I, "per_split": I},
    ),
    "image": (fused.image_kernel, {"weight": F, "spread": F, "x_grad": F, "n": I}),
}
CASES = [("first" if (kind, c) == ("weight", 1) else kind, c, launch) for (kind, c), launch in fused.LAUNCH.items()]
for kind, c, launch in [*CASES, ("spread", 20, {"WINDOWS": 32})]:
    kernel, arguments = KERNELS[kind]
    side, o = (28, 20) if c == 1 else (12, 50)
    sizes = {"H": side, "C": c, "O": o, "S": -(-o // 4) * 4, "BO": fused._power(o), "BC": fused._power(c), **launch}
    taken = {name: size for name, size in sizes.items() if name in kernel.arg_names}
    source = ASTSource(fn=kernel, signature=arguments | dict.fromkeys(taken, "constexpr"), constexprs=taken)
    options = {name: size for name, size in launch.items() if name.startswith("num_")}
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert made.metadata.shared <= 227 * 1024
"""


def python(code, **environment):
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_interpreted_kernels_agree():
    python(INTERPRETED, TRITON_INTERPRET="1")


@pytest.mark.slow
def test_kernels_compile_for_a_gpu_that_is_not_there():
    python(COMPILED)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["tf32x3", "ieee"])
def test_kernels_are_as_exact_as_float32(precision):
    from arithmos.engines.digits.fused import fused
    from arithmos.engines.digits.reader import unfolded

    generator = torch.Generator("cuda").manual_seed(0)
    for s, n, c, side, o in ((3, 37, 1, 28, 20), (3, 37, 20, 12, 50)):
        first = 0 if c > 1 else 1  # images are no parameters
        shapes = ((s, n, c, side, side), (s, o, c, 5, 5), (s, o))
        tensors = [torch.randn(shape, generator=generator, device="cuda") for shape in shapes]
        upstream = torch.randn(s, n, o, (side - 4) // 2, (side - 4) // 2, generator=generator, device="cuda")

        def gradients(convolve, dtype, first=first, tensors=tensors, upstream=upstream):
            leaves = [t.to(dtype, copy=True).requires_grad_(i >= first) for i, t in enumerate(tensors)]
            y = convolve(*leaves)
            y.backward(upstream.to(dtype))
            return [y.detach(), *(leaf.grad for leaf in leaves[first:])]

        exact, usual = gradients(unfolded, torch.float64), gradients(unfolded, torch.float32)
        own = gradients(partial(fused, precision=precision), torch.float32)
        for found, plain, truth in zip(own, usual, exact, strict=True):
            assert (found - truth).norm() <= 2 * (plain - truth).norm() + 1e-6 * truth.norm()
