"""Every command that a help text, a message, README or the docs show: it is understood, and the cheap ones run."""

import re
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from tests.factories import make_run
from tools import reference

from arithmos.cli import main
from arithmos.papers import EXPERIMENTS
from arithmos.store import Store

ROOT = Path(__file__).parents[1]
TEXTS = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / f"{name}.md" for name in ("README", "SECURITY"))]
COMMANDS = dict(reference.commands(main))
UNIT = (ROOT / "examples" / "own_unit.py").read_text(encoding="utf-8")
TABLE_1 = EXPERIMENTS["table-1"]


def in_helps() -> set[str]:
    """Examples below each help text."""
    return {line for command in COMMANDS.values() for line in (command.epilog or "").splitlines()}


def in_messages() -> set[str]:
    """Commands in backquotes, or at the end of a message, in the strings of the package."""
    found = set()
    for path in sorted((ROOT / "src" / "arithmos").rglob("*.py")):
        text = re.sub(r'"\n\s*f?"', "", path.read_text(encoding="utf-8"))  # strings over two lines
        found |= {*re.findall(r"`(arithmos [a-z][^`\n]*)`", text)}
        found |= {*re.findall(r": (arithmos [a-z][^\"'{}\n]*)[\"']", text)}
    return {re.sub(r"\{.*?\}", "table-1", line) for line in found}


def in_texts() -> set[str]:
    """Lines of the blocks of README and docs, and commands in their sentences."""
    found = set()
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        for block in re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found |= {line for line in block.splitlines() if line.startswith("arithmos ")}
        text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        found |= {" ".join(line.split()) for line in re.findall(r"`(arithmos\s[^`]+)`", text)}
    return {line.partition("  #")[0].strip() for line in found}


NAMES = {"NAME": "table-1", "EXPERIMENT": "table-1", "SPEC": TABLE_1.specs[-1].id}
SHOWN = sorted(in_helps() | in_messages() | in_texts())


def words(line: str) -> list[str]:
    """The arguments of a command, with names in capitals filled in."""
    return [NAMES.get(word, word) for word in shlex.split(line)[1:]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the commands speak of; its stores have two runs of every model of Table 1."""
    path = tmp_path_factory.mktemp("user")
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (60, 3))
    columns = {"mass": x[:, 0], "speed": x[:, 1], "quantity": x[:, 2], "y": x[:, 0] * x[:, 1]}
    columns |= {"force": x[:, 0] * x[:, 1], "total": 2 * x[:, 2]}
    rows = "\n".join(",".join(f"{value:.17g}" for value in row) for row in zip(*columns.values(), strict=True))
    for name in ("data", "orders"):
        (path / f"{name}.csv").write_text(f"{','.join(columns)}\n{rows}\n")
    (path / "my_unit.py").write_text(UNIT.replace("class DividingNMU", "class MyUnit"))
    (path / "my_units.py").write_text(UNIT.replace("class DividingNMU", "class SquaredNMU"))
    (path / "sigmoid_nmu.py").write_text(UNIT.replace("class DividingNMU", "class SigmoidNMU"))
    (path / "examples").symlink_to(ROOT / "examples")
    experiment = re.search(r"^```toml\n(.*?)^```$", (ROOT / "docs/experiment-files.md").read_text("utf-8"), re.M | re.S)
    for name in ("widths", "my-experiment"):
        (path / f"{name}.toml").write_text(experiment[1], encoding="utf-8")
    weights = np.array([1, 1, 0, 0, 1, 1, 1, 1, 1, 1], np.float32)
    for store in ("runs", "results", "out", "from-the-cluster"):
        runs = [make_run(spec, seed) for spec in TABLE_1.specs for seed in range(2)]
        runs = [run for run in runs if (run.spec.model.name, run.seed) != ("NMU", 1)]
        Store(path / store).append([*runs, make_run(TABLE_1.specs[-1], 1, best_weights=weights)])
    return path


def parsed(line: str) -> None:
    """Fails for an unknown verb, option or value; values that need files are not looked at here."""
    path, rest = "arithmos", words(line)
    while rest and f"{path} {rest[0]}" in COMMANDS:
        path, rest = f"{path} {rest[0]}", rest[1:]
    command = COMMANDS[path]
    assert not isinstance(command, click.Group), f"{path} needs a verb"
    command.make_parser(click.Context(command)).parse_args(rest)


@pytest.mark.parametrize("line", SHOWN)
def test_commands_are_understood(line):
    parsed(line)


def test_a_wrong_command_is_noticed():
    with pytest.raises(click.NoSuchOption, match="--sedes"):
        parsed("arithmos run table-1 --sedes 3")


COMPLETE = {line for line in in_helps() | in_texts() if not {*shlex.split(line)} & {*NAMES, "N"}}
"""Commands that can be typed as they are; a message or a sentence may show a part of one."""
ELSEWHERE = ("data", "--dask", "--paper path", "toy2026", "/shared/", "mnist", "--engine cuda")
"""Words of commands that need a network, a cluster, a GPU, digits, or a paper; each has tests of its own."""


def cheap(line: str) -> list[str]:
    """The same command with little to do: a plan in place of runs, and a second for what has no plan."""
    arguments = words(line)
    if arguments[0] == "run" and "--dry-run" not in arguments:
        return [*arguments, "--dry-run"]
    return [*arguments, "--budget", "1s"] if arguments[0] == "rank" else arguments


def marked(line: str) -> object:
    """The command, left out of the everyday tests if it trains networks or repeats a long one."""
    long = line.startswith(("arithmos rank --m", "arithmos report -"))
    return pytest.param(line, marks=pytest.mark.slow if long else ())


def runnable(line: str) -> bool:
    arguments, command = words(line), COMMANDS.get(" ".join(["arithmos", *words(line)[:1]]))
    bare = len(arguments) == 1 and any(p.required for p in command.params)  # "`arithmos run` stores …"
    return not bare and not any(word in line for word in ELSEWHERE) and arguments != ["store"]


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("line", [marked(line) for line in sorted(COMPLETE) if runnable(line)])
def test_commands_run(line, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main, cheap(line), catch_exceptions=False)
    assert done.exit_code == 0, done.output
