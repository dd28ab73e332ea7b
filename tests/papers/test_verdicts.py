import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.factories import make_run

from arithmos.judging.cells import Cells, Judged
from arithmos.papers import EXPERIMENTS, PAPERS, Finding
from arithmos.papers.madsen2020.experiments import printed
from arithmos.papers.power import POWER
from arithmos.papers.verdicts import COLUMNS, WORDS, matrix, scale_of, verdicts_of
from arithmos.report import render_verdicts, verdicts
from arithmos.report.tables.grid import FORMATS
from arithmos.report.tables.verdicts import written
from arithmos.spec import MODELS
from arithmos.statistics import fisher_exact
from arithmos.store import Store

TABLE, GATE, SWEEP = EXPERIMENTS["table-1"], EXPERIMENTS["gate"], EXPERIMENTS["regularizer-mul"]
PUBLISHED = [experiment for experiment in EXPERIMENTS.values() if experiment.published]


def spread(mean, deviation, n):
    """Values of a gamma distribution, evenly spaced in probability."""
    shape = (mean / deviation) ** 2
    return stats.gamma.ppf((np.arange(n) + 0.5) / n, shape, scale=mean / shape)


def like(printed, n, *, k=None, times=1.0):
    """Runs that a published cell could be of, or of one whose steps and errors are so many times as large."""
    k = round(printed["k"] / printed["n"] * n) if k is None else k
    if k == 0 or math.isnan(printed["solved_at_mean"]):
        return Judged(engine="cpu", n=n, k=k, solved_at=np.full(k, 1e6), sparsity=np.full(k, 0.1))
    values = {}
    for measure in ("solved_at_mean", "sparsity_mean"):
        mean = max(printed[measure], 1e-9)
        reach = (printed[f"{measure}_high"] - printed[f"{measure}_low"]) / 2
        deviation = min(mean, reach / 1.96 * math.sqrt(printed["k"])) if reach > 0 else 0.1 * mean
        values[measure] = times * spread(mean, deviation, k)
    factor = 2 if 3.6e-5 < printed["sparsity_mean"] <= 0.25 and printed["k"] > 1 else 1
    return Judged(engine="cpu", n=n, k=k, solved_at=values["solved_at_mean"], sparsity=factor * values["sparsity_mean"])


@pytest.fixture
def judge():
    """Verdicts on an experiment of which the runs are given by a function of its published cells."""

    def judge(experiment, cell):
        found = {}
        for spec, at in experiment.places():
            if (made := cell(experiment.printed(spec, at))) is not None:
                found[spec.id, experiment.seeds, at, "released"] = made
        return verdicts_of(Cells("released", found), [experiment])

    return judge


def test_numbers_without_a_spec_are_not_run():
    paper = PAPERS["schloer2020"]
    whole = verdicts_of(Cells("absolute", {}), paper.experiments)
    assert set(whole["verdict"]) == {"not run"}
    assert len(whole) == 112 + 112 + 216 + 32
    lost = whole[whole["experiment"] == "simple-addition"]
    assert len(lost) == 28
    assert lost["published_k"].sum() == 194
    assert lost["note"].str.contains("was not released").all()
    starts = whole[whole["experiment"] == "start-addition"]
    assert (len(starts), starts["published_k"].sum()) == (54, 215)
    assert not starts["note"].any()  # all cells have specs, and all runs are made
    one = verdicts_of(Cells("absolute", {}), paper.experiments[:1])
    assert (one["note"] != "").sum() == (one["model"] == "NALUVector").sum() == 7
    part = verdicts_of(Cells("absolute", {}), [paper.experiments[0].select(models=[MODELS["NMU"]], seeds=3)])
    assert set(part["model"]) == {"NALUVector"}  # the rows of other models belong to the whole experiment
    counts = matrix(whole).set_index("experiment")
    assert counts.loc["start-division", "zero not run"] == 54
    assert "Not run: Experiment 2, 112 numbers; the program" in " ".join(render_verdicts(whole).split())


def test_every_number_without_a_spec_has_a_reason():
    for paper in PAPERS.values():
        none = verdicts_of(Cells(None, {}), paper.experiments)
        run = {(one.name, spec.model.name) for one in paper.experiments for spec in one.specs}
        for name, model, note in zip(none["experiment"], none["model"], none["note"], strict=True):
            assert note or (name, model) in run, (paper.key, name, model)


def test_an_experiment_of_no_paper_has_no_published_numbers():
    own = dataclasses.replace(EXPERIMENTS["table-1"], paper="", published=None)
    assert verdicts_of(Cells(None, {}), [own]).empty
    assert render_verdicts(verdicts_of(Cells(None, {}), [own]))


def words(frame, measure="success_rate"):
    return frame[frame["measure"] == measure]["verdict"].tolist()


def test_runs_like_the_published_agree(judge):
    frame = judge(TABLE, lambda row: like(row, 100))
    assert list(frame) == COLUMNS
    assert len(frame) == 3 * 4
    assert set(frame["verdict"]) == {"agrees", "cannot tell"}
    assert set(words(frame)) == set(words(frame, "solved_at_median")) == {"agrees"}


def test_a_number_agrees_only_if_the_test_could_have_failed(judge):
    """Of 13 solved runs one or two could decide the mean; of 94 they do not."""
    frame = judge(TABLE, lambda row: like(row, 100))
    tested = frame[frame["p"].notna()]
    assert (tested[tested["verdict"] == "agrees"]["power"] >= POWER).all()
    assert (tested[tested["verdict"] == "cannot tell"]["power"] < POWER).all()
    scale = tested["measure"].map(lambda measure: scale_of(measure).limit)
    assert ((tested["finds"] <= scale) == (tested["verdict"] == "agrees")).all()
    one = tested.set_index(["model", "measure"])["verdict"]
    assert (one["NACMul", "solved_at_mean"], one["NMU", "solved_at_mean"]) == ("cannot tell", "agrees")


def test_ten_runs_beside_ten_agree_on_no_rate(judge):
    digits = EXPERIMENTS["mnist-sum"]
    frame = judge(digits, lambda row: like(row, 10))
    assert set(words(frame)) == {"cannot tell"}
    assert frame[frame["measure"] == "success_rate"]["finds"].min() > 0.7


def test_steps_whose_mean_a_few_late_runs_may_decide_cannot_be_told(judge):
    """As the NAU on − in print: 100 runs solved at 5,000 steps, or so, and a mean of 1.6·10⁵."""
    subtraction = EXPERIMENTS["table-2"].select(operations=["sub"])
    steps = {"solved_at": np.repeat([4000.0, 5000.0, 6000.0], [30, 50, 20])}

    def cell(row):
        return dataclasses.replace(like(row, 100), **steps if row["model"] == "NAU" else {})

    one = judge(subtraction, cell).set_index(["model", "measure"]).loc["NAU"]
    assert one.loc["solved_at_median", "verdict"] == "agrees"
    assert one.loc["solved_at_mean", "verdict"] == "cannot tell"
    assert one.loc["solved_at_mean", "published"] > 20 * one.loc["solved_at_mean", "ours"]
    assert one.loc["solved_at_mean", "note"] == "rows of some runs were out of order"


def test_other_rates_differ(judge):
    frame = judge(TABLE, lambda row: like(row, 100, k=50))
    assert words(frame) == ["differs"] * 3
    assert frame.loc[0, "p"] == pytest.approx(fisher_exact(50, 100, 13, 100))


def test_other_steps_and_errors_differ(judge):
    frame = judge(TABLE, lambda row: like(row, 100, times=2.0))
    assert words(frame) == ["agrees"] * 3
    for measure in ("solved_at_median", "solved_at_mean", "sparsity_mean"):
        assert words(frame, measure) == ["differs"] * 3, measure


def test_fewer_runs_than_published(judge):
    frame = judge(TABLE, lambda row: like(row, 99, k=99))
    assert set(frame["verdict"]) == {"too few runs"}
    assert frame["p"].isna().all()


def test_an_empty_store(tmp_path):
    frame = verdicts(Store(tmp_path), [TABLE, SWEEP])
    assert set(frame["verdict"]) == {"not run"}
    assert frame["ours"].isna().all()
    assert (frame["note"] != "").sum() == 2  # second logs at two strengths; nothing about runs that are not there


def test_nothing_solved_leaves_steps_open(judge):
    frame = judge(TABLE, lambda row: Judged(engine="cpu", n=100, k=0))
    assert words(frame) == ["differs"] * 3
    assert words(frame, "solved_at_mean") == ["cannot tell"] * 3
    assert set(frame[frame["measure"] != "success_rate"]["note"]) == {"none of our runs is solved"}


def test_one_solved_run_tells_nothing_of_steps(judge):
    frame = judge(TABLE, lambda row: like(row, 100, k=1))
    assert words(frame, "solved_at_median") == ["cannot tell"] * 3
    assert "1 solved runs against 13 published are too few" in frame["note"].tolist()


def test_many_tests_are_seen_together(judge):
    """94 % against 84 % has p = 0.04: alone among three tests it may be chance, with two others it is not."""
    alone = judge(TABLE, lambda row: like(row, 100, k=84 if row["model"] == "NMU" else None))
    assert 0.05 / 3 < alone[alone["measure"] == "success_rate"]["p"].min() < 0.05
    assert words(alone) == ["agrees"] * 3
    assert words(judge(TABLE, lambda row: like(row, 100, k=84))) == ["differs"] * 3


def test_zeros_do_not_make_it_cheaper_to_agree(judge):
    """p = 0.01 is one of four at 5 %, and would not be one of eleven."""
    squares = EXPERIMENTS["all-models"].select(operations=["squared"])
    frame = judge(squares, lambda row: like(row, 100, k=59 if row["model"] == "NACMul" else None))
    one = frame.set_index(["measure", "model"]).loc[("success_rate", "NACMul")]
    assert 0.05 / 11 < one["p"] < 0.05 / 4
    assert one["verdict"] == "differs"


def test_a_zero_that_we_solve_differs(judge):
    ops = EXPERIMENTS["all-models"].select(operations=["div"])
    frame = judge(ops, lambda row: like(row, 100, k=30 if row["model"] == "NALU" else 0))
    assert frame.set_index("model")["verdict"].to_dict() == {
        spec.model.name: "differs" if spec.model.name == "NALU" else "agrees" for spec in ops.specs
    }


def test_second_logs_neither_ask_for_more_runs_nor_count(judge):
    frame = judge(SWEEP, lambda row: like(row, 50, k=min(50, row["k"])))
    assert "too few runs" not in set(words(frame))
    first = frame.iloc[0]
    assert (first["published_k"], first["published_n"]) == (50, 54)
    assert first["note"] == "4 second logs of the same seeds, left out: 50/50"
    assert first["p"] == 1  # 50 of 50 against 50 of 50; against 50 of 54 it would be 0.12
    assert "second logs of the same seeds" in first["finding"]


def test_a_drawing_that_shows_zero_knows_its_grid(judge):
    sizes = dataclasses.replace(EXPERIMENTS["hidden-size"], specs=EXPERIMENTS["hidden-size"].specs[-9:-8])
    assert sizes.published.cells["NMU", 2]["sparsity_mean"] == 0
    small = judge(sizes, lambda row: dataclasses.replace(like(row, 50), sparsity=np.full(50, 1e-7)))
    large = judge(sizes, lambda row: dataclasses.replace(like(row, 50), sparsity=np.full(50, 1e-3)))
    assert words(small, "sparsity_mean") == ["cannot tell"]  # twice as much would be drawn as 0 too
    assert words(large, "sparsity_mean") == ["differs"]


def test_exact_weights_have_a_sparsity_error_of_nothing(judge):
    frame = judge(TABLE, lambda row: dataclasses.replace(like(row, 100), sparsity=np.zeros(like(row, 100).k)))
    assert words(frame, "sparsity_mean")[2] == "differs"


@pytest.mark.parametrize("halved", [True, False])
def test_an_error_that_may_be_halved_does_not_differ_either_way(judge, halved):
    """Nor does it agree: twice as much would not be found."""
    adds = EXPERIMENTS["all-models"].select(operations=["add"])
    mean = 3.2e-5 * (2 if halved else 1)
    nau = {"sparsity": spread(mean, mean, 100)}
    frame = judge(adds, lambda row: dataclasses.replace(like(row, 100), **nau if row["model"] == "NAU" else {}))
    one = frame.set_index(["model", "measure"]).loc[("NAU", "sparsity_mean")]
    assert one["verdict"] == "cannot tell"
    assert one["power"] < 0.3


def test_gates_are_counted_at_both_ends(judge):
    counts = printed("table_gate", gates="figure_gate_histogram").gate_counts

    def cell(row):
        own = counts[(counts["model"] == row["model"]) & (counts["operation"] == row["operation"])]
        by = {solved: np.repeat(part["gate"], part["count"]) for solved, part in own.groupby("solved")}
        return dataclasses.replace(like(row, 100), gate_solved=by[True].to_numpy(), gate_unsolved=by[False].to_numpy())

    frame = judge(GATE, cell)
    gates = frame[frame["measure"].str.startswith("gate")]
    assert len(gates) == 12
    assert (gates["published"] == gates["ours"]).all()
    assert set(gates["verdict"]) == {"agrees"}
    shifted = judge(GATE, lambda row: dataclasses.replace(cell(row), gate_unsolved=np.full(100 - row["k"], 0.5)))
    assert "differs" in words(shifted, "gate_adds")


def test_every_published_number_is_judged(tmp_path):
    frame = verdicts(Store(tmp_path))
    for experiment in PUBLISHED:
        rows = experiment.published.table
        measures = PAPERS[experiment.paper].comparisons
        expected = sum(rows[name].notna().sum() for name in rows if name in measures)
        assert (frame["experiment"] == experiment.name).sum() == expected
    assert frame[frame["zero"]]["published"].eq(0).all()


def test_matrix_counts_zeros_apart(judge):
    ops = EXPERIMENTS["all-models"].select(operations=["squared"])
    counts = matrix(judge(ops, lambda row: like(row, 100))).iloc[0]
    assert counts["numbers"] == 4 * 4
    assert sum(counts[word] for word in WORDS) == 16
    assert (counts["zero numbers"], counts["zero agrees"]) == (7, 7)


def test_verdicts_on_a_store(tmp_path):
    store = Store(tmp_path)
    nmu, printed = TABLE.specs[2], TABLE.published.cells["NMU", "mul"]
    ours = like(printed, 100)
    for seed in range(100):
        solved = seed < ours.k
        at = int(ours.solved_at[seed]) if solved else -1
        sparsity = float(ours.sparsity[seed]) if solved else 0.3
        steps = {"solved_at_released": at, "solved_at_corrected": -1}
        store.append([make_run(nmu, seed, "cpu", best_test=1e-7 if solved else 1.0, best_sparsity=sparsity, **steps)])
    frame = verdicts(store, [TABLE]).set_index(["model", "measure"])
    assert frame.loc["NMU"]["verdict"].tolist() == ["agrees", "agrees", "agrees", "cannot tell"]
    assert set(frame.loc["NALU"]["verdict"]) == {"not run"}
    assert frame.loc[("NMU", "success_rate"), "engine"] == "cpu"
    with pytest.raises(ValueError, match="criterion must be 'released' or 'corrected', got 'lax'"):
        verdicts(store, [TABLE], criterion="lax")


@pytest.fixture
def some(judge):
    """All words: a rate that differs, steps that agree, errors that cannot tell, too few runs, none."""
    runs = {"NMU": lambda row: like(row, 100, k=60), "NALU": lambda row: like(row, 20)}
    return judge(TABLE, lambda row: runs[row["model"]](row) if row["model"] in runs else None)


def test_golden_verdicts(some, golden):
    golden("verdict.txt", render_verdicts(some) + "\n")
    golden("verdict.md", render_verdicts(some, "markdown") + "\n")


def test_only_what_differs(some):
    page = render_verdicts(some, every=False)
    assert page.count(" differs ") > 0
    assert "not run  " not in page.split("Table 1")[1]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_every_word(some, format):
    page = render_verdicts(some, format)
    assert all(word in page for word in WORDS)


def test_json_has_the_rows(some):
    rows = json.loads(render_verdicts(some, "json"))
    assert len(rows) == len(some)
    assert rows[0]["p"] is None


def test_nothing_published(tmp_path):
    frame = verdicts(Store(tmp_path), [TABLE.select(iterations=1000)])
    assert len(frame) == 0
    assert isinstance(frame, pd.DataFrame)
    for format in FORMATS:
        assert "Nothing is published." in render_verdicts(frame, format)


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({}, "Odd."),
        ({"model": "NACMulNMU", "operation": "mul", "measure": "sparsity_mean"}, "NAC•,NMU, ×, sparsity error: Odd."),
        ({"model": "NMU", "at": 4.0}, "NMU, at 4: Odd."),
        ({"at": "U[0,1]"}, "at U[0,1]: Odd."),
        ({"model": "NMU", "own": True}, "NMU, the project's own runs: Odd."),
    ],
)
def test_a_finding_is_about_what_tables_call_it(about, words):
    assert written(Finding("input-size", "Odd.", **about), EXPERIMENTS["input-size"]) == words
