"""Completion of names in a shell: experiments and models.

To list them takes seconds, because experiments are specs and specs know their units. So their names are kept in the
user's cache, until a file of the package changes.
"""

import json
from contextlib import suppress
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from .. import __version__
from .._files import write_whole
from .._platform import cache_folder

PACKAGE = Path(__file__).parent.parent


def experiments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the experiments that start so, or let the shell complete a file."""
    found = _starting("experiments", incomplete)
    return found or [CompletionItem(incomplete, type="file")]


def models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the models that start so; before the last comma are others."""
    before, comma, last = incomplete.rpartition(",")
    return _starting("models", last, before + comma)


def _starting(kind: str, start: str, before: str = "") -> list[CompletionItem]:
    return [CompletionItem(before + name) for name in _names()[kind] if name.startswith(start)]


def _names() -> dict[str, list[str]]:
    """Return the names of the catalogue, from the cache if it is up to date."""
    newest = max(path.stat().st_mtime_ns for path in PACKAGE.rglob("*.py"))
    file = cache_folder() / "names.json"
    with suppress(OSError, ValueError, KeyError, TypeError):  # there is none, or another program's
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["made_of"] == [__version__, newest]:
            names: dict[str, list[str]] = kept["names"]
            return names
    from ..papers import EXPERIMENTS
    from ..spec import MODELS

    bare = [e.name for e in EXPERIMENTS.values() if e.name in EXPERIMENTS]
    names = {"experiments": [*bare, *EXPERIMENTS], "models": [*MODELS]}
    with suppress(OSError):  # a home that cannot be written to costs seconds, not the completion
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps({"made_of": [__version__, newest], "names": names}))
    return names
