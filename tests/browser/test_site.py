"""The documentation site in a browser: no errors, nothing fetched from elsewhere, search works, readable to all."""

import functools
import http.server
import threading
from importlib import resources
from pathlib import Path

import pytest

from arithmos import __version__

mkdocs_build = pytest.importorskip("mkdocs.commands.build", reason="the extra docs is not installed")
mkdocs_config = pytest.importorskip("mkdocs.config")

ROOT = Path(__file__).parents[2]
WIDTHS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    config = mkdocs_config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
    mkdocs_build.build(config)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def visit(chromium, site):
    """Opens a page of the site; at the end there must have been no error, and no request to anywhere else."""
    troubles, pages = [], []

    def visit(path, viewport, scheme="light"):
        page = chromium.new_page(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        pages.append(page)
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        own = (site, "data:", "blob:")
        page.on("request", lambda request: None if request.url.startswith(own) else troubles.append(request.url))
        page.goto(f"{site}/{path}")
        return page

    yield visit
    for page in pages:
        page.close()
    assert troubles == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["index.html", "faq.html", "examples/judge_a_unit.html", "reference/units/NMU.html"])
def test_accessibility_and_width(visit, path, width, scheme):
    axe = resources.files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text(encoding="utf-8")
    page = visit(path, WIDTHS[width], scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]["width"]
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    serious = [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


def test_every_page_names_the_version(visit):
    page = visit("units/which.html", WIDTHS["desktop"])
    assert page.title().endswith(f"Arithmos {__version__}")


def test_search_finds(visit):
    page = visit("index.html", WIDTHS["desktop"])
    page.locator("input[data-md-component=search-query]").click()
    page.keyboard.type("division")
    page.locator(".md-search-result__link").first.wait_for()
    assert "Questions" in page.locator(".md-search-result__list").inner_text()


@pytest.mark.parametrize("unit", ["NMU", "NAU", "RealNPU"])
def test_search_finds_a_unit_first(visit, unit):
    page = visit("index.html", WIDTHS["desktop"])
    page.locator("input[data-md-component=search-query]").click()
    page.keyboard.type(unit)
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    assert f"reference/units/{unit}.html" in first.get_attribute("href")


@pytest.mark.parametrize(("path", "formulas"), [("reference/units/RealNPU.html", 2), ("theory/index.html", 10)])
def test_formulas_are_drawn(visit, path, formulas):
    page = visit(path, WIDTHS["desktop"])
    assert page.locator("math").count() >= formulas
    assert "$" not in page.locator("article").inner_text()
    assert page.evaluate("document.fonts.ready.then(fonts => [...fonts].map(font => font.status))") == ["loaded"]
