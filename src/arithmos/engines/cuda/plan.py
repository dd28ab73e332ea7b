"""Plan of a spec's kernel: sizes, parts, and the layout of shared memory."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...nn._parts import Clamp, ExpLog, Gate, Leaf, Parts, Product, TanhSigmoid
from ...spec import Spec
from ...tasks import UniformDraws
from ...tasks.arithmetic import Range
from .names import ACTIVATIONS, AGGREGATIONS, MAPS, SPARSITIES, declarations

MAX_OWNED = 16
"""Moments of first-layer weights that a thread keeps in registers, of each kind; more are in shared memory."""

BUSY = 384
"""Smallest number of threads that keeps a multiprocessor busy while others wait."""


@dataclass(frozen=True)
class Limits:
    """Limits of a GPU for a kernel."""

    shared_per_block: int
    shared_per_multiprocessor: int
    multiprocessors: int
    threads_per_multiprocessor: int = 2048
    reserved_shared: int = 1024


@dataclass(frozen=True)
class KernelPlan:
    """Configuration of a kernel, with what the host must know about it.

    Args:
        source: the configuration as C++ constants; equal sources are equal kernels.
        threads: threads per block.
        shared_bytes: dynamic shared memory of a block.
        resident: blocks that fit on a multiprocessor by shared memory and threads.
        parameters: raw parameters of the network.
        columns: groups of four inputs.
        cost: relative work of an iteration, for deciding what to start first.
    """

    source: str
    threads: int
    shared_bytes: int
    resident: int
    parameters: int
    columns: int
    cost: float


class _Places:
    """Allocator of consecutive positions."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, count: int, align: int = 1) -> int:
        self.used = -(-self.used // align) * align
        self.used += count
        return self.used - count


def make_plan(spec: Spec, limits: Limits, *, tile: int | None = None, split: int | None = None) -> KernelPlan:
    """Return the plan of a spec for a GPU.

    Args:
        spec: spec to train; all of its layers must have parts.
        limits: limits of the GPU.
        tile: observations in shared memory at a time; by default the most that fit.
        split: threads per observation; by default as many as keep the multiprocessor busy.

    Raises:
        ValueError: if the network does not fit into shared memory.
    """
    tiles = [tile] if tile else [size for size in (128, 64, 32) if size < spec.batch_size + 32]
    splits = [split] if split else [1, 2, 4]
    for size in tiles:
        plans = [_plan(spec, limits, size, ways, keep_logs=keep) for keep in (True, False) for ways in splits]
        fitting = [plan for plan in plans if plan.shared_bytes <= limits.shared_per_block]
        if fitting:
            busy = (plan for plan in fitting if plan.resident * plan.threads >= BUSY)
            return next(busy, max(fitting, key=lambda plan: plan.resident * plan.threads))
    need = plans[-1].shared_bytes // 1024
    raise ValueError(
        f"a network of sizes {spec.sizes} needs {need} KiB of shared memory a block even for {tiles[-1]} observations "
        f"at a time, and this GPU has {limits.shared_per_block // 1024} KiB"
    )


def _plan(spec: Spec, limits: Limits, tile: int, split: int, *, keep_logs: bool) -> KernelPlan:
    sizes = spec.sizes
    columns = -(-sizes[0] // 4)
    threads = tile * split
    tiles = -(-spec.batch_size // tile)
    layers = _Layers(spec)
    keep_logs = keep_logs and ExpLog() in layers.first_aggregations
    parts = 1
    while 2 * parts * sizes[0] <= threads and parts < 32 and 2 * parts <= tile // 4:
        parts *= 2
    owned = layers.owned_each * sizes[1]
    in_registers = sizes[0] * parts <= threads and owned <= MAX_OWNED and not layers.gated_bias
    shared_from = layers.first_matrices if in_registers else 0

    memory = _Places()
    at = {
        "BATCH": memory.take(4 * columns * (tile + 4) * (1 + keep_logs), 4),
        "DELTAS": memory.take(layers.deltas * tile, 4),
        "WEIGHTS": memory.take(layers.effective, 4),
        "PARAMETERS": memory.take(layers.parameters, 4),
        "FIRST": memory.take(layers.parameters - shared_from, 4),
        "SECOND": memory.take(layers.parameters - shared_from, 4),
        "GRADIENTS": memory.take(layers.effective + layers.terms if tiles > 1 else 0, 4),
        "PARTIAL": memory.take(threads // 32 * layers.terms, 4),
        "SCRATCH": memory.take(threads // 32 * 2, 4),
    }
    shared_bytes = -(-memory.used // 4) * 16
    by_shared = limits.shared_per_multiprocessor // (shared_bytes + limits.reserved_shared)
    resident = max(1, min(by_shared, 512 // threads))
    sums = sizes[1] * (1 if len(layers.first_aggregations) == 1 else 3)
    constants = {
        "INPUTS": sizes[0], "COLUMNS": columns, "OUTPUTS": sizes[-1], "LAYERS": len(sizes) - 1,
        "BATCH": spec.batch_size, "TILE": tile, "TILES": tiles, "SPLIT": split, "PARTS": parts, "THREADS": threads,
        "RESIDENT": resident, "PARAMETERS": layers.parameters, "EFFECTIVE": layers.effective,
        "WEIGHTS": layers.weights, "TERMS": layers.terms, "OWNED": owned if in_registers else 0,
        "SHARED_FROM": shared_from, "UNROLL": _unroll(columns, split, sums),
        "GATHER_UNROLL": 8 if sums <= 4 else 4 if sums <= 12 else 2,
        **{f"{name}_AT": place for name, place in at.items()},
    }  # fmt: skip
    lengths = subset_lengths(spec)
    lines = [
        declarations(),
        *(f"constexpr int {name} = {value};" for name, value in constants.items()),
        f"constexpr bool KEEP_LOGS = {str(keep_logs).lower()};",
        f"constexpr int RANGE = {range_kind(spec)}, SUBSETS = {len(lengths)};",
        f"__device__ constexpr int subset_length(int k) {{ return {_choose(lengths)}; }}",
        "template <int N> struct Layer;",
        *layers.lines,
        '#include "kernel.cu"',
    ]
    logs = sum(100 if part == ExpLog() else 40 if part == Product() else 4 for part in layers.first_aggregations)
    cost = spec.batch_size * sizes[0] * (16.0 + logs * 0.4 + sizes[1] * 5 * len(layers.first_aggregations))
    return KernelPlan("\n".join(lines) + "\n", threads, shared_bytes, resident, layers.parameters, columns, cost)


def _unroll(columns: int, split: int, sums: int) -> int:
    """Groups of four inputs at a time: as many as leave no rest, if the sums of an observation are few."""
    if sums > 6:
        return 2
    return next((ways for ways in (5, 4, 3) if columns % (split * ways) == 0), 4)


def subset_lengths(spec: Spec) -> list[int]:
    """Return the number of inputs in each subset, the same for all seeds; rows of data have none."""
    draws = spec.task.draws(0)
    return [stop - start for start, stop in draws.subsets] if isinstance(draws, UniformDraws) else [0]


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


class _Layers:
    """Layers as C++ structs, with the offsets of their parameters, effective weights, deltas and gradient terms."""

    def __init__(self, spec: Spec) -> None:
        parameters, weights, gates, terms, deltas = (_Places() for _ in range(5))
        self.lines: list[str] = []
        pairs = list(zip(spec.sizes[:-1], spec.sizes[1:], strict=True))
        parts = [part for part in spec.parts if part is not None]
        for part, (in_features, out_features) in zip(parts, pairs, strict=True):
            for _ in range(_matrices(part)):
                weights.take(out_features * _stride(in_features))
        self.weights = gates.used = weights.used
        weights.used = 0
        for n, (part, (in_features, out_features)) in enumerate(zip(parts, pairs, strict=True)):
            count, stride = in_features * out_features, _stride(in_features)
            tail = n > 0
            leaves = [("Add", part)] if isinstance(part, Leaf) else [("Add", part.add), ("Mul", part.mul)]
            shared = isinstance(part, Gate) and part.shared
            body: list[str] = []
            for name, leaf in leaves:
                if name == "Add" or not shared:
                    w = parameters.take(count)
                    m = parameters.take(count) if isinstance(leaf.map, TanhSigmoid) else w
                    e = weights.take(out_features * stride)
                    term = terms.take(count) if tail else -1
                    b = parameters.take(out_features) if leaf.bias else -1
                    bias_term = terms.take(out_features) if leaf.bias else -1
                rows = out_features * (2 if isinstance(leaf.aggregation, Product) else 1)
                row = -1 if tail else deltas.take(rows)
                places = dict(w=w, m=m, e=e, b=b, term=term, bias_term=bias_term, row=row)
                body.append(_leaf(name, leaf, places))
            if isinstance(part, Leaf):
                body.append("using Mul = Add;")
                gate = dict(gate=-1, gate_e=-1, gate_term=-1, gate_row=-1)
            else:
                gate = dict(
                    gate=parameters.take(count),
                    gate_e=gates.take(out_features * stride),
                    gate_term=terms.take(count) if tail else -1,
                    gate_row=-1 if tail else deltas.take(out_features),
                )
            if n == 0:
                self.first_aggregations = [leaf.aggregation for _, leaf in leaves]
                self.gated_bias = isinstance(part, Gate) and any(leaf.bias for _, leaf in leaves)
                self.owned_each = _raw_matrices(part)
                self.first_matrices = self.owned_each * count
            logs = any(isinstance(leaf.aggregation, ExpLog) for _, leaf in leaves)
            numbers = dict(**{"in": in_features, "out": out_features, "stride": stride}, **gate)
            flags = dict(gated=isinstance(part, Gate), shared=shared, takes_logs=logs)
            self.lines += [f"template <> struct Layer<{n}> {{", *_members(numbers, flags), *body, "};"]
        self.parameters, self.effective, self.terms, self.deltas = parameters.used, gates.used, terms.used, deltas.used


def _stride(in_features: int) -> int:
    return -(-in_features // 4) * 4


def _matrices(part: Parts) -> int:
    return 1 if isinstance(part, Leaf) or part.shared else 2


def _raw_matrices(part: Parts) -> int:
    def of(leaf: Leaf) -> int:
        return 2 if isinstance(leaf.map, TanhSigmoid) else 1

    if isinstance(part, Leaf):
        return of(part)
    return of(part.add) + (0 if part.shared else of(part.mul)) + 1


def _members(numbers: dict[str, int], flags: dict[str, bool]) -> Iterator[str]:
    yield "static constexpr int " + ", ".join(f"{name} = {value}" for name, value in numbers.items()) + ";"
    yield "static constexpr bool " + ", ".join(f"{k} = {str(v).lower()}" for k, v in flags.items()) + ";"


def _leaf(name: str, leaf: Leaf, places: dict[str, int]) -> str:
    kinds = (
        f"map = {MAPS[type(leaf.map)]}, aggregation = {AGGREGATIONS[type(leaf.aggregation)]}, "
        f"activation = {ACTIVATIONS[leaf.activation]}, sparsity = {SPARSITIES[leaf.sparsity]}"
    )
    clamp = leaf.map if isinstance(leaf.map, Clamp) else Clamp(0.0, 0.0, project=False, clip=False)
    flags = dict(bias=leaf.bias, project=clamp.project, clip=clamp.clip)
    low, high = (_literal(value) for value in (clamp.low, clamp.high))
    return "\n".join(
        [
            f"struct {name} {{",
            f"static constexpr int {kinds};",
            *_members(places, flags),
            f"static constexpr float low = {low}, high = {high};",
            "};",
        ]
    )


def _literal(value: float) -> str:
    (exact,) = struct.unpack("f", struct.pack("f", value))
    return f"{exact:.9e}f"
