"""From a module to its program: its output in both modes, its weights, gate and regularizer."""

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch._decomp import core_aten_decompositions
from torch.func import functional_call
from torch.fx.experimental.proxy_tensor import make_fx

from ...nn._noise import Source, drawn_from, no_noise
from ...nn._product import plain_products
from ...optim._methods import having
from ..contract import explained
from .operations import OPERATIONS
from .program import INPUT, ZERO, Term, View, apply, const, leaf, ordered
from .values import BATCH, INPUTS, Untraceable, Value, axis_of

_RANDOM = ("rand", "bernoulli", "dropout", "normal", "uniform", "multinomial", "poisson")
_BRANCH = ("_local_scalar_dense", "data-dependent")
"""Phrase in torch's errors about a module that asks for the value of a tensor."""


@dataclass(frozen=True)
class Draw:
    """Call of `arithmos.nn.noise`: the axis of its columns, and its range."""

    axis: str
    low: float
    high: float

    @property
    def width(self) -> float:
        """Width of the range, as float32 has it."""
        return float(np.float32(self.high) - np.float32(self.low))


@dataclass(frozen=True)
class UnitProgram:
    """Program of a unit, for any sizes.

    Args:
        training: output in training mode.
        evaluation: output in evaluation mode.
        gate: gate in evaluation mode; None if it has none.
        weights: effective weights in evaluation mode; None if it declares none.
        sparsity: sparsity loss; the constant 0 if it has none.
        bounds: ranges into which parameters are projected, by name.
        draws: noise that it draws in training mode, in the order of its calls.
    """

    training: Term
    evaluation: Term
    gate: Term | None
    weights: tuple[Term, ...] | None
    sparsity: Term
    bounds: Mapping[str, tuple[float, float]]
    draws: tuple[Draw, ...]


def trace(module: nn.Module) -> UnitProgram:
    """Return the program of a unit that was built with `INPUTS` inputs and `OUTPUTS` outputs.

    Raises:
        Untraceable: an operation of the unit has no place in a program.
    """
    draws: list[Draw] = []
    module.train()
    training = _output(_traced(module, lambda unit, x: unit(x), draws))
    sparsity = _loss(_traced(module, lambda unit, x: [part.sparsity() for part in having(unit, "sparsity")]))
    module.eval()
    evaluation = _output(_traced(module, lambda unit, x: unit(x)))
    gate = None
    if callable(getattr(module, "gate_value", None)):
        gate = _gate(_traced(module, lambda unit, x: unit.gate_value(x)), evaluation)
    weights = None
    if having(module, "weights"):
        found = _traced(
            module, lambda unit, x: [w for part in having(unit, "weights") for w in part.weights().values()]
        )
        weights = tuple(piece for value in found for piece in value.pieces)
    bounds: dict[str, tuple[float, float]] = getattr(module, "bounds", dict)()
    return UnitProgram(training, evaluation, gate, weights, sparsity, bounds, tuple(draws))


def _output(value: Any) -> Term:
    if not isinstance(value, Value):
        raise Untraceable(f"its output is a {type(value).__name__}; it must be a tensor")
    if value.dims != ("b", "o") or value.node.axes != "bo":
        raise Untraceable("its output is not a number for each observation and output")
    return value.node


def _gate(value: Any, output: Term) -> Term:
    """Return a gate with a number for each observation and output, even if it depends on the output alone."""
    if not isinstance(value, Value) or value.dims != ("b", "o"):
        raise Untraceable("gate_value() does not return a number for each observation and output")
    node = value.node
    return node if node.axes == "bo" else apply("where", apply("eq", output, output), node, node)


def _loss(terms: list[Any]) -> Term:
    """Return the sum of sparsity losses."""
    total: Term = ZERO
    for term in terms:
        if not isinstance(term, Value) or any(term.dims):
            raise Untraceable("sparsity() does not return a single number")
        total = apply("add", total, term.node)
    return total


class _Call(nn.Module):
    """Function of a module and its input, as a module, so that its parameters can be replaced."""

    def __init__(self, unit: nn.Module, function: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.unit, self.function = unit, function
        self.training = unit.training

    def forward(self, x: Tensor) -> Any:
        return self.function(self.unit, x)


def _traced(module: nn.Module, function: Callable[[Any, Tensor], Any], draws: list[Draw] | None = None) -> Any:
    """Return the value, or values, of a function of a module and its input; the noise it draws is added to `draws`."""
    call = _Call(module, function)
    state = {name: value.detach() for name, value in (*call.named_parameters(), *call.named_buffers())}
    buffers = {name for name, _ in call.named_buffers()}
    x = torch.linspace(0.5, 1.5, BATCH * INPUTS).view(BATCH, INPUTS)
    noises: list[Tensor] = []

    def record(like: Tensor, low: float, high: float) -> Tensor:
        noises.append(torch.full(like.shape, (low + high) / 2))
        assert draws is not None
        draws.append(Draw(axis_of(like.shape[-1], like.shape)[0], low, high))
        return noises[-1]

    def run(*tensors: Tensor) -> Any:
        given = iter(tensors[len(state) + 1 :])
        source: Source = no_noise if draws is None else lambda like, low, high: next(given)
        with drawn_from(source):
            return functional_call(call, dict(zip(state, tensors, strict=False)), (tensors[len(state)],))

    with _explained(), torch.no_grad(), plain_products():
        if draws is not None:
            with drawn_from(record):
                call(x)
        graph = make_fx(run, decomposition_table=_decompositions())(*state.values(), x, *noises)
    leaves: list[Any] = [
        _state("buffer" if name in buffers else "parameter", name.removeprefix("unit."), value.shape)
        for name, value in state.items()
    ]
    leaves.append(Value(("b", "i"), (INPUT,)))
    for number, draw in enumerate(draws or ()):
        leaves.append(Value(("b", draw.axis), (leaf("noise", number, ordered("b" + draw.axis)),)))
    return _interpreted(graph, leaves)


@lru_cache(maxsize=1)
def _decompositions() -> dict[Any, Any]:
    """Return torch's rules for operations that are not in `OPERATIONS`, in terms of simpler ones."""
    rules: dict[Any, Any] = dict(core_aten_decompositions())
    return {target: rule for target, rule in rules.items() if _name(target) not in OPERATIONS}


@contextmanager
def _explained() -> Iterator[None]:
    """Turn an error of torch, or of the unit, into `Untraceable`."""
    try:
        yield
    except Untraceable:
        raise
    except Exception as error:
        if any(phrase in str(error) for phrase in _BRANCH):
            raise Untraceable("it branches on the values of its inputs or parameters") from error
        raise Untraceable(explained(error)) from error


def _state(kind: str, name: str, shape: torch.Size) -> Value | Untraceable:
    """Return a parameter or buffer, or, if no axes fit its shape, the error that its use is."""
    try:
        found = [axis_of(length, shape) for length in shape]
    except Untraceable as error:
        return error
    dims = tuple(axis for axis, _ in found)
    own = [axis for axis in dims if axis]
    if len(set(own)) < len(own) or "b" in own:
        return Untraceable(f"its {kind} {name} has an axis twice, or that of the batch")
    pieces = max([1, *(count for _, count in found)])
    nodes = []
    for piece in range(pieces):
        view = View(name, dims, piece, pieces)
        node = leaf(kind, view, ordered(own))
        nodes.append(node if view.natural else apply("copy", node))
    return Value(dims, tuple(nodes))


def _interpreted(graph: fx.GraphModule, leaves: list[Any]) -> Any:
    """Return the program of a traced graph's result."""
    values: dict[fx.Node, Any] = {}
    given = iter(leaves)

    def of(node: fx.Node) -> Any:
        value = values[node]
        if isinstance(value, Untraceable):
            raise value
        return value

    for node in graph.graph.nodes:
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "get_attr":
            values[node] = _constant(getattr(graph, node.target))
        elif node.op == "output":
            return fx.map_arg(node.args[0], of)
        elif node.target is operator.getitem:
            values[node] = of(node.args[0])[node.args[1]]
        else:
            name = _name(node.target)
            if any(word in name for word in _RANDOM):
                raise Untraceable("it draws random numbers from torch; let it use arithmos.nn.noise")
            if name.startswith("empty"):
                values[node] = Untraceable("a tensor that is not initialized")
                continue
            args, kwargs = fx.map_arg(node.args, of), fx.map_arg(node.kwargs, of)
            values[node] = _applied(name.removesuffix("_"), args, kwargs)
            if name.endswith("_"):
                if node.args[0].op == "placeholder":
                    raise Untraceable("it changes a parameter, a buffer or its input")
                values[node.args[0]] = values[node]
    raise AssertionError("a graph ends with its output")


def _applied(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name not in OPERATIONS:
        raise Untraceable(f"the operation {name} is neither elementwise nor a sum or product over the inputs")
    try:
        return OPERATIONS[name](*args, **kwargs)
    except Untraceable as error:
        raise Untraceable(f"{name}: {error}") from None
    except TypeError as error:
        raise Untraceable(f"the operation {name} with such arguments") from error


def _name(target: Any) -> str:
    packet = getattr(target, "overloadpacket", target)
    return str(getattr(packet, "__name__", packet))


def _constant(tensor: Any) -> Value | Untraceable:
    if isinstance(tensor, Tensor) and tensor.numel() == 1:
        return Value(("",) * tensor.dim(), (const(float(tensor)),))
    return Untraceable("a tensor that is neither a parameter nor a buffer; register it as a buffer")
