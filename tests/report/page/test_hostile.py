"""What users call their things stays text, wherever it comes to be read: a page has the same elements as with harmless
names, and nothing of a name is one of them."""

from copy import copy
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from tests.factories import make_run, make_spec

pytest.importorskip("altair")
pytest.importorskip("jinja2")

from arithmos.cli import main
from arithmos.papers import PAPERS, Finding, Paper, load
from arithmos.papers.files.write import written
from arithmos.report.page import html
from arithmos.store import Store, _schema

pytestmark = pytest.mark.filterwarnings("ignore:.*is set aside")

HARMLESS = "a name"
HOSTILE = {
    "element": "<script>alert(1)</script>",
    "end of a script": "</script><img src=x onerror=alert(1)>",
    "attribute": "\"><b onclick='alert(1)' x=\"' onclick=alert(1) ",
    "comment": "<!--<script>",
    "entity": "&lt;script&gt;&#60;b&#62;",
    "link": "javascript:alert(1)",
    "template": "{{ 7 * 7 }}{% raw %}${7 * 7}",
}
SHAPES = {"svg", "rect", "g", "path", "line", "text", "defs", "clipPath", "style"}
UNIT = """
import torch
from torch import nn


class Own(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features, bias=False)
"""


class Elements(HTMLParser):
    """Elements of a page with the names of their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, ...]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attributes)))
        assert not any("javascript:" in (value or "") for name, value in attributes if name in ("href", "src"))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", data))


def prepare(name: str) -> Path:
    """An experiment file all of whose names are this one, a unit of the user's in a folder of that name, and runs."""
    folder = Path("".join(character for character in name if character not in "/\0>:"))
    folder.mkdir()
    (folder / "unit.py").write_text(UNIT)
    own = {"name": f"own {name}", "label": f"{name} own", "layers": ["unit.py:Own", "NMU"]}
    known = {"name": f"known {name}", "label": f"{name} known", "layers": ["NAU", "NMU"]}
    file = folder / f"{folder}.toml"
    head = {"title": name, "seeds": 2, "iterations": 5000, "axis": "hidden_size", "hidden_size": [2, 3]}
    task = {"operation": "mul", "input_size": 4, "subset_ratio": 0.5}
    values = {**head, "task": task, "models": [own, known]}
    file.write_text("".join(f"{key} = {written(value)}\n" for key, value in values.items()), encoding="utf-8")
    Store("runs").append([make_run(spec, seed) for spec in load(file).specs for seed in range(2)])
    Path("runs", f"part-{folder}.parquet").write_bytes(b"")
    return file


def arithmos(*arguments: object) -> str:
    done = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def pages(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Every page of HTML that the command line makes, by its verb."""
    file = prepare(name)
    experiment = replace(load(file), name="own")
    paper = Paper(key="own", title=name, reference=name, experiments=(experiment,), findings=(Finding("own", name),))
    monkeypatch.setitem(PAPERS._papers, "own", paper)
    arithmos("figure", file, "-o", "figure.html")
    arithmos("figure", file, "-o", "figure.svg")
    arithmos("report", "--paper", "own", "-o", "report.html")
    tables = {verb: arithmos(verb, file, "--format", "html") for verb in ("table", "verdict", "judges")}
    return tables | {verb: Path(f"{verb}.html").read_text(encoding="utf-8") for verb in ("figure", "report")}


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        bare(monkeypatch)
        monkeypatch.chdir(tmp_path_factory.mktemp("harmless"))
        return pages(HARMLESS, monkeypatch)


def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report without what takes its time and has no names of users in it."""
    monkeypatch.setattr(html, "_BUNDLE", ("print('the bundle')",))


FORGED = {
    "colors": "\x1b[31m",
    "title of the window": "\x1b]0;mine\x07",
    "clipboard": "\x9d52;c;cm0gLXJm\x9c",
    "another line": "\r\u0085\u2028arithmos: all is well",
    "direction": "\u202eUMN\u2066",
    "nothing": "\0",
}


@pytest.mark.parametrize("name", FORGED.values(), ids=FORGED)
def test_forged_text_in_a_store_is_escaped(tmp_path, monkeypatch, name):
    bare(monkeypatch)
    monkeypatch.chdir(tmp_path)
    environment = _schema._environment() | {"processor": f"processor {name}"}
    monkeypatch.setattr(_schema, "_environment", lambda: environment)
    spec = make_spec()
    spec = replace(spec, model=copy(spec.model))  # the catalogue's own model stays as it is
    for field in ("name", "label"):
        object.__setattr__(spec.model, field, f"forged {name}")  # as a forger of the file could
    Store("runs").append([make_run(spec, seed) for seed in range(2)])
    Path(f"runs/part-{name}.parquet".replace("\0", "")).write_bytes(b"")
    shown = [arithmos("show", spec.id), arithmos("show", spec.id, 1), arithmos("store", "info")]
    arithmos("report", "-o", "report.html")
    page = Path("report.html").read_text(encoding="utf-8")
    assert all(line.isprintable() for text in (*shown, page) for line in text.split("\n"))
    assert "forged " in shown[1]
    assert "processor " in Elements(page).text


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_stay_text(tmp_path, monkeypatch, harmless, name):
    bare(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_schema, "processor", lambda: name)
    for verb, page in pages(name, monkeypatch).items():
        found = Elements(page)
        assert found.elements == Elements(harmless[verb]).elements, verb
        assert verb in ("verdict", "figure") or name in found.text, verb
    assert {part.tag.rpartition("}")[2] for part in ElementTree.parse("figure.svg").iter()} <= SHAPES
