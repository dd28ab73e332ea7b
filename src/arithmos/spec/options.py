"""Options of a layer: those of our own units are known by name and type before anything is built."""

import inspect
from functools import lru_cache

from .. import _checks
from ..nn import CELLS
from ..nn._unit import Unit

Plain = str | int | float | bool
Options = tuple[tuple[str, Plain], ...]


def checked(unit: str | Unit, options: object) -> Options:
    """Options as sorted pairs.

    Example:
        >>> checked("NMU", [("project", False), ("init", "paper")])
        (('init', 'paper'), ('project', False))
        >>> checked("NMU", [("int", "paper")])
        Traceback (most recent call last):
        ValueError: an option of NMU must be one of init, project, clip, got 'int'; did you mean 'init'?
    """
    if isinstance(options, tuple | list) and not options:
        return ()
    known = _defaults(unit) if isinstance(unit, str) and unit in CELLS else None
    plain: dict[str, Plain] = {}
    for key, value in _checks.pairs("options", options):
        name = _checks.text("options", key)
        if known is not None:
            default = known[_checks.one_of(f"an option of {unit}", name, known)]
            if type(value) is not type(default):
                raise ValueError(f"option {name!r} of {unit} must be like {default!r}, got {_checks.shown(value)}")
        plain[name] = value if isinstance(value, str | bool) else _checks.number(f"option {name!r}", value)
    return tuple(sorted(plain.items()))


@lru_cache(maxsize=64)
def _defaults(unit: str) -> dict[str, Plain]:
    """Options of one of our units, with their defaults."""
    parameters = inspect.signature(CELLS[unit].module).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not None and p.default is not p.empty}


@lru_cache(maxsize=256)
def try_options(unit: str, options: Options, in_features: int, out_features: int) -> None:
    """Fail now if a layer of this size cannot have its options."""
    try:
        CELLS[unit].build(in_features, out_features, device="meta", **dict(options))
    except ValueError as error:
        layer = f"a layer {unit} of {in_features} inputs and {out_features} outputs"
        raise ValueError(f"{layer} cannot have options {dict(options)}: {error}") from error
