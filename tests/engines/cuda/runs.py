"""Runs of the kernel step by step, for tests."""

import numpy as np

from arithmos.engines.contract import Control
from arithmos.engines.cuda.group import RunGroup
from arithmos.engines.cuda.plan import make_plan
from arithmos.engines.judge import Judge

_KERNELS = {}


def group(device, spec, states, control=None, **layout):
    """A group of runs, from the given states by seed, or from their start."""
    plan = make_plan(spec, device.limits, **layout)
    key = (device.name, plan.source)
    if key not in _KERNELS:
        _KERNELS[key] = device.load(device.compile(plan), plan)
    return RunGroup(
        device, plan, _KERNELS[key], spec, states, control or Control(), lambda _, make: device.upload(make())
    )


def advance(device, spec, seed, state, iterations=1, **layout):
    """The state of a run so many iterations later, from step, parameters and moments."""
    return advance_all(device, spec, {seed: state}, iterations, **layout)[seed]


def advance_all(device, spec, states, iterations=1, **layout):
    """The same of several runs, by seed."""

    def judged(seed, state):
        if state is None:
            return None
        judge = Judge(spec, (seed,), len(state["parameters"]), Control())
        records = {f"judge.{name}": value for name, value in judge.state(0).items()}
        return {**state, "step": np.array([state["step"]]), "elapsed_s": np.zeros(1), **records}

    runs = group(device, spec, {seed: judged(seed, state) for seed, state in states.items()}, **layout)
    runs.launch(iterations)
    runs.wait()
    return dict(runs.suspended())
