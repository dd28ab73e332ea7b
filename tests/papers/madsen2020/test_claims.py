import dataclasses
import json

import numpy as np
import pytest
from tests.factories import make_run

from arithmos.judging.cells import Judged
from arithmos.judging.thin import thin
from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.papers.claims import WORDS, decide
from arithmos.papers.evidence import (
    Case,
    Cases,
    Decision,
    alike,
    at_least,
    at_most,
    more_often,
    no_more_often,
    pool,
    share,
    sooner,
    sparser,
    undistinguished,
)
from arithmos.papers.madsen2020.experiments import HIDDEN
from arithmos.report import claims, render_claims
from arithmos.report.tables.grid import FORMATS
from arithmos.store import Store

CLAIMS = {claim.name: claim for claim in PAPERS["madsen2020"].claims}
SEEDS = {experiment.name: experiment.seeds for experiment in EXPERIMENTS.values()}


def cell(n, k, *, at=1e6, sparsity=1e-6, adds=0, adds_solved=0):
    """n runs, k solved, exactly, around a step and a sparsity error; `adds` gates at 1, some of them of solved runs."""
    spread = 1 + 0.01 * np.arange(k) / max(k, 1)
    gate = [np.arange(size) < ones for size, ones in ((k, adds_solved), (n - k, adds - adds_solved))]
    gates = {name: ones.astype(float) for name, ones in zip(("gate_solved", "gate_unsolved"), gate, strict=True)}
    return Judged("cpu", n, k, 0, at * spread, sparsity * spread, **gates, seen=n, exact=k, exact_solved=k)


def twice(spec, seed):
    """Weights that multiply the subset sum by itself."""
    start, stop = spec.task.subsets(seed)[0]
    first = np.zeros((2, spec.task.input_size), np.float32)
    first[:, start:stop] = 0.99
    return np.concatenate([first.ravel(), [0.97, 1.0]]).astype(np.float32)


def keys(experiment):
    for spec, at in experiment.places():
        yield spec, (experiment.name, spec.model.name, spec.task.operation if at == "" else at)


GATES = {  # gates at 1, of solved runs and of all
    ("GateNAUNMU", "mul"): (0, 37),
    ("GateNALUSeparate", "mul"): (0, 56),
    ("GateNALUShared", "mul"): (0, 34),
    ("GateNAUNMU", "add"): (37, 37),
    ("GateNALUSeparate", "add"): (51, 52),
    ("GateNALUShared", "add"): (34, 34),
}


@pytest.fixture(scope="module")
def as_published():
    """Cells with the published rates, medians or means, and sparsity errors, and the gates of the histogram."""
    cells = {}
    for name in dict.fromkeys(name for claim in CLAIMS.values() for name in claim.experiments):
        experiment = EXPERIMENTS[name]
        printed = experiment.published.cells if experiment.published else {}
        for _, key in keys(experiment):
            if name == "mnist-reference":  # not published; errors as the paper says
                cells[key] = dataclasses.replace(cell(10, 8), threshold=30.0 ** (key[2] / 20))
                continue
            row = printed[key[1], key[2]]
            k = min(row["k"], experiment.seeds) if row["n"] >= experiment.seeds else round(row["k"] / row["n"] * 50)
            solved, adds = GATES.get(key[1:], (0, 0))
            median = row.get("solved_at_median", row["solved_at_mean"])
            steps = {"at": median, "sparsity": row["sparsity_mean"]} if k else {}
            cells[key] = cell(experiment.seeds, k, **steps, adds=adds, adds_solved=solved)
    undesired = ("mnist-product-no-rz", "NMU", 2.0)
    cells[undesired] = dataclasses.replace(cells[undesired], intended=np.array([1.0, 0.0]))
    means = ("mnist-sum-no-rz", "NAU", 1000.0)
    cells[means] = dataclasses.replace(cells[means], rises=np.array([0.02, 0.99, 1.0, 1.01]))
    return Cases(cells, {}, SEEDS)


FAIL_AS_PUBLISHED = {"all-ranges", "ablation-conclusion"}
OPEN_AS_PUBLISHED = {"ablation-4-success", "mnist-product-without"}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_the_published_numbers_say(as_published, name):
    verdict, numbers = decide(CLAIMS[name], as_published)
    expected = "fails" if name in FAIL_AS_PUBLISHED else "undecided" if name in OPEN_AS_PUBLISHED else "holds"
    assert verdict == expected, numbers


def upside_down(cases):
    """Every success a failure, the fast slow, the sparse dense, and other gates."""
    cells = {}
    for key, runs in cases.cells.items():
        flipped = cell(runs.n, runs.n - runs.k, at=1e7 / np.median(runs.solved_at) if runs.k else 1e3, sparsity=1e-3)
        gates = {"gate_solved": np.full(runs.n - runs.k, 0.0), "gate_unsolved": np.full(runs.k, 1.0)}
        power = key[2] ** 2 if key[0] == "mnist-reference" else np.nan
        cells[key] = dataclasses.replace(flipped, **gates, exact_solved=0, threshold=power, intended=np.zeros(1))
    return dataclasses.replace(cases, cells=cells)


WORSE = {  # claims that all is the same, or that nothing is better: these cells, worse
    "ablation-3": [("ablation", "NMUNoClamp", float(size)) for size in HIDDEN],
    "strength-add": [("regularizer-add", "NAU", 0.01)],
    "strength-sub": [("regularizer-sub", "NAU", 0.01)],
    "strength-mul": [("regularizer-mul", "NMU", 10.0)],
    "mnist-product-without": [("mnist-product-no-rz", "NMU", 2.0)],
}


EXCHANGED = [
    {"GateNALUSeparate": "GateNALUShared", "GateNALUShared": "GateNALUSeparate"},
    {"GateNAUNMU": "GateNALUShared", "GateNALUShared": "GateNAUNMU", "NMU": "NMUNoSparsity"},
]


def the_other_way_round(cases, others):
    """As often solved, but the fast are slow, the sparse dense, none is exact, and some models are exchanged."""
    cells = {}
    for (experiment, model, at), runs in cases.cells.items():
        same = cases.cells.get((experiment, others.get(model, model), at), runs)
        turned = {"solved_at": 1e10 / same.solved_at, "sparsity": 1e-8 / (same.sparsity + 1e-12), "exact_solved": 0}
        cells[experiment, model, at] = dataclasses.replace(same, **turned)
    return dataclasses.replace(cases, cells=cells)


@pytest.mark.parametrize("name", [name for name in CLAIMS if name not in {*FAIL_AS_PUBLISHED, *WORSE}])
def test_every_claim_can_fail(as_published, name):
    """Upside down, the other way round, or with all cells alike."""
    flipped, turned = upside_down(as_published), [the_other_way_round(as_published, others) for others in EXCHANGED]
    same = {key: cell(runs.n, runs.n // 2, adds=runs.n, adds_solved=runs.n // 2) for key, runs in flipped.cells.items()}
    every = flipped, *turned, dataclasses.replace(flipped, cells=same)
    assert "fails" in [decide(CLAIMS[name], cases)[0] for cases in every]


@pytest.mark.parametrize(("name", "keys"), WORSE.items())
def test_a_claim_of_sameness_can_fail(as_published, name, keys):
    worse = {key: cell(50, 0) for key in keys}
    lower = dataclasses.replace(as_published, cells={**as_published.cells, **worse})
    assert decide(CLAIMS[name], lower)[0] == "fails"


def test_an_interval_that_contains_the_limit_decides_nothing():
    """8 of 10 is 49 to 94 %, which says neither that a rate is above 50 % nor that it is not."""
    assert at_least(Case("a", cell(10, 8)), 0.5) == Decision(None, "a 8/10, 49% to 94%")
    assert [at_least(Case("a", cell(10, k)), 0.5).holds for k in (0, 1, 2, 5, 9, 10)] == [
        False,
        False,
        None,
        None,
        True,
        True,
    ]
    assert [at_most(Case("a", cell(100, k))).holds for k in (0, 12, 40)] == [True, None, False]
    assert [share("a", k, 99).holds for k in (60, 91, 99)] == [False, None, True]
    few, many = Case("a", cell(450, 344)), Case("b", cell(450, 355))
    assert more_often(many, few).holds is None
    assert [alike(Case("a", cell(450, k)), many).holds for k in (355, 320, 200)] == [True, None, False]
    assert [no_more_often(Case("a", cell(50, k)), Case("b", cell(50, 40))).holds for k in (30, 42, 50)] == [
        True,
        None,
        False,
    ]


def test_rates_that_are_too_few_to_differ_are_not_the_same():
    ten, hundred = [Case("a", cell(10, k)) for k in (8, 5, 0)], [Case("a", cell(100, k)) for k in (53, 58, 90)]
    assert [undistinguished(ten[0], other).holds for other in ten[1:]] == [None, False]
    assert [undistinguished(hundred[0], other).holds for other in hundred[1:]] == [True, False]


def test_a_rank_test_that_finds_neither_order_decides_nothing():
    one, other = Case("a", cell(50, 40)), Case("b", cell(50, 40, at=1e7))
    assert [sooner([pair]).holds for pair in ((one, other), (one, one), (other, one))] == [True, None, False]


@pytest.mark.parametrize(
    ("parts", "holds"),
    [([True, True], True), ([True, None], None), ([None, False, True], False), ([], True)],
)
def test_a_part_that_fails_decides_and_an_open_one_leaves_it_open(parts, holds):
    assert Decision.all(Decision(part, "") for part in parts).holds is holds


def test_without_the_clamp_convergence_may_not_be_much_slower(as_published):
    cells = {
        key: dataclasses.replace(runs, solved_at=runs.solved_at * (1.15 if key[1] == "NMUNoClamp" else 1))
        for key, runs in as_published.cells.items()
    }
    assert decide(CLAIMS["ablation-3"], dataclasses.replace(as_published, cells=cells))[0] == "fails"


@pytest.mark.parametrize("name", sorted(FAIL_AS_PUBLISHED))
def test_claims_that_fail_can_hold(as_published, name):
    cells = {key: cell(runs.n, runs.n) for key, runs in as_published.cells.items()}
    assert decide(CLAIMS[name], dataclasses.replace(as_published, cells=cells))[0] == "holds"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.name)
def test_a_claim_waits_for_its_runs(as_published, claim):
    one_less = {key: dataclasses.replace(runs, n=runs.n - 1) for key, runs in as_published.cells.items()}
    verdict, numbers = decide(claim, dataclasses.replace(as_published, cells=one_less))
    assert verdict == "undecided"
    assert " of " in numbers
    assert decide(claim, dataclasses.replace(as_published, cells={}))[0] == "undecided"


def test_rates():
    low, high = Case("a", cell(100, 20)), Case("b", cell(100, 90))
    assert more_often(high, low).holds
    assert not more_often(low, high).holds
    assert not more_often(Case("c", cell(100, 93)), high).holds
    assert alike(high, Case("c", cell(100, 90))).holds is alike(high, high).holds
    assert alike(Case("c", cell(450, 400)), Case("d", cell(450, 402))).holds
    assert not alike(Case("c", cell(450, 400)), Case("d", cell(450, 350))).holds
    assert at_most(Case("c", cell(50, 0))).holds
    assert not at_most(Case("c", cell(50, 2))).holds
    assert at_least(Case("c", cell(50, 50))).holds
    assert not at_least(Case("c", cell(50, 45))).holds
    assert not share("none", 0, 0).holds
    assert more_often(high, low).numbers == "b 90/100, a 20/100: +58 to +78 points"


def test_the_success_rate_without_both_can_be_lower(as_published):
    cells = {key: cell(runs.n, 30 if key[1] == "NMUNeither" else runs.n) for key, runs in as_published.cells.items()}
    assert decide(CLAIMS["ablation-4-success"], dataclasses.replace(as_published, cells=cells))[0] == "holds"


def test_speeds():
    fast, slow, never = (Case(name, cell(50, k, at=at)) for name, k, at in (("a", 40, 1e4), ("b", 9, 1e6), ("c", 0, 1)))
    assert sooner([(fast, slow)]).holds
    assert not sooner([(slow, fast)]).holds
    assert not sooner([(fast, fast)]).holds
    assert sooner([(slow, never)]).holds
    assert not sooner([(never, slow)]).holds
    assert not sooner([(never, never)]).holds
    assert sooner([(slow, never)]).numbers == "c has no solved run, b 9"
    assert sparser([(Case("a", cell(50, 40, sparsity=1e-6)), Case("b", cell(50, 40, sparsity=1e-2)))]).holds


def test_the_best_that_few_runs_can_show_decides_nothing():
    four, one = Case("a", cell(10, 4, sparsity=1e-6)), Case("b", cell(10, 1, sparsity=0.2))
    assert sparser([(four, one)]).holds is sparser([(one, four)]).holds is None
    assert sparser([(four, one)]).numbers.startswith("a sparser than b in 100% of pairs, p = 0.2")
    assert sparser([(four, Case("b", cell(10, 4, sparsity=0.2)))]).holds


def test_pooled_cells_are_one():
    both = pool("both", [Case("a", cell(50, 40, adds=3)), Case("b", cell(50, 10))]).runs
    assert (both.n, both.k, both.solved_at.size, both.gate.size) == (100, 50, 50, 100)


def test_several_hypotheses_hold_if_all_do():
    assert Decision.all([Decision(True, "a"), Decision(True, "b")]) == Decision(True, "a; b")
    assert not Decision.all([Decision(True, "a"), Decision(False, "b")]).holds


SQUARE = next(s for s, key in keys(EXPERIMENTS["all-models"]) if key[1:] == ("NMU", "squared"))


def test_claims_of_a_store(tmp_path):
    store = Store(tmp_path / "whole")
    solved = {"best_test": 1e-9, "threshold_released": 1e-5, "engine": "cpu"}
    store.append(
        make_run(SQUARE, seed, best_weights=twice(SQUARE, seed) if seed else twice(SQUARE, 1) * 0, **solved)
        for seed in range(100)
    )
    store.append([make_run(SQUARE, 3, **solved | {"engine": "torch"})])
    frame = claims(store, ["square", "square-nmu", "square-nac", "division"])
    assert list(frame) == ["claim", "where", "text", "criterion", "verdict", "numbers"]
    assert list(frame["verdict"]) == ["holds", "holds", "undecided", "undecided"]
    assert frame["numbers"][1] == "solved runs of NMU on z² with the subset twice 99/100, 95% to 100%"
    assert frame["numbers"][2] == "all-models, NAC• on z²: 0 of 100 runs"
    thin(store, tmp_path / "thin", keep=0)
    assert claims(Store(tmp_path / "thin"), ["square", "square-nmu", "square-nac", "division"]).equals(frame)
    with pytest.raises(KeyError, match="unknown claim 'squares'; did you mean 'square'"):
        claims(store, ["squares"])


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    return claims(Store(tmp_path_factory.mktemp("empty")), [*CLAIMS])


def test_an_empty_store_decides_nothing(frame):
    assert list(frame["claim"]) == list(CLAIMS)
    assert set(frame["verdict"]) == {"undecided"}


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(frame, format):
    changed = frame.assign(verdict=[WORDS[i % 3] for i in range(len(frame))])
    page = render_claims(changed, format)
    assert all(word in page for word in WORDS)
    assert all(name in page.replace(r"\_", "_") for name in CLAIMS)


def test_json(frame):
    assert [row["claim"] for row in json.loads(render_claims(frame, "json"))] == list(CLAIMS)


def test_golden_claims(frame, golden):
    golden("claims.md", render_claims(frame, "markdown") + "\n")
