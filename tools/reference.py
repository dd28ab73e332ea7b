"""Generate the reference of the documentation site: one page per module, the command line, the store's columns.

MkDocs calls `on_config` and `on_files`; the others are plain functions, which the tests call too.
"""

import html
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import click
from griffe import Extension, Object
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import arithmos

HIDDEN = {"cli", "progress"}
"""Modules that are not called from Python: the command line and its progress bar."""


def modules() -> Iterator[ModuleType]:
    """Yield the public modules, starting with the package."""
    yield arithmos
    for found in pkgutil.iter_modules(arithmos.__path__):
        if not found.name.startswith("_") and found.name not in HIDDEN:
            yield importlib.import_module(f"arithmos.{found.name}")


def public(module: ModuleType) -> list[str]:
    """Return the public classes and functions of a module, in its order."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return [name for name in names if _own(module, getattr(module, name))]


def _own(module: ModuleType, value: object) -> bool:
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return False
    # A package shows what it collects from its files, a module what it defines.
    return value.__module__.startswith(module.__name__ if not hasattr(module, "__path__") else "arithmos.")


def module_page(module: ModuleType) -> str:
    """Return the reference page of a module, in the syntax of mkdocstrings."""
    summary = inspect.cleandoc(module.__doc__ or "")
    entries = [f"::: {module.__name__}.{name}" for name in public(module)]
    return "\n\n".join([f"# {module.__name__}", mathematics(summary), *entries]) + "\n"


def commands(command: click.Command, path: str = "arithmos") -> Iterator[tuple[str, click.Command]]:
    """Yield a command and all its subcommands, with their full names."""
    yield path, command
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from commands(child, f"{path} {name}")


def command_page() -> str:
    """Return the help of the command line as a page."""
    from arithmos.cli import main

    sections = ["# Command line", "Every command has a Python equivalent. `-h` after a command prints its help."]
    for path, command in commands(main):
        with click.Context(command, info_name=path, max_content_width=100) as context:
            sections += [f"## {path}", f"```text\n{command.get_help(context)}\n```"]
    return "\n\n".join(sections) + "\n"


def store_page() -> str:
    """Return the page on the columns of a store."""
    from arithmos.store._schema import COLUMNS

    rows = [f"| `{name}` | {kind} | {html.escape(meaning)} |" for name, (kind, meaning) in COLUMNS.items()]
    return "\n".join(
        [
            "# Store",
            "",
            "A store is a folder of Parquet files with one row per run. Any tool that reads Parquet can open it: "
            '`pandas.read_parquet("results")`, `duckdb.sql("from \'results/*.parquet\'")`.',
            "",
            "| column | type | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def pages() -> dict[str, str]:
    """Return the generated pages by their path in the site."""
    made = {"reference/command-line.md": command_page(), "reference/store.md": store_page()}
    return made | {f"reference/{module.__name__}.md": module_page(module) for module in modules()}


def mathematics(text: str) -> str:
    """Convert Sphinx's mathematics to MathML, which browsers draw without a script."""
    text = re.sub(
        r"^([ \t]*)\.\. math::[ \t]*(.+(?:\n\1[ \t]+\S.*)*)$",
        lambda found: f"{found[1]}{_mathml(found[2], 'block')}",
        text,
        flags=re.MULTILINE,
    )
    return re.sub(r":math:`([^`]+)`", lambda found: _mathml(found[1], "inline"), text)


def _mathml(latex: str, display: str) -> str:
    made = convert(re.sub(r"\s+", " ", latex.strip()), display=display)
    return f"<div>{made}</div>" if display == "block" else made


class Docstrings(Extension):
    """Convert docstrings, which are written for a terminal, to HTML."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring:
            text = re.sub(
                r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE
            )  # as mkdocstrings spells it
            obj.docstring.value = mathematics(text)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the generated pages to the navigation, under Reference."""
    reference = next(entry for entry in config.nav or [] if "Reference" in entry)
    reference["Reference"] = [*reference["Reference"], *pages()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_page(output: str, **_: Any) -> str:
    """Add the missing label of the theme's search dialog."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
