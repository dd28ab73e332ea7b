"""A cluster in this process: what goes there, what comes back, and what is refused."""

import asyncio
import dataclasses
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pandas as pd
import pytest
from distributed import Client, KilledWorker, LocalCluster
from distributed.protocol.pickle import dumps
from tests.engines.cuda.shim import HOPPER
from tests.engines.test_cost import NOTHING
from tests.factories import make_run, make_sound_state, make_spec, make_state
from tests.test_bench import EXPERIMENT, SPECS
from tests.test_cli import OWN_UNIT
from torch import nn

from arithmos import bench
from arithmos.engines import ENGINES, Engines, Refused, cluster
from arithmos.engines.cluster import Cluster, remote, worker
from arithmos.engines.code import SOURCE
from arithmos.engines.contract import Control, Job
from arithmos.engines.cost import Clock
from arithmos.papers import Experiment
from arithmos.spec import Layer, Model, as_unit
from arithmos.store import Store
from arithmos.tasks import TEN_PARAMETERS

EVEN = Clock(NOTHING, (), threads=1)
RESULTS = ["engine", "best_step", "best_validation", "best_test", "solved_at", "best_weights", "end_weights"]


class Fake:
    """An engine that trains at once, unless it is told to do something else on the way."""

    def __init__(self, name="torch", on_the_way=lambda job, control: None):
        self.name, self._on_the_way = name, on_the_way

    def refuses(self, spec):
        return None

    def run(self, jobs, control):
        for job in jobs:
            self._on_the_way(job, control)
            for seed in job.seeds:
                if control.stopped():
                    control.suspend(job.spec, seed, make_sound_state(job.spec, seed))
                else:
                    yield make_run(job.spec, seed, self.name)


@pytest.fixture
def fake(monkeypatch):
    """Puts an engine on the workers in place of theirs."""

    def put(engine):
        monkeypatch.setitem(ENGINES, engine.name, lambda: engine)

    put(Fake())
    return put


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def engines(scheduler):
    with Cluster(scheduler, EVEN, say=lambda line: None) as made:
        yield Engines(makers=made.engines, say=lambda line: None)


def test_runs_are_those_of_this_machine(scheduler, store, tmp_path):
    specs = tuple(make_spec(model=name, iterations=20, task=TEN_PARAMETERS) for name in ("NMU", "NALU"))
    small = Experiment(name="small", item="", title="", specs=specs, seeds=6)
    outcome = bench.run([small], engine="torch", store=store, dask=scheduler)
    assert (outcome.finished, outcome.left) == (12, 0)
    here = Store(tmp_path / "here")
    bench.run([small], engine="torch", store=here)
    pd.testing.assert_frame_equal(store.load(columns=RESULTS), here.load(columns=RESULTS))


def test_whoever_watches_is_told(scheduler, store, fake):
    class Watch(bench.Silent):
        def __init__(self):
            self.iterations, self.runs, self.lines = 0, [], []

        def advance(self, iterations, work):
            self.iterations += iterations

        def finished(self, run):
            self.runs.append((run.spec.id, run.seed))

        def say(self, line):
            self.lines.append(line)

    watch = Watch()
    bench.run([EXPERIMENT], engine="torch", store=store, dask=scheduler, progress=watch)
    assert watch.iterations == 8 * 5001
    assert sorted(watch.runs) == sorted((spec.id, seed) for spec in SPECS for seed in range(4))
    assert watch.lines == [f"2 workers with 2 threads and 0 GPUs at {scheduler}"]


def test_what_is_cut_goes_on_where_it_was(scheduler, store, fake):
    resumed = {}

    def endless(job, control):
        while not control.stopped():
            time.sleep(0.01)

    def note(job, control):
        resumed.update({(job.spec.id, seed): control.resume(job.spec, seed) for seed in job.seeds})

    fake(Fake(on_the_way=endless))
    outcome = bench.run([EXPERIMENT], engine="torch", store=store, dask=scheduler, budget_s=1.0)
    assert (outcome.stopped, outcome.finished) == ("out of time", 0)
    assert len(store.suspended) == 8
    fake(Fake(on_the_way=note))
    assert bench.run([EXPERIMENT], engine="torch", store=store, dask=scheduler).left == 0
    assert {key: int(state["step"][0]) for key, state in resumed.items()} == {
        (spec.id, seed): seed for spec in SPECS for seed in range(4)
    }
    assert store.suspended == ()


def test_a_run_that_finishes_leaves_no_state(scheduler, fake, store):
    def save(job, control):
        for seed in job.seeds:
            control.suspend(job.spec, seed, make_state(seed))

    fake(Fake(on_the_way=save))
    assert bench.run([EXPERIMENT], engine="torch", store=store, dask=scheduler).left == 0
    assert not list((store.path / "_suspended").glob("*"))


def test_a_worker_stops_when_its_client_is_gone(scheduler, fake):
    begun, stopped = threading.Event(), threading.Event()

    def endless(job, control):
        begun.set()
        while not control.stopped():
            time.sleep(0.01)
        stopped.set()

    fake(Fake(on_the_way=endless))
    chunk = worker.Chunk("campaign", "torch", (Job(SPECS[0], (0,)),), {}, False)
    with Client(scheduler, set_as_default=False) as client:
        future = client.submit(worker.train, chunk, pure=False)
        assert begun.wait(20)
        assert not stopped.is_set()
    assert stopped.wait(20)
    del future


def test_a_scheduler_opens_a_task_without_us():
    code = "import pickle, sys; pickle.load(sys.stdin.buffer); print(*{'arithmos', 'torch'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], input=dumps(remote.sealed()), capture_output=True, check=True)
    assert done.stdout == b"\n"


def test_a_chunk_over_which_workers_die_is_tried_in_halves(engines, fake):
    sizes = []

    def die_of_many(job, control):
        sizes.append(len(job.seeds))
        if len(job.seeds) > 2:
            raise KilledWorker("train", SimpleNamespace(address="tcp://host:1"), 3)

    fake(Fake(on_the_way=die_of_many))
    made = engines.choose(SPECS[0], "torch").run([Job(SPECS[0], tuple(range(16)))])
    assert sorted(run.seed for run in made) == list(range(16))
    assert sorted(sizes) == sorted([8, 8, 4, 4, 4, 4, *[2] * 8])


def test_a_run_of_which_every_worker_dies_has_failed_and_the_others_finish(engines, fake):
    def die_of_seven(job, control):
        if 7 in job.seeds:
            raise KilledWorker("train", SimpleNamespace(address="tcp://host:1"), 3)

    fake(Fake(on_the_way=die_of_seven))
    told, job = [], Job(SPECS[0], tuple(range(16)))
    control = Control(failed=lambda *failure: told.append(failure))
    made = {run.seed for run in engines.choose(SPECS[0], "torch").run([job], control)}
    assert made == set(range(16)) - {7}
    assert told == [(SPECS[0], [7], "it kills every worker, most recently tcp://host:1")]


def test_an_engine_that_fails_says_so(engines, fake):
    def fail(job, control):
        raise ZeroDivisionError("of all things")

    fake(Fake(on_the_way=fail))
    with pytest.raises(ZeroDivisionError, match="of all things"):
        list(engines.choose(SPECS[0], "torch").run([Job(SPECS[0], (0,))]))


def test_a_gpu_is_chosen_where_there_is_one(scheduler, store, fake, monkeypatch):
    monkeypatch.setattr(worker, "_gpu", lambda: HOPPER)
    fake(Fake("cuda"))
    wide = make_spec("add", "NAU", hidden_size=30_000)  # more than a GPU's shared memory holds
    experiment = Experiment(name="small", item="", title="", specs=(SPECS[0], wide), seeds=3)
    monkeypatch.setattr(worker, "_engine", lambda name: Fake(name))
    bench.run([experiment], store=store, dask=scheduler)
    engine = store.load(columns=[]).groupby("spec_id").engine.unique()
    assert {spec_id: list(names) for spec_id, names in engine.items()} == {SPECS[0].id: ["cuda"], wide.id: ["cpu"]}


def test_an_engine_that_no_worker_has_is_refused(scheduler, store):
    with pytest.raises(Refused, match="engine 'cuda' cannot run this: no worker has a GPU: the cuda engine needs"):
        bench.run([EXPERIMENT], engine="cuda", store=store, dask=scheduler)


def test_a_class_of_this_process_is_refused(scheduler, store):
    class Own(nn.Linear):
        pass

    model = Model("own", (Layer("NAU"), Layer(as_unit(Own))))
    own = Experiment(name="own", item="", title="", specs=(dataclasses.replace(SPECS[0], model=model),), seeds=1)
    with pytest.raises(Refused, match=r"cannot be sent the class Own; name it by its file, as 'path/to/file.py:Own'"):
        bench.run([own], store=store, dask=scheduler)


def test_a_file_that_was_edited_since_is_refused(scheduler, store, tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN_UNIT)
    own = Experiment(name="own", item="", title="", specs=(make_spec(model=f"NAU>{file}:Own"),), seeds=1)
    file.write_text(f"{OWN_UNIT}\n")
    with pytest.raises(Refused, match=r"own.py has changed since its unit was loaded; start again"):
        bench.run([own], store=store, dask=scheduler)


def test_other_versions_are_refused(scheduler, monkeypatch):
    real = Client.get_versions

    def other(client, packages):
        versions = real(client, packages=packages)
        last = list(versions["workers"].values())[-1]["packages"]
        last |= {"torch": "2.0.1+cu999", "numpy": None, "numba": last["numba"] + "+local"}
        return versions

    monkeypatch.setattr(Client, "get_versions", other)
    with pytest.raises(Refused, match=r"has numpy not installed, torch 2.0.1, this machine numpy [\d.]+, torch"):
        Cluster(scheduler, EVEN)


def test_other_code_of_the_same_version_is_refused(scheduler, monkeypatch):
    monkeypatch.setattr(cluster, "SOURCE", "0" * 16)
    with pytest.raises(Refused, match=r"has another build of arithmos"):
        Cluster(scheduler, EVEN)


@pytest.mark.parametrize(("code", "slots"), [(SOURCE, 4), ("0" * 16, 0)])
def test_a_worker_that_joins_later_gets_work_only_if_it_is_the_same(monkeypatch, code, slots):
    monkeypatch.setattr(worker, "PROFILABLE", False)
    given, callbacks = {}, {"profile": SimpleNamespace(stop=lambda: None)}

    async def set_resources(**resources):
        given.update(resources)

    joining = SimpleNamespace(
        state=SimpleNamespace(nthreads=4), set_resources=set_resources, periodic_callbacks=callbacks
    )
    if slots:
        asyncio.run(worker.Admission(code).setup(joining))
    else:
        with pytest.raises(RuntimeError, match="it gets no work"):
            asyncio.run(worker.Admission(code).setup(joining))
    assert given == {worker.SLOT: slots, worker.GPU: 0}
    assert ("profile" in callbacks) is not bool(slots)  # one that gets no work is left alone


@pytest.mark.parametrize("profilable", [False, True])
def test_dask_looks_at_threads_only_where_python_survives_it(monkeypatch, profilable):
    monkeypatch.setattr(worker, "PROFILABLE", profilable)
    with LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as own:
        (only,) = own.workers.values()
        profile = only.periodic_callbacks["profile"]
        with Cluster(own.scheduler_address, EVEN, say=lambda line: None):
            assert profile.is_running() is profilable


def test_what_waits_for_workers_is_begun_when_they_come(fake):
    """Dask looks at waiting tasks as a worker joins, when it has no slot yet, and not again."""
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0") as own,
        Client(own, set_as_default=False) as client,
    ):
        flight = remote.Flight(client, worker.SLOT)
        flight.send(worker.Chunk("campaign", "torch", (Job(make_spec(), (0, 1)),), {}, all_records=False))
        (key,) = (future.key for future in flight._flying)
        until = time.monotonic() + 60
        while client.sync(client.scheduler.get_task_status, keys=[key])[key] != "no-worker":
            assert time.monotonic() < until, "it was begun without a slot"
            time.sleep(0.01)
        client.register_plugin(worker.Admission(SOURCE))
        landed = []
        while not flight.empty:
            assert time.monotonic() < until, "it still waits"
            flight.room(print)
            landed += flight.landed()
    assert [len(made.runs) for made in landed] == [2]


def test_no_workers(monkeypatch):
    monkeypatch.setattr(cluster, "WORKERS_S", 0.2)
    options = {"n_workers": 0, "processes": False, "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(host="127.0.0.1", **options) as empty:
        address = empty.scheduler_address
        with pytest.raises(ConnectionError, match=f"the Dask scheduler at {address} has no workers"):
            Cluster(address, EVEN)


@pytest.mark.parametrize("address", ["local:", "local:0", "local:-1", "local:two", "local:1.5"])
def test_no_number_of_local_workers(address):
    with pytest.raises(Refused, match=f"local:N with N at least 1, got '{address}'"):
        Cluster(address, EVEN)


def test_threads_of_somebody_else_s_workers(scheduler):
    with pytest.raises(Refused, match="threads must be None for the workers"):
        Cluster(scheduler, EVEN, threads=2)


def test_chunks_are_long_at_first_and_short_at_last():
    specs = [make_spec(iterations=n) for n in (100, 10)]
    jobs = [Job(specs[0], (0, 1, 2)), Job(specs[1], tuple(range(50)))]
    line = remote.RunQueue(jobs, lambda spec: float(spec.iterations))
    assert (line.total_s, line.left_s) == (800, 800)
    assert line.cut(50, lambda spec, seed: True) == [Job(specs[0], (0,))], "one at least"
    assert line.cut(215, lambda spec, seed: True) == [Job(specs[0], (1, 2)), Job(specs[1], (0,))]
    assert line.cut(30, lambda spec, seed: seed % 2 == 0) == [Job(specs[1], (2, 4, 6))]
    assert line.left_s == 800 - 300 - 10 * 7
    assert line.cut(1e9, lambda spec, seed: False) == []
    assert not line


@pytest.mark.parametrize(
    ("name", "slots", "sizes"),
    [
        ("cpu", 4, [12, 11, 9, 8, 7, 6]),  # an eighth of what is left
        ("torch", 4, [25, 25, 25, 25]),
        ("torch", 1, [50, 50]),  # a stack is of one spec
        ("cuda", 4, [25, 25, 25, 25]),
        ("cuda", 1, [100]),
    ],
)
def test_the_length_of_a_chunk(name, slots, sizes):
    specs = make_spec(iterations=20), make_spec(iterations=21)
    line = remote.RunQueue([Job(spec, tuple(range(50))) for spec in specs], lambda spec: 1.0)
    engine = remote.Remote(None, EVEN, name, worker.SLOT, lambda spec: None)
    cut = iter(lambda: sum(len(job.seeds) for job in engine.cut(line, slots)), 0)
    assert [*cut][: len(sizes)] == sizes
    assert not line


def test_runs_made_elsewhere_are_not_sent(engines, fake):
    control = Control(wanted=lambda spec, seed: seed != 3)
    made = engines.choose(SPECS[0], "torch").run([Job(SPECS[0], tuple(range(6)))], control)
    assert sorted(run.seed for run in made) == [0, 1, 2, 4, 5]
