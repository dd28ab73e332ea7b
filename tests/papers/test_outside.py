"""A paper in a folder outside the package does all that one inside does."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("altair")
pytest.importorskip("jinja2")

from arithmos.cli import main
from arithmos.papers import EXPERIMENTS, PAPERS, Paper, Published, load_paper
from arithmos.report.page import html

INIT = '''
"""A toy paper."""

from pathlib import Path

from arithmos.papers import COMPARISONS, Claim, Finding, Paper, read_not_run

from .experiments import EXPERIMENTS, at_best, slowest

paper = Paper(
    key="toy2026",
    title="Toys that Multiply",
    reference="A workshop, 2026",
    experiments=EXPERIMENTS,
    claims=(
        Claim(
            name="multiplies",
            where="Table 1",
            text="The NMU multiplies.",
            criterion="it solves more than nothing",
            experiments=("products",),
            test=at_best,
        ),
    ),
    findings=(Finding("products", "Few seeds were run."),),
    not_run=read_not_run(Path(__file__).with_name("not_run.toml")),
    comparisons={**COMPARISONS, "slowest": slowest},
    introduction="What a toy can do.",
)
'''
MODULE = """
from pathlib import Path

from arithmos.papers import Compared, Experiment, Published
from arithmos.papers.evidence import Decision
from arithmos.spec import MODELS, Spec
from arithmos.statistics import Interval
from arithmos.tasks import Arithmetic

TASK = Arithmetic(operation="mul", input_size=4, fixed=((0, 2), (1, 3)))
SHORT = {"iterations": 200, "evaluate_every": 100}
MODELS = [MODELS[name] for name in ("NAU", "NMU")]

EXPERIMENTS = (
    Experiment(
        name="products",
        item="Table 1",
        title="Products of toys",
        specs=tuple(Spec(task=TASK, model=model, **SHORT) for model in MODELS),
        seeds=3,
        published=Published(Path("products.csv")),
    ),
    Experiment(
        name="widths",
        item="Figure 1",
        title="Wider toys",
        specs=tuple(Spec(task=TASK, model=MODELS[1], hidden_size=hidden, **SHORT) for hidden in (2, 3)),
        seeds=2,
        axis="hidden_size",
    ),
)


def slowest(cell, printed, published, iterations):
    # The latest solved-at step, which no other paper prints.
    latest = max(cell.solved_at, default=float("nan"))
    return Compared(Interval(latest), 1.0, note=f"of {published.name}", power=lambda times, level: 1.0)


def at_best(cases):
    case = cases("products", "NMU", "mul")
    return Decision(case.runs.k > 0, case.rate)
"""
CSV = "operation,model,n,k,slowest\nmul,NAU,3,0,\nmul,NMU,3,3,100\nmul,Abacus,3,2,50\n"
LOST = "at,model,n,k\n2,NMU,5,4\n3,NMU,5,0\n"
NOT_RUN = """
[[not_run]]
name = "products"
models = ["Abacus"]
reason = "an abacus is no network"

[[not_run]]
name = "lengths"
item = "Figure 2"
file = "lost.csv"
reason = "its data are lost"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a paper"
    folder.mkdir()
    texts = {"__init__.py": INIT, "experiments.py": MODULE, "not_run.toml": NOT_RUN}
    texts["wrong.toml"] = '[[not_run]]\nname = "width"\nreason = "lost"'
    for name, text in {**texts, "products.csv": CSV, "lost.csv": LOST}.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(PAPERS, "_papers", dict(PAPERS._papers))
    monkeypatch.setattr(html, "_BUNDLE", ("print('the bundle')",))
    return folder


def arithmos(*arguments: object) -> str:
    done = CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_every_verb_shows_it(folder):
    own = ("--paper", folder)
    listed = arithmos("list", *own)
    assert "toy2026/products" in listed
    assert "toy2026/widths" in listed
    assert "madsen2020" not in listed
    assert "all 6 are in runs" in arithmos("run", "toy2026/products", "--engine", "torch", *own)
    assert "all 4 are in runs" in arithmos("run", "widths", "--engine", "torch", *own)
    table = arithmos("table", "products", *own)
    assert "Table 1: Products of toys" in table
    assert len(re.findall(r"^ +published +3 ", table, re.MULTILINE)) == 2
    verdicts = arithmos("verdict", *own)
    assert "A workshop, 2026" in verdicts
    assert "Not run: Table 1, 2 numbers; an abacus is no network." in verdicts
    assert "Not run: Figure 2, 2 numbers; its data are lost." in verdicts
    numbers = arithmos("verdict", "products", *own)
    assert "Few seeds were run." in numbers
    assert re.search(r"Abacus +Slowest +5\.0·10¹ .* — +0/0 +not run +an abacus is no network", numbers), numbers
    assert re.search(r"NMU +Slowest +1\.0·10² .* agrees +of products", numbers), numbers
    claims = arithmos("claims", *own)
    assert "multiplies" in claims
    assert "ten-parameters" not in claims
    assert arithmos("report", *own).strip() == "report.html"
    page = Path("report.html").read_text(encoding="utf-8")
    for text in (
        "Toys that Multiply",
        "What a toy can do.",
        "Wider toys",
        "The NMU multiplies.",
        "Few seeds were run.",
        "Not run: Figure 2, 2 numbers; its data are lost.",
        '<th scope="row">lengths</th>',
    ):
        assert text in page
    assert Path(arithmos("figure", "widths", *own).strip()).is_file()


def test_several_papers_get_a_page_each_and_an_index(folder):
    files = arithmos("report", "--paper", folder, "--paper", "madsen2020", "-o", "both.html").split()
    assert files == ["both.html", "both-toy2026.html", "both-madsen2020.html"]
    index = Path("both.html").read_text(encoding="utf-8")
    assert 'href="both-toy2026.html"' in index
    assert "Neural Arithmetic Units" in index


def test_a_name_in_several_papers_must_be_whole(folder):
    text = (folder / "experiments.py").read_text(encoding="utf-8")
    (folder / "experiments.py").write_text(text.replace('"widths"', '"table-1"'), encoding="utf-8")
    PAPERS.find(str(folder))
    assert EXPERIMENTS["toy2026/table-1"].title == "Wider toys"
    with pytest.raises(KeyError, match="in several papers; write madsen2020/table-1 or toy2026/table-1"):
        EXPERIMENTS["table-1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise RuntimeError('toys are out')", "does not load: RuntimeError: toys are out"),
        ("paper = 3", "must define `paper`, a Paper, got 3"),
        (INIT.replace('("products",)', '("product",)'), "no experiment 'product'; did you mean 'products'"),
        (INIT.replace("not_run.toml", "wrong.toml"), "no experiment 'width'; did you mean 'widths'"),
    ],
)
def test_what_is_wrong_is_said(folder, text, message):
    (folder / "__init__.py").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_paper(folder)


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a folder with an __init__"):
        load_paper(tmp_path / "nowhere")


def test_columns_that_are_missing_are_named(folder):
    (folder / "products.csv").write_text("model,n\nNMU,3\n", encoding="utf-8")
    with pytest.raises(ValueError, match="must have the columns model, n, k, and either operation or at, got model, n"):
        _ = load_paper(folder).experiments[0].published.table


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("NMU,mul,100,many\n", "numbers in its column 'k', got 'many'"),
        ("NMU,mul,100,101\n", "whole numbers k from 0 to n"),
        ("NMU,mul,,5\n", "whole numbers k from 0 to n"),
        ("NMU,mul,1,1,1,1\n", "must be a CSV file"),
    ],
)
def test_printed_numbers_that_cannot_be_right_are_refused(rows, message, tmp_path):
    (tmp_path / "table.csv").write_text(f"model,operation,n,k\nNAU,mul,100,3\n{rows}")
    with pytest.raises(ValueError, match=message) as refused:
        Published(tmp_path / "table.csv").table  # noqa: B018
    assert str(tmp_path / "table.csv") in str(refused.value)


def test_a_record_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="experiments must hold values of Experiment, got 'products'"):
        Paper(key="toy", title="Toys", reference="A workshop", experiments=("products",))
