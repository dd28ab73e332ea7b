"""Network of traced units as a program of Numba: generated functions, their calls, and their arrays.

Functions and calls depend on the units alone, the arrays on the sizes too. So one kernel serves all sizes of a network.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from torch import nn

from ..trace import UnitProgram
from ..trace.derive import gradients
from ..trace.forward import Draw
from ..trace.program import INPUT, SEED, STRENGTH, Term, apply, walk
from . import sums, weights
from ._compile import LANES, WIDTH
from .loops import Nest, write_nest
from .schedule import BACKWARD, FORWARD, GRADIENT, WEIGH, Gradients, MatrixProduct, Schedule, schedule


@dataclass(frozen=True)
class Noise:
    """Noise of a layer: the call of `arithmos.nn.noise` in an iteration, its columns and its range."""

    call: int
    columns: int
    draw: Draw


@dataclass(frozen=True)
class Buffer:
    """Buffer of a layer, which stays as it is: the layer's number, its name and its size."""

    layer: int
    name: str
    size: int


@dataclass
class LoopProgram:
    """Steps of a kernel for a network.

    Args:
        functions: text of the generated functions.
        names: hand-written functions that are called, by name.
        weigh: before a batch: values that depend on parameters alone; sums over the batch set to 0.
        forward: for a block: from `x` to `y`.
        backward: for a block: adds the gradient of the block, from `dy`, to sums over the batch.
        gradient: after a batch: the gradient of the parameters.
        regularize: adds that of the sparsity regularizer.
        project: after a step.
        judge_weights: before a record, `weigh` in evaluation mode; empty if that is the same.
        judge: `forward` in evaluation mode; empty if that is the same.
        sparsity: arrays of the effective weights; None if no unit declares them.
        gate: array of the gate of the last layer, if it has one.
        parameters: sizes of the parameters by name, in order; each has a gradient, `g_` for `p_`.
        buffers: arrays of buffers.
        noises: arrays of noise.
        shapes: of all other arrays by name.
        sizes: widths of the input, between the layers, and of the output.
    """

    sizes: Sequence[int]
    functions: list[str] = field(default_factory=list)
    names: dict[str, Callable[..., Any]] = field(default_factory=dict)
    weigh: list[str] = field(default_factory=list)
    forward: list[str] = field(default_factory=list)
    backward: list[str] = field(default_factory=list)
    gradient: list[str] = field(default_factory=list)
    regularize: list[str] = field(default_factory=list)
    project: list[str] = field(default_factory=list)
    judge_weights: list[str] = field(default_factory=list)
    judge: list[str] = field(default_factory=list)
    sparsity: list[str] | None = None
    gate: str | None = None
    parameters: dict[str, int] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    noises: dict[str, Noise] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def call(self, function: Callable[..., Any], *arguments: str) -> str:
        """Return the line that calls a hand-written function."""
        self.names[function.__name__] = function
        return f"{function.__name__}({', '.join(arguments)})"


def write(units: Sequence[UnitProgram], network: nn.Sequential, sizes: Sequence[int]) -> LoopProgram:
    """Return the program of a network.

    Args:
        units: programs of its layers, from input to output.
        network: the network, for the shapes of its parameters.
        sizes: widths of the input, between the layers, and of the output.
    """
    program = LoopProgram(sizes)
    layers = [
        _Layer(program, number, unit, layer, last=number == len(units) - 1)
        for number, (unit, layer) in enumerate(zip(units, network, strict=True))
    ]
    for layer in layers:
        layer.declare()
    differs = any(unit.training is not unit.evaluation for unit in units)
    for layer in layers:
        layer.train(judged=not differs)
        if differs:
            layer.judge()
    if any(callable(getattr(layer, "weights", None)) for layer in network):
        program.sparsity = [array for layer in layers for array in layer.judged_weights]
    program.gate = layers[-1].gate
    return program


class _Layer:
    """Layer of a network, which adds its part to the program."""

    def __init__(self, program: LoopProgram, number: int, unit: UnitProgram, module: nn.Module, *, last: bool) -> None:
        self.program, self.number, self.unit, self.module = program, number, unit, module
        self.name = f"layer{number}"
        self.o, self.i = program.sizes[number + 1], program.sizes[number]
        self.z, self.dz = ("y", "dy") if last else (f"z{number}", f"dz{number}")
        self.x, self.dx = ("x", "") if number == 0 else (f"z{number - 1}", f"dz{number - 1}")
        self.leaves: dict[Term, str] = {INPUT: self.x, SEED: self.dz}
        self.judged_weights: list[str] = []
        self.gate: str | None = None

    def shape(self, axes: str) -> tuple[int, ...]:
        """Return the shape of an array with these axes."""
        counts = {"o": self.o, "i": self.i}
        flat = prod(counts[axis] for axis in axes if axis != "b")
        return (flat,) if "b" not in axes else (LANES,) if axes == "b" else (flat, LANES)

    def declare(self) -> None:
        """Add parameters, buffers, noise, outputs and their adjoints."""
        program, unit = self.program, self.unit
        arrays = {}
        for name, value in self.module.named_parameters():
            arrays["parameter", name] = f"p_{self.name}_{_plain(name)}"
            program.parameters[arrays["parameter", name]] = value.numel()
        for name, buffer in self.module.named_buffers():
            arrays["buffer", name] = f"c_{self.name}_{_plain(name)}"
            program.buffers[arrays["buffer", name]] = Buffer(self.number, name, buffer.numel())
        calls = len(program.noises)
        for k, draw in enumerate(unit.draws):
            columns = self.i if draw.axis == "i" else self.o
            program.noises[f"{self.name}_noise{k}"] = Noise(calls + k, columns, draw)
        for node in walk([unit.training, unit.evaluation, unit.sparsity, *(unit.weights or ()), unit.gate or SEED]):
            if node.op in ("parameter", "buffer"):
                self.leaves[node] = arrays[node.op, node.data.name]
            elif node.op == "noise":
                self.leaves[node] = f"{self.name}_noise{node.data}"
        for array in (self.z, self.dz):
            program.shapes[array] = (self.o, LANES)

    def train(self, *, judged: bool) -> None:
        """Add everything of training mode; with `judged`, gate and weights too."""
        unit, program = self.unit, self.program
        wanted = [node for node in self.leaves if node.op == "parameter"]
        found = gradients({unit.training: SEED}, [*wanted, *([INPUT] if self.dx else [])])
        dx = found.pop(INPUT, None)
        targets = [(node.data, f"g{self.leaves[node][1:]}", value) for node, value in found.items()]
        given = {unit.training: self.z}
        if dx is not None:
            dx = dx if dx.axes == "bi" and not dx.leaf else _full(dx)
            given[dx] = self.dx
        roots = [*given, *(self._judged() if judged else [])]
        made = schedule(self.name, roots, Gradients(targets))
        names = self._arrays(made, given, self.name)
        backward = [] if dx is not None or not self.dx else [program.call(sums.clear, self.dx)]
        lines = self._lines(made, names)
        program.weigh += lines[WEIGH]
        program.forward += lines[FORWARD]
        program.backward[:0] = backward + lines[BACKWARD]
        program.gradient += lines[GRADIENT]
        if judged:
            self._judge(names)
        self._regularize(wanted)
        for name, (low, high) in unit.bounds.items():
            array = f"p_{self.name}_{_plain(name)}"
            program.project.append(program.call(weights.project, array, f"float32({low!r})", f"float32({high!r})"))

    def judge(self) -> None:
        """Add what evaluation mode computes otherwise."""
        given = {self.unit.evaluation: self.z}
        made = schedule(f"{self.name}_judge", [*given, *self._judged()])
        names = self._arrays(made, given, f"{self.name}_judge")
        lines = self._lines(made, names)
        self.program.judge_weights += lines[WEIGH]
        self.program.judge += lines[FORWARD]
        self._judge(names)

    def _judged(self) -> list[Term]:
        weights = [_stored(node) for node in self.unit.weights or ()]
        return [*weights, *([] if self.unit.gate is None else [self.unit.gate])]

    def _judge(self, names: Mapping[Term, str]) -> None:
        self.judged_weights = [names[_stored(node)] for node in self.unit.weights or ()]
        self.gate = None if self.unit.gate is None else names[self.unit.gate]

    def _regularize(self, wanted: Sequence[Term]) -> None:
        found = gradients({self.unit.sparsity: STRENGTH}, wanted)
        targets = [(node.data, f"g{self.leaves[node][1:]}", value) for node, value in found.items()]
        made = schedule(f"{self.name}_sparsity", [], Gradients(targets, added=True))
        lines = self._lines(made, self._arrays(made, {}, f"{self.name}_sparsity"))
        self.program.regularize += [line for phase in sorted(lines) for line in lines[phase]]

    def _arrays(self, made: Schedule, given: Mapping[Term, str], prefix: str) -> dict[Term, str]:
        """Return the arrays of all nodes that are stored, and add the new ones."""
        names = {**self.leaves, **given}
        kept = [node for steps in made.steps.values() for step in steps for node in _results(step) if node in made.kept]
        for node in kept:
            if node not in names:
                names[node] = f"{prefix}_{node.op}{len(names)}"
                self.program.shapes[names[node]] = self.shape(node.axes)
        return names

    def _lines(self, made: Schedule, names: Mapping[Term, str]) -> dict[int, list[str]]:
        """Return the calls of each phase, and add the functions."""
        lines: dict[int, list[str]] = {phase: [] for phase in (WEIGH, FORWARD, BACKWARD, GRADIENT)}
        for phase, steps in made.steps.items():
            for step in steps:
                if isinstance(step, MatrixProduct):
                    self._product(step, names, lines, phase)
                else:
                    lines[phase].append(self._nest(step, names))
                    summed = [node for node in step.reductions if "b" in node.data]
                    lines[WEIGH] += [self.program.call(sums.clear, names[node]) for node in summed]
        return lines

    def _nest(self, nest: Nest, names: Mapping[Term, str]) -> str:
        made = write_nest(nest, names)
        self.program.functions.append(made.text)
        for array, axes in made.scratch.items():
            self.program.shapes[array] = self.shape(axes)
        widths = {"n_o": f"n_{self.number + 1}", "n_i": f"n_{self.number}"}
        return f"{nest.name}({', '.join(widths.get(name, name) for name in made.arguments)})"

    def _product(self, step: MatrixProduct, names: Mapping[Term, str], lines: dict[int, list[str]], phase: int) -> None:
        """Add a matrix product: forward, to the inputs, or to the weights, where it is summed in parts."""
        program, result, over = self.program, names[step.node], step.sums[0].data
        factors = [(names[first], names[second]) for first, second in step.factors]
        if over == "i":
            lines[phase].append(program.call(sums.weighted_sum, *factors[0], result))
        elif over == "o":
            lines[phase].append(program.call(sums.input_gradient, *factors[0], result))
        else:
            size = self.o * self.i
            parts = f"{result}_parts"
            program.shapes[parts] = (size, WIDTH)
            for k, pair in enumerate(factors):
                first = "False" if k else "block == 0"
                lines[phase].append(program.call(sums.add_weight_gradient, *pair, first, parts))
            lines[GRADIENT].insert(0, program.call(sums.fold, parts, result))


def _results(step: Nest | MatrixProduct) -> list[Term]:
    return [step.node] if isinstance(step, MatrixProduct) else [*step.nodes, *step.reductions]


def _stored(node: Term) -> Term:
    """Return a node that has an array of its own."""
    return apply("copy", node) if node.op in ("const", "size") else node


def _full(dx: Term) -> Term:
    """Return a gradient of the inputs that is the same for all of them with an element for each."""
    return apply("where", apply("eq", INPUT, INPUT), dx, dx)


def _plain(name: str) -> str:
    return name.replace(".", "_")
