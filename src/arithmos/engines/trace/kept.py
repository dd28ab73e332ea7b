"""Programs of built-in units in the cache on disk: the first trace in a process loads 800 modules of torch's compiler.

An entry is plain JSON, named by the unit and by all code that determines a run. It is written only if reading it gives
the same program.
"""

import json
from collections.abc import Callable
from typing import Any

from .. import kernel_cache
from ..code import CODE
from .forward import Draw, UnitProgram
from .program import Term, View, make_term, walk

TERMS = ("training", "evaluation", "gate", "sparsity")


def kept(identity: tuple[object, ...], make: Callable[[], UnitProgram]) -> UnitProgram:
    """Return the program of a built-in unit from the cache, or make it and keep it.

    Raises:
        Untraceable: the unit has none.
    """
    name = f"{kernel_cache.digest('program', CODE, repr(identity))}.json"
    if (entry := kernel_cache.load(name)) is not None:
        return read(entry.decode())
    program = make()
    text = written(program)
    if read(text) == program:
        kernel_cache.save(name, text.encode())
    return program


def written(program: UnitProgram) -> str:
    """Return a program as JSON: its terms, each after its arguments, and the places of those that it names."""
    named = [getattr(program, name) for name in TERMS]
    terms = [*walk([term for term in (*named, *(program.weights or ())) if term is not None])]
    places = {id(term): place for place, term in enumerate(terms)}

    def place(term: Term | None) -> int | None:
        return None if term is None else places[id(term)]

    return json.dumps(
        {
            "terms": [[term.op, [*map(place, term.args)], _plain(term.data), term.axes] for term in terms],
            "named": [*map(place, named)],
            "weights": None if program.weights is None else [*map(place, program.weights)],
            "bounds": {name: list(bound) for name, bound in program.bounds.items()},
            "draws": [[draw.axis, draw.low, draw.high] for draw in program.draws],
        }
    )


def read(text: str) -> UnitProgram:
    """Return the program of `written`."""
    plain, terms = json.loads(text), list[Term]()
    for op, arguments, data, axes in plain["terms"]:
        terms.append(make_term(op, tuple(terms[place] for place in arguments), _data(data), axes))
    named: dict[str, Any] = {
        name: None if place is None else terms[place] for name, place in zip(TERMS, plain["named"], strict=True)
    }
    weights = None if plain["weights"] is None else tuple(terms[place] for place in plain["weights"])
    bounds = {name: (low, high) for name, (low, high) in plain["bounds"].items()}
    return UnitProgram(**named, weights=weights, bounds=bounds, draws=tuple(Draw(*draw) for draw in plain["draws"]))


def _plain(data: Any) -> Any:
    if isinstance(data, View):
        return {"view": [data.name, list(data.dims), data.piece, data.pieces]}
    return {"tuple": list(data)} if isinstance(data, tuple) else data


def _data(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    if "tuple" in plain:
        return tuple(plain["tuple"])
    name, dims, piece, pieces = plain["view"]
    return View(name, tuple(dims), piece, pieces)
