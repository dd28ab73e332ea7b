import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from tests.factories import make_run

from arithmos._formatting import percent, scientific
from arithmos.papers import EXPERIMENTS
from arithmos.report import render, summarize
from arithmos.report.tables.grid import FORMATS, Cell, Grid
from arithmos.store import Store

SUFFIXES = {"text": "txt", "markdown": "md", "latex": "tex", "html": "html", "json": "json"}

TABLE = EXPERIMENTS["table-2"].select(operations=["mul", "add"])
SWEEP = EXPERIMENTS["regularizer-mul"]


def runs(spec, n, k, **changes):
    """n runs of which the first k are solved, spread around a million steps."""
    for seed in range(n):
        at = 800_000 + 7_000 * (seed * 37 % 100) if seed < k else -1
        measured = {"best_test": 1e-7 if seed < k else 1.0, "best_sparsity": 1e-4 * (1 + seed % 7)}
        yield make_run(spec, seed, solved_at_released=at, solved_at_corrected=at, **measured | changes)


@pytest.fixture
def store(tmp_path):
    """Cells of all kinds: many solved, some, one, none, and no runs."""
    store = Store(tmp_path)
    counts = [(100, 31), (100, 0), (100, 98), (100, 100), (20, 1), (0, 0), (100, 100)]
    for spec, (n, k) in zip(TABLE.specs, counts, strict=True):
        store.append(runs(spec, n, k, ended_early=k == 31))
    for spec in SWEEP.specs[:2]:
        store.append(runs(spec, 50, 50))
    return store


@pytest.mark.parametrize("format", SUFFIXES)
def test_golden_table(store, golden, format):
    frame = summarize(store, TABLE).assign(spec_id="…")
    digits = frame.map(lambda value: float(f"{value:.6g}") if isinstance(value, float) else value)
    golden(f"table.{SUFFIXES[format]}", render(digits, TABLE, format) + "\n")


def test_golden_sweep(store, golden):
    golden("sweep.txt", render(summarize(store, SWEEP), SWEEP) + "\n")


def test_golden_corrected(store, golden):
    golden("corrected.txt", render(summarize(store, TABLE, criterion="corrected"), TABLE) + "\n")


def test_json_is_a_list_of_rows(store):
    rows = json.loads(render(summarize(store, TABLE), TABLE, "json"))
    assert len(rows) == len(TABLE.specs)
    assert {"operation", "model", "n", "k", "success_rate", "published_k", "success_p"} <= set(rows[0])
    assert (rows[2]["operation"], rows[2]["model"], rows[2]["n"], rows[2]["k"]) == ("mul", "NMU", 100, 98)
    assert rows[1]["solved_at_median"] is None
    assert rows[5]["success_rate"] is None


def test_best_values_are_marked(store):
    lines = render(summarize(store, TABLE), TABLE, "markdown").splitlines()
    ours = [line for line in lines if line.startswith(("| ×", "| +"))]
    assert [("**98%**" in line, "**100%**" in line) for line in ours] == [
        (False, False),
        (False, False),
        (True, False),
        (False, True),
        (False, False),
        (False, False),
        (False, True),
    ]


def test_a_group_that_fails_has_no_best(tmp_path):
    store = Store(tmp_path)
    store.append(run for spec in TABLE.specs for run in runs(spec, 3, 0))
    own = dataclasses.replace(TABLE, published="")
    assert "**0%**" not in render(summarize(store, own), own, "markdown")


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.rows = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html_is_well_formed(store):
    tags = Tags()
    tags.feed(render(summarize(store, TABLE), TABLE, "html"))
    assert tags.open == []
    assert set(tags.rows) == {11}


def test_foreign_words_are_escaped():
    grid = Grid("a <b> & c", ["x|y"], [[[Cell("NAU>my_unit.py:A|B <script>&")]]], ["50 % <i>"])
    page = grid.write("html")
    assert "<script>" not in page
    assert "<i>" not in page
    assert "NAU&gt;my_unit.py:A|B &lt;script&gt;&amp;" in page
    assert grid.write("markdown").splitlines() == [
        "**a &lt;b> &amp; c**",
        "",
        r"| x\|y |",
        "| --- |",
        r"| NAU>my\_unit.py:A\|B &lt;script>&amp; |",
        "",
        "50 % &lt;i>",
    ]
    assert r"NAU\textgreater{}my\_unit.py:A\textbar{}B \textless{}script\textgreater{}\&" in grid.write("latex")


def test_words_cannot_be_markup():
    grid = Grid("t", ["h"], [[[Cell("[a](javascript:b) *c* _d_ `e` \\", best=True)], [Cell("[1] & 50 % $ # ~ ^ { }")]]])
    assert r"| **\[a](javascript:b) \*c\* \_d\_ \`e\` \\** |" in grid.write("markdown")
    tex = r"{[}1] \& 50 \% \$ \# \textasciitilde{} \textasciicircum{} \{ \} \\"
    assert tex in grid.write("latex").splitlines()


def test_latex_has_balanced_braces_and_no_double_superscript(store):
    page = render(summarize(store, TABLE), TABLE, "latex")
    assert page.count("{") == page.count("}")
    assert page.count("$") % 2 == 0
    assert not re.search(r"10\^\{-?\d+\}[\^_]", page)
    assert page.isascii()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles(store, tmp_path):
    page = render(summarize(store, TABLE), TABLE, "latex")
    source = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{page}\end{{document}}"
    (tmp_path / "table.tex").write_text(source)
    subprocess.run(["pdflatex", "-halt-on-error", "table.tex"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1_430_000, "1.4·10⁶"),
        (9_960_000, "1.0·10⁷"),
        (4.2e-7, "4.2·10⁻⁷"),
        (0.5, "5.0·10⁻¹"),
        (0.0, "0"),
        (float("inf"), "∞"),
    ],
)
def test_scientific(value, written):
    assert scientific(value) == written


def test_percent():
    assert [percent(value) for value in (0, 0.126, 1)] == ["0%", "13%", "100%"]


def test_formats():
    assert [*FORMATS, "json"] == list(SUFFIXES)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_the_terminal(store, width):
    for part in (TABLE, SWEEP):
        lines = render(summarize(store, part), part, width=width).splitlines()
        assert max(map(len, lines[1:])) <= width
    assert "--wide" not in render(summarize(store, TABLE), TABLE)


def test_a_narrow_table_leaves_out_what_matters_least_and_says_so():
    rows = [
        [Cell("NMU"), Cell("98%", "1%", "5%", maths=True), Cell("1.4·10⁶", maths=True), Cell("some words of a note")]
    ]
    grid = Grid("Rates", ["Model", "Success rate", "Solved at", "Note"], [rows], optional=["Solved at"])
    assert grid.write("text", 200) == grid.write("text")
    assert "1.4·10⁶" in grid.write("text", 52)  # a title is wrapped first
    lines = grid.write("text", 44).splitlines()
    assert lines[2].split() == ["Model", "Success", "rate", "Note"]
    assert lines[4].split() == ["NMU", "98%", "+1%", "−5%", "some", "words", "of", "a", "note"]
    assert " ".join(lines[6:]) == "Left out to fit the terminal: Solved at. Show all with --wide."
    assert "Solved at; intervals" in " ".join(grid.write("text", 36).splitlines())
    assert max(map(len, grid.write("text", 30).splitlines())) <= 36  # words are wrapped at twenty letters, not below
