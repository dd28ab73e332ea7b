"""The ranking: counts of solved runs by each rule, and the matrix that shows them."""

import dataclasses
import json

import pandas as pd
import pytest
from click.testing import CliRunner
from tests.factories import make_run
from tools.ranking import DOCS, PAGES, updated

from arithmos import bench
from arithmos.cli import main
from arithmos.papers import PAPERS
from arithmos.papers.contests import CONTENDERS, SECOND_ORDER, behind_nau, entry
from arithmos.report.tables.grid import FORMATS
from arithmos.report.tables.ranking import COLUMNS, KEYS, RULES, joined, ranking, ranking_grid, render_ranking, shipped
from arithmos.spec import LM
from arithmos.store import Store

PAPER, BEHIND = PAPERS["ranking"], PAPERS["behind"]
MUL = next(part for part in PAPER.experiments if part.name == "mul")
UNIT = """from arithmos.nn import NMU


class Mine(NMU):
    pass
"""


def run(spec, seed, best, end):
    limits = spec.task.thresholds()
    measured = {"best_test": best, "end_test": end, "solved_at": dict.fromkeys(limits, -1), "exact": best < 1}
    return make_run(spec, seed, "cpu", thresholds=limits, **measured)


@pytest.fixture
def store(tmp_path):
    """Four runs of the NMU in one range: below both thresholds, below one, below none, and good only at the end."""
    spec = next(spec for spec, at in MUL.places() if (spec.model.name, at) == ("NMU", "U[1,2]"))
    errors = [(1e-9, 1.0), (1e-6, 1.0), (1.0, 1.0), (1e-6, 1e-9)]
    store = Store(tmp_path / "runs")
    store.append([run(spec, seed, *pair) for seed, pair in enumerate(errors)])
    return store


def test_counts_by_each_rule(store):
    frame = ranking(store, [MUL])
    assert list(frame) == COLUMNS
    [row] = frame.to_dict("records")
    assert [row[key] for key in KEYS] == ["×, 2 inputs", "mul", 2, "NMU", "NMU", "U[1,2]"]
    assert [row["runs"], *(row[rule] for rule in RULES)] == [4, 1, 3, 1, 3]


def test_own_cells_take_the_place_of_shipped_ones(store):
    own = ranking(store, [MUL])
    other = own.assign(runs=25, epsilon=25)
    assert joined(own, other).equals(own)
    both = joined(own, other.assign(at="U[10,20]"))
    assert both["runs"].tolist() == [4, 25]


@pytest.mark.parametrize("format", [*FORMATS, "json"])
def test_formats(store, format):
    text = render_ranking(ranking(store, [MUL]), format)
    assert "NMU" in text
    if format == "json":
        assert json.loads(text)[0]["absolute"] == 3


def test_the_matrix_has_operations_or_the_ranges_of_one(store):
    frame = ranking(store, [MUL])
    grid = ranking_grid(frame, "absolute")
    assert list(grid.header) == ["Unit", "U[1,2]"]
    assert grid.groups[0][0][1].value == "75%"
    more = joined(frame, frame.assign(contest="+, 2 inputs", operation="add", model="NAU", label="NAU", epsilon=4))
    grid = ranking_grid(more)
    assert list(grid.header) == ["Unit", "×", "+"]
    assert [row[0].value for row in grid.groups[0]] == ["NAU", "NMU"]  # the better one first
    assert grid.groups[0][0][1].value == "—"
    assert grid.groups[0][0][2].best
    assert "There are no runs to rank." in render_ranking(frame[:0])


def test_what_comes_with_the_package_belongs_to_the_ranking():
    frame = shipped()
    cells = {
        (part.item, spec.task.operation, spec.task.input_size, spec.model.name, spec.model.label, at)
        for part in (*PAPER.experiments, *BEHIND.experiments)
        for spec, at in part.places()
    }
    assert set(frame[KEYS].itertuples(index=False, name=None)) <= cells
    assert not frame.duplicated(KEYS).any()
    assert (frame[[*RULES]].max(axis=1) <= frame["runs"]).all()


def test_the_documentation_has_the_tables():
    """Tables and some of the text are written by `python tools/ranking.py results`."""
    for name in PAGES:
        page = (DOCS / name).read_text(encoding="utf-8")
        assert updated(name, page, shipped()) == page


def test_the_page_on_units_quotes_the_counts():
    page = (DOCS / "which.md").read_text(encoding="utf-8")
    frame = shipped()
    frame = frame[~frame["contest"].str.endswith("NAU")]
    two = frame[frame["inputs"] == 2]
    counts = two.groupby(["operation", "model"])[["runs", *RULES]].sum()
    assert counts.loc[("mul", "NMU")].tolist() == [900, 846, 846, 846, 846]
    assert counts.loc[("div", "NACMul"), ["epsilon", "absolute"]].tolist() == [30, 708]
    assert counts.loc[("div", "NALU"), ["epsilon", "absolute"]].tolist() == [1, 284]
    assert set(counts.drop("root")["runs"]) == {900}
    assert set(counts.loc["root", "runs"]) == {400}
    assert len(counts) == sum(map(len, (*CONTENDERS.values(), *SECOND_ORDER.values())))
    quoted = {
        "NMRU": (900, 890),
        "NRU": (900, 751),
        "RealNPUModified": (848, 817),
        "RealNPU": (355, 223),
        "NPU": (221, 143),
    }
    for unit, solved in {**quoted, "INALU": (332, 332), "GNALU": (0, 0)}.items():
        assert tuple(counts.loc[("div", unit), ["epsilon", "last"]]) == solved
    assert counts.loc[("div", "GNALU"), "absolute"] == 310
    assert [counts.loc[("mul", unit), "epsilon"] for unit in ("SNMU", "NMRU", "NRU")] == [900] * 3
    assert counts.loc[("div", "NACMul"), ["epsilon", "exact"]].tolist() == [30, 710]
    assert counts.loc[("div", "RealNPU"), ["epsilon", "exact"]].tolist() == [355, 709]
    assert (two["exact"] >= two["epsilon"]).all()  # where there is a verdict
    assert counts.loc[("reciprocal", "NMRU"), "epsilon"] == 843
    roots = {"NACMul": (324, 303, 369), "NPU": (301, 254, 392), "RealNPU": (302, 240, 395)}
    for unit, solved in {**roots, "RealNPUModified": (321, 0, 400)}.items():
        assert tuple(counts.loc[("root", unit), ["epsilon", "last", "exact"]]) == solved
    assert [counts.loc[("squared", unit), "epsilon"] for unit in ("NPU", "RealNPU")] == [376, 380]
    summary = {
        "| a + b, a − b | NAU |": [("add", "NAU"), ("sub", "NAU")],
        "| a × b | sNMU |": [("mul", "SNMU")],
        "| a / b | NMRU |": [("div", "NMRU")],
        "| 1/a | NMRU |": [("reciprocal", "NMRU")],
        "| √a | NAC• |": [("root", "NACMul")],
        "| a² | RealNPU |": [("squared", "RealNPU")],
    }
    for start, cells in summary.items():
        runs, solved, last = counts.loc[cells, ["runs", "epsilon", "last"]].sum()
        assert f"{start} {solved:,} of {runs:,} | {last:,} |" in page
    trained = frame[frame["model"].str.endswith("-LM")]
    assert all((trained[rule] == trained["runs"]).all() for rule in ("epsilon", "last", "exact"))
    assert set(trained["inputs"]) == {2, 10, 100}
    in_range = two.set_index(["operation", "model", "at"])
    assert in_range.loc[("div", "NRU", "U[-2,2]"), "last"] == 4
    assert in_range.loc[("div", "RealNPUModified", "U[-2,2]"), "epsilon"] == 48
    negative = two[two["at"].str.startswith("U[-") & (two["at"] != "U[-2,2]")]
    below = negative.groupby(["operation", "model"])[["runs", "epsilon"]].sum()
    assert [below.loc[("div", unit), "epsilon"] for unit in ("RealNPU", "NPU", "INALU")] == [134, 0, 0]
    assert set(below.loc[["mul", "div"], "runs"]) == {400}
    assert below.loc[("reciprocal", "NMRU"), "epsilon"] == 343
    positive = two[~two["at"].str.startswith("U[-") & (two["operation"] == "reciprocal")].groupby("model")
    for unit, solved in {"NMRU": (400, 400), "NRU": (400, 0), "RealNPUModified": (400, 399)}.items():
        assert tuple(positive[["epsilon", "last"]].sum().loc[unit]) == solved
    assert [below.loc[("mul", unit), "epsilon"] for unit in ("RealNPU", "NPU", "MulMCFC")] == [2, 0, 0]
    ten = frame[frame["inputs"] == 10].groupby(["operation", "model"])[["runs", "epsilon", "last"]].sum()
    assert ten.loc[("add", "NAU")].tolist() == [900, 884, 227]
    assert ten.loc[("sub", "NAU")].tolist() == [900, 886, 233]
    for unit, solved in {"NMRU": 818, "RealNPUModified": 770, "RealNPU": 597}.items():
        assert ten.loc[("div", unit), ["runs", "epsilon"]].tolist() == [900, solved]


def test_the_page_on_the_field_quotes_the_counts_behind_a_nau():
    counts = shipped().groupby(["contest", "model"])[["runs", "epsilon"]].sum()
    quoted = {("×", "NMU"): [481, 900, 186, 225], ("/", "NMRU"): [818, 900, 19, 225]}
    for (sign, unit), (alone, runs, behind, fewer) in quoted.items():
        assert counts.loc[(f"{sign}, 10 inputs", unit)].tolist() == [runs, alone]
        assert counts.loc[(f"{sign}, 10 inputs, behind a NAU", unit)].tolist() == [fewer, behind]


def test_shares_of_units_with_unequal_runs():
    """Ranges count alike, each number of runs is stated, and a unit without a range has no share."""
    frame = pd.DataFrame(
        [
            ["×, 10 inputs", "mul", 10, "A", "A", "x", "cpu", 25, 0, 0, 0, 0],
            ["×, 10 inputs", "mul", 10, "A", "A", "y", "cuda", 100, 80, 80, 80, 80],
            ["×, 10 inputs", "mul", 10, "B", "B", "x", "cuda", 100, 30, 30, 30, 30],
            ["×, 10 inputs", "mul", 10, "B", "B", "y", "cuda", 100, 30, 30, 30, 30],
            ["×, 10 inputs", "mul", 10, "C", "C", "y", "cuda", 100, 100, 100, 100, 100],
            ["+, 10 inputs", "add", 10, "C", "C", "x", "cuda", 100, 100, 100, 100, 100],
        ],
        columns=COLUMNS,
    )
    grid = ranking_grid(frame)
    rows = {row[0].value: [cell.value for cell in row[1:]] for row in grid.groups[0]}
    assert rows == {"C": ["—", "100%"], "A": ["40% (50)", "—"], "B": ["30% (200)", "—"]}
    assert "count alike" in grid.notes[0]


def test_a_unit_of_ones_own_gets_the_same_problems(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(UNIT)
    own = entry(MUL, f"{file}:Mine", lr=1e-2, strength=1.0)
    assert [at for _, at in own.places()] == [at for spec, at in MUL.places() if spec.model.name == "NMU"]
    assert {(spec.optimizer.lr, spec.model.schedule.strength) for spec in own.specs} == {(1e-2, 1.0)}
    assert {spec.iterations for spec in own.specs} == {50_000}


def test_behind_a_nau_a_unit_is_trained_as_alone():
    for alone, behind in zip(PAPER.experiments, BEHIND.experiments, strict=True):
        assert alone.seeds == behind.seeds
        for spec in alone.specs:
            if isinstance(spec.optimizer, LM):
                assert spec in behind.specs  # these networks have a NAU anyway
                continue
            own = behind_nau(spec)
            assert own in behind.specs
            assert [layer.name for layer in own.model.layers] == ["NAU", spec.model.layers[0].name]
            assert own.optimizer.lr == spec.optimizer.lr
            first, last = own.optimizer.layer_rates or (1, 1)
            assert (first * own.optimizer.lr, last) == (pytest.approx(1e-3), 1)
            assert own.model.schedule.strength == (spec.model.schedule.strength or 0.01)


def test_a_unit_of_ones_own_stands_behind_a_nau(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(UNIT)
    mul = next(part for part in BEHIND.experiments if part.name == "nau-mul-10")
    own = entry(mul, f"{file}:Mine", lr=1e-2, strength=1.0)
    assert [spec.task for spec in own.specs] == [spec.task for spec in mul.specs if spec.model.name == "NMU"]
    assert {tuple(layer.label for layer in spec.model.layers) for spec in own.specs} == {("NAU", "Mine")}
    assert {spec.optimizer.layer_rates for spec in own.specs} == {(0.1, 1.0)}


@pytest.fixture
def short(monkeypatch):
    """Experiments of the rankings with 20 iterations."""
    for paper in (PAPER, BEHIND):
        parts = tuple(
            dataclasses.replace(part, specs=tuple(dataclasses.replace(spec, iterations=20) for spec in part.specs))
            for part in paper.experiments
        )
        monkeypatch.setitem(PAPERS._papers, paper.key, dataclasses.replace(paper, experiments=parts))


@pytest.mark.usefixtures("short")
def test_rank_runs_what_is_asked_for_and_resumes(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(UNIT)
    how = {"mine": [f"{file}:Mine"], "operations": ["mul"], "seeds": 1, "store": tmp_path / "runs", "engine": "torch"}
    ranked = bench.rank(**how)
    assert ranked.outcome.finished == 9
    assert "Mine" in set(ranked.frame["label"])
    assert bench.rank(**how).outcome.finished == 0
    assert bench.rank(operations=["mul"], store=tmp_path / "runs").outcome is None
    ranked = bench.rank(**how, behind=True, models=["NMU"])
    assert ranked.outcome.finished == 18
    assert set(ranked.frame["contest"]) == {"×, 2 inputs, behind a NAU"}


def test_rank_on_the_command_line(tmp_path):
    shown = CliRunner().invoke(main, ["rank", "--ops", "mul", "--store", str(tmp_path), "--rule", "absolute"])
    assert shown.exit_code == 0, shown.output
    assert "Share of solved runs on ×" in shown.output
    for wrong, message in (
        (["--ops", "pow"], "operation must be one of add, sub, mul, div, reciprocal, root, squared, got 'pow'"),
        (["--models", "NMUU"], "did you mean 'NMU'?"),
        (["--inputs", "3"], "inputs must be one of 2, 10, 100, got 3"),
        (["--rule", "best"], "best"),
    ):
        refused = CliRunner().invoke(main, ["rank", "--store", str(tmp_path), *wrong])
        assert refused.exit_code == 2
        assert message in refused.output


def test_contenders_are_units_that_can_compute_the_operation():
    assert {"NAU", "NACAdd"}.isdisjoint(CONTENDERS["mul"])
    assert {"NMU", "SNMU", "MulMCFC"}.isdisjoint(CONTENDERS["div"])
    assert {"NRU", "NMRU"}.isdisjoint(CONTENDERS["root"])  # they have no exponents between 0 and 1
    assert set(CONTENDERS["squared"]) == {"NPU", "RealNPU"}  # all others have exponents of 1 at most


def test_networks_of_the_second_order_recipe_get_the_same_problems():
    for part in PAPER.experiments:
        tasks = [*dict.fromkeys(spec.task for spec in part.specs)]
        models = {spec.model.name for spec in part.specs if isinstance(spec.optimizer, LM)}
        assert models
        for name in models:
            assert [spec.task for spec in part.specs if spec.model.name == name] == tasks
        assert all(low >= 0 for task in tasks if task.operation == "root" for low, _ in task.interpolation)


def test_runs_without_an_exact_verdict_have_a_dash(tmp_path):
    spec = next(spec for spec in MUL.specs if spec.model.name == "RealNPU-LM")
    store = Store(tmp_path / "runs")
    store.append([dataclasses.replace(run(spec, 0, 1e-9, 1e-9), exact=None, best_weights=None)])
    frame = ranking(store, [MUL])
    assert frame["exact"].isna().all()
    assert ranking_grid(frame).groups[0][0][1].value == "100%"
    assert "There are no runs to rank." in render_ranking(frame, rule="exact")
