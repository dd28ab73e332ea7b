"""Training of networks that are the right-hand side of a differential equation, in float64.

A trajectory is hundreds of tiny steps, one after the other, for which torch needs a hundred times as long as its
arithmetic takes. So Numba compiles a loop of its own from the programs of the units: all steps of Euler's method, the
mean squared error, and its gradient backwards through the steps. The network as torch computes it is `nn.Euler`.

Training is that of Heim et al. (2020): RMSprop, then L-BFGS to its end, as one last iteration.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..nn.euler import places
from ..spec import Layer, RMSprop, Spec
from .contract import Floats, State, unit_code
from .networks import Networks
from .trace.derive import gradients
from .trace.program import COMPARISONS, INPUT, LEAVES, SEED, Term, walk
from .trace.units import unit_program
from .trace.values import Untraceable

Doubles = NDArray[np.float64]
Loss = Callable[[Doubles], tuple[float, Doubles]]
"""Function from flat parameters to the error and its gradient."""

MOST_STEPS = 1000
"""Iterations of L-BFGS, at most."""
MEMORY = 10
"""Updates that it remembers."""
FLAT = 1e-8
"""Largest entry of a gradient at which it ends."""
TOO_MUCH = 1e6
"""Multiple of the error at its start beyond which an error is not worth a look."""

_FORMS = {
    **{name: f"np.{name}({{0}})" for name in ("exp", "log", "tanh", "cos", "sin", "sign", "sqrt", "abs", "floor")},
    **{name: f"({{0}} {sign} {{1}})" for name, sign in COMPARISONS.items()},
    **{name: f"({{0}} {sign} {{1}})" for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))},
    "neg": "(-{0})",
    "copy": "{0}",
    "detach": "{0}",
    "where": "({1} if {0} else {2})",
}


_COSTLY = ("sum", "exp", "log", "tanh", "cos", "sin", "sqrt", "div")


class EquationTrainer:
    """Training of a stack of networks, run by run.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        networks: their networks, which have the weights of the runs after every iteration.
    """

    dtype = torch.float32

    def __init__(self, spec: Spec, seeds: Sequence[int], networks: Networks) -> None:
        assert isinstance(spec.optimizer, RMSprop), "a spec checks its optimizer"
        self.spec, self.own, self.networks = spec, spec.optimizer, networks
        with unit_code():
            self.error = error_of(spec)
        self.parameters = np.concatenate(
            [p.detach().double().reshape(len(seeds), -1).numpy() for p in networks.parameters.values()], axis=1
        )
        self.squares = np.zeros_like(self.parameters)
        self.finished = False

    def batch(self, step: int) -> int:
        """Return the step whose batch an iteration has."""
        return 0

    def observe(self, step: int, validation: Floats) -> None:
        """Take no note of records."""

    def loss(self, step: int) -> Loss:
        """Return the function that is minimized in an iteration: the error with its penalties."""
        strength = sum(penalty.at(step) for penalty in self.spec.model.penalties)

        def loss(flat: Doubles) -> tuple[float, Doubles]:
            error, gradient = self.error(flat)
            return error + strength * float(np.abs(flat).sum()), gradient + strength * np.sign(flat)

        return loss

    def advance(self, step: int, x: Tensor, t: Tensor, validation: Floats) -> None:
        """Run one iteration, and give its weights to the networks."""
        own, loss = self.own, self.loss(step)
        if step > own.lbfgs:
            return
        for flat, squares in zip(self.parameters, self.squares, strict=True):
            if step < own.lbfgs:
                gradient = loss(flat)[1]
                squares *= own.alpha
                squares += (1 - own.alpha) * gradient**2
                flat -= own.lr * gradient / (np.sqrt(squares) + own.eps)
            elif np.isfinite(flat).all():
                flat[:] = minimum(loss, flat)
        self.finished = step == own.lbfgs
        self._show()

    @torch.no_grad()
    def _show(self) -> None:
        """Give the weights to the networks."""
        place = 0
        for value in self.networks.parameters.values():
            count = value.numel() // len(self.parameters)
            value.copy_(torch.from_numpy(self.parameters[:, place : place + count]).reshape(value.shape))
            place += count

    def moments(self, name: str) -> list[Tensor]:
        """Return zeros for every parameter: the moments are in float64, in the state."""
        return [torch.zeros_like(value) for value in self.networks.parameters.values()]

    def state(self, run: int) -> State:
        """Return the state of one run."""
        return {"parameters": self.parameters[run].copy(), "squares": self.squares[run].copy()}

    def resume(self, step: int, moments: Mapping[str, Sequence[Tensor]], states: Sequence[State]) -> None:
        """Resume suspended runs, given what `state` returned."""
        for run, state in enumerate(states):
            self.parameters[run], self.squares[run] = state["parameters"], state["squares"]
        self.finished = step > self.own.lbfgs


def minimum(loss: Loss, start: Doubles) -> Doubles:
    """Return the best point that L-BFGS meets from a start.

    A trajectory that leaves the floats has no error; the line search is told a large one, and turns back.
    """
    from scipy.optimize import minimize

    best, found = loss(start)[0], start
    limit = TOO_MUCH * (1 + best)

    def limited(flat: Doubles) -> tuple[float, Doubles]:
        nonlocal best, found
        value, gradient = loss(flat)
        if not (value < limit and np.isfinite(gradient).all()):
            return limit, np.zeros_like(flat)
        if value < best:
            best, found = value, flat.copy()
        return value, gradient

    options: Any = {"maxiter": MOST_STEPS, "maxfun": 10 * MOST_STEPS, "maxcor": MEMORY, "gtol": FLAT, "ftol": 0.0}
    minimize(limited, start.copy(), jac=True, method="L-BFGS-B", options=options)
    return found


def error_of(spec: Spec) -> Loss:
    """Return the mean squared error of a spec's trajectories, with its gradient, as a function of the parameters."""
    x, t = spec.observations.batch(0, 0, 1)
    steps, found = places(spec.task.times, spec.task.dt)
    step, share = np.array([k for k, _ in found]), np.array([part for _, part in found])
    target = t.astype(np.float64).reshape(len(found), -1)
    compiled, sizes = kernel(spec.model.layers), np.array(spec.sizes)

    def error(flat: Doubles) -> tuple[float, Doubles]:
        gradient = np.zeros_like(flat)
        value = compiled(flat, gradient, x[0].astype(np.float64), spec.task.dt, steps, step, share, target, sizes)
        return value, gradient

    return error


@lru_cache(maxsize=32)
def kernel(layers: tuple[Layer, ...]) -> Any:
    """Return the compiled loop of networks of these layers, for any sizes."""
    from numba import njit

    names: dict[str, Any] = {"np": np}
    exec(source(layers), names)
    return njit(error_model="numpy", nogil=True)(names["trajectory"])


def source(layers: Sequence[Layer]) -> str:
    """Return the loop as text.

    Raises:
        Untraceable: a unit has no program, or one with other operations than those known here.
    """
    written = [_LayerText(number, layer) for number, layer in enumerate(layers)]
    forward = [line for layer in written for line in layer.forward()]
    backward = [line for layer in reversed(written) for line in layer.backward()]
    last = len(layers)
    lines = [
        *(f"n{number} = sizes[{number}]" for number in range(last + 1)),
        *(f"d{number} = np.empty(n{number})" for number in range(last + 1)),
        "place = 0",
        *(line for layer in written for line in layer.declared),
        "u, adjoint = np.empty((steps + 1, n0)), np.zeros((steps + 1, n0))",
        "u[0] = start",
        "for k in range(steps):",
        *_indented(["x0 = u[k]", *forward, f"u[k + 1] = u[k] + dt * x{last}"]),
        "error = 0.0",
        "for j in range(len(at)):",
        "    k = at[j]",
        "    off = (1 - share[j]) * u[k] + share[j] * u[k + 1] - target[j]",
        "    error += np.sum(off * off) / target.size",
        "    adjoint[k] += (1 - share[j]) * 2 * off / target.size",
        "    adjoint[k + 1] += share[j] * 2 * off / target.size",
        "for k in range(steps - 1, -1, -1):",
        *_indented(["x0 = u[k]", *forward, f"d{last}[:] = dt * adjoint[k + 1]", *backward]),
        "    adjoint[k] += adjoint[k + 1] + d0",
        "return error",
    ]
    head = "def trajectory(p, g, start, dt, steps, at, share, target, sizes):"
    return "\n".join([head, *_indented(lines), ""])


class _LayerText:
    """Layer of a network as lines of the loop: from `x` of its number to the next, and from `d` of the next to its own.

    Values of a single observation have the axes o and i alone. Vectors that are costly or needed twice are kept in
    arrays; others, and matrices, are computed where they are needed.
    """

    def __init__(self, number: int, layer: Layer) -> None:
        self.number, self.name, program = number, layer.name, unit_program(layer)
        if program.draws:
            raise Untraceable(f"{self.name} draws noise")
        self.sizes = {"i": f"n{number}", "o": f"n{number + 1}"}
        self.output, self.declared, self.done = program.training, list[str](), set[Term]()
        self.names = {INPUT: f"x{number}", SEED: f"d{number + 1}", program.training: f"x{number + 1}"}
        self.declared.append(f"x{number + 1} = np.empty({self.sizes['o']})")
        known = {node.data.name: node for node in walk([self.output]) if node.op == "parameter"}
        self.gradients: dict[Term, str] = {}
        for name, _ in layer.blank(2, 3).named_parameters():  # in their order
            if name not in known or not known[name].data.natural:
                raise Untraceable(f"{self.name} does not have its parameter {name} in its program, or transposed")
            node, array = known[name], f"{number}_{name.replace('.', '_')}"
            size = " * ".join(self.sizes[axis] for axis in node.axes) or "1"
            self.declared += [f"{kind}{array} = {kind}[place : place + {size}]" for kind in "pg"]
            self.declared.append(f"place += {size}")
            self.names[node], self.gradients[node] = f"p{array}", f"g{array}"

    def forward(self) -> list[str]:
        """Return the lines that compute the outputs."""
        return list(self._kept([self.output]))

    def backward(self) -> list[str]:
        """Return the lines that add the gradient of the parameters, and set that of the inputs."""
        found = gradients({self.output: SEED}, [*self.gradients, INPUT])
        lines = list(self._kept(found.values()))
        lines += self._loop("i", f"d{self.number}[i] = {self._text(found[INPUT])}")
        for node, array in self.gradients.items():
            if node in found:
                lines += self._loop(node.axes, f"{array}{self._place(node)} += {self._text(found[node])}")
        return lines

    def _kept(self, roots: Iterable[Term]) -> Iterator[str]:
        """Yield the lines that compute the vectors below the roots, which are new."""
        uses = Counter(arg for node in walk(roots) for arg in node.args)
        for node in walk(roots):
            axes = node.axes.replace("b", "")
            if node.op in LEAVES or node.boolean or len(axes) != 1 or node in self.done:
                continue
            if node.op not in _COSTLY and uses[node] < 2 and node is not self.output:
                continue
            self.done.add(node)
            if node not in self.names:
                self.names[node] = f"a{self.number}_{len(self.names)}"
                self.declared.append(f"{self.names[node]} = np.empty({self.sizes[axes]})")
            yield from self._loop(axes, *self._assigned(node))

    def _assigned(self, node: Term) -> list[str]:
        """Return the lines that compute an element of a vector."""
        target, over = self._text(node), node.data.replace("b", "") if node.op == "sum" else ""
        if not over:
            return [f"{target} = {self._written(node)}"]
        return [f"{target} = 0.0", *self._loop(over, f"{target} += {self._text(node.args[0])}")]

    def _loop(self, axes: str, *lines: str) -> list[str]:
        """Return loops over axes."""
        for axis in reversed(axes):
            lines = (f"for {axis} in range({self.sizes[axis]}):", *_indented(lines))
        return list(lines)

    def _text(self, node: Term) -> str:
        """Return an element of a value: from its array, or computed."""
        if node in self.names:
            return self.names[node] + self._place(node)
        return self._written(node)

    def _place(self, node: Term) -> str:
        own = node.axes.replace("b", "")
        return f"[o * {self.sizes['i']} + i]" if own == "oi" else f"[{own or 0}]"

    def _written(self, node: Term) -> str:
        if node.op == "const":
            return repr(node.data)
        if node.op == "size":
            return self.sizes.get(node.data, "1")
        if node.op == "sum" and node.data == "b":  # there is one observation
            return self._text(node.args[0])
        if node.op not in _FORMS:
            raise Untraceable(f"{self.name} computes {node.op}, which differential equations do not have yet")
        return _FORMS[node.op].format(*map(self._text, node.args))


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]
