"""Checks before a run is resumed.

A state comes from a file, which may be damaged or forged, and goes to compiled code, which checks nothing.
"""

import math
import warnings
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ..spec import Spec
from .contract import NEVER, Control, State, curve_records
from .digits.records import StackRecords
from .judge import Judge
from .probe import finding
from .states import ARRAYS, JUDGED, NOTHING, buffers, initial, judged, state_of
from .trainers import blank_state


def guarded(control: Control) -> Control:
    """Return a control that hands out only states that its engine can resume."""

    def resume(spec: Spec, seed: int) -> State | None:
        state = control.resume(spec, seed)
        if state is None:
            return None
        state = _thinned(spec, state) if not control.all_records else state
        if (reason := fault(spec, state, control.all_records)) is not None:
            warnings.warn(f"suspended runs of {spec.model.name} start again: {reason}", stacklevel=2)
            return None
        control.resumed(spec, int(state["step"][0]))
        return state

    return replace(control, resume=resume)


def _thinned(spec: Spec, state: State) -> State:
    """Return a state that keeps all records of the curve as one that keeps some of them."""
    curve = state.get(f"{JUDGED}curve")
    if curve is None or curve.shape[:1] != (spec.records,):
        return state
    return state | {f"{JUDGED}curve": curve[curve_records(spec)]}


def fault(spec: Spec, state: State, all_records: bool = False) -> str | None:
    """Return why a state cannot belong to this spec, or None if it can."""
    blank = _blank(spec, all_records)
    if state.keys() != blank.keys():
        names = ", ".join(sorted(map(repr, state.keys() ^ blank.keys())))
        return f"their states lack these arrays, or should not have them: {names}"
    for name, (dtype, shape) in blank.items():
        found = state[name]
        if (found.dtype, found.shape) != (dtype, shape):
            if name == f"{JUDGED}curve" and found.shape == _blank(spec, False)[name][1]:
                return "their states do not keep all records of the curve"
            return f"{name} must be {dtype} of shape {shape}, got {found.dtype} of shape {found.shape}"
    step, elapsed_s = int(state["step"][0]), float(state["elapsed_s"][0])
    if not 0 <= step <= spec.iterations + 1:
        return f"step must be from 0 to {spec.iterations + 1}, got {step}"
    if not 0 <= elapsed_s < math.inf:
        return f"elapsed_s must be a time, got {elapsed_s}"
    return _records_fault(spec, step, judged(state), bool(np.isnan(state["parameters"]).any()))


def _records_fault(spec: Spec, step: int, remembered: State, broken: bool) -> str | None:
    made, records = -(-step // spec.evaluate_every), int(remembered["records"])
    if remembered["ended"]:
        if not (broken and 0 <= records <= made):
            return "they ended early without NaN among their parameters"
    elif records != made:
        return f"records must be {made} at step {step}, got {records}"
    if "best_step" not in remembered:  # sequences of digits
        best = int(remembered["best"])
        return None if 0 <= best < max(records, 1) else f"best must be a record of {records}, got {best}"
    for name in ("best_step", "solved_at"):
        for at in np.ravel(remembered[name]).tolist():
            never = name == "solved_at" and at == NEVER
            if not never and (at % spec.evaluate_every or not 0 <= at < max(step, 1)):
                return f"{name} must be the step of a record before {step}, got {at}"
    return None


@lru_cache(maxsize=64)
def _blank(spec: Spec, all_records: bool) -> dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]:
    """Return types and shapes of the arrays of a state of this spec."""
    flat = initial(spec, 0)
    if spec.task.sequential:
        cell = [p.detach().numpy().ravel() for p in spec.network(0)[1].parameters()]
        records = StackRecords([(spec, 0)], spec.sequences, [np.concatenate([np.empty(0, np.float32), *cell])])
        remembered = records.state(0)
    else:
        remembered = Judge(spec, (0,), flat.size, Control(all_records=all_records)).state(0)
    own = buffers(spec.network(0)) if finding(spec).alone else NOTHING
    state = state_of(0, 0.0, dict.fromkeys(ARRAYS, flat), remembered, own, blank_state(spec))
    return {name: (value.dtype, value.shape) for name, value in state.items()}
