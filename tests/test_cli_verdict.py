import json

import pytest
from click.testing import CliRunner
from tests.factories import make_run

from arithmos.cli import main
from arithmos.papers import CLAIMS, EXPERIMENTS
from arithmos.store import Store


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """100 runs of each cell of Table 1, half of them solved."""
    monkeypatch.chdir(tmp_path)
    Store("runs").append(make_run(spec, seed) for spec in EXPERIMENTS["table-1"].specs for seed in range(100))


def arithmos(*arguments):
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_verdict_of_one_experiment_shows_every_number():
    rows = json.loads(arithmos("verdict", "table-1", "--format", "json").stdout)
    assert len(rows) == 12
    assert [row["verdict"] for row in rows if row["measure"] == "success_rate"] == ["differs"] * 3
    assert arithmos("verdict", "table-1").stdout.count("Success rate  ") == 3


def test_verdict_of_all_shows_what_differs():
    page = arithmos("verdict").stdout
    assert all(f"\n{experiment.name} " in page for experiment in EXPERIMENTS.values() if experiment.published)
    assert "Table 1: " in page
    assert "Table 2: " not in page


def test_claims():
    rows = json.loads(arithmos("claims", "--format", "json").stdout)
    assert [row["claim"] for row in rows] == [claim.name for claim in CLAIMS.values()]
    assert [row["verdict"] for row in rows[:2]] == ["undecided", "undecided"]
    assert {row["verdict"] for row in rows[2:]} == {"undecided"}
    assert "ten-parameters-speed" in arithmos("claims", "ten-parameters-speed").stdout


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [(["verdict", "tabel-1"], "did you mean 'table-1'?"), (["claims", "gating-4"], "did you mean 'gating-")],
)
def test_unknown_names(arguments, hint):
    done = arithmos(*arguments)
    assert done.exit_code == 2
    assert hint in done.stderr
    assert done.stderr.count("\n") == 1
