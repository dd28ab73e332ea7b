"""`arithmos run --dask`."""

import sys
from pathlib import Path

import pytest
from tests.test_cli import SHORT, arithmos, complaint
from tests.test_cli_units import SOURCE

from arithmos.engines.cluster import connection
from arithmos.store import Store


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_campaign(scheduler):
    done = arithmos("run", "table-1", *SHORT, "--dask", scheduler)
    assert done.exit_code == 0, done.output
    assert "Made 2 runs in" in done.stdout
    assert done.stderr.splitlines()[0] == f"2 workers with 2 threads and 0 GPUs at {scheduler}"
    assert len(Store("runs")) == 2


def test_bad_units_beside_the_nmu(scheduler):
    Path("units.py").write_text(SOURCE.read_text())
    units = ["Dropped", "Normed", "RaisesThird", "RaisesLate"]
    models = ",".join(["NMU", *(f"NAU>units.py:{unit}" for unit in units)])
    options = ["--models", models, "--seeds", "2", "--iterations", "30", "--dask", scheduler, "--engine", "torch"]
    done = arithmos("run", "table-1", *options)
    assert done.exit_code == 1
    made = Store("runs").load(columns=["model"]).groupby("model").size().to_dict()
    assert made == {"NMU": 2, "NAU>units.py:Dropped": 2, "NAU>units.py:Normed": 2}
    assert "refused: NAU>units.py:RaisesThird: RuntimeError: this is the third call (units.py:" in done.stderr
    assert "failed: NAU>units.py:RaisesLate, seed" in done.stderr
    assert done.stdout.splitlines()[-1].endswith(
        "Refused or failed: 2 of NAU>units.py:RaisesThird, 2 of NAU>units.py:RaisesLate."
    )


def test_a_dry_run(scheduler):
    done = arithmos("run", "table-1", *SHORT, "--dask", scheduler, "--dry-run")
    assert done.stdout.startswith("2 of 2 runs to make, 0 stored")
    assert done.stderr == f"arithmos: 2 workers with 2 threads and 0 GPUs at {scheduler}\n"


def test_without_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = complaint("run", "table-1", "--dask", "local:2", status=2)
    assert 'distributed is not installed; install it with pip install "arithmos[cluster]"' in line


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(connection, "CONNECT_S", 0.2)
    line = complaint("run", "table-1", "--dask", "tcp://127.0.0.1:1", status=1)
    assert line.startswith("arithmos: no Dask scheduler answers at tcp://127.0.0.1:1")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--dask", "local:0"], "local:N with N at least 1, got 'local:0'"),
        (["--dask", "tcp://127.0.0.1:1", "--jobs", "2"], "threads must be None for the workers at tcp://127.0.0.1:1"),
        (["--dask", "SCHEDULER", "--engine", "cuda"], "engine 'cuda' cannot run this: no worker has a GPU"),
    ],
)
def test_what_is_asked_wrongly_is_answered_in_a_line(scheduler, options, hint):
    options = [option.replace("SCHEDULER", scheduler) for option in options]
    done = arithmos("run", "table-1", *options)
    assert done.exit_code == 2
    assert hint in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
