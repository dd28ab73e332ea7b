"""Trial of networks with a user's unit before their first run: what the engines can do with them.

A network makes a training step and an evaluation, repeated in the same way, called alone and then stacked. A network
that cannot be stacked is trained seed by seed; one that fails alone, or whose weights are not its own, is refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..spec import LM, Spec
from .contract import Failed, unit_code
from .networks import Modules, Networks
from .trace import Untraceable, identity, unit_program
from .trace.check import close, misread

if TYPE_CHECKING:
    from .digits.cells import CellStack

M = TypeVar("M", bound=Modules)

SEEDS = (0, 1)
ROWS = 37
"""Rows to evaluate; different from the size of a batch."""

CPU = torch.device("cpu")

_REASONS = {
    "random operation": "it draws random numbers",
    "data-dependent": "it branches on the values of its inputs or parameters",
}
"""Phrases in torch's errors about networks that cannot be stacked, with our own."""

Results = dict[str, Tensor]
"""Tensors with the run as their leading axis, by what they are."""


@dataclass(frozen=True)
class ProbeResult:
    """Result of a trial.

    Args:
        refused: why the network cannot be run, on one line; empty if it can.
        alone: why it cannot be stacked, so that its seeds are trained one by one; empty if it can.
    """

    refused: str = ""
    alone: str = ""


_found: dict[tuple[object, ...], ProbeResult] = {}


def finding(spec: Spec, device: torch.device = CPU) -> ProbeResult:
    """Try the network of a spec, once per process. A network of built-in units is not tried."""
    if not any(layer.own for layer in spec.model.layers):
        return ProbeResult()
    units = tuple(map(identity, spec.model.layers))
    key = (units, spec.sizes, spec.batch_size, spec.model.schedule.strength > 0, spec.task.kind, device)
    if key not in _found:
        _found[key] = examine(spec, device)
    return _found[key]


def unsuited(spec: Spec) -> str:
    """Return why the fused engines cannot run a spec, whatever its units, on one line; empty if they may."""
    if isinstance(spec.optimizer, LM):
        return "it trains with first-order optimizers"
    if spec.optimizer.reinitialize:
        return "it does not start stagnating runs again"
    if any(penalty.kind == "norm" for penalty in spec.model.penalties):
        return "it has no penalty on the norms of parameters"
    if spec.task.times:
        return "it does not solve differential equations"
    return "it has no convolutions" if spec.task.sequential else ""


def unfit(spec: Spec) -> str:
    """Return why the fused engines cannot run a spec, on one line, after a trial of its units; empty if they can."""
    if why := unsuited(spec):
        return why
    if spec.task.draws(0) is None:
        return f"it cannot draw batches of the task {spec.task.kind!r}"
    return finding(spec).refused or _untraced(spec)


def _untraced(spec: Spec) -> str:
    """Return which unit has no program, or one that differs from its module; empty if all have."""
    key = (*map(identity, spec.model.layers), spec.sizes)
    if key not in _misreadings:
        try:
            _misreadings[key] = _misread(spec)
        except (Untraceable, Failed) as error:
            _misreadings[key] = str(error)
    return _misreadings[key]


_misreadings: dict[tuple[object, ...], str] = {}


def _misread(spec: Spec) -> str:
    programs = [unit_program(layer) for layer in spec.model.layers]
    if not any(layer.own for layer in spec.model.layers):
        return ""
    with unit_code():
        layers = zip(spec.model.layers, spec.network(SEEDS[0]), programs, pairwise(spec.sizes), strict=True)
        for layer, module, program, sizes in layers:
            if layer.own and (why := misread(module, program, *sizes)):
                return f"{layer.name} is not what its program says: {why}"
    return ""


def examine(spec: Spec, device: torch.device = CPU) -> ProbeResult:
    """Try the network of a spec."""
    try:
        with unit_code():
            _check_weights(spec)
            if spec.task.sequential:
                return _examine_cell(spec, device)
            trials = [_repeated(Networks(spec, (seed,), device, stacked=False), _trained(spec)) for seed in SEEDS]
    except Failed as error:
        return ProbeResult(refused=str(error))
    if changed := trials[0][1]:
        return ProbeResult(alone=changed)
    try:
        with unit_code():
            stacked = _trained(spec)(Networks(spec, SEEDS, device))
    except Failed as error:
        return ProbeResult(alone=_reason(error) or f"torch.func cannot stack it: {error}")
    for name, value in stacked.items():
        if not close(value, torch.cat([results[name] for results, _ in trials])):
            return ProbeResult(alone=f"{name} differ when it is stacked")
    return ProbeResult()


def _examine_cell(spec: Spec, device: torch.device) -> ProbeResult:
    """Try the cell of sequences, which can be run only if it can be stacked."""
    from .digits.cells import CellStack

    try:
        with unit_code():
            networks = [spec.network(seed)[1] for seed in SEEDS]
            if (shape := tuple(networks[0](torch.ones(3, 2, 1)).shape)) != (3, 2, 1):
                raise Failed(f"it must give a number for each of 3 sequences of 2 numbers, got shape {shape}")
            cells = CellStack(spec, SEEDS, networks, device)
            changed = _repeated(cells, _stepped)[1]
    except Failed as error:
        return ProbeResult(refused=f"as a cell: {_reason(error) or error}")
    return ProbeResult(refused=f"as a cell it must be stacked, but {changed}" if changed else "")


def _reason(error: Failed) -> str:
    """Return why torch cannot stack a network; empty if the error does not tell."""
    return next((reason for text, reason in _REASONS.items() if text in str(error)), "")


def _repeated(modules: M, once: Callable[[M], Results]) -> tuple[Results, str]:
    """Return the results of a trial that is reproducible, and what changes during it, if anything does."""
    if not any(value.requires_grad for value in modules.parameters.values()):
        raise Failed("it has no parameters to train")
    for name, value in modules.parameters.items():
        if value.dtype != torch.float32:
            raise Failed(f"its parameter {name} is {value.dtype}; it must be torch.float32")
    before = {name: value.clone() for name, value in modules.buffers.items()}
    results = once(modules)
    changed = [name for name, value in modules.buffers.items() if not torch.equal(value, before[name])]
    for name, value in modules.buffers.items():
        value.copy_(before[name])
    for name, value in once(modules).items():
        exact = modules.device.type == "cpu"
        if not (torch.equal(*_comparable(value, results[name])) if exact else close(value, results[name])):
            raise Failed(
                f"{name} differ when the same is computed again: it keeps state that is no buffer, or draws random "
                "numbers from elsewhere than torch's own generator"
            )
    modules.project()
    return results, f"it keeps running state, its buffer {changed[0]}" if changed else ""


def _trained(spec: Spec) -> Callable[[Networks], Results]:
    """Try networks: a training step without its update, and an evaluation."""
    task, regularized = spec.observations, spec.model.schedule.strength > 0

    def once(networks: Networks) -> Results:
        pairs = [task.batch(seed, 0, spec.batch_size) for seed in networks.seeds]
        x, t = (torch.from_numpy(np.stack(arrays)).to(networks.device) for arrays in zip(*pairs, strict=True))
        rows = torch.from_numpy(task.test(networks.seeds[0])[0][:ROWS].copy()).to(networks.device)
        with networks.training(0):
            _check_output(networks.outputs((x,)), t.shape)
            error, sparsity = networks.errors((x, t), regularized)
            gradients = _gradients(networks, error, sparsity)
        with networks.judging(0):
            sparsity_error, gate, _ = networks.inspect((x,))
            outputs = networks.outputs((rows,), shared=True)
        _check_output(outputs, (len(x), len(rows), t.shape[2]))
        shown = {"outputs in evaluation mode": outputs, "sparsity errors": sparsity_error, "gates": gate}
        return {"training errors": error.detach(), **gradients, **shown}

    return once


def _stepped(cells: "CellStack") -> Results:
    """Try cells: a training step on short sequences, and an evaluation."""
    x = torch.linspace(1, 9, len(cells.seeds) * 10, device=cells.device).view(-1, 5, 2)
    outputs, inputs = cells.run(x, x.new_full((5,), 0.2))
    _check_output(outputs, x.shape)
    error = outputs.square().mean((1, 2)) + inputs
    gradients = _gradients(cells, error, cells.sparsity() if cells.regularized else torch.zeros_like(error))
    with cells.judging(0):
        state = cells.step(x[:, :, 0], cells.start(x[:, :, 0]))
        shown = {"outputs in evaluation mode": cells.output(state), "sparsity errors": cells.error()}
    _check_output(shown["outputs in evaluation mode"], x.shape[:2])
    return {"training errors": error.detach(), **gradients, **shown}


def _gradients(modules: Modules, error: Tensor, sparsity: Tensor) -> Results:
    if not error.requires_grad:
        raise Failed("its output does not depend on any parameter")
    for value in modules.parameters.values():
        value.grad = None
    (error + sparsity).sum().backward()  # type: ignore[no-untyped-call]
    found = {name: torch.zeros_like(v) if v.grad is None else v.grad for name, v in modules.parameters.items()}
    return {f"gradients of {name}": value if modules.stacked else value[None] for name, value in found.items()}


def _check_output(output: object, shape: Sequence[int]) -> None:
    if not isinstance(output, Tensor):
        raise Failed(f"its output is a {type(output).__name__}; it must be a tensor")
    if output.shape != tuple(shape):
        raise Failed(f"its output has the shape {tuple(output.shape[1:])}; it must be {tuple(shape[1:])}")
    if not output.is_floating_point():
        raise Failed(f"its output is {output.dtype}; it must be floating-point")


@torch.no_grad()
def _check_weights(spec: Spec) -> None:
    """Check that the effective weights of users' layers, which the sparsity error is made of, follow the parameters."""
    network = spec.network(SEEDS[0])
    layers = [getattr(network[1], "unit", network[1])] if spec.task.sequential else network
    for layer, built, (in_features, _) in zip(spec.model.layers, layers, pairwise(spec.sizes), strict=True):
        if not layer.own or not callable(read := getattr(built, "weights", None)):
            continue
        built.eval()
        if not isinstance(weights := read(), dict) or not all(isinstance(w, Tensor) for w in weights.values()):
            raise Failed(f"the weights() of {layer.name} must return a dict of tensors by name")
        generator = torch.Generator().manual_seed(SEEDS[0])
        x = torch.empty(ROWS, in_features).uniform_(1, 2, generator=generator)
        before = {name: value.clone() for name, value in weights.items()}, built(x)
        for parameter in built.parameters():
            parameter.mul_(torch.empty_like(parameter).uniform_(0.98, 0.99, generator=generator))
        fixed = before[0] and all(torch.equal(value, before[0][name]) for name, value in read().items())
        if fixed and not torch.equal(built(x), before[1]):
            raise Failed(f"the weights() of {layer.name} stay the same when its parameters and its output change")


def _comparable(*tensors: Tensor) -> Iterator[Tensor]:
    """Return tensors in which NaN equals NaN."""
    return (torch.stack([value.nan_to_num(), value.isnan().to(value)]) for value in tensors)
