"""Network of parts as a program: the calls of compiled functions, line by line, and their arrays.

The lines depend on the parts alone, the arrays on the sizes too. So one kernel serves all sizes of a network.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...nn._parts import Clamp, ExpLog, Free, Gate, Leaf, Parts, Product, Sigmoid, Sum
from . import activations, aggregations, maps
from ._compile import LANES, WIDTH

RELU_HIGHEST = {"relu": "inf", "relu6": "6.0"}


@dataclass
class LoopProgram:
    """Steps of a kernel for a network.

    Args:
        weigh: before a batch: effective weights of the parameters, gradients of the weights set to 0.
        forward: for a block: from `x` to `y`.
        backward: for a block: adds the gradient of the block, from `dy`, to those of the weights.
        gradient: after a batch: the gradient of the weights, and then of the parameters.
        regularize: adds that of the sparsity regularizer.
        project: after a step.
        sparsity: the effective weight matrices.
        gate: the gate of the last layer, if it has one.
        parameters: sizes of the parameters by name, in order; each has a gradient, `g_` for `p_`.
        shapes: of all other arrays by name; `[o i]` or `[rows, lanes]`.
        functions: those that are called, by name.
    """

    weigh: list[str] = field(default_factory=list)
    forward: list[str] = field(default_factory=list)
    backward: list[str] = field(default_factory=list)
    gradient: list[str] = field(default_factory=list)
    regularize: list[str] = field(default_factory=list)
    project: list[str] = field(default_factory=list)
    sparsity: list[str] = field(default_factory=list)
    gate: str | None = None
    parameters: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def call(self, function: Callable[..., Any], *arguments: str) -> str:
        """Return the line that calls a function."""
        self.functions[function.__name__] = function
        return f"{function.__name__}({', '.join(arguments)})"

    def array(self, name: str, *shape: int) -> str:
        """Add an array."""
        self.shapes[name] = shape
        return name

    def weight_gradient(self, name: str, dz: str, x: str, dw: str, size: int) -> None:
        """Add sums of dz x to the gradient of weights, in parts that are summed once per batch."""
        parts = self.array(f"{name}_parts", size, WIDTH)
        halves = self.array(f"{name}_halves", size * WIDTH // 2)
        self.weigh.append(self.call(aggregations.clear_parts, parts))
        self.backward.append(self.call(aggregations.add_weight_gradient, dz, x, parts))
        self.gradient.insert(0, self.call(aggregations.fold, parts, halves, dw))

    def parameter(self, name: str, size: int) -> tuple[str, str]:
        """Add a parameter and its gradient."""
        self.parameters[f"p_{name}"] = size
        return f"p_{name}", f"g_{name}"


@dataclass(frozen=True)
class Site:
    """Position of a layer or leaf: its sizes, and the names of its arrays."""

    name: str
    i: int
    o: int
    x: str
    z: str
    dz: str
    dx: str | None


def write(parts: Sequence[Parts], sizes: Sequence[int]) -> LoopProgram:
    """Return the program of a network.

    Args:
        parts: of its layers, from input to output.
        sizes: widths of the input, between the layers, and of the output.
    """
    program = LoopProgram()
    last = len(parts) - 1
    backward: list[str] = []
    for k, part in enumerate(parts):
        x, dx = ("x", None) if k == 0 else (f"z{k - 1}", f"dz{k - 1}")
        z, dz = ("y", "dy") if k == last else (f"z{k}", f"dz{k}")
        for name in (z, dz):
            program.array(name, sizes[k + 1], LANES)
        program.backward, program.gate = [program.call(aggregations.clear, dx)] if dx else [], None
        _layer(program, part, Site(f"layer{k}", sizes[k], sizes[k + 1], x, z, dz, dx))
        backward = program.backward + backward
    program.backward = backward
    return program


def _layer(program: LoopProgram, parts: Parts, at: Site) -> None:
    if isinstance(parts, Leaf):
        w = _weights(program, parts, at.name, at.i, at.o)
        _leaf(program, parts, at, *w)
    else:
        _gate(program, parts, at)


def _weights(program: LoopProgram, leaf: Leaf, name: str, i: int, o: int) -> tuple[str, str, str, str]:
    """Names of the effective weights, of the bias, and of their gradients."""
    size = i * o
    w, dw = program.array(f"{name}_w", size), program.array(f"{name}_dw", size)
    p, g = program.parameter(f"{name}_w", size)
    call, clamp = program.call, leaf.map
    if isinstance(clamp, Clamp):
        limits = f"float32({clamp.low})", f"float32({clamp.high})"
        if clamp.project:
            program.project.append(call(maps.project, p, *limits))
    if isinstance(clamp, Clamp) and clamp.clip:
        program.weigh.append(call(maps.clip, p, *limits, w))
        program.gradient.append(call(maps.clip_gradient, p, *limits, dw, g))
    elif isinstance(clamp, Clamp | Free):
        program.weigh.append(call(maps.copy, p, w))
        program.gradient.append(call(maps.copy, dw, g))
    elif isinstance(clamp, Sigmoid):
        program.weigh.append(call(maps.sigmoid_weight, p, w))
        program.gradient.append(call(maps.sigmoid_weight_gradient, w, dw, g))
    else:
        m, g_m = program.parameter(f"{name}_m", size)
        tanh, sigmoid = program.array(f"{name}_tanh", size), program.array(f"{name}_sigmoid", size)
        program.weigh.append(call(maps.tanh_sigmoid_weight, p, m, tanh, sigmoid, w))
        program.gradient.append(call(maps.tanh_sigmoid_weight_gradient, tanh, sigmoid, dw, g, g_m))
    if leaf.sparsity != "none":
        signed = str(leaf.sparsity == "signed")
        program.regularize.append(call(maps.add_sparsity_gradient, p, signed, "strength", g))
    program.weigh.append(call(maps.zero, dw))
    program.sparsity.append(w)
    if not leaf.bias:
        return w, dw, "", ""
    bias, g_bias = program.parameter(f"{name}_bias", o)
    d_bias = program.array(f"{name}_d_bias", o)
    program.weigh.append(call(maps.zero, d_bias))
    program.gradient.append(call(maps.copy, d_bias, g_bias))
    return w, dw, bias, d_bias


def _leaf(program: LoopProgram, leaf: Leaf, at: Site, w: str, dw: str, bias: str, d_bias: str) -> None:
    """Aggregation, bias and activation. An exp-log keeps its own value where bias or activation change it."""
    call, array, forward, backward = program.call, program.array, program.forward, program.backward
    a, da = at.z, at.dz
    if leaf.activation != "none":
        da = array(f"{at.name}_da", at.o, LANES)
        backward.append(call(activations.relu_gradient, at.z, f"float32({RELU_HIGHEST[leaf.activation]})", at.dz, da))
    if leaf.bias:
        backward.append(call(activations.add_bias_gradient, da, d_bias))
    if isinstance(leaf.aggregation, ExpLog) and (leaf.bias or leaf.activation != "none"):
        a = array(f"{at.name}_a", at.o, LANES)
    _aggregate(program, leaf, at, w, dw, a, da)
    if a != at.z:
        forward.append(call(aggregations.copy_outputs, a, at.z))
    if leaf.bias:
        forward.append(call(activations.add_bias, bias, at.z))
    if leaf.activation != "none":
        forward.append(call(activations.relu, at.z, f"float32({RELU_HIGHEST[leaf.activation]})"))


def _aggregate(program: LoopProgram, leaf: Leaf, at: Site, w: str, dw: str, a: str, da: str) -> None:
    """From x to a, and from da to dw and dx."""
    call, array, forward, backward = program.call, program.array, program.forward, program.backward
    if isinstance(leaf.aggregation, Sum):
        forward.append(call(aggregations.weighted_sum, w, at.x, a))
        program.weight_gradient(at.name, da, at.x, dw, at.i * at.o)
        if at.dx:
            backward.append(call(aggregations.add_input_gradient, w, da, at.dx))
        return
    rows, outs = array(f"{at.name}_rows", at.i, LANES), array(f"{at.name}_outs", at.o, LANES)
    if isinstance(leaf.aggregation, Product):
        forward.append(call(aggregations.product, w, at.x, a))
        dx = at.dx or array(f"{at.name}_no_dx", 0, LANES)
        backward.append(call(aggregations.add_product_gradients, w, at.x, da, rows, outs, dw, dx))
        return
    forward += [
        call(aggregations.log_inputs, at.x, rows),
        call(aggregations.weighted_sum, w, rows, a),
        call(aggregations.exp_outputs, a),
    ]
    backward.append(call(aggregations.exp_gradient, a, da, outs))
    program.weight_gradient(at.name, outs, rows, dw, at.i * at.o)
    if at.dx:
        backward += [
            call(aggregations.clear, rows),
            call(aggregations.add_input_gradient, w, outs, rows),
            call(aggregations.add_log_gradient, at.x, rows, at.dx),
        ]


def _gate(program: LoopProgram, gate: Gate, at: Site) -> None:
    call, name = program.call, at.name
    names = ("z_add", "z_mul", "gate", "dz_add", "dz_mul", "d_gate")
    z_add, z_mul, g, dz_add, dz_mul, dg = (program.array(f"{name}_{key}", at.o, LANES) for key in names)
    add = Site(f"{name}_add", at.i, at.o, at.x, z_add, dz_add, at.dx)
    mul = Site(f"{name}_mul", at.i, at.o, at.x, z_mul, dz_mul, at.dx)
    program.backward.append(call(activations.mix_gradient, z_add, z_mul, g, at.dz, dz_add, dz_mul, dg))
    w_add = _weights(program, gate.add, add.name, at.i, at.o)
    w_mul = w_add if gate.shared else _weights(program, gate.mul, mul.name, at.i, at.o)
    _leaf(program, gate.add, add, *w_add)
    _leaf(program, replace(gate.mul, bias=gate.add.bias) if gate.shared else gate.mul, mul, *w_mul)
    w, g_w = program.parameter(f"{name}_gate", at.i * at.o)
    dw = program.array(f"{name}_gate_dw", at.i * at.o)
    program.weigh.append(call(maps.zero, dw))
    program.gradient.append(call(maps.copy, dw, g_w))
    program.forward += [
        call(aggregations.weighted_sum, w, at.x, g),
        call(activations.mix, z_add, z_mul, g, at.z),
    ]
    program.weight_gradient(f"{name}_gate", dg, at.x, dw, at.i * at.o)
    if at.dx:
        program.backward.append(call(aggregations.add_input_gradient, w, dg, at.dx))
    program.gate = g
