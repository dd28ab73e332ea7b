"""Torch engine for sequences of handwritten digits: runs of all models stacked behind one reader."""

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import groupby

import torch

from ...spec import Spec
from ..contract import Control, Failed, Job, Run, State
from .reader import Convolution, grouped, unfolded
from .stack import Stack

STACK = {"cpu": 1, "cuda": 160}
"""Runs side by side on each kind of device; a CPU is no faster with several."""


def run(jobs: Sequence[Job], control: Control, device: torch.device, *, stack: int | None = None) -> Iterator[Run]:
    """Yield finished runs; those that differ only in their model, and were suspended at the same step, train together.

    Runs that have progressed furthest come first. A model with a user's unit has its own stacks and cannot disturb
    others.

    Args:
        jobs: jobs of sequences of digits.
        control: control of the caller.
        device: device to train on.
        stack: number of runs side by side; by default as many as suit the device.
    """
    states = {(job.spec.id, seed): control.resume(job.spec, seed) for job in jobs for seed in job.seeds}

    def together(run: tuple[Spec, int]) -> tuple[str, int, str]:
        """Return what the runs of a stack share: all but the model if it is built in, and the step."""
        spec, seed = run
        state = states[spec.id, seed]
        step = 1 if state is None else -int(state["step"][0])
        return dataclasses.replace(spec, model=jobs[0].spec.model).id, step, spec.id if spec.model.layers[0].own else ""

    runs = sorted(
        ((job.spec, seed) for job in jobs for seed in job.seeds), key=together
    )  # keeps a model's runs adjacent
    most = STACK[device.type] if stack is None else stack
    for _, members in groupby(runs, key=together):
        chosen = list(members)
        for start in range(0, len(chosen), most):
            if control.stopped():
                return
            wanted = [(spec, seed) for spec, seed in chosen[start : start + most] if control.wanted(spec, seed)]
            if not wanted:
                continue
            try:
                yield from _train(wanted, states, control, device)
            except Failed as error:
                for spec, group in groupby(wanted, key=lambda run: run[0]):
                    control.failed(spec, tuple(seed for _, seed in group), str(error))


def fastest(device: torch.device) -> Convolution:
    """Return the fastest convolution of a device."""
    if device.type != "cuda":
        return grouped
    try:
        from .fused import fused
    except ImportError:  # a torch without Triton
        return unfolded
    return fused


def _train(
    runs: Sequence[tuple[Spec, int]],
    states: dict[tuple[str, int], State | None],
    control: Control,
    device: torch.device,
) -> list[Run]:
    stack = Stack(runs, device, control, convolve=fastest(device), graph=device.type == "cuda")
    suspended = [state for spec, seed in runs if (state := states.pop((spec.id, seed))) is not None]
    if suspended:
        stack.resume(suspended)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")  # TF32 is not float32
    try:
        return stack.train()
    finally:
        torch.set_float32_matmul_precision(before)
