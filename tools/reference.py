"""Generate the reference of the documentation site: pages of units, modules, commands and the store's columns.

MkDocs calls `on_config` and `on_files`; the others are plain functions, which the tests call too.
"""

import html
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from tools.mathematics import dollars

import arithmos
from arithmos import functional, nn

HIDDEN = {"cli", "progress"}
"""Modules that are not called from Python: the command line and its progress bar."""

FIRST = ("NAU", "NMU")
"""Units at the head of the reference; the others follow in the order of their catalogues."""


def modules() -> Iterator[ModuleType]:
    """Yield the public modules, starting with the package."""
    yield arithmos
    for found in pkgutil.iter_modules(arithmos.__path__):
        if not found.name.startswith("_") and found.name not in HIDDEN:
            module = importlib.import_module(f"arithmos.{found.name}")
            if public(module):
                yield module


def public(module: ModuleType) -> list[str]:
    """Return the public classes and functions of a module: those that it defines, or collects from files of its own."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    found = [name for name in names if _own(module, getattr(module, name))]
    return sorted(found, key=lambda name: _rank(getattr(module, name)))


def _own(module: ModuleType, value: object) -> bool:
    if not (inspect.isclass(value) or inspect.isfunction(value)) or value.__module__ == "arithmos._missing":
        return False
    collects = hasattr(module, "__path__") or module is functional
    return value.__module__.startswith("arithmos." if collects else module.__name__)


def _rank(value: type | FunctionType) -> int:
    """Return 1 for the rules of initial values, which come last, and 0 for everything else."""
    return int(value.__module__ == "arithmos.nn._init")


def module_page(module: ModuleType) -> str:
    """Return the reference page of a module, in the syntax of mkdocstrings; units have pages of their own."""
    own = {layer.__name__: layer for layer in layers()} if module is nn else {}
    entries = [f"::: {module.__name__}.{name}" for name in public(module) if name not in own]
    text = [f"# {module.__name__}", dollars(inspect.cleandoc(module.__doc__ or ""))]
    return "\n\n".join([*text, *([units_table()] if own else []), *entries]) + "\n"


def layers() -> list[type]:
    """Return the classes of the units, each once: the most used first, then in the order of the catalogues."""
    found = dict.fromkeys(unit.module for unit in (*nn.UNITS.values(), *nn.NEWER.values()))
    return sorted(found, key=lambda layer: FIRST.index(layer.__name__) if layer.__name__ in FIRST else len(FIRST))


def units_table() -> str:
    """Return all units with the first line of their formula, each linked to its page."""
    rows = [f"| [{layer.__name__}](units/{layer.__name__}.md) | {_summary(layer)} |" for layer in layers()]
    return "\n".join(["| unit | what it computes |", "|---|---|", *rows])


def _summary(layer: type) -> str:
    return inspect.cleandoc(layer.__doc__ or "").partition("\n")[0].rstrip(".")


def unit_page(layer: type) -> str:
    """Return the page of a unit: formula, signature, arguments, shapes, example, function and names in a spec."""
    source = inspect.getmodule(layer)
    title, _, text = inspect.cleandoc(source.__doc__ or "").partition("\n")
    functions = [name for name in public(functional) if getattr(functional, name).__module__ == source.__name__]
    records = [unit for unit in (*nn.UNITS.values(), *nn.NEWER.values()) if unit.module is layer]
    rows = [
        f"| `{unit.name}` | {unit.label} | {', '.join(f'`{k}={v!r}`' for k, v in unit.options.items()) or 'none'} |"
        for unit in records
    ]
    return "\n".join(
        [
            "---",
            "search: { boost: 20 }",
            "---",
            "",
            f"# {layer.__name__}",
            "",
            dollars(title),
            dollars(text),
            "",
            f"::: arithmos.nn.{layer.__name__}",
            "    options: { inherited_members: [bounds, reset_parameters, sparsity, weights] }",
            "",
            "## Function",
            "",
            "As pure functions, without a layer: "
            + ", ".join(f"[`functional.{name}`][arithmos.functional.{name}]" for name in functions)
            + ".",
            "",
            "## Names",
            "",
            "On the command line and in experiment files, the unit and its variants are called:",
            "",
            "| name | in tables | options that it sets |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


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
    made = {f"reference/units/{layer.__name__}.md": unit_page(layer) for layer in layers()}
    made |= {f"reference/{module.__name__}.md": module_page(module) for module in modules()}
    return made | {"reference/command-line.md": command_page(), "reference/store.md": store_page()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the version in the head of every page, and add the generated pages to the navigation, under Reference."""
    config.site_name = f"{config.site_name} {arithmos.__version__}"
    units = [path for path in pages() if path.startswith("reference/units/")]
    others = [path for path in pages() if path not in units]
    reference = next(entry for entry in config.nav or [] if "Reference" in entry)
    reference["Reference"] = [*reference["Reference"], {"Layers": units}, *others]
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
