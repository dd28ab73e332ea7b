import base64
import dataclasses
import json
import platform
import re
import zlib
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from tests.factories import make_digits_run, make_run, make_spec
from tests.part_of_paper import part_of_paper

pytest.importorskip("altair")
pytest.importorskip("jinja2")

from arithmos.cli import main
from arithmos.judging.exact import judged_runs
from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.report.page import html
from arithmos.spec import Layer, Model
from arithmos.store import Store, _part

TABLE = EXPERIMENTS["table-1"]
NAC, NALU, NMU = TABLE.specs
TROUBLE = "<script>alert('é & ü')</script>"


def solved(spec, seed, **changes):
    return make_run(spec, seed, **{"best_test": 1e-9, "solved_at_released": 1000 * (seed + 1)} | changes)


def failed(spec, seed, **changes):
    return make_run(spec, seed, **{"best_test": 1.0, "solved_at_released": -1} | changes)


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    """No Vega, which takes its time."""
    monkeypatch.setattr(html, "_BUNDLE", ("print('the bundle')",))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, their text, its scripts by id."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self.scripts, self.inside = [], "", {}, []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.inside.append((tag, dict(attributes).get("id")))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data):
        tag, name = self.inside[-1] if self.inside else ("", None)
        if tag == "script":
            self.scripts[name] = self.scripts.get(name, "") + data
        elif tag != "style":
            self.text += " " + " ".join(data.split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def unpacked(self, name):
        return zlib.decompress(base64.b64decode(self.scripts[name])).decode()

    def json(self, name):
        return json.loads(self.unpacked(name))

    def solved(self, spec):
        """Whether the single runs of a spec are solved."""
        data = self.json("data-runs")
        return [data["columns"]["solved"][number] for number in data["specs"][spec.id]["runs"]]

    def section(self, page, name):
        """The text of a section."""
        part = page[page.index(f'<section id="{name}"') :]
        return " ".join(re.sub("<[^>]+>", " ", part[: part.index("</section>")]).split())


def of(store, paper=None, **options):
    page = html.page(store, paper or part_of_paper("table-1"), **options)
    return page, Page(page)


def test_every_section_is_there_and_every_link_leads_somewhere(store):
    items = ("table-1", "regularizer-add", "gate", "as-written")
    store.append([solved(NMU, seed) for seed in range(3)])
    _, parsed = of(store, part_of_paper(*items, surfaces=PAPERS["madsen2020"].surfaces))
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {"verdicts", "claims", "items", "runs", "other-runs", "made", "downloads"}
    assert named | {*items, "loss-surface", "expectation-error"} <= {*ids}
    for link in parsed.all("a"):
        assert link["href"].removeprefix("#") in ids, link
    for tag, attributes in parsed.elements:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name, ids[0]) in ids, (tag, attributes)


def test_nothing_is_fetched(store):
    page, parsed = of(store)
    assert not any("src" in attributes for _, attributes in parsed.elements)
    assert not parsed.all("link")
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert parsed.unpacked("vega") == "the bundle\n"


def test_tables_have_captions_and_headers_say_of_what(store):
    store.append([solved(NMU, seed) for seed in range(3)])
    _, parsed = of(store)
    assert len(parsed.all("table")) == len(parsed.all("caption")) >= 4
    assert all(header["scope"] in ("col", "row", "colgroup") for header in parsed.all("th"))
    assert all("aria-label" in chart for chart in parsed.all("div") if chart.get("class") == "chart")


def test_an_empty_store(store):
    page, parsed = of(store)
    assert "There are no runs yet" in parsed.text
    assert "There are no runs to show" in parsed.section(page, "runs")
    assert "not run" in parsed.section(page, "table-1")
    assert "94%" in parsed.section(page, "table-1")
    assert parsed.json("data-runs")["experiments"] == []


def test_numbers_stand_with_the_published_ones_and_the_verdict(store):
    store.append([solved(NMU, seed) if seed < 94 else failed(NMU, seed) for seed in range(100)])
    page, parsed = of(store)
    section = parsed.section(page, "table-1")
    assert "100 of 300 runs, 94 solved" in section
    assert re.search(r"94% \+3% −6% published 94% \+3% −6% ✓ agrees finds \d+ points", section)
    assert "success rates agree 1 of 1" in " ".join(parsed.text.split())
    assert parsed.json("chart-agreement")["layer"]
    assert "– not run" in section
    assert "The sparsity regularizer starts at step 10⁶" in section
    assert "✓ agrees" in parsed.section(page, "verdicts")


def test_no_run_solved(store):
    store.append([failed(NMU, seed) for seed in range(5)])
    page, parsed = of(store)
    section = parsed.section(page, "table-1")
    assert "none solved" in section
    assert "0% +43% −0%" in section
    assert parsed.solved(NMU) == [False, False]


def test_one_run_solved(store):
    store.append([solved(NMU, 0), *[failed(NMU, seed) for seed in range(1, 5)]])
    page, parsed = of(store)
    assert "one solved , too few for intervals" in parsed.section(page, "table-1")
    assert parsed.solved(NMU) == [True, False, False]


def test_foreign_specs_are_other_runs(store):
    own, short = make_spec(model="NAU"), make_spec()
    store.append([solved(own, 0), failed(own, 1), solved(short, 0, engine="cpu"), solved(NMU, 0)])
    page, parsed = of(store)
    section = parsed.section(page, "other-runs")
    assert "NAU>NAU ×, 4 inputs, 2 hidden, 5,000 iterations" in section.replace("&gt;", ">")
    assert own.id in section
    assert short.id in section
    assert NMU.id not in section
    runs = parsed.json("data-runs")
    assert {own.id, short.id, NMU.id} == {*runs["specs"]}
    assert [place["name"] for place in runs["experiments"]] == ["table-1", "other-runs"]
    assert len(parsed.json("data-other-runs")["rows"]) == 2


def test_runs_that_count_nowhere_are_counted(store):
    store.append([solved(NMU, seed) for seed in (0, 1, 2, 150)] + [solved(NMU, 0, engine="cpu")])
    page, parsed = of(store)
    assert "2 runs of the catalogue's specs belong to no cell" in parsed.section(page, "other-runs")
    assert "All specs in the store belong" in parsed.section(page, "other-runs")


def test_text_of_others_stays_text(store):
    spec = make_spec()
    model = Model("NAU>NMU", (Layer("NAU"), Layer("NMU")), label=TROUBLE)
    store.append([solved(make_spec(model="NAU", task=spec.task), 0)])
    named = TABLE.select(models=[model])
    store.append([solved(named.specs[0], 0), solved(named.specs[0], 1)])
    page, parsed = of(store, part_of_paper(named))
    assert TROUBLE not in page
    assert TROUBLE in parsed.text
    assert TROUBLE in json.dumps(parsed.json("chart-table-1"), ensure_ascii=False)


def test_the_page_does_not_say_where_it_was_made(store):
    store.append([solved(NMU, seed) for seed in range(3)])
    page, parsed = of(store)
    packed = [name for name in parsed.scripts if name]
    said = re.sub("<script.*?</script>", "", page, flags=re.S) + "".join(map(parsed.unpacked, packed))
    assert str(store.path) not in said
    assert not platform.node() or not re.search(rf"\b{re.escape(platform.node())}\b", said)


def test_how_it_was_made(store):
    store.append([solved(NMU, seed, engine="cpu") for seed in range(7)] + [solved(NALU, 0, gpu="NVIDIA H200")])
    page, parsed = of(store)
    section = parsed.section(page, "made")
    assert platform.python_version() in section
    assert re.search(r"cpu 7 0 to 6 \S+ — ", section)
    assert re.search(r"torch 1 0 to 0 \S+ NVIDIA H200 ", section)


def test_damaged_files_are_named(store):
    store.append([solved(NMU, 0)])
    broken = store.path / "part-broken.parquet"
    broken.write_bytes(b"no parquet")
    with pytest.warns(UserWarning, match=broken.name):
        page, parsed = of(Store(store.path))
    assert "Damaged files, ignored: 1." in parsed.text
    assert broken.name in parsed.section(page, "made")


def test_the_criterion_decides(store):
    store.append([solved(NMU, seed, best_test=1.5e-5, solved_at_corrected=3000) for seed in range(5)])
    page, parsed = of(store)
    assert "none solved" in parsed.section(page, "table-1")
    page, parsed = of(store, criterion="corrected")
    assert "5 solved" in parsed.section(page, "table-1")
    assert all(parsed.solved(NMU))


def test_downloads_hold_the_numbers(store):
    store.append([solved(NMU, seed) for seed in range(3)])
    _, parsed = of(store)
    table = parsed.json("data-verdicts")
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    [rate] = [r for r in rows if (r["experiment"], r["model"], r["measure"]) == ("table-1", "NMU", "success_rate")]
    assert (rate["ours"], rate["published"], rate["verdict"]) == (1, 0.94, "too few runs")
    assert {button["data-table"] for button in parsed.all("button") if "data-table" in button} == {
        name.removeprefix("data-")
        for name in parsed.scripts
        if name and name.startswith("data-") and name != "data-runs"
    }


def test_a_bundle_that_fails_is_an_error(store, monkeypatch):
    monkeypatch.setattr(html, "_BUNDLE", ("raise SystemExit(3)",))
    with pytest.raises(RuntimeError, match="could not bundle"):
        html.page(store, PAPERS["madsen2020"])


def test_write(store, tmp_path):
    [path] = html.write(tmp_path / "report.html", store.path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_verb(store, tmp_path):
    file = tmp_path / "page.html"
    store.path.mkdir()
    done = CliRunner().invoke(main, ["report", "--store", str(store.path), "-o", str(file)], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.strip() == str(file)
    assert "There are no runs yet" in file.read_text(encoding="utf-8")


def test_a_page_is_about_the_runs_of_its_paper_and_those_of_none(store):
    others = EXPERIMENTS["ranking/add"], EXPERIMENTS["ranking/sub"]
    store.append([make_run(other.specs[0], 0, engine="elsewhere") for other in others])
    store.append([solved(NMU, 0), solved(NMU, 1), solved(make_spec(), 0)])
    page, parsed = of(store)
    assert "3 runs of 2 specs are stored" in parsed.text
    assert "elsewhere" not in page
    assert "Share of solved runs" not in page  # published numbers come first
    of_ranking = dataclasses.replace(PAPERS["ranking"], experiments=others)
    page, parsed = of(store, of_ranking)
    assert "3 runs of 3 specs" in parsed.text
    assert "Share of solved runs" in page


@pytest.mark.slow
def test_a_page_on_very_many_runs_stays_small(store, monkeypatch, tmp_path):
    monkeypatch.undo()
    seeds = {spec: experiment.seeds for experiment in EXPERIMENTS.values() for spec in experiment.specs}
    for spec, count in seeds.items():
        store.append([make_run(spec, seed) for seed in range(count)])
    assert len(store) > 20_000
    [path] = html.write(tmp_path / "report.html", store, papers=[PAPERS["madsen2020"]])
    assert path.stat().st_size < 15e6


def test_runs_on_digits_without_a_reference_are_there_and_not_judged(store):
    page, parsed = of(store, part_of_paper("mnist-product"))
    assert "arithmos run madsen2020/mnist-product · not run" in parsed.section(page, "mnist-product")
    store.append([make_digits_run(EXPERIMENTS["mnist-product"].specs[-1])])
    page, parsed = of(store, part_of_paper("mnist-product"))
    assert "arithmos run madsen2020/mnist-product · not judged" in parsed.section(page, "mnist-product")


def test_a_page_opens_no_part_more_than_twice(store, tmp_path, monkeypatch):
    for seed in range(10):
        store.append(judged_runs([solved(NMU, seed), failed(NALU, seed)]))
    opened = []
    read = _part.read
    monkeypatch.setattr(_part, "read", lambda source, path, *rest: opened.append(path) or read(source, path, *rest))
    html.write(tmp_path / "report.html", Store(store.path), papers=[part_of_paper("table-1")])
    assert len(set(opened)) == 10
    assert len(opened) <= 10 + 4  # all of them for their numbers, and again those of the runs that are shown
