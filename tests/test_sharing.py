"""Several campaigns on one store."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.factories import make_run, make_spec
from tests.test_bench import EXPERIMENT, SPECS, Fake

from arithmos import bench
from arithmos.bench import _sharing as sharing
from arithmos.bench._sharing import Others, arrange
from arithmos.engines import ENGINES, Job
from arithmos.papers import Experiment
from arithmos.store import Store

ROOT = Path(__file__).parents[1]

CAMPAIGNS = """
import json, os, sys, time
from arithmos import bench
from arithmos.bench import _sharing as sharing
from arithmos.engines import ENGINES
from arithmos.store import Store
from tests.factories import make_run
from tests.test_sharing import LARGE

class Slow:
    name = "torch"
    def refuses(self, spec):
        return None
    def run(self, jobs, control):
        for job in jobs:
            for seed in job.seeds:
                if control.wanted(job.spec, seed):
                    time.sleep(0.05)
                    yield make_run(job.spec, seed)

class Prompt(Store):
    def writer(self, **options):
        return super().writer(flush_s=0.05, **options)

ENGINES["torch"] = Slow
sharing.LOOK_S = 0.0
for _ in range(2):
    if os.fork() == 0:
        outcome = bench.run([LARGE], store=Prompt(sys.argv[1]), engine="torch")
        line = json.dumps([outcome.finished, outcome.stored, outcome.left]) + "\\n"
        os.write(1, line.encode())  # at once: the other may write too
        os._exit(0)
for _ in range(2):
    os.wait()
"""

LARGE = Experiment(name="large", item="", title="", specs=SPECS, seeds=50)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def test_two_processes_share_the_work(store):
    done = subprocess.run([sys.executable, "-c", CAMPAIGNS, store.path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [stored + finished for finished, stored, _ in outcomes] == [100, 100]
    assert [left for *_, left in outcomes] == [0, 0]
    assert all(finished > 0 for finished, *_ in outcomes)
    assert len(store) == 100
    assert store.duplicates == sum(finished for finished, *_ in outcomes) - 100
    assert store.duplicates < 50, "each did nearly everything"
    found = store.load(columns=["best_test"]).set_index(["spec_id", "seed"]).best_test.to_dict()
    assert found == {(spec.id, seed): make_run(spec, seed).best_test for spec in SPECS for seed in range(50)}


def test_a_campaign_is_spared_what_another_stores_meanwhile(store, monkeypatch):
    said, other = [], Store(store.path)

    class Watch(bench.Silent):
        spared_runs = 0

        def begin(self, runs, stored, work):
            self.left = work

        def advance(self, iterations, work):
            self.left -= work

        def finished(self, run):
            other.append(make_run(spec, seed) for spec in SPECS for seed in (1, 2))

        def fewer(self, work):
            self.left -= work

        def spared(self):
            self.spared_runs += 1

        def say(self, line):
            said.append(line)

    class Careful(Fake):
        def run(self, jobs, control):
            for job in jobs:
                wanted = (Job(job.spec, (seed,)) for seed in job.seeds if control.wanted(job.spec, seed))
                for one in wanted:
                    yield from super().run([one], control)

    monkeypatch.setitem(ENGINES, "torch", lambda: Careful("torch"))
    monkeypatch.setattr(sharing, "LOOK_S", 0.0)
    watch = Watch()
    outcome = bench.run([EXPERIMENT], store=store, engine="torch", progress=watch)
    assert 3 <= watch.spared_runs <= 4  # the first run may be one of the four
    assert (outcome.finished, outcome.stored, outcome.left) == (8 - watch.spared_runs, watch.spared_runs, 0)
    assert watch.left == pytest.approx(0)
    assert said[-1].startswith(f"other campaigns made {watch.spared_runs} runs meanwhile")


def test_others_are_looked_at_now_and_then(store, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(sharing.time, "monotonic", lambda: now[0])
    spec = make_spec()
    others = Others(store, [Job(spec, (0, 1))], any_engine=False)
    assert not others.made(spec, 0, "torch")
    store.append([make_run(spec, 0), make_run(spec, 1, "cpu")])
    assert not others.made(spec, 0, "torch")
    now[0] += 10
    assert others.made(spec, 0, "torch")
    assert not others.made(spec, 1, "torch")


@pytest.mark.parametrize("any_engine", [True, False])
def test_what_another_engine_has_made_whole_is_done_unless_one_is_asked_for(store, monkeypatch, any_engine):
    monkeypatch.setattr(sharing, "LOOK_S", 0.0)
    spec = make_spec()
    store.append([make_run(spec, 0)])
    others = Others(store, [Job(spec, (1, 2))], any_engine=any_engine)
    store.append([make_run(spec, seed, "cuda") for seed in (1, 2)])
    assert not others.made(spec, 1, "torch"), "the other engine lacks seed 0"
    store.append([make_run(spec, 0, "cuda")])
    assert others.made(spec, 1, "torch") == any_engine


def test_long_runs_come_first_and_what_is_alike_in_any_order():
    specs = [make_spec(iterations=n) for n in (10, 11, 12, 10_000)]
    jobs = [Job(spec, tuple(range(30))) for spec in specs]

    def seconds(spec):
        return float(spec.iterations)

    orders = [arrange(jobs, seconds, set()) for _ in range(20)]
    for order in orders:
        assert order[0].spec is specs[-1]
        assert sorted(job.spec.iterations for job in order) == [10, 11, 12, 10_000]
        assert all(sorted(job.seeds) == list(range(30)) for job in order)
    assert len({order[1].spec.id for order in orders}) > 1
    assert len({order[0].seeds for order in orders}) > 1


def test_what_was_begun_comes_before_longer_runs():
    short, long = make_spec(iterations=10), make_spec(iterations=10_000)
    jobs = [Job(long, (0, 1, 2)), Job(short, (0, 1, 2))]
    first, *rest = arrange(jobs, lambda spec: float(spec.iterations), {(short.id, 1), ("another spec", 0)})
    assert first == Job(short, (1,))
    assert [(job.spec, sorted(job.seeds)) for job in rest] == [(long, [0, 1, 2]), (short, [0, 2])]
