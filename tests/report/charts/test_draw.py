import json
import re
from html.parser import HTMLParser

import altair as alt
import pandas as pd
import pytest
from tests.factories import make_run

from arithmos.papers import EXPERIMENTS, FIGURES, PAPERS
from arithmos.report.charts.draw import draw
from arithmos.report.charts.files import SUFFIXES, save, vega_lite
from arithmos.store import Store

SURFACES = {surface.name: surface for surface in PAPERS["madsen2020"].surfaces}


class Tags(HTMLParser):
    """What the tags of a page fetch."""

    def __init__(self):
        super().__init__()
        self.fetched = []

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href")]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two runs of every spec of the catalogue, one of them solved."""
    store = Store(tmp_path_factory.mktemp("store"))
    specs = {spec.id: spec for experiment in EXPERIMENTS.values() for spec in experiment.specs}
    store.append(make_run(spec, seed, best_gate=seed / 2) for spec in specs.values() for seed in range(2))
    return store


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn(store, name, tmp_path):
    page = save(draw(FIGURES[name], store), tmp_path / f"{FIGURES[name].name}.svg").read_text()
    assert page.startswith("<svg")
    assert FIGURES[name].title.split()[0] in page
    assert page.count("<path") > 10


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_chart_is_saved_as_its_file_is_called(store, tmp_path, suffix):
    chart = draw(EXPERIMENTS["table-1"], store)
    data = save(chart, tmp_path / f"table{suffix.upper()}").read_bytes()
    starts = {".html": b"<!DOCTYPE html>", ".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".json": b"{"}
    assert data.startswith(starts[suffix])
    assert len(data) > 5000


def test_a_page_fetches_nothing(store, tmp_path):
    page = save(draw(EXPERIMENTS["table-1"], store), tmp_path / "page.html").read_text()
    assert "vegaEmbed(" in page
    tags = Tags()
    tags.feed(page)
    assert tags.fetched == []
    assert not re.search(r"""import\s*\(?\s*["']https?:|from\s*["']https?:""", page)


def test_json_is_vega_lite(store, tmp_path):
    chart = draw(EXPERIMENTS["table-1"], store)
    read = json.loads(save(chart, tmp_path / "table.json").read_text(encoding="utf-8"))
    assert read == vega_lite(chart)
    assert "vega-lite/v" in read["$schema"]


def test_pictures_are_on_white_and_pages_on_their_own(store, tmp_path):
    chart = draw(SURFACES["expectation-error"])
    assert 'fill="white"' in save(chart, tmp_path / "chart.svg").read_text()
    assert vega_lite(chart)["config"]["background"] == "transparent"


def test_other_endings_are_refused(store, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in .html, .svg, .png, .pdf, .json, got '.*chart.gif'"):
        save(draw(SURFACES["expectation-error"]), tmp_path / "chart.gif")


def test_the_estimator_follows_the_criterion(store):
    def sources(**options):
        shown = vega_lite(draw(EXPERIMENTS["regularizer-add"], store, **options))["datasets"].values()
        return [source for data in shown for source in {row["source"] for row in data}]

    assert sources() == ["published", "ours"] * 3
    assert sources(criterion="corrected") == ["published", "ours", "ours", "ours"]
    assert sources(criterion="corrected", estimator="released") == ["published", "ours"] * 3


def test_a_store_is_also_known_by_its_folder(store):
    assert vega_lite(draw(EXPERIMENTS["table-1"], store.path)) == vega_lite(draw(EXPERIMENTS["table-1"], store))


def test_names_cannot_end_the_script_of_a_page(tmp_path):
    evil = "</script><script>alert(1)</script>"
    chart = alt.Chart(pd.DataFrame({"label": [evil]}), title=evil).mark_point().encode(x="label:N")
    assert "<script>alert" not in save(chart, tmp_path / "figure.html").read_text(encoding="utf-8")
