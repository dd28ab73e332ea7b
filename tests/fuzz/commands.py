"""Command lines of all verbs: right ones, wrong ones, and ones that nobody would write."""

import os
import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
from click.testing import CliRunner
from tests.factories import make_run

from arithmos import bench
from arithmos.cli import main
from arithmos.engines import Engines
from arithmos.papers import EXPERIMENTS, FIGURES, Experiment
from arithmos.spec import MODELS
from arithmos.store import Store
from arithmos.tasks import OPERATIONS

from .files import FILES, IMPORTS, UNIT, broken_text, lay_out
from .values import NUMBERS, TEXTS

SKIPPED = {"data", "dask"}
"""What would reach for the network, or start a cluster."""

SPEC = EXPERIMENTS["table-1"].specs[2]


def verbs(group: click.Group = main, path: Sequence[str] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that lead to it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from verbs(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = [(words, command) for words, command in verbs() if words[0] not in SKIPPED]


def command_line(rng: random.Random, folder: Path) -> str:
    """A command: it does what it is asked, or says in a line what was wrong, and leaves no file then."""
    arguments = line(rng)
    prepare(rng, folder)
    before = files(folder)
    stubs = (patch("arithmos.bench.run", planned), patch("arithmos.report.page.html.page", lambda *_, **__: "<p>"))
    with chdir(folder), stubs[0], stubs[1], warnings.catch_warnings():
        warnings.simplefilter("always")
        done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    told = f"{arguments}: {done.exit_code}: {done.output[:2000]}"
    assert "Traceback" not in done.output, told
    if done.exit_code == 0:
        return "accepted"
    assert done.exit_code in (1, 2), told
    lines = done.stderr.strip().splitlines()
    assert lines, told
    assert all(text.startswith("arithmos: ") for text in lines), told
    assert files(folder) == before, f"{told}: left {files(folder) - before}"
    return "refused"


def planned(
    parts: Sequence[Experiment], *, engine: str, store: Store, threads: int | None, **rest: Any
) -> bench.Outcome:
    """What `bench.run` does before the first iteration."""
    todo = bench.plan(parts, store, Engines(engine, threads=threads, say=lambda text: None))
    return bench.Outcome(todo.runs, todo.runs - todo.missing, 0, "out of time", 0.0)


def prepare(rng: random.Random, folder: Path) -> None:
    """A folder with a small store, a file for every purpose, and a file for none."""
    Store(folder / "runs").append(make_run(SPEC, seed) for seed in (0, 1))
    lay_out(folder)
    (folder / "good.toml").write_text(rng.choice(FILES), encoding="utf-8")
    (folder / "bad.toml").write_bytes(broken_text(rng, rng.choice(FILES)).encode("utf-8", "surrogateescape"))
    (folder / "bad.py").write_bytes((IMPORTS + broken_text(rng, UNIT)).encode("utf-8", "surrogateescape"))
    (folder / "file").write_bytes(os.urandom(10))
    (folder / "empty").mkdir()


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def line(rng: random.Random) -> list[str]:
    words, command = rng.choice(COMMANDS)
    arguments: list[str] = []
    for param in command.params:
        if param.name in SKIPPED or (isinstance(param, click.Option) and rng.random() < 0.6):
            continue
        for _ in range(rng.choice([1, 1, 1, 2]) if param.nargs == -1 else 1):
            if isinstance(param, click.Option):
                arguments.append(rng.choice(param.opts))
            if not getattr(param, "is_flag", False):
                arguments.append(value(rng, param))
    if rng.random() < 0.2:
        change = rng.randrange(4)
        if change == 0 and arguments:
            del arguments[rng.randrange(len(arguments))]
        elif change == 1:
            arguments.insert(
                rng.randrange(len(arguments) + 1), rng.choice(["--", "-", "--no-such", "-x", "--help", *words])
            )
        elif change == 2:
            rng.shuffle(arguments)
        else:
            words = tuple(broken_text(rng, word) for word in words)
    return [text.replace("\0", "").replace("\ud800", "") for text in (*words, *arguments)]  # which no shell hands over


NAMES = [
    *EXPERIMENTS,
    *FIGURES,
    "good.toml",
    "good.toml",
    "good.toml",
    "bad.toml",
    "none.toml",
    "empty.toml",
    SPEC.id,
    "0" * 16,
]
MODEL_NAMES = [
    *MODELS,
    "NAU>NMU",
    "NAU>own.py:Own",
    "NAU>bad.py:Own",
    "bad.py:Own",
    "NAU,NMU",
    ",",
    "NAU>>NMU",
    ">",
    "own.py:",
]
PATHS = [
    "runs",
    "runs",
    "runs",
    "none",
    "file",
    "file/below",
    "empty",
    ".",
    "",
    "a/b/c",
    "bad.toml",
    "é",
    "/dev/null/x",
    "x.gif",
]
PATHS += ["out.svg", "out.json", "out.html", "none/out.svg", "empty.svg", "\udcff", "a" * 300]
DURATIONS = ["90s", "9m", "1h30m", "0s", "9", "1.2.3h", "h", "1e9h", "9" * 400 + "h", "-1s", "٣s"]


def value(rng: random.Random, param: click.Parameter) -> str:
    """What might be said in the place of a parameter."""
    if rng.random() < 0.15:
        return rng.choice([*TEXTS, *map(str, NUMBERS[:-16])])
    if isinstance(param.type, click.Choice):
        return str(rng.choice([*param.type.choices] * 3 + ["xml"]))
    if param.type.name.startswith("integer"):
        return rng.choice(["0", "1", "2", "10", "1000", "-1", "1.5", str(2**32), "9" * 30, "9" * 5000, "x"])
    if isinstance(param.type, click.Path):
        return rng.choice(PATHS)
    pools = {"models": MODEL_NAMES, "ops": [*OPERATIONS, "mull", "mul,add", ","], "budget_s": DURATIONS}
    return rng.choice(pools.get(param.name or "", NAMES))
