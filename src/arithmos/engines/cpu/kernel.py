"""Fused loop: one compiled function trains runs of one spec, from any step to any other.

It is assembled as text, one call per line: Numba compiles that in half the time of nested functions, and it can be
read (`print(source(program, spec))`).
"""

import linecache
import re
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from ...spec import Spec
from ..contract import NEVER
from . import maths
from ._cache import LoopCache
from ._compile import LANES, TABLE_COLUMNS, apart, array_at, compiled, inlined, wide
from .batch import ROWS, copy_rows, draw_inputs, draw_noise, pick_rows, target
from .program import LoopProgram
from .updates import FUNCTIONS as UPDATES
from .updates import update_lines
from .weights import sparsity_error

ZERO = np.float32(0)
HALF = LANES // 2


class Setting(NamedTuple):
    """Numbers of a run; its arrays are in a table of addresses."""

    evaluate_every: int
    batch: np.float32  # observations · outputs
    half_word: np.uint64
    operation: int
    validation_blocks: int
    validation_size: int
    test_size: int
    strength: float
    start: float
    end: float
    lr: float
    beta1: float
    beta2: float
    eps: float


@compiled
def error_gradient(y, t, share, dy):
    """Compute the gradient of the mean squared error; share is 0 in lanes beyond the batch."""
    apart()
    for o in range(y.shape[0]):
        for b in range(LANES):
            dy[o, b] = (y[o, b] - t[o, b]) * share[b]


@compiled
def squared_error(y, t, rows):
    """Return the sum of squared errors over the lanes of the first rows, in float64."""
    total = 0.0
    for o in range(y.shape[0]):
        for b in range(LANES):
            d = np.float64(y[o, b] - t[o, b])
            total += d * d if b // 2 + b % 2 * HALF < rows else 0.0
    return total


@compiled
def strength_at(step, strength, start, end):
    """Return the strength of the sparsity regularizer at a step."""
    return strength if step >= end else strength * max(0.0, (step - start) / (end - start))


@compiled
def any_nan(p):
    """Return whether there is a NaN among the parameters."""
    broken = False
    for i in range(p.size):
        broken |= np.isnan(p[i])
    return broken


@compiled
def observe(
    step, validation, test, sparsity, gate, p, thresholds, place,
    records, best_step, best, best_parameters, last, solved_at, curve,
):  # fmt: skip
    """Add a record as `Judge.observe` does; `place` is its index in the curve, or -1."""
    lowest = best[0]
    provisional = best_step[0] == 0 or np.isnan(lowest)
    if validation < lowest or (provisional and not np.isnan(validation)) or np.isnan(lowest):
        best_step[0] = step
        best[0], best[1], best[2], best[3] = validation, test, sparsity, gate
        for i in range(best_parameters.size):
            best_parameters[i] = p[i]
    for k in range(thresholds.size):
        if test < thresholds[k] and solved_at[k] == NEVER:
            solved_at[k] = step
    last[0], last[1], last[2] = validation, test, sparsity
    records[0] += 1
    if place >= 0:
        curve[place, 0], curve[place, 1], curve[place, 2] = validation, test, sparsity


@compiled
def sum_gate(gate, share):
    """Return the sum of the gate over the lanes that count."""
    total = ZERO
    for o in range(gate.shape[0]):
        for b in range(LANES):
            total += gate[o, b] if share[b] > ZERO else ZERO
    return total


ARRAYS: dict[str, tuple[str, int]] = {
    # what is learned, and what the judge remembers
    "p": ("float32", 1), "m": ("float32", 1), "v": ("float32", 1), "g": ("float32", 1),
    "reached": ("int64", 1), "errors": ("float64", 1), "records": ("int64", 1), "ended": ("uint8", 1),
    "best_step": ("int64", 1), "best": ("float32", 1),
    "best_parameters": ("float32", 1), "last": ("float32", 1), "solved_at": ("int64", 1), "curve": ("float32", 2),
    # what stays the same for a run
    "keys": ("uint64", 2), "tables": ("uint64", 3), "share": ("float32", 2), "subsets": ("int64", 2),
    "row_inputs": ("float32", 2), "row_targets": ("float32", 2), "shared_keys": ("uint64", 2),
    "shared_tables": ("uint64", 3), "modes": ("int64", 1), "lows": ("float32", 2), "widths": ("float32", 2),
    "sizes": ("int64", 1), "inputs": ("float32", 3),
    "targets": ("float32", 3), "thresholds": ("float32", 1), "places": ("int64", 1),
    "input_scale": ("float32", 1), "input_direction": ("float32", 1),
    # scratch
    "x": ("float32", 2), "x_words": ("uint64", 2), "x_bits": ("uint32", 2), "words": ("uint64", 2),
    "half_words": ("uint32", 2), "third": ("uint64", 2), "sums": ("float64", 2),
    "t": ("float32", 2),
}  # fmt: skip
"""Types and dimensions of the arrays that every kernel has, beside those of its program."""

EVALUATE = """\
def evaluate(runs, setting):
    wide()
    {shared}
    live = 0
    for run in range(runs.shape[0]):
        {weighed}
        {judge_weights}
        ended[0] = any_nan(p)
        live += 1 - ended[0]
        errors[:] = 0
    for block in range(targets.shape[0]):
        kind = 1 + int(block >= setting.validation_blocks)
        size = setting.validation_size if kind == 1 else setting.validation_blocks * LANES + setting.test_size
        if modes[kind] != ROWS:
            draw_inputs(
                0, modes[kind], shared_keys, shared_tables[block], setting.half_word, third, lows[kind],
                widths[kind], x_words, words, half_words, x,
            )
        for run in range(runs.shape[0]):
            {judged}
            if modes[kind] == ROWS:
                copy_rows(inputs[block], x)
            if run == 0 or modes[kind] == ROWS:
                {of_inputs}
            if ended[0]:
                continue
            {judge}
            errors[kind - 1] += squared_error(y, targets[block], size - block * LANES)
    return live
"""
"""Add up the errors of runs, and return how many have no NaN.

Random inputs, and what depends on them alone, are computed once for all, in the memory of the first.
"""

TRAIN = """\
def train(table, setting, begin, end):
    wide()
    {arrays}
    if ended[0]:
        return
    gate = step_size = correction = ZERO
    settled = False
    for step in range(begin, end):
        {weigh}
        recording = step % setting.evaluate_every == 0
        gate = ZERO
        for block in range(tables.shape[0]):
            draw_inputs(
                step, modes[0], keys, tables[block], setting.half_word, third, lows[0], widths[0], x_words, words,
                half_words, x,
            )
            if modes[0] == ROWS:
                pick_rows(half_words, row_inputs, row_targets, x, t)
            else:
                target(subsets, setting.operation, modes[0], x, x_bits, sums, t)
            {judged_gate}
            {noise}
            {forward}
            {gate}
            error_gradient(y, t, share[block], dy)
            {backward}
        if recording:
            validation = float32(errors[0] / (setting.validation_size * y.shape[0]))
            test = float32(errors[1] / (setting.test_size * y.shape[0]))
            {sparsity}
            place = places[step // setting.evaluate_every]
            observe(
                step, validation, test, sparsity, gate / setting.batch, p, thresholds, place,
                records, best_step, best, best_parameters, last, solved_at, curve,
            )
        {gradient}
        strength = strength_at(step, setting.strength, setting.start, setting.end)
        if strength > 0:
            {regularize}
        {update}
        {project}
    reached[0] = end
"""
"""Train a run from one step to another; its errors at the first are known, if they are to be recorded."""

KERNEL = """\
def kernel(runs, setting, begin, end):
    wide()
    step = begin
    while step < end:
        if step % setting.evaluate_every == 0 and evaluate(runs, setting) == 0:
            return
        stop = min(end, step - step % setting.evaluate_every + setting.evaluate_every)
        for run in range(runs.shape[0]):
            train(runs[run], setting, step, stop)
        step = stop
"""


def array_types(program: LoopProgram) -> dict[str, tuple[str, int]]:
    """Types and dimensions of all arrays of a kernel, in the order of its table."""
    own = {name: ("float32", len(shape)) for name, shape in program.shapes.items()}
    flat = [*program.parameters, *(f"g{name[1:]}" for name in program.parameters), *program.buffers]
    for name in program.noises:
        own |= {name: ("float32", 2), f"{name}_range": ("float32", 1)}
        own |= {f"{name}_words": ("uint64", 2), f"{name}_tables": ("uint64", 3)}
    return ARRAYS | own | dict.fromkeys(flat, ("float32", 1))


def _draw(noise: str) -> str:
    """Return the line that draws a noise."""
    own = f"{noise}_range, {noise}_words, {noise}"
    return f"draw_noise(step, keys, {noise}_tables[block], setting.half_word, third, {own})"


def source(program: LoopProgram, spec: Spec) -> str:
    """Return the source of the kernel of a program, with the optimizer and penalties of a spec."""
    gate = [f"gate += sum_gate({program.gate}, share[block])" if program.gate else "gate = float32(nan)"]
    apart_gate = bool(program.gate and program.judge)  # that of evaluation mode, which is not the forward of training
    errors = ["ZERO", *(f"sparsity_error({w})" for w in program.sparsity or ())]
    sparsity = "float32(nan)" if program.sparsity is None else f"max({', '.join(errors)})" if errors[1:] else "ZERO"
    judge = program.judge or program.forward
    kinds = array_types(program)
    of_inputs = _of_inputs(judge, kinds)
    pieces = {
        "judge_weights": program.judge_weights or program.weigh,
        "of_inputs": of_inputs or ["pass"],
        "judge": [line for line in judge if line not in of_inputs],
        "weigh": program.weigh,
        "judged_gate": ["if recording:", *(f"    {line}" for line in [*judge, *gate])] if apart_gate else [],
        "noise": [_draw(name) for name in program.noises],
        "forward": program.forward,
        "gate": [] if apart_gate else gate,
        "backward": program.backward,
        "sparsity": [f"sparsity = {sparsity}"],
        "gradient": program.gradient,
        "regularize": program.regularize or ["pass"],
        "update": update_lines(spec, program.parameters),
        "project": program.project,
    }
    sizes = [f"n_{number} = sizes[{number}]" for number in range(len(program.sizes))]
    own = {"ended", "errors", "inputs", "targets"} | {name for name, kind in kinds.items() if kind == ("float32", 1)}
    evaluated = [_filled(EVALUATE, pieces), "sizes"]
    pieces |= {
        "shared": [*_arrays("runs[0]", kinds, evaluated, {*kinds} - own | {"targets"}), *sizes],
        "weighed": _arrays("runs[run]", kinds, [*pieces["judge_weights"], "ended errors p"], own),
        "judged": _arrays("runs[run]", kinds, [*pieces["judge"], "ended errors inputs targets"], own),
        "arrays": [*_arrays("table", kinds, [_filled(TRAIN, pieces), "sizes"], kinds), *sizes],
    }
    inlined = (*program.functions, _filled(EVALUATE, pieces), _filled(TRAIN, pieces))
    return "\n\n".join([*(f"@inlined\n{function}" for function in inlined), f"@compiled\n{KERNEL}"])


def _filled(text: str, pieces: Mapping[str, Sequence[str]]) -> str:
    """Return a text with other lines in place of its lines `{name}`."""
    lines = []
    for line in text.splitlines():
        name = line.strip().strip("{}")
        indent = line[: len(line) - len(line.lstrip())]
        lines += [indent + piece for piece in pieces[name]] if name in pieces else [line]
    return "\n".join(lines) + "\n"


def _of_inputs(lines: Sequence[str], kinds: Mapping[str, tuple[str, int]]) -> list[str]:
    """Return the calls that read nothing but the inputs: no weights, and no results of other calls."""
    found, others = [], set[str]()
    for line in lines:
        arrays = {name for name in re.findall(r"\w+", line) if name in kinds}
        if others & arrays or any(kinds[name][1] == 1 for name in arrays):
            others |= arrays - {"x"}
        else:
            found.append(line)
    return found


def _arrays(table: str, kinds: Mapping[str, tuple[str, int]], texts: Sequence[str], among: Container[str]) -> list[str]:
    """Return the lines that find the arrays named in texts in a table, if they are among some."""
    used = set(re.findall(r"\w+", " ".join(texts)))
    return [
        f"{name} = array_at({table}, {row}, {dtype}, {ndim})"
        for row, (name, (dtype, ndim)) in enumerate(kinds.items())
        if name in used and name in among
    ]


_NUMBERS = {int: types.int64, float: types.float64, np.float32: types.float32, np.uint64: types.uint64}

SIGNATURE = (
    types.int64[:, :, ::1],
    types.NamedTuple([_NUMBERS[kind] for kind in Setting.__annotations__.values()], Setting),
    types.int64,
    types.int64,
)
"""Types of the arguments of every kernel."""


@dataclass(frozen=True)
class LoopKernel:
    """Loop, with the names of the arrays in its table.

    It is called as `function(tables, setting, begin, end)` and trains runs, one per table, from step `begin` up to
    step `end`, or until they meet NaN.
    """

    function: Any
    types: Mapping[str, tuple[str, int]]
    cache: LoopCache

    def compile(self, compiling: Callable[[], None] = lambda: None) -> None:
        """Compile the loop or load it from the cache, if that has not been done; call `compiling` before the former."""
        if not self.function.signatures:
            if not self.cache.holds(SIGNATURE):
                compiling()
            self.function.compile(SIGNATURE)

    def table(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Address and shape of each array. The arrays must live as long as the table is used."""
        table = np.ones((len(self.types), TABLE_COLUMNS), np.int64)
        for row, (name, (dtype, ndim)) in zip(table, self.types.items(), strict=True):
            array = arrays[name]
            if array.dtype != dtype or array.ndim != ndim or not array.flags.c_contiguous:
                raise TypeError(f"{name} must be contiguous, {ndim}-dimensional and of {dtype}, got {array.dtype}")
            row[0], row[1 : 1 + ndim] = array.ctypes.data, array.shape
        return table


_KERNELS: dict[str, LoopKernel] = {}

_FUNCTIONS = (
    array_at, wide, apart, draw_inputs, draw_noise, copy_rows, pick_rows, target, error_gradient, squared_error,
    strength_at, any_nan, observe, sum_gate, sparsity_error, *UPDATES,
)  # fmt: skip
_NAMES = {
    **{function.__name__: function for function in _FUNCTIONS},
    **{name: getattr(np, name) for name in ("float32", "float64", "int64", "uint8", "uint32", "uint64", "inf", "nan")},
    "LANES": LANES,
    "compiled": compiled,
    "inlined": inlined,
    "maths": maths,
    "np": np,
    "ROWS": ROWS,
    "ZERO": ZERO,
}


def make_kernel(program: LoopProgram, spec: Spec) -> LoopKernel:
    """Return the kernel of a program and the optimizer of a spec, the same for all with the same lines."""
    text = source(program, spec)
    if text not in _KERNELS:
        cache = LoopCache(text)
        # A module of its own: the names of compiled functions hold that of their module, and must not be those of
        # other kernels, which other processes have compiled.
        module = ModuleType(f"{__name__}_{cache.name}")
        sys.modules[module.__name__] = module
        linecache.cache[module.__name__] = (len(text), None, text.splitlines(keepends=True), module.__name__)
        vars(module).update({**_NAMES, **program.names})
        exec(compile(text, module.__name__, "exec"), vars(module))
        cache.attach(module.kernel)
        _KERNELS[text] = LoopKernel(module.kernel, array_types(program), cache)
    return _KERNELS[text]
