import dataclasses

import numpy as np
import pytest
from tests.factories import make_digits_run, make_run, make_runs, make_spec

from arithmos.judging.references import references
from arithmos.papers import EXPERIMENTS
from arithmos.report.page.provenance import others
from arithmos.report.page.run import run_page, spark, spec_page
from arithmos.report.page.samples import samples
from arithmos.spec import model
from arithmos.store import Store
from arithmos.tasks import DigitSequences


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def test_a_spec_and_its_runs(store):
    spec = make_spec()
    store.append(make_runs(4, spec))
    page = spec_page(store, spec.id)
    assert '"operation": "mul"' in page
    assert f"4 runs of {spec.id}" in page
    assert [line.split()[:3] for line in page.splitlines() if "torch" in line] == [
        ["0", "torch", "yes"],
        ["1", "torch", "no"],
        ["2", "torch", "yes"],
        ["3", "torch", "no"],
    ]


def test_a_spec_of_the_catalogue_without_runs(store):
    spec = EXPERIMENTS["table-1"].specs[0]
    assert f"0 runs of {spec.id}" in spec_page(store, spec.id)


def test_an_unknown_spec_or_seed(store):
    with pytest.raises(KeyError, match=r"neither in .*runs nor in the catalogue"):
        spec_page(store, "0" * 16)
    store.append(make_runs(1))
    with pytest.raises(KeyError, match=r"no run of spec .* with seed 7"):
        run_page(store, make_spec().id, 7)


def test_a_run_shows_what_its_verdict_rests_on(store):
    run = make_run(seed=0, best_test=1.5e-5, solved_at_released=-1, solved_at_corrected=4000, best_step=5000)
    store.append([run])
    page = run_page(store, run.spec.id, 0)
    assert "released   not solved: test error 1.5e-05, threshold 1e-05, never below it" in page
    assert "corrected  solved: test error 1.5e-05, threshold 2e-05, first below it at step 4,000" in page
    assert "layer 1, NAU, weight [2 × 4]" in page
    assert "layer 2, NMU, weight [1 × 2]" in page
    assert f"{run.best_weights[-1]:.3f}".rstrip("0") in page
    assert "steps 0 to 5,000" in page


@pytest.mark.parametrize("name", ["Linear", "NALU", "GateNALUSeparate", "GatedNAUNMU"])
def test_every_array_of_a_network_has_its_name(store, name):
    spec = make_spec(model=name)
    arrays = {
        "Linear": ["weight [2 × 4]", "bias [2]", "weight [1 × 2]", "bias [1]"],
        "NALU": ["add [2 × 4]", "gate [2 × 4]", "add [1 × 2]", "gate [1 × 2]"],
        "GateNALUSeparate": ["weight [2 × 4]", "add [1 × 2]", "mul [1 × 2]", "gate [1 × 2]"],
        "GatedNAUNMU": [f"{name} {shape}" for shape in ("[2 × 4]", "[1 × 2]") for name in ("add", "mul", "gate")],
    }[name]
    weights = np.arange(100, dtype=np.float32)[: sum(int(np.prod(shape_in(array))) for array in arrays)]
    store.append([make_run(spec, 0, best_weights=weights)])
    lines = [line for line in run_page(store, spec.id, 0).splitlines() if line.startswith("layer")]
    assert [line.split(", ")[-1] for line in lines] == arrays


def shape_in(array):
    return [int(size) for size in array.partition("[")[2].rstrip("]").split(" × ")]


def test_an_own_unit_is_one_array(store, tmp_path):
    file = tmp_path / "own.py"
    file.write_text("from torch import nn\nclass Own(nn.Linear): pass\n")
    spec = dataclasses.replace(make_spec(), model=model(f"NAU>{file}:Own"))
    store.append([make_run(spec, 0, best_weights=np.ones(11, np.float32))])
    assert "parameters [11]" in run_page(store, spec.id, 0)


PRODUCT = EXPERIMENTS["mnist-product"].specs[-1]
REFERENCE = EXPERIMENTS["mnist-reference"].specs[0]


def test_a_run_on_digits_waits_for_its_reference(store):
    store.append([make_digits_run(PRODUCT, 0)])
    page = run_page(store, PRODUCT.id, 0)
    assert "released   not judged: test error 0.37, no threshold" in page
    assert "    20         37 no threshold   no threshold" in page
    assert samples(store)[PRODUCT.id]["threshold"] is None


def test_a_run_on_digits_beside_its_reference(store):
    store.append([make_run(), make_digits_run(PRODUCT, 0), make_digits_run(PRODUCT, 1, solved=False)])
    store.append(make_digits_run(REFERENCE, seed) for seed in range(10))
    assert [line.split()[:5] for line in spec_page(store, PRODUCT.id).splitlines() if "torch" in line] == [
        ["0", "torch", "yes", "—", "384120"],
        ["1", "torch", "no", "—", "—"],
    ]
    page = run_page(store, PRODUCT.id, 0)
    assert "released   solved: test error 0.37, threshold 0.384, first below it at step 384,120" in page
    assert "layer 1, NMU, weight [1 × 2]" in page
    assert "       1        2        3" in page
    assert "    20         37 < 38.4         < 38.3" in page
    assert "≥ 38.4         ≥ 38.3" in run_page(store, PRODUCT.id, 1)
    shown = samples(store)
    assert [run["solved"] for run in shown[PRODUCT.id]["runs"]] == [True, False]
    assert shown[PRODUCT.id]["threshold"] == pytest.approx(0.384, abs=1e-3)
    assert shown[REFERENCE.id]["arrays"] == []


def test_runs_on_digits_that_are_in_no_experiment(store):
    short = [dataclasses.replace(spec, iterations=388 * 11 - 1) for spec in (PRODUCT, REFERENCE)]
    store.append(make_digits_run(spec, seed) for spec in short for seed in (0, 2, 4))
    found = others(store).set_index("spec_id")
    assert found.loc[short[0].id, "task"] == "× of 2 digits, R_z, 4,267 iterations"
    assert found.loc[short[1].id, "task"] == "× of 2 digits, 4,267 iterations"
    assert found.loc[short[0].id, ["runs", "solved"]].tolist() == [3, 3]


def test_runs_of_an_older_version_of_a_task_stay_and_are_told_apart(store, monkeypatch):
    monkeypatch.setattr(DigitSequences, "version", 1)
    old = [dataclasses.replace(spec) for spec in (PRODUCT, REFERENCE)]
    store.append(make_digits_run(spec, seed) for spec in old for seed in range(10))
    monkeypatch.undo()
    store.append(make_digits_run(spec, seed) for spec in (PRODUCT, REFERENCE) for seed in range(10))
    found = others(store).set_index("spec_id")
    assert set(found.index) == {spec.id for spec in old}
    assert found.loc[old[0].id, "task"] == "× of 2 digits, R_z, 388,387 iterations, version 1 of the task"
    assert len(references(store)) == 2


def test_spark():
    assert spark(np.geomspace(1, 1e7, 8)) == "▁▂▃▄▅▆▇█"
    assert spark(np.array([np.nan, 0.0])) == "··"
    assert len(spark(np.ones(200))) == 60
