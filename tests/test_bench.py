import dataclasses
import json
import math
import os
import signal
import tracemalloc

import numpy as np
import pytest
from tests.factories import make_run, make_spec
from torch import nn

from arithmos import bench
from arithmos.engines import ENGINES, Engines, Refused
from arithmos.engines.contract import Control
from arithmos.engines.cpu.run import RunState
from arithmos.nn._unit import Catalogue
from arithmos.optim import SparsitySchedule
from arithmos.papers import EXPERIMENTS, FIGURES, Experiment
from arithmos.papers.madsen2020.experiments import ALL_MODELS
from arithmos.spec import MODELS, Adam, Layer, Model, as_unit
from arithmos.store import Store

SPECS = (make_spec(), make_spec("add", "NAU"))
EXPERIMENT = Experiment(name="small", item="", title="A small experiment", specs=SPECS, seeds=4)


class Fake:
    """An engine that finishes a run a chunk, and refuses what it is told to."""

    def __init__(self, name, refused=()):
        self.name, self.refused = name, refused
        self.jobs = []

    def refuses(self, spec):
        return f"{self.name} does not like {spec.model.name}" if spec.model.name in self.refused else None

    def run(self, jobs, control):
        self.jobs.extend(jobs)
        for job in jobs:
            for seed in job.seeds:
                if control.stopped():
                    control.suspend(job.spec, seed, {"step": np.array([seed])})
                    continue
                control.advance(job.spec, job.spec.iterations + 1)
                yield make_run(job.spec, seed, self.name)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def engines(monkeypatch):
    """The three engines, none of which trains; the fastest is not there."""
    made = {"cpu": Fake("cpu", refused=("NAU",)), "torch": Fake("torch")}

    def missing():
        raise RuntimeError("no GPU")

    monkeypatch.setitem(ENGINES, "cuda", missing)
    monkeypatch.setitem(ENGINES, "torch", lambda: made["torch"])
    monkeypatch.setattr("arithmos.engines._cpu", lambda threads=None: made["cpu"])
    return made


def planned(store, name="auto", experiments=(EXPERIMENT,)):
    """Seeds to be made, by engine and model."""
    todo = bench.plan(experiments, store, Engines(name, say=lambda line: None))
    return {(engine.name, job.spec.model.name): tuple(job.seeds) for engine, jobs in todo.jobs for job in jobs}


def test_each_spec_goes_whole_to_the_fastest_engine_that_takes_it(store, engines):
    assert planned(store) == {("cpu", "NMU"): (0, 1, 2, 3), ("torch", "NAU"): (0, 1, 2, 3)}


def test_a_spec_stays_with_the_engine_that_began_it(store, engines):
    store.append([make_run(SPECS[0], 0, "torch"), make_run(SPECS[0], 2, "torch"), make_run(SPECS[0], 1, "cpu")])
    assert planned(store)[("torch", "NMU")] == (1, 3)


def test_what_an_engine_has_made_whole_is_done_wherever_it_was_made(store, engines):
    store.append([make_run(spec, seed, "cuda") for spec in SPECS for seed in range(4)])
    assert planned(store) == {}


def test_an_engine_asked_for_by_name_makes_its_own_runs(store, engines):
    store.append([make_run(SPECS[0], seed, "cuda") for seed in range(4)] + [make_run(SPECS[0], 0, "torch")])
    assert planned(store, "torch") == {("torch", "NMU"): (1, 2, 3), ("torch", "NAU"): (0, 1, 2, 3)}
    assert planned(store, "cpu") == {("cpu", "NMU"): (0, 1, 2, 3)}
    with pytest.raises(Refused, match="engine 'cuda' cannot run this: no GPU"):
        planned(store, "cuda")


def test_a_spec_that_experiments_share_is_run_once(store, engines):
    longer = EXPERIMENT.select(models=[MODELS["NMU"]], operations=["mul"], seeds=6)
    todo = bench.plan([EXPERIMENT, longer], store, Engines("torch"))
    assert (todo.runs, todo.missing) == (10, 10)


def test_the_engine_passed_over_is_named_once(store, engines):
    lines = []
    bench.plan([EXPERIMENT, EXPERIMENT], store, Engines(say=lines.append))
    assert lines == ["not on the cpu engine: cpu does not like NAU"]


def test_run_stores_what_is_missing(store, engines):
    outcome = bench.run([EXPERIMENT], store=store)
    assert (outcome.runs, outcome.stored, outcome.finished, outcome.stopped, outcome.left) == (8, 0, 8, "", 0)
    again = bench.run([EXPERIMENT], store=store)
    assert (again.stored, again.finished) == (8, 0)
    assert len(store) == 8


def test_run_tells_who_watches(store, engines):
    class Watch(bench.Silent):
        iterations = runs = done = 0

        def begin(self, runs, stored, work):
            self.begun, self.work = (runs, stored), work

        def advance(self, iterations, work):
            self.iterations += iterations
            self.done += work

        def finished(self, run):
            self.runs += 1

    watch, pace = Watch(), bench.clock(store, threads=1)
    bench.run([EXPERIMENT], store=store, progress=watch)
    assert watch.begun == (8, 0)
    assert (watch.iterations, watch.runs) == (8 * 5001, 8)
    assert watch.done == pytest.approx(watch.work)
    assert watch.work == pytest.approx(4 * (pace.seconds(SPECS[0], "cpu") + pace.seconds(SPECS[1], "torch")))


def test_out_of_time(store, engines):
    outcome = bench.run([EXPERIMENT], store=store, budget_s=-1)
    assert (outcome.stopped, outcome.finished, outcome.left) == ("out of time", 0, 8)
    assert len(store.suspended) == 8
    assert bench.run([EXPERIMENT], store=store, budget_s=math.inf).left == 0
    assert store.suspended == ()


def suspended(store, seeds, step=700, **control):
    """An experiment whose runs were suspended on the cpu engine; they have more records than a curve keeps."""
    spec = dataclasses.replace(SPECS[0], evaluate_every=4, iterations=900)
    for seed in range(seeds):
        run = RunState(spec, seed, Control(**control))
        run.train(step)
        store.suspend(spec, seed, "cpu", run.state())
    return Experiment(name="small", item="", title="", specs=(spec,), seeds=seeds)


def test_all_records_may_be_asked_for_while_runs_are_suspended(store):
    experiment = suspended(store, 2)
    with pytest.warns(UserWarning, match="start again: .* do not keep all records"):
        outcome = bench.run([experiment], engine="cpu", store=store, all_records=True)
    assert outcome.left == 0
    assert store.curves().groupby("seed").size().tolist() == [226, 226]


def test_all_records_need_not_be_asked_for_again(store):
    experiment = suspended(store, 2, all_records=True)
    assert bench.run([experiment], engine="cpu", store=store).left == 0
    assert store.load().records.tolist() == [226, 226]


def test_a_forged_step_gives_no_run_with_few_records(store):
    experiment = suspended(store, 2)
    [spec] = experiment.specs
    for seed in range(2):
        state = store.resume(spec, seed, "cpu")
        store.suspend(spec, seed, "cpu", {**state, "step": np.array([900])})
    with pytest.warns(UserWarning, match="start again: records must be 225 at step 900, got 175") as warned:
        assert bench.run([experiment], engine="cpu", store=store).left == 0
    assert len(warned) == 2
    assert store.load().records.tolist() == [226, 226]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(store, engines, number):
    class Impatient(bench.Silent):
        def finished(self, run):
            os.kill(os.getpid(), number)

    outcome = bench.run([EXPERIMENT], store=store, progress=Impatient())
    assert (outcome.stopped, outcome.finished, outcome.left) == ("interrupted", 1, 7)
    assert len(store) == 1


@pytest.mark.parametrize("engine", ["cpu", "torch"])
def test_what_was_done_before_is_not_to_be_done_again(store, engine):
    class Watch(bench.Silent):
        work = done = before = 0.0

        def begin(self, runs, stored, work):
            self.work = work

        def advance(self, iterations, work):
            self.done += work

        def fewer(self, work):
            self.before += work

    class Impatient(Watch):
        def advance(self, iterations, work):
            if not self.done:
                os.kill(os.getpid(), signal.SIGINT)
            super().advance(iterations, work)

    first, second = Impatient(), Watch()
    how = {"models": ["NMU"], "operations": ["mul"], "seeds": 2, "iterations": 20_000}
    assert bench.run(["table-1"], store=store, engine=engine, progress=first, **how).stopped == "interrupted"
    bench.run(["table-1"], store=store, engine=engine, progress=second, **how)
    assert second.before == pytest.approx(first.done)
    assert second.before > 0
    assert second.work == pytest.approx(second.before + second.done)


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_is_noted_and_the_second_acts(second):
    def interrupt(number=signal.SIGINT):
        signal.raise_signal(number)

    handler = signal.getsignal(signal.SIGINT)
    with bench.interruptible() as interrupted:
        assert not interrupted()
        interrupt()
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            interrupt(second)
    assert signal.getsignal(signal.SIGINT) is handler


def test_what_a_process_ignores_it_goes_on_ignoring():
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with bench.interruptible() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted()
            signal.raise_signal(signal.SIGTERM)
            assert interrupted()
    finally:
        signal.signal(signal.SIGINT, handler)


def test_select_knows_the_experiment_s_own_models_by_name():
    [part] = bench.select(["ablation"], models=["NMUNoSparsity"])
    assert {spec.model.name for spec in part.specs} == {"NMUNoSparsity"}
    [part] = bench.select(["table-1"], models=["NAU>NMU"])
    assert part.specs == EXPERIMENTS["table-1"].specs[2:]


def test_compare_takes_the_models_of_the_tables_by_name(store, engines, monkeypatch):
    """A model that is new to the catalogue, wherever it stands there, is none of them."""
    new = Model("AAA", (Layer("ReLU"), Layer("ReLU")))
    monkeypatch.setattr("arithmos.bench._compare.MODELS", Catalogue("model", new, *MODELS.values()))
    with pytest.warns(UserWarning, match=r"Plain has no sparsity\(\) and no bounds\(\), so it is trained without"):
        frame = bench.compare(Plain, seeds=1, iterations=10, store=store)
    assert list(frame["model"]) == ["NAU>Plain", *list(MODELS)[:11]]
    assert list(MODELS)[:11] == [model.name for model in ALL_MODELS]


class Plain(nn.Linear):
    pass


def test_compare_trains_all_models_as_asked(store):
    schedule = SparsitySchedule(0.1, 5, 8)
    with pytest.warns(UserWarning, match="the units it is compared with may have what it lacks"):
        bench.compare(
            Plain,
            seeds=1,
            iterations=10,
            learning_rate=0.01,
            schedule=schedule,
            evaluate_every=5,
            models=["NMU", "NACMul"],
            engine="torch",
            store=store,
        )
    specs = [json.loads(spec) for spec in store.load(columns=["spec"])["spec"]]
    strengths = {spec["layers"][1]["unit"]: spec["schedule"]["strength"] for spec in specs}
    assert strengths == {"Plain": 0.1, "NMU": 0.1, "NACMul": 0.0}
    assert {(spec["optimizer"]["lr"], spec["evaluate_every"]) for spec in specs} == {(0.01, 5)}


def test_compare_takes_a_class(store):
    with pytest.raises(TypeError, match="got an instance of Plain; pass Plain itself"):
        bench.compare(Plain(2, 1), seeds=1, iterations=10, store=store)


class Wide(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features + 1)


WIDE = Model("wide", (Layer("NAU"), Layer(as_unit(Wide))))


def test_a_unit_that_fails_its_trial_is_refused_and_the_others_are_run(store, engines):
    lines = []
    [part] = bench.select(["table-1"], models=["NMU", WIDE], seeds=2)
    todo = bench.plan([part], store, Engines(say=lines.append))
    [line] = lines
    assert line.startswith("refused: wide: RuntimeError: mat1 and mat2 shapes") or "has the shape" in line
    assert (todo.runs, todo.missing, todo.impossible, todo.stored) == (4, 2, 2, 0)
    outcome = bench.run([part], store=store)
    assert (outcome.runs, outcome.finished, outcome.left, outcome.stopped) == (4, 2, 0, "")
    assert [(missed.spec.model, tuple(missed.seeds)) for missed in outcome.missed] == [(WIDE, (0, 1))]
    assert bench.plan([part], store, Engines(say=lines.append)).stored == 2


def test_a_plan_of_which_nothing_can_be_run_is_an_error(store, engines):
    [part] = bench.select(["table-1"], models=[WIDE], seeds=2)
    with pytest.raises(Refused, match=r"^refused: wide: its output has the shape \(128, 2\); it must be \(128, 1\)$"):
        bench.run([part], store=store)
    assert not store.path.exists()


def test_runs_that_fail_are_left_out_and_the_others_finish(store, engines):
    class Failing(Fake):
        def run(self, jobs, control):
            for job in jobs:
                if job.spec.model.name == "NAU":
                    control.failed(job.spec, (0, 1), "RuntimeError: no")
                    control.failed(job.spec, (3,), "RuntimeError: no")
                    job = dataclasses.replace(job, seeds=(2,))
                yield from super().run([job], control)

    lines = []

    class Watch(bench.Silent):
        def say(self, line):
            lines.append(line)

    engines["cpu"] = Failing("cpu")
    outcome = bench.run([EXPERIMENT], store=store, progress=Watch())
    assert (outcome.runs, outcome.finished, outcome.left) == (8, 5, 0)
    assert lines == ["failed: NAU, seeds 0-1: RuntimeError: no"]
    assert [missed.seeds for missed in outcome.missed] == [(0, 1), (3,)]
    assert len(store) == 5


def test_estimate(store, engines):
    engines["cpu"].refused = ()
    store.append([make_run(SPECS[0], seed, "torch", elapsed_s=10.0) for seed in range(2)])
    todo = bench.plan([EXPERIMENT], store, Engines("torch"))
    frame = bench.estimate(todo, bench.clock(store, [EXPERIMENT]))
    [row] = frame.to_dict("records")
    assert (row["engine"], row["runs"], row["iterations"]) == ("torch", 6, 6 * 5001)
    assert 20 + 20 < row["seconds"] < 20 + 21  # a stack of four takes little longer than one of two


def test_catalogue(store, engines):
    spec = EXPERIMENTS["table-1"].specs[0]
    store.append([make_run(spec, seed, "torch") for seed in range(100)])
    frame = bench.catalogue(store, engine="torch").set_index("name")
    assert list(frame.index) == [*EXPERIMENTS, *(name for name in FIGURES if name not in EXPERIMENTS)]
    assert tuple(frame.loc["madsen2020/table-1", ["runs", "stored"]]) == (300, 100)
    assert (frame.loc[list(EXPERIMENTS), "seconds"] > 0).all()


def test_the_catalogue_tries_no_units_and_draws_no_data(store, monkeypatch):
    for name in ("arithmos.engines.trace.units._traced", "arithmos.tasks.sampled._inputs"):
        monkeypatch.setattr(name, lambda *_: pytest.fail("it takes seconds"))
    frame = bench.catalogue(store).set_index("name")
    assert (frame.loc[list(EXPERIMENTS), "seconds"] > 0).all()


def test_the_likely_engine():
    def no_gpu():
        raise RuntimeError("no GPU")

    engines = Engines(makers={"cuda": no_gpu})
    restarting = make_spec(optimizer=Adam(reinitialize=100))
    assert [engines.likely(make_spec()), engines.likely(make_spec(), "torch")] == ["cpu", "torch"]
    assert [engines.likely(restarting), Engines("cpu").likely(restarting)] == ["torch", "cpu"]


def test_more_records_than_memory_holds_are_refused_before_anything_is_run(tmp_path):
    spec = make_spec(iterations=10**9, evaluate_every=1)
    endless = Experiment(name="endless", item="", title="", specs=(spec,), seeds=1)
    with pytest.raises(ValueError, match=r"all_records must be False, .* 1,000,000,001 records .* 19 GiB of memory"):
        bench.run([endless], store=tmp_path / "runs", all_records=True)


def test_planning_looks_at_the_store_once_however_many_specs_there_are(store, monkeypatch):
    specs = tuple(make_spec(iterations=n) for n in range(1000, 1040))
    store.append([make_run(spec) for spec in specs[::3]])
    looks = []
    scandir = os.scandir
    monkeypatch.setattr("os.scandir", lambda path: looks.append(path) or scandir(path))
    counts = []
    for few in (specs[:1], specs):
        looks.clear()
        bench.plan([dataclasses.replace(EXPERIMENT, specs=few)], Store(store.path), Engines("torch"))
        counts.append(len(looks))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("stored", [0, 3])
def test_a_plan_of_a_million_runs_takes_no_memory_for_each(store, stored):
    """It takes that of a plan of a few, which reads the list of the package's experiments too."""
    store.append([make_run(SPECS[0], seed) for seed in range(5, 5 + stored)])
    engines = Engines("torch")

    def peak(seeds):
        experiment = dataclasses.replace(EXPERIMENT, seeds=seeds)
        tracemalloc.start()
        todo = bench.plan([experiment], store, engines)
        pace = bench.clock(store, [experiment])
        assert bench.estimate(todo, pace)["runs"].sum() == todo.missing == 2 * seeds - stored
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(500_000) < peak(10) + 1e5


def test_a_plan_of_a_million_runs_does_not_look_at_each(store, engines, monkeypatch):
    monkeypatch.setattr("arithmos._seeds.Seeds.__iter__", lambda seeds: pytest.fail("each was looked at"))
    store.append([make_run(SPECS[0], 3, "torch")])
    todo = bench.plan([dataclasses.replace(EXPERIMENT, seeds=10**6)], store, Engines("torch"))
    assert (todo.runs, todo.missing, todo.stored) == (2 * 10**6, 2 * 10**6 - 1, 1)
