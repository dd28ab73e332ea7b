"""A real cluster on loopback: a scheduler and two workers, each a process; one of them has a pretended GPU."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from distributed import Client
from tests.engines.cluster.test_cluster import EVEN, RESULTS
from tests.factories import make_spec
from tests.test_cli import OWN_UNIT

from arithmos import bench
from arithmos.engines import Refused
from arithmos.engines.cluster import Cluster, remote
from arithmos.papers import Experiment
from arithmos.store import Store
from arithmos.tasks import TEN_PARAMETERS, Rows

ROOT = Path(__file__).parents[3]

PRETENDED = """
import dataclasses
from arithmos.engines import ENGINES
from arithmos.engines.cluster import worker
from arithmos.engines.torch import TorchEngine
from tests.engines.cuda.shim import HOPPER

class Pretended(TorchEngine):
    def run(self, jobs, control):
        for run in super().run(jobs, control):
            yield dataclasses.replace(run, engine="cuda")

worker._gpu = lambda: HOPPER
ENGINES["cuda"] = Pretended
"""

TELLTALE = """
import os
open(os.path.join({folder!r}, "pid-" + str(os.getpid())), "w").close()
"""

TRAINED = """


class Trained(Own):
    calls = 0

    def forward(self, x):
        Trained.calls += 1
        if Trained.calls == 100:  # more than a probe makes
            open(os.path.join({folder!r}, "trained-" + str(os.getpid())), "w").close()
        return super().forward(x)
"""


class Machines:
    """Processes of a cluster, in a folder that is not the client's."""

    def __init__(self, folder):
        self.folder, self._file = folder, folder / "scheduler.json"
        self._started = []
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"
        )
        wait_for(self._file.exists)

    @property
    def address(self):
        return json.loads(self._file.read_text())["address"]

    def worker(self, *options, source=ROOT / "src"):
        loopback = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
        return self._start("worker", "--nthreads", "1", "--no-nanny", *loopback, *options, source=source)

    def _start(self, kind, *options, source=ROOT / "src"):
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", self._file, *options]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
        with open(self.folder / f"{len(self._started)}-{kind}.log", "w") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        self._started.append(process)
        return process

    def begun(self, process):
        """Whether a worker has loaded the telltale unit."""
        return (self.folder / f"pid-{process.pid}").exists()

    def stop(self):
        for process in reversed(self._started):
            process.kill()
            process.wait()


def wait_for(condition, seconds=300):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    made = Machines(tmp_path_factory.mktemp("machines"))
    (made.folder / "pretended.py").write_text(PRETENDED)
    made.worker("--preload", "pretended.py")
    made.mortal = made.worker()
    with Client(made.address, set_as_default=False) as client:
        client.wait_for_workers(2)
    yield made
    made.stop()


@pytest.fixture
def telltale(machines, tmp_path, monkeypatch):
    """The client's folder, with a unit that leaves a file where it is loaded; only the torch engine can run it."""
    monkeypatch.chdir(tmp_path)
    unit = OWN_UNIT.replace("x.unsqueeze(-2)", "x.cumsum(-1).unsqueeze(-2)")
    Path("own.py").write_text(TELLTALE.format(folder=str(machines.folder)) + unit)
    return tmp_path


def test_a_campaign_is_complete_and_the_same_though_a_worker_is_killed(machines, telltale):
    x = np.random.default_rng(0).uniform(1, 2, (100, 4))
    task = Rows(x, x[:, 0] * x[:, 1])  # needs no compiler
    specs = [make_spec(task=task, iterations=200, model=name) for name in ("NMU", "NAU>own.py:Own")]
    experiment = Experiment(name="small", item="", title="", specs=tuple(specs), seeds=6)

    def kill():
        wait_for(lambda: machines.begun(machines.mortal))
        machines.mortal.kill()
        machines.mortal = machines.worker()

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = bench.run([experiment], store="cluster", dask=machines.address)
    killer.join()
    assert (outcome.finished, outcome.left) == (12, 0)
    bench.run([experiment], store="home", engine="torch")
    there, here = (Store(name).load(columns=RESULTS) for name in ("cluster", "home"))
    assert Store("cluster").duplicates == 0
    assert dict(zip(there.spec_id, there.engine, strict=True)) == {specs[0].id: "cuda", specs[1].id: "torch"}
    pd.testing.assert_frame_equal(there.drop(columns="engine"), here.drop(columns="engine"))


def test_the_file_of_a_unit_must_stand_alone(machines, telltale, monkeypatch):
    monkeypatch.syspath_prepend(telltale)
    Path("beside.py").write_text("from own import Own\n")
    spec = make_spec(model="NAU>beside.py:Own", iterations=20)
    experiment = Experiment(name="small", item="", title="", specs=(spec, make_spec(iterations=20)), seeds=1)
    outcome = bench.run([experiment], dask=machines.address)
    [missed] = outcome.missed
    assert (outcome.finished, missed.spec, missed.seeds) == (1, spec, (0,))
    assert missed.why.startswith("a worker cannot load the unit beside.py:Own from its file alone: ")


def test_a_worker_with_other_thresholds_is_refused(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    [thresholds] = (tmp_path / "src" / "arithmos" / "tasks").glob("*.json")
    thresholds.write_text(thresholds.read_text().replace("1", "2"))
    doomed = Machines(tmp_path)
    try:
        doomed.worker(source=tmp_path / "src")
        with pytest.raises(Refused, match=r"has another build of arithmos .*; install the same on both"):
            Cluster(doomed.address, EVEN)
    finally:
        doomed.stop()


def campaign(dask, *options):
    command = [sys.executable, "-m", "arithmos", "run", "table-1", "--dask", dask, "--engine", "torch", *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, start_new_session=True, **pipes)


def training(machines, dask):
    """Start a campaign, and return it once a worker trains."""
    with open("own.py", "a") as file:
        file.write(TRAINED.format(folder=str(machines.folder)))
    before = set(machines.folder.glob("trained-*"))
    client = campaign(dask, "--models", "NAU>own.py:Trained", "--seeds", "4")
    wait_for(lambda: set(machines.folder.glob("trained-*")) - before)
    return client


def test_ctrl_c_brings_home_what_is_under_way(machines, telltale):
    client = training(machines, machines.address)
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=120)
    assert client.returncode == 130, err
    assert "Interrupted: 0 of 4 runs are in runs, 4 left. Unfinished runs were saved." in out
    assert "Traceback" not in err
    assert Store("runs").suspended


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_with_workers_of_its_own(machines, telltale):
    client = training(machines, "local:2")
    os.killpg(client.pid, signal.SIGINT)
    _, err = client.communicate(timeout=120)
    assert client.returncode == 130, err
    assert err.count("\n") == 1, err
    assert Store("runs").suspended


@pytest.mark.slow
def test_a_unit_that_takes_all_workers_with_it_fails_alone(tmp_path, monkeypatch):
    """The only worker dies over it, and Dask blames its other task too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remote, "FAILURES", 2)
    monkeypatch.setattr(remote, "COUNT_S", 2.0)
    deadly = f"import os\nif os.getpid() != {os.getpid()}:\n    os._exit(1)\n"
    Path("deadly.py").write_text(deadly + OWN_UNIT)
    specs = [make_spec(model=name, iterations=20, task=TEN_PARAMETERS) for name in ("NAU>deadly.py:Own", "NMU")]
    experiment = Experiment(name="small", item="", title="", specs=tuple(specs), seeds=1)
    outcome = bench.run([experiment], store="runs", engine="torch", dask="local:1")
    assert [part.spec.id for part in outcome.missed] == [specs[0].id]
    assert "it kills every worker" in outcome.missed[0].why
    assert list(Store("runs").load(columns=[]).spec_id) == [specs[1].id]


@pytest.mark.slow
def test_a_scheduler_that_is_killed(telltale, tmp_path):
    doomed = Machines(tmp_path)
    try:
        Path("own.py").write_text(TELLTALE.format(folder=str(tmp_path)) + OWN_UNIT)
        worker = doomed.worker()
        client = campaign(doomed.address, "--models", "NAU>own.py:Own", "--seeds", "4")
        wait_for(lambda: doomed.begun(worker))
        doomed.scheduler.kill()
        _, err = client.communicate(timeout=120)
        assert client.returncode == 1
        assert err.splitlines()[-1] == "arithmos: the Dask scheduler is gone; start again to resume the stored runs"
        assert "Traceback" not in err
        assert worker.wait(timeout=60) is not None, "it trains on for nobody"
    finally:
        doomed.stop()
