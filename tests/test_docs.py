"""The documentation: its code runs, its commands are those that there are, and nothing public is left out."""

import importlib.util
import inspect
import re
import shlex
import sys
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from tools import mathematics, reference

from arithmos import functional, nn
from arithmos.cli import main
from arithmos.nn import CELLS, _init

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
ELSEWHERE = {
    "toml": "tests/papers/test_files.py",
    "dockerfile": "no Docker here",
    "bibtex": "no program",
    "text": "what a program prints",
}
"""Languages of blocks that are not looked at below, and who does, or why nobody."""
COMMANDS = dict(reference.commands(main))


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The code blocks of a page, each with the line on which it begins."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text[: block.start(1)].count("\n"), block[1]) for block in found]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """In order, as one program in a file, each statement on the line that it has in the page."""
    program = ""
    for line, code in blocks(page, "python"):
        program += "\n" * (line - program.count("\n")) + code
    path = tmp_path / f"{page.stem.replace('-', '_')}.py"
    path.write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)  # where the source of a class is looked up
    spec.loader.exec_module(module)


@pytest.mark.parametrize("page", [page for page in TEXTS if blocks(page, "bash")], ids=name)
def test_commands_are_known(page):
    lines = [line.partition("  #")[0] for _, code in blocks(page, "bash") for line in code.splitlines()]
    for words in map(shlex.split, lines):
        check(words)


def check(words: list[str]) -> None:
    """Fails for an unknown target of the Makefile, extra of the package, or script."""
    match words:
        case ["make", *targets]:
            assert set(targets) <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        case ["pip", "install", *rest]:
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            assert {extra for word in rest for extra in re.findall(r"[\w]+", word.partition("[")[2])} <= set(extras)
        case ["python", script, *_] if "/" in script:
            assert (ROOT / script).is_file(), script


@pytest.mark.parametrize("command", ["make tset", "pip install .[bnech]", "python examples/none.py"])
def test_a_wrong_command_is_noticed(command):
    with pytest.raises(AssertionError):
        check(shlex.split(command))


def test_no_block_is_left_out():
    """What needs a queue or a cluster (`py`, `yaml`) is at least well formed."""
    for page in TEXTS:
        fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[::2]
        assert set(fences) <= {"python", "bash", "py", "yaml", *ELSEWHERE}, name(page)
        for _, code in blocks(page, "py"):
            compile(code, name(page), "exec")
        for _, code in blocks(page, "yaml"):
            assert yaml.safe_load(code)


def test_every_option_is_in_the_reference():
    page = reference.command_page()
    for path, command in COMMANDS.items():
        section = page.partition(f"## {path}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert max(parameter.opts, key=len) in section, f"{path} {parameter.opts}"


@pytest.mark.parametrize("module", list(reference.modules()), ids=lambda module: module.__name__)
def test_every_public_name_is_documented(module):
    pages = reference.module_page(module)
    if module is nn:
        pages += "".join(map(reference.unit_page, reference.layers()))
    assert module.__doc__
    for public in reference.public(module):
        assert getattr(module, public).__doc__, f"{module.__name__}.{public} has no docstring"
        assert pages.count(f"::: {module.__name__}.{public}\n") == 1


def test_the_reference_begins_with_the_units_most_used_and_ends_with_initial_values():
    assert [layer.__name__ for layer in reference.layers()[:2]] == ["NAU", "NMU"]
    assert reference.public(nn)[-1] in vars(_init)


@pytest.mark.parametrize("layer", reference.layers(), ids=lambda layer: layer.__name__)
def test_a_unit_has_a_page_of_its_own(layer):
    """With its formula, its arguments, the shapes with their asterisk, an example, and its pure function."""
    page = reference.unit_page(layer)
    assert "$$" in page
    assert "][arithmos.functional." in page
    for section in ("Args:", "device:", "dtype:", "Shape:", "`(*, in_features)` to `(*, out_features)`", ">>> "):
        assert section in layer.__doc__, section


def test_what_the_questions_recommend_is_there():
    """A word in code is a unit, a function or an option of a unit; a call has arguments that the function takes."""
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    options = {name for unit in CELLS.values() for name in inspect.signature(unit.module).parameters}
    assert {*re.findall(r"`([A-Za-z_]\w+)`", text)} <= {*CELLS, *vars(functional), *options}
    calls = re.findall(r"`functional\.(\w+)\((.*?)\)`", text)
    assert calls
    for name, arguments in calls:
        assert {*re.findall(r"(\w+)=", arguments)} <= {*inspect.signature(getattr(functional, name)).parameters}


@pytest.mark.parametrize("directive", [".. math:: z_o = \\sum_i\n    x_i", ".. math::\n\n    z_o =\n    \\sum_i x_i"])
def test_mathematics_of_docstrings_becomes_that_of_pages(directive):
    assert mathematics.dollars(f"A sum\n\n{directive}\n\nof :math:`x`.") == "A sum\n\n$$z_o = \\sum_i x_i$$\n\nof $x$."


def test_mathematics_of_pages_becomes_mathml():
    made = mathematics.typeset(r'<p>Of <span class="arithmatex">\(a &lt; b\)</span>, and \(c\).</p>')
    assert "<mo>&#x0003C;</mo>" in made
    assert made.count("<math") == 1


def test_functions_and_bars_have_the_spaces_of_mathematics():
    made = mathematics.mathml(r"W \log r + |x|", block=False)
    assert made.count("<mspace") == 2
    assert made.count('lspace="0"') == 2
