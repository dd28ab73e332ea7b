"""Completion of names in a shell: experiments and models."""

import click
from click.shell_completion import CompletionItem

from .kept import kept


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
    """Return the names of the catalogue."""
    names: dict[str, list[str]] = kept("names", _catalogue)
    return names


def _catalogue() -> dict[str, list[str]]:
    from ..papers import EXPERIMENTS
    from ..spec import MODELS

    bare = [e.name for e in EXPERIMENTS.values() if e.name in EXPERIMENTS]
    return {"experiments": [*bare, *EXPERIMENTS], "models": [*MODELS]}
