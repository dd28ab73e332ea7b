"""The matrix of success rates in a browser: it sorts, leads to runs, and fits a phone."""

import shutil

import pytest
from tests.factories import make_run

from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.store import Store

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
html = pytest.importorskip("arithmos.report.page.html", reason="the extra report is not installed")
pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium on this machine")


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    """The page of the ranking on made-up runs, as seen on a phone."""
    folder = tmp_path_factory.mktemp("ranking")
    store = Store(folder / "runs")
    specs = [spec for name in ("add", "sub") for spec in EXPERIMENTS[f"ranking/{name}"].specs]
    specs += [experiment.specs[-1] for experiment in PAPERS["ranking"].experiments]
    store.append([make_run(spec, seed, "cpu") for spec in dict.fromkeys(specs) for seed in range(2)])
    [path] = html.write(folder / "report.html", store, papers=[PAPERS["ranking"]])
    page = chromium.new_page(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page.goto(path.as_uri())
    return page


def test_a_click_on_a_title_sorts_by_it(page):
    page.click('[data-sortable] >> nth=0 >> text="−" >> nth=0')
    values = page.eval_on_selector_all(
        "header .rates tbody tr", "rows => rows.map((row) => Number(row.cells[2].dataset.value))"
    )
    assert values == sorted(values, reverse=True)
    assert page.get_attribute("header .rates th[aria-sort]", "aria-sort") == "descending"


def test_a_rate_of_a_range_leads_to_its_runs(page):
    link = page.locator("#add .rates td a").nth(3)
    spec = link.get_attribute("data-spec")
    link.click()
    page.wait_for_selector("#run-spec:not(:empty)", state="attached")
    assert page.locator("#pick-cell").input_value() == spec


def test_nothing_is_wider_than_a_phone_but_what_scrolls(page):
    assert page.evaluate("document.documentElement.scrollWidth <= 390")


def test_matrices_and_figures_fit_a_desk(page):
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()
    page.evaluate("Promise.all(figures.map(drawFigure))")
    assert page.locator("header .rates thead th").count() == 3 + 1 + len(PAPERS["ranking"].experiments)
    wide = """[...document.querySelectorAll(".chart, .wide:has(.rates)")]
        .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.dataset.chart ?? one.id)"""
    assert page.evaluate(wide) == []
