"""The report in a browser: it works, fetches nothing, and can be used without a mouse, by ear, and on a phone."""

import json
import shutil
from importlib import resources
from pathlib import Path

import pytest
from tests.factories import make_run, make_spec

from arithmos import bench
from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.store import Store

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
html = pytest.importorskip("arithmos.report.page.html", reason="the extra report is not installed")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")

ROOT = Path(__file__).parents[2]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

ITEMS = [item.name for item in (*PAPERS["madsen2020"].experiments, *PAPERS["madsen2020"].surfaces)]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report on the runs that come with the project; elsewhere on real ones, all short, and on made-up ones."""
    folder = tmp_path_factory.mktemp("report")
    store = Store(ROOT / "results")
    if not len(store):
        store = Store(folder / "runs")
        bench.run(["table-1"], seeds=2, iterations=2000, engine="torch", store=store)
        cells = [EXPERIMENTS[name].specs for name in ("table-1", "regularizer-mul", "gate")]
        store.append([make_run(spec, seed, "cpu") for specs in cells for spec in specs for seed in range(6)])
        store.append([make_run(make_spec(), 0)])
    [path] = html.write(folder / "report.html", store, papers=[PAPERS["madsen2020"]])
    return path


@pytest.fixture(scope="module")
def troubles():
    """Errors and requests of all pages."""
    return []


@pytest.fixture(scope="module")
def visit(chromium, report, troubles):
    """Opens the report in a window of its own."""

    def visit(viewport=DESKTOP, scheme="light"):
        page = chromium.new_page(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda request: troubles.append(request.url) if _outside(request.url) else None)
        page.goto(report.as_uri())
        return page

    return visit


@pytest.fixture(scope="module")
def desk(visit):
    """A window that tests share, each of them busy with another part of the page: to open one takes a second."""
    return visit()


@pytest.fixture(autouse=True)
def calm(chromium, troubles):
    """At the end of a test there has been no error and no request."""
    yield
    for context in chromium.contexts:
        for page in context.pages:
            page.evaluate("0")  # by when it has answered, all that it had to say before is here
    found, troubles[:] = [*troubles], []
    assert found == []


def _outside(url):
    return not url.startswith(("file:", "data:", "blob:"))


def drawn(page, name):
    """The figure of an item, once it is drawn."""
    figure = page.locator(f'[data-chart="{name}"]')
    figure.scroll_into_view_if_needed()
    figure.locator("svg").wait_for()
    return figure


def picked(figure, selection):
    """What is picked in a figure; none if all is."""
    return figure.evaluate(f"holder => holder.view.data('{selection}_store').flatMap(tuple => tuple.values)")


def test_every_item_is_drawn_once_it_is_in_view(visit):
    page = visit()
    assert page.locator("[data-chart] svg").count() < 3
    for name in ITEMS:
        figure = drawn(page, name)
        assert figure.locator("svg").bounding_box()["width"] > 100, name
        assert page.locator(f"#{name} h3").inner_text()
    for name in ("verdicts", "claims", "runs", "other-runs", "made", "downloads"):
        assert page.locator(f"#{name} h2").inner_text()


def test_the_legend_selects(desk):
    figure = drawn(desk, "regularizer-mul")
    assert figure.get_attribute("aria-label").startswith("Strength of the sparsity regularizer, NMU on ×")
    assert picked(figure, "model") == []
    figure.locator(".role-legend-symbol path").first.click(force=True)
    assert picked(figure, "model") == ["NMU"]


def test_the_keyboard_selects(desk):
    figure = drawn(desk, "hidden-size")
    choice = desk.locator("#hidden-size").get_by_label("Highlight")
    choice.focus()
    desk.keyboard.press("End")
    desk.wait_for_function("document.querySelector('[data-chart=\"hidden-size\"]').view.data('model_store').length")
    assert picked(figure, "model") == ["NMU"]
    choice.select_option("all models")
    desk.wait_for_function("!document.querySelector('[data-chart=\"hidden-size\"]').view.data('model_store').length")


def test_a_run_can_be_picked(desk):
    desk.locator("#runs").scroll_into_view_if_needed()
    desk.locator("#run-weights svg").wait_for()
    before = desk.locator("#run-facts").inner_text()
    runs = desk.locator("#pick-run option").all_inner_texts()
    assert len(runs) > 1
    desk.get_by_label("Run", exact=True).select_option(index=1)
    desk.wait_for_function("text => document.getElementById('run-facts').textContent !== text", arg=before)
    assert desk.locator("#run-facts").inner_text().startswith(runs[1])
    desk.wait_for_function("document.getElementById('run-curves').view.data('run_store').length")
    assert picked(desk.locator("#run-curves"), "run") == [runs[1]]
    experiments = desk.locator("#pick-experiment option")
    desk.get_by_label("Experiment", exact=True).select_option(index=experiments.count() - 1)
    desk.locator("#run-records").locator("xpath=..").locator("summary").click()
    assert desk.locator("#run-records tbody tr").count() > 1
    desk.locator("#run-matrices").locator("xpath=..").locator("summary").click()
    assert desk.locator("#run-matrices td").first.inner_text()


def test_a_cell_leads_to_its_runs(desk):
    link = desk.locator("#items a[data-spec]:visible").last
    spec = link.get_attribute("data-spec")
    assert desk.locator("#pick-cell").input_value() != spec
    link.click()
    desk.locator("#run-weights svg").wait_for()
    assert desk.locator("#pick-cell").input_value() == spec


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_downloads(desk, kind):
    with desk.expect_download() as download:
        desk.locator(f'[data-table="verdicts"][data-as="{kind}"]').click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename == f"verdicts.{kind}"
    rows = json.loads(text) if kind == "json" else text.splitlines()
    assert len(rows) > 800
    assert "verdict" in rows[0]


def test_printing_shows_all(visit):
    page = visit()
    assert not page.locator("#subset table").is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("[...document.querySelectorAll('[data-chart]')].every(holder => holder.view)")
    page.emulate_media(media="print")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("nav").is_hidden()
    assert page.locator("#subset table").is_visible()


@pytest.mark.parametrize(("name", "viewport", "scheme"), [("desktop", DESKTOP, "light"), ("phone", PHONE, "dark")])
def test_the_page_is_no_wider_than_the_screen(visit, request, tmp_path, name, viewport, scheme):
    """And looks well: with --golden screenshots go to docs/, where the README shows them."""
    page = visit(viewport, scheme)
    for figure in ("table-2", "hidden-size", "gate", "loss-surface"):
        drawn(page, figure)
    page.locator("#runs").scroll_into_view_if_needed()
    page.locator("#run-weights svg").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    page.locator("#table-2").evaluate("section => section.scrollIntoView()")
    folder = ROOT / "docs" if request.config.getoption("--golden") else tmp_path
    page.screenshot(path=folder / f"report-{name}.png")
    assert (folder / f"report-{name}.png").stat().st_size > 10_000


def test_accessibility(visit):
    axe = resources.files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text(encoding="utf-8")
    page, whole = visit(), ("table-1", "gate", "regularizer-mul")
    for name in whole:
        drawn(page, name)
    page.locator("#runs").scroll_into_view_if_needed()
    page.locator("#run-weights svg").wait_for()
    page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    # Rows and marks are alike in all items, and there are twenty thousand of them.
    alike = [f"#{name} tbody, #{name} svg" for name in ITEMS if name not in whole]
    page.evaluate("alike => document.querySelectorAll(alike).forEach(part => part.remove())", ", ".join(alike))
    page.evaluate(axe)
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):  # all else is the same in the dark
        page.emulate_media(color_scheme=scheme)
        options = {"resultTypes": ["violations"], **rules}
        found = page.evaluate("options => axe.run(options)", options)["violations"]
        assert [f"{one['id']}: {one['nodes'][0]['html']}" for one in found] == [], scheme
