"""Programs of the layers of specs, each traced once per process."""

from functools import partial

import torch

from ...spec import GENERATOR, Layer
from ..contract import explained
from .forward import UnitProgram, trace
from .kept import kept
from .program import walk
from .values import INPUTS, OUTPUTS, Untraceable

_found: dict[tuple[object, ...], UnitProgram | Untraceable] = {}


def identity(layer: Layer) -> tuple[object, ...]:
    """Return what a unit's program depends on: the text of a user's file, and not only its path."""
    return layer.name, layer.version, layer.options


def unit_program(layer: Layer) -> UnitProgram:
    """Return the program of a layer's unit.

    Raises:
        Untraceable: the unit has none; the message says why, on one line.
    """
    key = identity(layer)
    if key not in _found:
        try:
            _found[key] = _traced(layer) if layer.own else kept(key, partial(_traced, layer))
        except Untraceable as error:
            _found[key] = error
    found = _found[key]
    if isinstance(found, Untraceable):
        raise Untraceable(f"{layer.name} has no program: {found}")
    return found


def logarithmic(layer: Layer) -> bool:
    """Return whether a unit takes logarithms of its inputs; false if it has no program."""
    try:
        program = unit_program(layer)
    except Untraceable:
        return False
    return any(node.op == "log" and "b" in node.axes for node in walk([program.training]))


def _traced(layer: Layer) -> UnitProgram:
    with GENERATOR, torch.random.fork_rng(devices=[]):
        try:
            unit = layer.build(INPUTS, OUTPUTS)
        except (Exception, SystemExit) as error:
            raise Untraceable(
                f"it cannot be built with {INPUTS} inputs and {OUTPUTS} outputs: {explained(error)}"
            ) from error
        return trace(unit)
