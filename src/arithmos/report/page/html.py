"""The report: one self-contained HTML file with every table and figure, verdicts, claims and single runs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count, product
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import pandas as pd
from altair.utils.schemapi import debug_mode

from ... import __version__
from ..._files import write_whole
from ..._frames import records
from ..._platform import start_python
from ..._text import printable
from ...judging.cells import MEASURED as JUDGED
from ...judging.cells import Cells, judged
from ...judging.readings import SIDES, reads
from ...judging.runs import criterion_of
from ...papers import EXPERIMENTS, PAPERS, Experiment, Finding, Paper, Surface
from ...papers.claims import claims_of
from ...papers.verdicts import WORDS, matrix, verdicts_of
from ...store import Snapshot, Store
from ..charts import runs as portraits
from ..charts.agreement import agreement
from ..charts.draw import chart_of, draw
from ..charts.files import vega_lite
from ..tables.comparison import ComparisonTable, comparison_table
from ..tables.judges import disagreements, judges_of
from ..tables.rates import Rates, rates_by_experiment, rates_by_place
from ..tables.results import note_on
from ..tables.summary import summary_of
from ..tables.verdicts import FINDS, finds, measure, not_run, number, words_of, written
from . import provenance
from .embedded import packed, packed_json, shortened
from .provenance import catalogue, made, others
from .samples import EACH, MEASURED, samples

_VEGA_LITE = alt.SCHEMA_VERSION.rpartition(".")[0]
_BUNDLER = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle(*sys.argv[1:]).encode())"
_BUNDLE = (_BUNDLER, "window.vegaEmbed = vegaEmbed;", _VEGA_LITE)
"""Arguments of a Python process that prints Vega, Vega-Lite and vega-embed as one script."""
SIGNS = {
    "agrees": "✓",
    "differs": "≠",
    "cannot tell": "?",
    "too few runs": "…",
    "not run": "–",
    "holds": "✓",
    "fails": "✗",
    "undecided": "…",
}
"""Signs before the words of a verdict, so that they can be told apart without color."""


@dataclass(frozen=True)
class Section:
    """Table or figure of the paper.

    Args:
        item: the experiment or surface.
        chart: its figure, as Vega-Lite.
        caption: caption of the figure.
        labels: models that the figure can highlight.
        table: its numbers; None for a surface.
        stored: number of runs that count.
        solved: number of them that are solved, at any length if there are several.
        notes: notes on the thresholds behind its verdicts.
        verdicts: number of published numbers by verdict.
        findings: findings on it.
        rates: success rates of its models at its positions, if it is shown as a matrix.
    """

    item: Experiment | Surface
    chart: Mapping[str, Any]
    caption: str
    labels: Sequence[str] = ()
    table: ComparisonTable | None = None
    stored: int = 0
    solved: int = 0
    notes: Sequence[str] = ()
    verdicts: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    rates: Rates | None = None


def write(
    path: str | Path,
    store: str | Path | Store = "runs",
    *,
    papers: Collection[Paper] | None = None,
    criterion: str | None = None,
) -> list[Path]:
    """Write the report on a store: one page per paper, and an index if there are several.

    Args:
        path: file of the page, or of the index; the pages beside it then have the key of their paper in their names.
        store: the store of the runs.
        papers: papers to report on; by default those with runs in the store, or the first.
        criterion: name of the thresholds; by default the paper's first.

    Returns:
        The files written.
    """
    path, store = Path(path), store if isinstance(store, Store) else Store(store)
    snapshot = _snapshot(store)
    chosen = list(papers or _with_runs(snapshot))
    pages = {path if len(chosen) == 1 else path.with_stem(f"{path.stem}-{paper.key}"): paper for paper in chosen}
    with _bundle() as script:
        for file, paper in pages.items():
            write_whole(file, _page(store, snapshot, paper, criterion, script))
    if len(pages) == 1:
        return [*pages]
    index = _environment().get_template("index.html")
    write_whole(path, index.render(pages={file.name: paper for file, paper in pages.items()}, version=__version__))
    return [path, *pages]


def _snapshot(store: Store) -> Snapshot:
    return store.snapshot([*JUDGED, *MEASURED, *provenance.COLUMNS])


def _with_runs(snapshot: Snapshot) -> list[Paper]:
    stored, known = set(snapshot.specs), list(PAPERS.values())
    return [paper for paper in known if stored & {s.id for e in paper.experiments for s in e.specs}] or known[:1]


def page(store: Store, paper: Paper, *, criterion: str | None = None) -> str:
    """Return the report on a paper: a whole HTML page that fetches nothing.

    Args:
        store: the store of the runs.
        paper: the paper to report on.
        criterion: name of the thresholds; by default the paper's first.
    """
    with _bundle() as script:
        return _page(store, _snapshot(store), paper, criterion, script)


@contextmanager
def _bundle() -> Iterator[Callable[[], str]]:
    """Start to bundle Vega, which takes seconds, and yield a function that waits for the script and returns it."""
    with start_python(*_BUNDLE) as process:

        @cache
        def script() -> str:
            bundled = packed(process.communicate()[0].decode())
            if process.returncode:
                raise RuntimeError(f"vl-convert could not bundle Vega-Lite {_VEGA_LITE}")
            return bundled

        try:
            yield script
        except BaseException:
            process.kill()  # it would fail on a closed pipe
            raise


def _page(store: Store, snapshot: Snapshot, paper: Paper, criterion: str | None, script: Callable[[], str]) -> str:
    contents = _contents(snapshot, paper, criterion) | {"damaged": store.damaged}
    note = note_on(paper.experiments[0], criterion_of(paper.experiments[0], criterion))
    template = _environment().get_template("report.html")
    return template.render(**contents, bundle=script(), version=__version__, criterion=note)


def _contents(snapshot: Snapshot, paper: Paper, criterion: str | None) -> dict[str, Any]:
    """Return the values of the template, by name."""
    cells = judged(snapshot, paper.experiments, criterion)
    chosen = criterion or next(iter(paper.criteria), None)
    summaries = {experiment.name: summary_of(cells, experiment) for experiment in paper.experiments}
    verdicts = verdicts_of(cells, paper.experiments)
    claims, foreign, specs = claims_of(cells, paper.claims), others(snapshot, chosen), _concerned(snapshot, paper)
    judges = judges_of(cells, paper.experiments)
    with debug_mode(False):  # otherwise Altair checks every value against a schema
        sections = [_section(experiment, summaries, verdicts, cells, snapshot) for experiment in paper.experiments]
        sections += [_surface(surface) for surface in paper.surfaces]
        runs = _portraits(snapshot, chosen, specs, sections, foreign)
    whole = pd.concat([frame.assign(experiment=name) for name, frame in summaries.items()])
    tables = {"verdicts": verdicts, "summaries": whole, "claims": claims, "judges": judges}
    tables |= {"specs": catalogue(paper), "other-runs": foreign}
    return {
        "paper": paper,
        "stored": {"runs": len(snapshot.load(specs=specs, columns=[])), "specs": len(specs)},
        "counted": _counted(summaries.values()),
        "words": words_of(verdicts),
        "not_run": not_run(verdicts),
        "told": _told(verdicts),
        "untold": int((verdicts["verdict"] == "cannot tell").sum()),
        "agreement": _vega_lite(agreement(verdicts)),
        "matrix": records(matrix(verdicts)),
        "differing": records(verdicts[verdicts["verdict"] == "differs"]),
        "claims": records(claims),
        "judged_exactly": int(judges["runs"].sum()),
        "judges": records(disagreements(judges)),
        "rates": rates_by_experiment(summaries, paper.experiments),
        "sections": sections,
        "runs": runs,
        "each": EACH,
        "others": records(foreign),
        "made": records(made(snapshot, specs)),
        "downloads": {name: _columns(table) for name, table in tables.items() if len(table)},
    }


def _concerned(snapshot: Snapshot, paper: Paper) -> list[str]:
    """Return the stored specs that a page is about: those of the paper, and those of no experiment."""
    own = {spec.id for experiment in paper.experiments for spec in experiment.specs}
    elsewhere = {spec.id for experiment in EXPERIMENTS.values() for spec in experiment.specs} - own
    return [spec_id for spec_id in snapshot.specs if spec_id not in elsewhere]


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,  # Markup stays
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"packed_json": packed_json, "shortened": shortened, "written": written}
    environment.globals |= {"signs": SIGNS, "number": number, "finds": finds, "measure": measure, "about": FINDS}
    return environment


def _section(
    experiment: Experiment,
    summaries: Mapping[str, pd.DataFrame],
    verdicts: pd.DataFrame,
    cells: Cells,
    store: Snapshot,
) -> Section:
    frame, own = summaries[experiment.name], verdicts[verdicts["experiment"] == experiment.name]
    chart = draw(experiment, store) if reads(experiment) else chart_of(cells, frame, experiment)
    runs = frame.groupby("spec_id")[["n", "k"]].max().sum()
    return Section(
        experiment,
        _vega_lite(chart),
        str(chart.title.subtitle),
        [*SIDES.values()] if reads(experiment) else [*dict.fromkeys(frame["label"])],
        comparison_table(frame, own, experiment),
        int(runs["n"]),
        int(runs["k"]),
        [*dict.fromkeys(frame["note"].dropna())] if "note" in frame else [],
        {word: int((own["verdict"] == word).sum()) for word in WORDS},
        PAPERS[experiment.paper].findings_on(experiment.name),
        rates_by_place(frame, experiment),
    )


def _surface(surface: Surface) -> Section:
    return Section(surface, _vega_lite(draw(surface)), f"{surface.label} over {surface.x.label} and {surface.y.label}")


def _vega_lite(chart: Any) -> dict[str, Any]:
    """Return the chart as Vega-Lite, without what the page says itself; the marks need no labels there."""
    spec = vega_lite(chart)
    for name in ("$schema", "title", "description"):
        spec.pop(name, None)
    spec["config"]["aria"] = False
    return spec


def _portraits(
    store: Snapshot, criterion: str | None, concerned: list[str], sections: Sequence[Section], foreign: pd.DataFrame
) -> dict[str, Any]:
    """Return the data of single runs: their cells, the runs, and charts whose data are filled in by the page.

    Runs are columns, which compress better, and a spec has their positions.
    """
    specs = samples(store, criterion, concerned)
    runs = [run for spec in specs.values() for run in spec["runs"]]
    number = count()
    for spec in specs.values():
        spec["runs"] = [next(number) for _ in spec["runs"]]
    places = [
        {
            "name": section.item.name,
            "title": section.item.title,
            "cells": [[spec, name] for spec, name in section.table.names_of_specs.items() if spec in specs],
        }
        for section in sections
        if section.table is not None
    ]
    strangers = [[row["spec_id"], f"{row['label']} {row['task']}"] for row in records(foreign)]
    places.append({"name": "other-runs", "title": "Other runs", "cells": strangers})
    sizes = dict.fromkeys((o, i) for spec in specs.values() for _, o, i in spec["arrays"])
    panels = {f"{o}×{i}": _panel(o, i) for o, i in sizes}
    return {
        "experiments": [place for place in places if place["cells"]],
        "specs": specs,
        "columns": {name: [run[name] for run in runs] for name in (runs[0] if runs else ())},
        "curves": _curves(),
        "panels": {size: panel["vconcat"][0] for size, panel in panels.items()},
        "config": next((panel["config"] for panel in panels.values()), {}),
    }


def _curves() -> dict[str, Any]:
    """Return a chart of learning curves whose run names and records are filled in by the page."""
    frame = pd.DataFrame({"run": [f"<name of run {number}>" for number in range(2 * EACH)]})
    return _vega_lite(portraits.learning_curves(frame.assign(step=1, validation=1.0, test=1.0, sparsity=1.0), 1.0))


def _panel(outputs: int, inputs: int) -> dict[str, Any]:
    """Return a chart of a weight matrix of this size whose weights are filled in by the page."""
    places = product(range(outputs), range(inputs))
    frame = pd.DataFrame(places, columns=["output", "input"]).assign(array="<name>", weight=0.0)
    return _vega_lite(portraits.weights(frame))


def _told(verdicts: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Count the numbers that agree among those that can be told: success rates, and all."""
    told = verdicts[verdicts["verdict"].isin(["agrees", "differs"])]
    parts = {"rates": told[told["measure"] == "success_rate"], "all": told}
    return {name: (int((part["verdict"] == "agrees").sum()), len(part)) for name, part in parts.items()}


def _counted(frames: Iterable[pd.DataFrame]) -> int:
    """Count the runs that belong to some cell of the catalogue, each once."""
    cells = pd.concat([frame[["spec_id", "n"]] for frame in frames])
    return int(cells.groupby("spec_id")["n"].max().sum())


def _columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a table by its rows, with null for missing values."""
    known = frame.astype(object).where(frame.notna(), None)
    return {"columns": [*map(str, known)], "rows": known.to_numpy(object).tolist()}
