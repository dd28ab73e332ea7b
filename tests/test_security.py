"""No file is unpickled, no text is run, and SECURITY.md says what pyproject.toml says."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = sorted((ROOT / "src").rglob("*.py"))

PICKLING = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle"}
CALLS = {"read_pickle", "to_pickle", "load_pickle", "unsafe_load", "PyExtensionType"}
MAY_UNPICKLE = {"testing.py", "engines/cpu/_cache.py"}
"""One pickles what it has just made, and no file; the other reads compiled loops, which are programs already."""
RUNS = {"eval", "exec", "compile", "sympify", "parse_expr", "parse_latex", "lambdify", "__import__"}
MAY_RUN = {
    "engines/cpu/kernel.py": {"exec", "compile"},
    "engines/equation.py": {"exec"},
    "spec/loading.py": {"exec", "compile"},
}
"""Two run the loops that they have just written, the other the units that a user names."""


def runs(text: str) -> set[str]:
    """The calls of a module that run text, or may."""
    nodes = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return RUNS & {ast.unparse(node).rpartition("sympy.")[2] for node in nodes if ast.unparse(node) != "re.compile"}


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.relative_to(ROOT / "src" / "arithmos").as_posix())
def test_nothing_runs_text(path: Path) -> None:
    name = path.relative_to(ROOT / "src" / "arithmos").as_posix()
    assert runs(path.read_text(encoding="utf-8")) <= MAY_RUN.get(name, set())


def test_all_that_is_printed_is_escaped() -> None:
    """Names of files and stores reach a terminal through `cli.program.echo` and the observers of progress only."""
    printing = re.compile(r"click\.echo\(|click\.secho\(|(?<!>>> )\bprint\(|sys\.std(out|err)\.write\(")
    found = {
        path.relative_to(ROOT / "src" / "arithmos").as_posix()
        for path in SOURCE
        if printing.search(re.sub(r">>> .*|`[^`]*`|_BUNDLER = .*", "", path.read_text()))
    }
    assert found <= {"cli/program.py", "progress.py", "regression/progress.py"}


def complaints(text: str, *, may_unpickle: bool = False) -> list[str]:
    """The places of a module that could unpickle a file."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            if not may_unpickle and PICKLING & {name.partition(".")[0] for name in names}:
                found.append(f"line {node.lineno}: imports {names[0]}")
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            said = {word.arg: word.value.value for word in node.keywords if isinstance(word.value, ast.Constant)}
            if said.get("allow_pickle") is True or said.get("weights_only") is False:
                found.append(f"line {node.lineno}: {name} may unpickle")
            if name.rpartition(".")[2] in CALLS:
                found.append(f"line {node.lineno}: calls {name}")
            if re.fullmatch(r"(np|numpy)\.load|np\.lib\.format\.read_array", name) and "allow_pickle" not in said:
                found.append(f"line {node.lineno}: {name} does not say allow_pickle=False")
            if name == "torch.load" and "weights_only" not in said:
                found.append(f"line {node.lineno}: {name} does not say weights_only=True")
    return found


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: path.relative_to(ROOT / "src" / "arithmos").as_posix())
def test_nothing_unpickles_a_file(path: Path) -> None:
    name = path.relative_to(ROOT / "src" / "arithmos").as_posix()
    assert complaints(path.read_text(encoding="utf-8"), may_unpickle=name in MAY_UNPICKLE) == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from cloudpickle import loads",
        "import numpy as np; np.load('a.npy')",
        "import numpy as np; np.load('a.npy', allow_pickle=True)",
        "import torch; torch.load('a.pt')",
        "import torch; torch.load('a.pt', weights_only=False)",
        "import pandas as pd; pd.read_pickle('a')",
    ],
)
def test_what_would_unpickle_is_seen(line: str) -> None:
    assert len(complaints(line)) == 1


def test_the_module_that_copies_by_pickle_touches_no_file() -> None:
    text = (ROOT / "src" / "arithmos" / "testing.py").read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines() if "pickle." in line]
    assert lines == ["twin: nn.Module = pickle.loads(pickle.dumps(layer))"]


def rows(header: str) -> list[list[str]]:
    """The rows of a table in SECURITY.md."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = text[text.index(header) :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_supported_versions_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [[_, fixed, pythons, torch, numpy]] = rows("| arithmos |")
    classified = [c.rpartition(" ")[2] for c in project["classifiers"] if "Python :: 3." in c]
    assert (fixed, pythons.split(", ")) == ("yes", classified)
    assert project["requires-python"] == f">={classified[0]}"
    assert project["dependencies"] == [f"torch>={torch.split()[0]}", f"numpy>={numpy.split()[0]}"]


def test_least_versions_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(item for extra in project["optional-dependencies"].values() for item in extra)]
    for package, least, _ in rows("| package | from |"):
        assert f"{package}>={least}" in asked
