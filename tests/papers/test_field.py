"""Papers since 2020 on the runs of `results/`: the numbers that are known of the published runs, and what texts say."""

from pathlib import Path

import numpy as np
import pytest
from tools.field import FIELD, RANKINGS, agreement, engines

from arithmos.judging.cells import judged
from arithmos.papers import EXPERIMENTS, PAPERS
from arithmos.papers.claims import claims_of
from arithmos.papers.heim2020.estimators import errors, large_errors
from arithmos.papers.verdicts import verdicts

ROOT = Path(__file__).parents[2]
NOT_RUN = {("mistry2022snmu/two-layers", "SNMUBatch")}
"""Networks without runs: only the torch engine has noise by the batch, and would need 11 hours."""
LEAST = {"ranking": {2: 100, 10: 100, 100: 25}, "behind": {2: 25, 10: 25, 100: 5}}
"""Least runs of a cell of the rankings by number of inputs; contests ask for 100, 100 and 25."""
STARTS = "schloer2020/start-"
"""Experiments on initial weights, of which more runs are made than are published."""


def by_range(results, experiment, model):
    """Cells of a model by range."""
    chosen = EXPERIMENTS[experiment]
    return {at: cell for spec, at, cell in judged(results, [chosen]).of(chosen) if spec.model.name == model}


def test_the_nmu_multiplies_as_published(results):
    cells = by_range(results, "mistry2022/multiplication", "NMU")
    assert {cell.n for cell in cells.values()} == {25}
    assert [cell.k for cell in cells.values()] == [25, 20, 17, 25, 25, 25, 25, 25, 25]
    means = [cell.solved_at.mean() for cell in cells.values()]
    assert means == pytest.approx([2400, 2000, 2000, 21_000, 2320, 5480, 2800, 3000, 2560], abs=0.5)


def test_the_nau_adds_as_published(results):
    cells = by_range(results, "mistry2022/addition", "NAU")
    assert [cell.k for cell in cells.values()] == [25] * 9
    means = {at: cell.solved_at.mean() for at, cell in cells.items()}
    assert means.pop("U[-2,2]") == pytest.approx(4200, abs=1000 / 25)  # one of 25 runs a record later
    assert set(means.values()) == {5040.0}


def test_division_among_ten_inputs_is_solved_as_often_as_published(results):
    paper = PAPERS["mistry2022division"]
    counts = {
        model: sum(cell.k for cell in by_range(results, "mistry2022division/ten-inputs", model).values())
        for model in ("RealNPU", "RealNPUModified", "NMRU")
    }
    assert counts == {"RealNPU": 163, "RealNPUModified": 192, "NMRU": 203}
    assert set(claims_of(judged(results, paper.experiments), paper.claims)["verdict"]) == {"holds"}


def test_every_published_number_has_a_verdict(results):
    for key in FIELD:
        found = verdicts(results, PAPERS[key].experiments)
        assert "too few runs" not in set(found["verdict"]), key
        assert (found.loc[found["verdict"] == "not run", "note"] != "").all(), key
    assert (verdicts(results, PAPERS["mistry2022"].experiments)["verdict"] != "differs").all()


def test_cells_of_initial_weights_are_all_run(results):
    experiments = [one for one in PAPERS["schloer2020"].experiments if one.qualified_name.startswith(STARTS)]
    cells = [cell for one in experiments for cell in judged(results, [one]).of(one)]
    assert len(cells) == 216
    assert {cell.n for _, _, cell in cells} == {20}


def starts(results, word):
    """Solved and all runs on initial weights, here and in print, by the mean of M_hat and the deviation."""
    experiment, counts = EXPERIMENTS[f"{STARTS}{word}"], {}
    for spec, at, cell in judged(results, [experiment]).of(experiment):
        _, gates, _, deviation = at.split(", ")
        printed = experiment.printed(spec, at)
        row = counts.setdefault((gates, deviation), [0, 0, 0, 0])
        row[:] = row[0] + cell.k, row[1] + cell.n, row[2] + int(printed["k"]), row[3] + int(printed["n"])
    return counts


def test_initial_weights_of_the_inalu(results):
    assert starts(results, "addition") == {
        ("M -1", "sd 0.1"): [180, 180, 86, 87],
        ("M -1", "sd 0.5"): [180, 180, 69, 91],
        ("M 0", "sd 0.1"): [119, 180, 57, 94],
        ("M 0", "sd 0.5"): [55, 180, 3, 99],
        ("M 1", "sd 0.1"): [55, 180, 0, 90],
        ("M 1", "sd 0.5"): [23, 180, 0, 101],
    }
    assert starts(results, "subtraction") == {
        ("M -1", "sd 0.1"): [180, 180, 82, 83],
        ("M -1", "sd 0.5"): [179, 180, 67, 94],
        ("M 0", "sd 0.1"): [136, 180, 57, 86],
        ("M 0", "sd 0.5"): [24, 180, 3, 84],
        ("M 1", "sd 0.1"): [59, 180, 0, 92],
        ("M 1", "sd 0.5"): [23, 180, 0, 85],
    }
    assert sum(row[0] for row in starts(results, "multiplication").values()) == 756
    assert not any(row[0] for row in starts(results, "division").values())


def test_means_of_zero_for_w_hat_fail_to_multiply(results):
    experiment, counts = EXPERIMENTS[f"{STARTS}multiplication"], {}
    for _, at, cell in judged(results, [experiment]).of(experiment):
        row = counts.setdefault(at.split(", ")[2], [0, 0])
        row[:] = row[0] + cell.k, row[1] + cell.n
    assert counts == {"W -1": [308, 360], "W 0": [88, 360], "W 1": [360, 360]}


def test_products_with_signs_are_solved_as_published(results):
    for model in ("MulMCFCSignINALU", "MulMCFCSignRealNPU"):
        cells = by_range(results, "mistry2022/multiplication", model)
        printed = EXPERIMENTS["mistry2022/multiplication"].published.cells
        assert {(cell.k, cell.n) for cell in cells.values()} == {(25, 25)}
        for at, cell in cells.items():
            assert cell.solved_at.mean() == pytest.approx(printed[model, at]["solved_at_mean"], abs=300)


def test_the_nalu_of_the_large_task(results):
    """Printed are median test errors of 740, 3·10⁸³, 530 and 7,300."""
    found = verdicts(results, [one for one in PAPERS["heim2020"].experiments if one.name.startswith("large")])
    nalu = found[(found["model"] == "NALU") & (found["measure"] == "median_test")].set_index("operation")
    assert nalu.loc["add", "ours"] == pytest.approx(0.188, rel=1e-2)
    assert nalu.loc["reciprocal", "ours"] == pytest.approx(0.26, rel=1e-2)
    assert nalu.loc["root", "ours"] == pytest.approx(2010, rel=1e-2)
    experiment = EXPERIMENTS["heim2020/large-multiplication"]
    [spec] = [spec for spec in experiment.specs if spec.model.name == "NALU"]
    assert results.load(specs=[spec], columns=["ended_early"])["ended_early"].sum() == 14


def test_every_experiment_is_run_in_full(results):
    for key in set(FIELD) - set(RANKINGS):
        for experiment in PAPERS[key].experiments:
            for spec, at, cell in judged(results, [experiment]).of(experiment):
                left_out = (experiment.qualified_name, spec.model.name) in NOT_RUN
                assert cell.n == (0 if left_out else experiment.seeds), (experiment.qualified_name, spec.model.name, at)


@pytest.mark.parametrize("paper", LEAST)
def test_the_ranking_is_run_as_far_as_its_page_says(results, paper):
    for experiment in PAPERS[paper].experiments:
        inputs = experiment.specs[0].task.input_size
        assert experiment.seeds == {2: 100, 10: 100, 100: 25}[inputs]
        for spec, at, cell in judged(results, [experiment]).of(experiment):
            if spec.model.name.endswith("-LM"):
                assert cell.n == experiment.seeds
            assert cell.n >= LEAST[paper][inputs], (experiment.qualified_name, spec.model.name, at)


def test_the_range_of_the_noise(results):
    """Solved runs of 225 with each range; none of them in the two narrow ranges of inputs."""
    solved = {}
    experiment = EXPERIMENTS["mistry2022snmu/noise"]
    for spec, at, cell in judged(results, [experiment]).of(experiment):
        solved[spec.model.label] = solved.get(spec.model.label, 0) + cell.k
        assert not cell.k or at not in ("U[1.1,1.2]", "U[-1.2,-1.1]")
    weak, strong = {"U[0.01,0.05]": 0, "U[0.1,0.5]": 85}, {"U[1,2]": 166, "U[1,5]": 169, "U[5,10]": 169}
    assert solved == {**weak, **strong, "U[10,20]": 171}


def test_parts_of_the_nmru(results):
    """A run of the authors' program, with its own random numbers, gave 81, 125, 142 and 206."""
    counts = {
        name: sum(cell.k for cell in by_range(results, "mistry2022division/nmru-parts", name).values())
        for name in ("NMRUNeither", "NMRUClip", "NMRUSign", "NMRUBoth")
    }
    assert counts == {"NMRUNeither": 83, "NMRUClip": 125, "NMRUSign": 141, "NMRUBoth": 203}


def test_settings_of_division(results):
    solved = {
        "nru-rates": {"NRU0.001": 139, "NRU0.01": 186, "NRU0.1": 223, "NRU1": 225},
        "nmru-rates": {"NMRU0.001": 186, "NMRU0.01": 203, "NMRU0.1": 94},
        "realnpu-l1": {"RealNPUFree": 68, "RealNPU1e-11": 80, "RealNPU1e-09": 101, "RealNPU0.001": 3, "RealNPU0.1": 0},
        "mixed-signs-ten": {"RealNPUModified": 51, "NRU": 0, "NMRU": 124},
        "ten-inputs": {"NRU": 100},
    }
    for name, counts in solved.items():
        for model, count in counts.items():
            cells = by_range(results, f"mistry2022division/{name}", model)
            assert sum(cell.k for cell in cells.values()) == count, (name, model)


def test_division_of_other_inputs(results):
    solved = {model: [0, 0] for model in ("RealNPUModified", "NRU", "NMRU")}
    for name in ("mixed-signs-two", "distributions"):
        for model, counts in solved.items():
            cells = by_range(results, f"mistry2022division/{name}", model).values()
            counts[0] += sum(cell.k for cell in cells)
            counts[1] += sum(cell.n for cell in cells)
    assert solved == {"RealNPUModified": [156, 275], "NRU": [274, 275], "NMRU": [275, 275]}
    for spec, _ in EXPERIMENTS["mistry2022division/near-zero"].places():
        if spec.model.name == "RealNPUModified":
            kept = results.load(specs=[spec], columns=["best_weights"])["best_weights"].dropna()
            assert {tuple(weights) for weights in kept} == {(-1.0, 1.0)}
    for model, k in {"RealNPUModified": 0, "NMRU": 125}.items():
        assert sum(cell.k for cell in by_range(results, "mistry2022division/near-zero", model).values()) == k


def test_rounding_decides_near_zero(results):
    """Errors of the same weights by two engines, beside the limit."""
    errors_of = {"near-zero": {}, "near-zero-redundant": {}}
    for name, model in (("near-zero", "NRU"), ("near-zero-redundant", "NMRU")):
        for spec, at in EXPERIMENTS[f"mistry2022division/{name}"].places():
            if spec.model.name == model:
                found = results.load(specs=[spec], columns=["best_test"]).groupby("engine")["best_test"]
                limit = spec.task.thresholds()["absolute"]
                errors_of[name][at] = limit, *(found.get_group(engine).to_numpy() for engine in ("cpu", "cuda"))
    limit, cpu, cuda = errors_of["near-zero"]["U[0,0.1]"]
    assert limit == pytest.approx(1.2065e-7, rel=1e-4)
    assert cuda == pytest.approx(np.full(25, 4.634e-11), rel=1e-3)
    assert not any(cpu.any() for _, cpu, _ in errors_of["near-zero"].values())
    assert [(cuda < limit).sum() for limit, _, cuda in errors_of["near-zero"].values()] == [0, 23, 25, 25, 25]
    limit, cpu, cuda = errors_of["near-zero-redundant"]["U[0,0.1]"]
    assert ((cpu == 0).sum(), (cuda == 0).sum()) == (14, 14)
    assert (cpu < limit).all()
    assert (cuda < limit).sum() == 14


def test_the_limit_near_zero_is_passed_by_one_unit_in_the_last_place_and_not_by_two():
    [task] = {
        spec.task
        for spec, at in EXPERIMENTS["mistry2022division/near-zero"].places()
        if (spec.model.name, at) == ("NRU", "U[0,0.1]")
    }
    x, target = task.test(0)
    unit = float(np.spacing(target[x.argmin(), 0]))
    assert unit**2 / len(x) < task.thresholds()["absolute"] < (2 * unit) ** 2 / len(x)


def test_differences_from_the_inalu_paper_are_explained(results):
    found = verdicts(results, PAPERS["schloer2020"].experiments)
    differing = found[found["verdict"] == "differs"]
    assert len(differing) == 66
    assert (differing["finding"] != "").all()


def test_two_layers_of_the_inalu_multiply_as_well_as_float32_can(results):
    solved = {"addition": 10, "subtraction": 10, "multiplication": 0, "division": 0}
    for word, k in solved.items():
        for model in ("INALU", "INALUShared"):
            cells = by_range(results, f"schloer2020/function-{word}", model)
            assert [cell.k for cell in cells.values()] == [k, k]
    for spec, at in EXPERIMENTS["schloer2020/function-multiplication"].places():
        if spec.model.name.startswith("INALU"):
            found = results.load(specs=[spec], columns=["best_test"]).groupby("engine")["best_test"]
            floors = {"U[-3,3]": (6.892e-5, 6.646e-5), "N(0,1)[-3,3]": (4.098e-5, 3.879e-5)}[at]
            for engine, floor in zip(("cpu", "cuda"), floors, strict=True):
                assert found.get_group(engine).to_numpy() == pytest.approx(floor, rel=1e-3)


def test_power_units_on_the_simple_task(results):
    simple = EXPERIMENTS["heim2020/simple"]
    cells = {spec.model.name: cell for spec, _, cell in judged(results, [simple]).of(simple)}
    assert {len(cell.weights) for cell in cells.values()} == {20}
    assert errors("NPU", cells["NPU"].weights).mean(axis=0) == pytest.approx([0.21, 0.35, 0.21, 0.028], rel=0.03)
    assert np.median(errors("RealNPU", cells["RealNPU"].weights), axis=0) == pytest.approx(
        [0.041, 0.029, 0.013, 0.002], abs=0.0006
    )
    assert not cells["NPU"].weights[:, 12:24].any()  # the imaginary parts, which never moved


def test_power_units_on_the_large_task(results):
    """Median test errors of the ten best runs; printed are 0.092, 0.063, 10.96, 1.622 and 161.65."""
    found = verdicts(results, [one for one in PAPERS["heim2020"].experiments if one.name.startswith("large")])
    ours = found[found["measure"] == "median_test"].set_index(["operation", "model"])["ours"]
    assert ours["add", "NPU"] == pytest.approx(0.0933, rel=1e-3)
    assert ours["add", "RealNPU"] == pytest.approx(0.0334, rel=1e-2)
    assert ours["root", "NMU"] == pytest.approx(11.24, rel=1e-3)
    assert ours["reciprocal", "NMU"] == pytest.approx(1.513, rel=1e-3)
    assert ours["add", "NaiveNPU"] == pytest.approx(162.3, rel=1e-3)
    differing = found[found["verdict"] == "differs"]
    assert [*zip(differing["operation"], differing["model"], strict=True)] == [
        ("reciprocal", "NPU"),
        ("reciprocal", "RealNPU"),
        ("reciprocal", "NaiveNPU"),
        ("reciprocal", "NALU"),
    ]
    assert (differing["finding"] != "").all()


def test_sums_of_the_nmu_are_as_good_as_printed_where_they_are_found(results):
    """Printed is a median test error of 0.006 over ten runs, and 1.7 for products."""
    for name, count, most in (("addition", 4, 0.007), ("multiplication", 1, 0.6)):
        experiment = EXPERIMENTS[f"heim2020/large-{name}"]
        cells = {spec.model.name: cell for spec, _, cell in judged(results, [experiment]).of(experiment)}
        outside = large_errors("NMU", experiment.specs[0].task.operation, cells["NMU"].weights)[1]
        assert (outside < most).sum() == count
        assert outside[count] > 500


def test_the_dense_network_has_as_many_hidden_units_as_the_text_says(results):
    simple = EXPERIMENTS["heim2020/simple"]
    cells = {spec.model.name: cell for spec, _, cell in judged(results, [simple]).of(simple)}
    assert errors("Dense", cells["Dense"].weights).mean(axis=0) == pytest.approx([2.10, 3.52, 13.9, 0.086], rel=0.01)


def test_the_page_counts_verdicts(results):
    page = (ROOT / "docs" / "field.md").read_text(encoding="utf-8")
    for key in ("schloer2020", "heim2020", "mistry2022"):
        found = verdicts(results, PAPERS[key].experiments)["verdict"].value_counts()
        counts = [found.sum(), *(found.get(word, 0) for word in ("agrees", "differs", "cannot tell", "not run"))]
        line = next(line for line in page.splitlines() if line.startswith(f"| `{key}`"))
        assert [int(cell) for cell in line.split("|")[3:8]] == counts, key


def test_the_page_compares_the_engines(results):
    """Written by `python tools/field.py results`."""
    page = (ROOT / "docs" / "field.md").read_text(encoding="utf-8")
    assert "\n".join(engines(results)) in page
    assert "\n".join(agreement(results)) in page


def test_results_stay_small():
    assert sum(file.stat().st_size for file in (ROOT / "results").rglob("*.parquet")) < 60e6
