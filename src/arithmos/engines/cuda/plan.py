"""Plan of a spec's kernel: its generated code, its sizes, and the layout of shared memory."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...spec import RMSprop, Spec
from ...spec.optimizers import PULLED
from ...tasks import OPERATIONS, UniformDraws
from ...tasks.arithmetic import Range
from ..contract import unit_code
from ..trace import Untraceable, unit_program
from ..trace.program import walk
from ..updates import NORM_EPSILON
from .expressions import EXPENSIVE, is_near_log, literal
from .first import gradient_functions, input_functions, reduction_functions
from .layer import Allocator
from .names import declarations
from .observation import judging_function, training_function
from .program import write
from .updates import Updates

MAX_OWNED = 16
"""Moments of first-layer weights that a thread keeps in registers, of each kind; more are in shared memory."""

MOST_EACH, MOST_TERMS = 4, 32
"""Observations of a thread, and sums over the batch, up to which a network is small."""

RESIDENT_WARPS = 16
"""Warps of small networks on a multiprocessor, which limits their registers."""

FEW_SUMS = 12
"""Sums of an input, of all outputs, up to which they are gathered at once."""

MOST_PARTS = 16
"""Parts of a tile, up to which their sums are collected from shared memory."""

FEW = 2
"""Resident blocks up to which smaller tiles are considered."""

LIGHT = 4
"""Sums of an input, of all outputs, up to which a thread needs few registers."""

BUSY = {True: 384, False: 256}
"""Smallest number of threads that keeps a multiprocessor busy, of light networks and of others."""


@dataclass(frozen=True)
class Limits:
    """Limits of a GPU for a kernel."""

    shared_per_block: int
    shared_per_multiprocessor: int
    multiprocessors: int
    threads_per_multiprocessor: int = 2048
    reserved_shared: int = 1024


H200 = Limits(shared_per_block=232448, shared_per_multiprocessor=233472, multiprocessors=132)


@dataclass(frozen=True)
class KernelPlan:
    """Configuration of a kernel, with what the host must know about it.

    Args:
        source: the configuration as C++ constants; equal sources are equal kernels.
        threads: threads per block.
        shared_bytes: dynamic shared memory of a block.
        resident: blocks that fit on a multiprocessor by shared memory and threads.
        parameters: parameters of the network.
        constants: elements of its buffers.
        columns: groups of four inputs.
        cost: relative work of an iteration, for deciding what to start first.
    """

    source: str
    threads: int
    shared_bytes: int
    resident: int
    parameters: int
    constants: int
    columns: int
    cost: float


@lru_cache(maxsize=512)
def make_plan(spec: Spec, limits: Limits, *, tile: int | None = None, split: int | None = None) -> KernelPlan:
    """Return the plan of a spec for a GPU.

    Args:
        spec: spec to train.
        limits: limits of the GPU.
        tile: observations in shared memory at a time; by default the most that fit.
        split: threads per observation; by default as many as keep the multiprocessor busy.

    Without `tile` and `split`, a small network is trained by one warp.

    Raises:
        Untraceable: a unit has no program, or one that the kernel has no place for.
        ValueError: the network does not fit into shared memory.
    """
    if not (tile or split) and (small := _small(spec, limits)):
        return small
    tiles = [tile] if tile else [size for size in (128, 64, 32) if size < spec.batch_size + 32]
    splits = [split] if split else [1, 2, 4]
    codes = [_Code(spec, keep=keep) for keep in (True, False)]
    if not codes[0].keeps:
        codes = codes[:1]
    light = spec.sizes[1] * codes[0].kinds <= LIGHT
    found: list[KernelPlan] = []
    for size in tiles:
        plans = [_plan(spec, limits, code, size, ways) for code in codes for ways in splits]
        fitting = [plan for plan in plans if plan.shared_bytes <= limits.shared_per_block]
        if fitting:
            busy = (plan for plan in fitting if plan.resident * plan.threads >= BUSY[light])
            found.append(next(busy, max(fitting, key=lambda plan: plan.resident * plan.threads)))
    if found:
        best, *others = found
        for other in others if light else ():
            # As many threads in more blocks wait less for each other, if there are few.
            more = other.resident > best.resident and other.resident * other.threads >= best.resident * best.threads
            best = other if more and best.resident <= FEW else best
        return best
    need = plans[-1].shared_bytes // 1024
    raise ValueError(
        f"a network of sizes {spec.sizes} needs {need} KiB of shared memory a block even for {tiles[-1]} observations "
        f"at a time, and this GPU has {limits.shared_per_block // 1024} KiB"
    )


def _small(spec: Spec, limits: Limits) -> KernelPlan | None:
    """Return the plan of a network that fits into the registers of one warp's threads; None if it does not."""
    if spec.batch_size > 32 * MOST_EACH or spec.sizes[0] * spec.sizes[1] > MOST_TERMS:
        return None
    code = _Code(spec, keep=False, small=True)
    if code.program.terms > MOST_TERMS:
        return None
    return _plan(spec, limits, code, 32 * -(-spec.batch_size // 32), 1)


class _Code:
    """Generated code of a spec's network."""

    def __init__(self, spec: Spec, *, keep: bool, small: bool = False) -> None:
        units = [unit_program(layer) for layer in spec.model.layers]
        with unit_code():
            network = spec.network(0)
        regularized = spec.model.schedule.strength > 0
        self.program = write(
            units, network, spec.sizes, spec.batch_size, regularized=regularized, keep=keep, small=small
        )
        for layer, module in zip(self.program.layers, network, strict=True):
            known = {view.data.name for view in layer.parameters}
            for name, parameter in module.named_parameters() if spec.model.penalties else ():
                if parameter.requires_grad and name not in known:
                    raise Untraceable(f"{layer.name} has a parameter {name} that only a penalty trains")
        self.updates = Updates(self.program, spec.first_order, spec.model.penalties)

    @property
    def keeps(self) -> bool:
        """Whether something is kept that could be computed again."""
        return any(node.args for node in self.program.planes)

    @property
    def kinds(self) -> int:
        """Reductions over the inputs per output."""
        return 1 if self.program.small else max(1, sum("o" in node.axes for node in self.program.reductions))

    def text(self) -> list[str]:
        """Return the functions, in the order in which they need each other."""
        program, unit = self.program, self.program.first.unit
        if program.small:
            lines = input_functions() + training_function(program) + judging_function(program)
            return lines + self.updates.text
        lines = reduction_functions(program, unit.training, "Training")
        if unit.evaluation is unit.training:
            lines.append("using JudgingSums = TrainingSums;")
        else:
            lines += reduction_functions(program, unit.evaluation, "Judging")
        lines += gradient_functions(program) + training_function(program) + judging_function(program)
        return lines + self.updates.text


def _plan(spec: Spec, limits: Limits, code: _Code, tile: int, split: int) -> KernelPlan:
    sizes, program, updates = spec.sizes, code.program, code.updates
    columns = -(-sizes[0] // 4)
    threads = 32 if program.small else tile * split
    tiles = -(-spec.batch_size // tile)
    sums = sizes[1] * code.kinds
    each = tile // 32 if program.small else 1 if sums <= LIGHT else 2
    sharing = split if program.small else split * each
    # Each part of a tile leaves its sums in the rows of its own observations, if they are enough for them.
    parts, left = threads // columns, sum(sizes[1] if "o" in node.axes else 1 for node in program.first.gathered)
    spread = not program.small and sums <= FEW_SUMS and 1 <= parts <= MOST_PARTS and tile // parts >= left
    if not spread:
        parts = max(parts for parts in (4, 8, 16, 32) if parts == 4 or columns * parts <= threads)
    whole = sizes[0] <= threads if spread else columns * parts <= threads
    in_registers = whole and 0 < updates.owned_count <= MAX_OWNED
    shared_from = updates.owned_parameters if in_registers else 0
    near = range_kind(spec) == "UNIT" and any(map(is_near_log, walk([program.first.unit.training])))
    logs = near and not program.small
    # Sums that are kept: all, those of observations, which come last, or none.
    kept_from = 0 if updates.staged or (tiles > 1 and not spread) else program.gathered if tiles > 1 else program.sums
    kept = (updates.places.used if updates.staged else program.sums) - kept_from

    memory = Allocator()
    at = {
        "BATCH": memory.take(4 * (columns | 1) * tile * len(program.planes), 4),
        "DELTAS": memory.take(program.row_pitch * tile, 4),
        "WEIGHTS": memory.take(program.stored, 4),
        "PARAMETERS": memory.take(program.parameters + program.constants, 4),
        "FIRST": memory.take(program.parameters - shared_from, 4),
        "SECOND": memory.take(program.parameters - shared_from, 4),
        "GRADIENTS": memory.take(kept, 4),
        "PARTIAL": memory.take(threads // 32 * program.terms, 4),
        "LOGS": memory.take(64 if logs else 0, 4),
        "ZEROS": memory.take(threads // 32 * program.zero_count, 4),
        "SCRATCH": memory.take(threads // 32 * 2, 4),
    }
    shared_bytes = -(-memory.used // 4) * 16
    by_shared = limits.shared_per_multiprocessor // (shared_bytes + limits.reserved_shared)
    resident = max(1, min(by_shared, (32 * RESIDENT_WARPS if program.small else 512) // threads))
    crossed = program.small or any("o" not in node.axes for node in program.first.gathered)
    constants = {
        "INPUTS": sizes[0], "COLUMNS": columns, "OUT": sizes[1], "OUTPUTS": sizes[-1],
        "BATCH": spec.batch_size, "TILE": tile, "TILES": tiles, "PARTS": parts, "THREADS": threads,
        "SPLIT": sharing,
        "ROW_ALIGN": program.row_align, "ROW_PITCH": program.row_pitch,
        "EACH": each,
        "RESIDENT": resident, "PARAMETERS": program.parameters, "CONSTANTS": program.constants,
        "STORED": program.stored, "GATHERED": program.gathered, "TERMS": program.terms, "KEPT_FROM": kept_from,
        "ZERO_COUNT": program.zero_count,
        "OWNED": updates.owned_count if in_registers else 0, "SHARED_FROM": shared_from,
        "UNROLL": _unrolled(columns, sharing, 8 if each == 1 else 3 if sums <= FEW_SUMS else 2 if sums <= 32 else 1),
        "GATHER_UNROLL": _divisor(tile // parts) if spread else 4,
        "CHAINS": 2 if sums <= 16 else 1,  # of an input's sum: one alone is faster, and less exact than torch
        "OUT_TILE": sizes[1] if sums <= FEW_SUMS or crossed else 32 if code.kinds == 1 else 8,
        "OPERATION": operation(spec),
        "PENALTIES": len(spec.model.penalties), **{f"{name}_AT": place for name, place in at.items()},
    }  # fmt: skip
    flags = {
        "SPREAD": spread,
        "LOGS": logs,
        "GATED": program.last.unit.gate is not None,
        "WEIGHED": any(layer.unit.weights is not None for layer in program.layers),
        "STAGED": bool(updates.staged),
        "RMSPROP": isinstance(spec.optimizer, RMSprop),
        "SCALED_LOSS": spec.first_order.scale_loss,
    }
    lengths = subset_lengths(spec)
    lines = [
        f"#define SMALL {int(program.small)}",
        declarations(),
        *(f"constexpr int {name} = {value};" for name, value in constants.items()),
        *(f"constexpr bool {name} = {str(value).lower()};" for name, value in flags.items()),
        f"constexpr float PULLED = {literal(PULLED)}, NORM_EPSILON = {literal(NORM_EPSILON)};",
        f"constexpr int RANGE = {range_kind(spec)}, SUBSETS = {len(lengths)};",
        f"__device__ constexpr int subset_length(int k) {{ return {_choose(lengths)}; }}",
        '#include "state.cuh"',
        "",
        *code.text(),
        '#include "kernel.cu"',
    ]
    return KernelPlan(
        "\n".join(lines) + "\n",
        threads,
        shared_bytes,
        resident,
        program.parameters,
        program.constants,
        columns,
        _cost(spec, code),
    )


def _cost(spec: Spec, code: _Code) -> float:
    """Return the relative work of an iteration, by the operations on each input."""
    nodes = [node for node in walk([code.program.first.unit.training]) if {"b", "i"} <= {*node.axes} and node.args]
    work = sum((40 if node.op in EXPENSIVE else 2) * (spec.sizes[1] if "o" in node.axes else 1) for node in nodes)
    return spec.batch_size * spec.sizes[0] * (16.0 + work)


def _unrolled(columns: int, sharing: int, most: int) -> int:
    """Return how many groups of inputs a thread reduces at a time, up to the most.

    The threads that share observations have `columns / sharing` groups, rounded up or down; the rest that a number
    leaves is reduced one by one. A warp goes through the loops of its longest threads, and a round costs about half as
    much as a group.
    """
    lengths = {columns // sharing, -(-columns // sharing)}

    def cost(ways: int) -> int:
        rounds, rest = (max(divmod(length, ways)[k] for length in lengths) for k in (0, 1))
        return 2 * (ways * rounds + rest) + rounds + rest

    return min(range(most, 0, -1), key=cost)


def _divisor(length: int) -> int:
    """Observations of a part at a time: as many as leave no rest."""
    return next((ways for ways in (8, 7, 6, 5) if length % ways == 0), 4)


def subset_lengths(spec: Spec) -> list[int]:
    """Return the number of inputs in each subset, the same for all seeds; rows of data have none."""
    draws = spec.task.draws(0)
    return [stop - start for start, stop in draws.subsets] if isinstance(draws, UniformDraws) else [0]


def operation(spec: Spec) -> int:
    """Return the number of the task's operation; rows of data have none."""
    draws = spec.task.draws(0)
    return list(OPERATIONS).index(draws.operation) if isinstance(draws, UniformDraws) else 0


def range_kind(spec: Spec) -> str:
    """Return the way in which training inputs are made from random words."""
    draws = spec.task.draws(0)
    if not isinstance(draws, UniformDraws):
        return "ROWS"
    if len(draws.interpolation) == 2:
        return "TWO_PARTS"
    (width,), (low,) = range_constants(draws.interpolation)
    if float(width) == 1.0 and float(low) == 1.0:
        return "UNIT"
    # fma(width, 1 + u, low - width) rounds the same number once if low - width is exact.
    return "SHIFTED" if np.float64(low) - np.float64(width) == np.float32(low - width) else "SCALED"


def range_constants(range_: Range) -> tuple[list[np.float32], list[np.float32]]:
    """Widths and lower ends of the parts of a range, as float32 has them."""
    low = [np.float32(part[0]) for part in range_]
    return [np.float32(part[1]) - start for part, start in zip(range_, low, strict=True)], low


def _choose(values: list[int]) -> str:
    head = "".join(f"k == {k} ? {value} : " for k, value in enumerate(values[:-1]))
    return f"{head}{values[-1]}"
