import dataclasses

import pytest
from tests.factories import make_run, make_runs, make_spec

from arithmos.judging.cells import judged
from arithmos.papers import Experiment
from arithmos.store import Store

ONE, OTHER = make_spec("mul"), make_spec("add", "NAU")
FEW = Experiment(name="few", item="", title="", specs=(ONE, OTHER), seeds=4)
MANY = Experiment(name="many", item="", title="", specs=(ONE,), seeds=10)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def test_experiments_that_share_a_spec_have_their_own_seeds(store):
    store.append(make_runs(12, ONE))
    cells = judged(store, [FEW, MANY])
    [(spec, at, few), (_, _, none)], [(_, _, many)] = cells.of(FEW), cells.of(MANY)
    assert (spec, at) == (ONE, "")
    assert (few.n, few.k, few.solved_at.size) == (4, 2, 2)
    assert (many.n, many.k, many.solved_at.size) == (10, 5, 5)
    assert (none.engine, none.n) == ("", 0)


def test_a_cell_is_of_the_engine_with_most_of_its_seeds(store):
    store.append(make_runs(3, ONE, "torch"))
    store.append([make_run(ONE, seed, "cuda") for seed in (0, 1, 2, 50, 51, 52)])
    [(_, _, cell), _] = judged(store, [FEW]).of(FEW)
    assert (cell.engine, cell.n) == ("cuda", 3)  # of as many, the first by name
    store.append([make_run(ONE, 3, "torch")])
    [(_, _, cell), _] = judged(store, [FEW]).of(FEW)
    assert (cell.engine, cell.n) == ("torch", 4)


def test_all_experiments_are_loaded_at_once(store, monkeypatch):
    loads = []
    snapshot = Store.snapshot
    monkeypatch.setattr(Store, "snapshot", lambda self, columns: loads.append(columns) or snapshot(self, columns))
    judged(store, [FEW, MANY, dataclasses.replace(FEW, seeds=2)])
    assert len(loads) == 1


def test_a_store_is_judged_as_it_is_now(store):
    store.append(make_runs(1, ONE))
    before = judged(store, [FEW])
    store.append([make_run(ONE, 2)])
    [(_, _, cell), _] = judged(store, [FEW]).of(FEW)
    [(_, _, earlier), _] = before.of(FEW)
    assert (earlier.n, cell.n) == (1, 2)


def test_a_solved_run_that_does_not_say_when(store):
    """Somebody else's row: no engine writes it."""
    store.append([make_run(ONE, 0), make_run(ONE, 2, solved_at_released=-1)])
    [(_, _, cell), _] = judged(store, [FEW]).of(FEW)
    assert (cell.k, cell.solved_at.size) == (2, 1)
    assert not cell.solved_at_mean.is_empty
