"""Torch engine for sequences of handwritten digits: runs of all models stacked behind one reader."""

from collections.abc import Iterator, Sequence

import torch

from ..contract import Control, Job, Run, State
from ..stacks import SeededSpecs, in_stacks
from .reader import Convolution, grouped, unfolded
from .stack import Stack

STACK = {"cpu": 1, "cuda": 160}
"""Runs side by side on each kind of device; a CPU is no faster with several."""


def run(jobs: Sequence[Job], control: Control, device: torch.device, *, stack: int | None = None) -> Iterator[Run]:
    """Yield finished runs.

    Args:
        jobs: jobs of sequences of digits.
        control: control of the caller.
        device: device to train on.
        stack: number of runs side by side; by default as many as suit the device.
    """

    def train(runs: SeededSpecs, states: Sequence[State]) -> list[Run]:
        made = Stack(runs, device, control, convolve=fastest(device), graph=device.type == "cuda")
        if states:
            made.resume(states)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")  # TF32 is not float32
        try:
            return made.train()
        finally:
            torch.set_float32_matmul_precision(before)

    return in_stacks(jobs, control, STACK[device.type] if stack is None else stack, train)


def fastest(device: torch.device) -> Convolution:
    """Return the fastest convolution of a device."""
    if device.type != "cuda":
        return grouped
    try:
        from .fused import fused
    except ImportError:  # a torch without Triton
        return unfolded
    return fused
