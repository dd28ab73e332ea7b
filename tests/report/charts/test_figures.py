import ast
import inspect
import json
import re
from dataclasses import replace

import pandas as pd
import pytest
import vl_convert
from tests.factories import make_digits_run, make_run

from arithmos.judging.cells import judged
from arithmos.papers import EXPERIMENTS
from arithmos.report.charts import figures, gates, marks, style
from arithmos.report.charts import runs as portraits
from arithmos.report.charts.draw import draw
from arithmos.report.charts.files import vega_lite
from arithmos.report.tables.summary import summarize
from arithmos.store import Store

SWEEP, DODGED, TABLE, GATE = (EXPERIMENTS[name] for name in ("hidden-size", "input-range", "table-2", "gate"))


def runs(spec, n, k):
    for seed in range(n):
        at = 1_000_000 + 1000 * seed if seed < k else -1
        measured = {"best_test": 1e-7 if seed < k else 1.0, "best_sparsity": 1e-4 * (1 + seed), "best_gate": seed % 2}
        yield make_run(spec, seed, solved_at_released=at, solved_at_corrected=at, **measured)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def rows(chart):
    """All rows that a chart shows."""
    return [row for data in vega_lite(chart)["datasets"].values() for row in data]


def compiled(chart):
    """What the chart becomes in a browser; an error or a warning on the way fails the test."""
    return vl_convert.vegalite_to_vega(vega_lite(chart))


def find(tree, key):
    """All values of a key, however deep."""
    if isinstance(tree, dict):
        yield from ([tree[key]] if key in tree else [])
    for branch in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from find(branch, key)


@pytest.mark.parametrize("module", [figures, portraits, marks, style, gates], ids=lambda module: module.__name__)
def test_no_statistic_is_computed_in_a_figure(module):
    imported = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ImportFrom)]
    names = {f"{node.module or ''}.{name.name}" for node in imported for name in node.names}
    assert not [name for name in names if re.search("statistics|scipy|summarize", name)], names


def test_points_are_the_summary(store):
    spec = SWEEP.specs[0]
    store.append(runs(spec, 10, 4))
    frame = summarize(store, SWEEP)
    points = rows(figures.sweep(frame, SWEEP))
    ours = [row for row in points if row["source"] == "ours"]
    cell = frame.iloc[0]
    assert [row["value"] for row in ours] == pytest.approx(
        [cell["success_rate"], cell["solved_at_mean_released"], cell["sparsity_mean_released"]]
    )
    assert [row["low"] for row in ours] == pytest.approx(
        [cell["success_rate_low"], cell["solved_at_mean_released_low"], cell["sparsity_mean_released_low"]]
    )
    assert {row["runs"] for row in ours} == {"4 of 10 solved"}
    published = [row for row in points if row["source"] == "published"]
    assert (published[0]["label"], published[0]["runs"]) == ("NAC•,NMU", "34 of 38 solved")
    assert len(published) == sum(
        frame[f"published_{name}"].notna().sum() for name in ("success_rate", "solved_at_mean", "sparsity_mean")
    )


def test_corrected_means_stand_alone(store):
    store.append(runs(SWEEP.specs[0], 10, 4))
    frame = summarize(store, SWEEP)
    points = rows(figures.sweep(frame, SWEEP, estimator="corrected"))
    assert {row["value"] <= 1 for row in points if row["source"] == "published"} == {True}
    ours = [row["value"] for row in points if row["source"] == "ours"]
    assert ours == pytest.approx([0.4, frame["solved_at_mean"].iloc[0], frame["sparsity_mean"].iloc[0]])


def test_estimator_is_checked(store):
    with pytest.raises(ValueError, match="estimator must be 'released' or 'corrected', got 'right'"):
        figures.sweep(summarize(store, SWEEP), SWEEP, estimator="right")


@pytest.mark.parametrize("experiment", [SWEEP, DODGED, TABLE], ids=lambda experiment: experiment.name)
@pytest.mark.parametrize("length", [5_000_000, 2000], ids=["published", "own"])
@pytest.mark.parametrize(("n", "k"), [(0, 0), (3, 0), (3, 1)], ids=["no runs", "none solved", "one solved"])
def test_hardly_any_runs(store, experiment, length, n, k):
    part = experiment.select(iterations=length)
    store.append(run for spec in part.specs[:4] for run in runs(spec, n, k))
    figure = figures.sweep if part.axis else figures.success
    chart = figure(summarize(store, part), part)
    assert compiled(chart)["marks"]
    ours = [row for row in rows(chart) if row.get("source") == "ours"]
    marks = 1 + 2 * (k > 0) if part.axis else 2  # a table has a tick for the exact ones
    assert len(ours) == (0 if n == 0 else 4 * marks)
    texts = [mark.get("text") for mark in find(vega_lite(chart), "mark") if isinstance(mark, dict)]
    empty = part.axis and not part.published and k == 0
    assert texts.count("no run is solved") == (2 if empty else 0)
    assert texts.count("no runs") == (1 if empty and n == 0 else 0)


def test_operations_with_places_of_their_own_have_rows_of_their_own(store):
    experiment = EXPERIMENTS["mnist-reference"]
    made = (make_digits_run(spec, seed) for spec in experiment.specs for seed in range(10))
    store.append(replace(run, best_sparsity=float("nan")) for run in made)
    chart = draw(experiment, store)
    assert compiled(chart)["marks"]
    products, sums = vega_lite(chart)["vconcat"]
    assert {tuple(x["scale"]["domain"]) for x in find(products, "x")} == {(1, 20)}
    assert {x["scale"]["domain"][-1] for x in find(sums, "x")} == {1000}
    texts = [mark.get("text") for mark in find(vega_lite(chart), "mark") if isinstance(mark, dict)]
    assert texts.count("these models lack it") == 2  # solved, but without weights


def test_ticks_are_the_exact_ones(store):
    store.append(runs(TABLE.specs[0], 4, 2))
    frame = summarize(store, TABLE).assign(exact_rate=0.75, exact=3, seen=4)
    chart = vega_lite(figures.success(frame, TABLE))
    [tick, *_] = [part for part in next(find(chart, "layer")) if part["mark"]["type"] == "tick"]
    assert {tip["title"] for tip in tick["encoding"]["tooltip"]} >= {"Exact", "Runs"}
    assert "3 of 4 exact" in json.dumps(chart)
    assert "Tick: rounded, the task's formula." in chart["title"]["subtitle"]


def test_all_panels_have_the_whole_axis(store):
    store.append(runs(SWEEP.specs[0], 4, 2))
    spec = vega_lite(figures.sweep(summarize(store, SWEEP), SWEEP))
    assert {tuple(x["scale"]["domain"]) for x in find(spec, "x")} == {(2, 10)}


def test_the_legend_picks_a_model(store):
    vega = compiled(figures.sweep(summarize(store, SWEEP), SWEEP))
    [signal] = [signal for signal in vega["signals"] if signal["name"] == "model_label_legend"]
    assert "click" in {event["type"] for on in signal["on"] for event in on["events"]}
    [legend] = [
        entry for legends in find(vega, "legends") for entry in legends if "symbolType" in entry or "shape" in entry
    ]
    assert legend["encode"]["symbols"]["interactive"] is True
    assert json.dumps(vega).count("model_store") > 10


def test_values_show_when_pointed_at(store):
    for experiment, figure in ((SWEEP, figures.sweep), (TABLE, figures.success)):
        tooltips = [shown for shown in find(vega_lite(figure(summarize(store, experiment), experiment)), "tooltip")]
        titles = {entry["title"] for shown in tooltips for entry in shown}
        assert {"Model", "Source", "Success rate", "from", "to", "Runs"} <= titles


def test_models_and_operations_are_in_the_order_of_the_paper(store):
    spec = vega_lite(figures.success(summarize(store, TABLE), TABLE))
    assert [panel["title"]["text"] for panel in spec["concat"]] == ["×", "+", "−"]
    assert spec["concat"][1]["layer"][1]["encoding"]["y"]["sort"] == ["NAC₊", "Linear", "NALU", "NAU"]


def test_ranges_are_in_the_order_of_the_catalogue(store):
    spec = vega_lite(figures.sweep(summarize(store, DODGED), DODGED))
    domains = [x["scale"]["domain"] for x in find(spec, "x") if "domain" in x.get("scale", {})]
    assert domains[0] == ["U[-2,-1]", "U[-2,2]", "U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]"]


def test_gates_are_stacked_below_the_success_rates(store):
    store.append(run for spec in GATE.specs for run in runs(spec, 4, 2))
    frame = summarize(store, GATE)
    counts = gates.gate_counts(judged(store, [GATE]), GATE)
    chart = figures.stack(figures.success(frame, GATE), figures.gates(counts, GATE))
    assert compiled(chart)["title"]["text"] == "Choice of a gate between addition and multiplication"
    assert sum(row["count"] for row in rows(chart) if row.get("source") == "ours" and "count" in row) == 4 * 6


def test_a_chart_has_words_for_a_screen_reader(store):
    assert vega_lite(figures.sweep(summarize(store, SWEEP), SWEEP))["description"].startswith("Figure: hidden size: ")


def test_golden_chart(golden):
    """One small chart, down to the last setting; names that Altair makes up are left out."""
    sweep = EXPERIMENTS["regularizer-mul"].select(iterations=1000)
    names = ["success_rate", "solved_at_mean_released", "sparsity_mean_released"]
    cells = [
        {"operation": "mul", "model": "NMU", "label": "NMU", "strength": strength, "n": 4, "k": k}
        | {
            f"{name}{bound}": value
            for name in names
            for bound, value in zip(("", "_low", "_high"), values, strict=True)
        }
        for strength, k, values in ((0.0, 0, [0.0] * 3), (1.0, 2, [0.5, 0.25, 0.75]))
    ]
    spec = vega_lite(figures.sweep(pd.DataFrame(cells), sweep))
    del spec["$schema"], spec["config"]
    text = json.dumps(spec, indent=1, ensure_ascii=False, sort_keys=True)
    for number, name in enumerate(dict.fromkeys(re.findall(r"data-[0-9a-f]{8,}|view_[0-9a-f_]+", text))):
        text = text.replace(name, f"name-{number}")
    golden("sweep.vl.json", text + "\n")
