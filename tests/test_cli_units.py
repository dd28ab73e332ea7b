"""Units that somebody might write, beside the NMU in one command: none of them sinks the others."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.own_units import Integers

from arithmos import bench
from arithmos.cli import main
from arithmos.store import Store
from arithmos.tasks import TEN_PARAMETERS

SOURCE = Path(__file__).parent / "own_units.py"
SHORT = ["--seeds", "2", "--iterations", "30"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("units.py").write_text(SOURCE.read_text())


def arithmos(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def models(*units):
    return ["--models", ",".join(["NMU", *(f"NAU>units.py:{unit}" for unit in units)])]


def rows(*units):
    """Runs by model, as the table shows them."""
    table = arithmos("table", "table-1", *models(*units), *SHORT, "--format", "json")
    return {row["model"].removeprefix("NAU>units.py:"): row for row in json.loads(table.stdout)}


REFUSED = ("RaisesThird", "Integers", "Rounded")
BESIDE = ("EvalBroken", "Dropped", "Normed", "Branching", "RaisesLate", "ReturnsNaN", *REFUSED)


def test_each_unit_has_its_row_or_its_line():
    done = arithmos("run", "table-1", *models(*BESIDE), *SHORT, "--engine", "torch")
    assert done.exit_code == 1
    made = {name: row["n"] for name, row in rows(*BESIDE).items()}
    assert made == {"NMU": 2, **{unit: 0 if unit in (*REFUSED, "RaisesLate") else 2 for unit in BESIDE}}
    lines = done.stderr.splitlines()
    for unit in REFUSED:
        assert len([line for line in lines if line.startswith(f"refused: NAU>units.py:{unit}: ")]) == 1
    [failed] = [line for line in lines if line.startswith("failed: ")]
    assert failed.startswith(
        "failed: NAU>units.py:RaisesLate, seeds 0-1: RuntimeError: this is the twentieth call (units.py:"
    )
    for unit in ("Dropped", "Normed", "Branching"):
        assert any(line.startswith(f"seed by seed: NAU>units.py:{unit}: it ") for line in lines)
    assert "×   NMU " in done.stdout
    assert "Runs that ended early on NaN: 2." in done.stdout
    assert done.stdout.splitlines()[-1].partition(". ")[2] == (
        "Refused or failed: 2 of NAU>units.py:RaisesThird, 2 of NAU>units.py:Integers, 2 of NAU>units.py:Rounded, "
        "2 of NAU>units.py:RaisesLate."
    )
    again = arithmos("run", "table-1", *models(*BESIDE), *SHORT, "--engine", "torch")
    assert again.exit_code == 1
    assert "Made 0 runs" in again.stdout
    assert len(Store("runs")) == 12


def test_what_was_refused_is_told_when_time_runs_out():
    done = arithmos("run", "table-1", *models("Integers"), *SHORT, "--engine", "torch", "--budget", "0s")
    assert done.exit_code == 1
    assert "Out of time: 0 of 4 runs are in runs, 2 left" in done.stdout
    assert "Refused or failed: 2 of NAU>units.py:Integers. Unfinished runs were saved. Resume with:" in done.stdout


def test_compare_warns_of_what_it_cannot_run():
    with pytest.warns(UserWarning, match="not run: NAU>Integers, seeds 0-1: its output is torch.int64"):
        table = bench.compare(Integers, task=TEN_PARAMETERS, seeds=2, iterations=20, models=["NMU"], engine="torch")
    assert table.set_index("model")["n"].to_dict() == {"NAU>Integers": 0, "NMU": 2}


def test_a_dry_run_says_the_same():
    dry = arithmos("run", "table-1", *models(*BESIDE), *SHORT, "--dry-run")
    assert dry.exit_code == 1
    assert dry.stdout.startswith("14 of 20 runs to make, 0 stored, 6 refused\n")
    run = arithmos("run", "table-1", *models(*BESIDE), *SHORT)

    def said(done):
        kinds = ("refused: ", "seed by seed: ", "not on the ")
        return [line.removeprefix("arithmos: ") for line in done.stderr.splitlines() if any(k in line for k in kinds)]

    assert said(dry) == said(run)
    assert sum("refused: " in line for line in said(dry)) == len(REFUSED)


@pytest.mark.parametrize("engine", ["auto", "torch", "cpu"])
def test_a_unit_that_returns_0_in_evaluation_mode_is_judged_by_that(engine):
    done = arithmos("run", "table-1", *models("EvalBroken"), *SHORT, "--engine", engine)
    runs = Store("runs").load(columns=["engine", "best_validation", "model"])
    own = runs[runs["model"] != "NMU"]
    if engine == "cpu":
        assert done.exit_code == 1
        assert (
            "refused: NAU>units.py:EvalBroken: engine 'cpu' cannot run this: units.py:EvalBroken has no" in done.stderr
        )
        assert own.empty
    else:
        assert done.exit_code == 0
        assert set(own["engine"]) == {"torch"}
        assert own["best_validation"].to_list() == pytest.approx([345.69482] * 2)  # the mean square of the target
    assert len(runs) - len(own) == 2


def test_units_that_cannot_be_run_alone_are_asked_wrongly():
    done = arithmos("run", "table-1", "--models", "NAU>units.py:Integers", *SHORT)
    assert done.exit_code == 2
    assert done.stderr == (
        "arithmos: refused: NAU>units.py:Integers: its output is torch.int64; it must be floating-point\n"
    )


def test_looking_at_an_experiment_does_not_call_its_units():
    Path("units.toml").write_text('models = "NAU>units.py:Exits"\ntask.operation = "mul"\nseeds = 2\niterations = 30\n')
    Path("runs").mkdir()
    for verb in ("show", "table"):
        assert arithmos(verb, "units.toml").exit_code == 0
