"""All that changes a store, disturbed at every step; and what must be true of it afterwards, come what may."""

import shutil
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from tests.factories import make_run, make_spec, make_state
from tests.faults import Disk

from arithmos.engines.contract import Run
from arithmos.judging.thin import thin
from arithmos.store import Store

SPEC = make_spec()
STORED = frozenset({0, 1, 2})
SUSPENDED = {10: 0, 11: 0, 15: 0}
"""Runs and suspended runs of the store that is disturbed: seeds, and the steps of their states."""


@lru_cache
def run(seed: int) -> Run:
    return make_run(SPEC, seed, "cpu")


def suspend(store: Store, **steps: int) -> None:
    store.suspend_all((SPEC, int(seed[1:]), "cpu", make_state(step)) for seed, step in steps.items())


@lru_cache(maxsize=1)
def _templates() -> tuple[Path, Path]:
    """A store in which every operation has something to do, and another to merge with it."""
    folder = Path(mkdtemp(prefix="arithmos-operations-"))
    store, other = Store(folder / "store"), Store(folder / "other")
    for seeds in ([0, 1], [1, 2], [2]):
        store.append(map(run, seeds))
    suspend(store, s10=0, s11=0)
    suspend(store, s15=0)
    other.append([run(5)])
    other.append([run(6)])
    suspend(other, s11=3, s12=0)
    return store.path, other.path


def fresh(folder: Path) -> Store:
    """A copy of the store, with the other one beside it."""
    for template in _templates():
        shutil.copytree(template, folder / template.name)
    return Store(folder / "store")


@dataclass(frozen=True)
class Operation:
    """Something that changes a store, and may do so again when it was disturbed.

    Args:
        act: what it does.
        stored: the runs that it adds.
        suspended: the states that it adds or brings up to date.
        ended: the suspended runs of which no state is needed any more.
    """

    name: str
    act: Callable[[Store], object]
    stored: frozenset[int] = frozenset()
    suspended: tuple[tuple[int, int], ...] = ()
    ended: frozenset[int] = frozenset()


def _append(store: Store) -> None:
    store.append([run(3), run(10)])


def _suspend(store: Store) -> None:
    suspend(store, s11=4, s13=0)


def _write(store: Store) -> None:
    with store.writer() as writer:
        writer.add(run(4))
        writer.suspend(SPEC, 14, "cpu", make_state(0))


def _merge(store: Store) -> None:
    store.merge(store.path.parent / "other")


def _thin(store: Store) -> None:
    """Thin a store, and merge what came of it, which has no weights."""
    small = store.path.parent / "small"
    thin(store, small, keep=0)
    store.merge(small)


def _forget(store: Store) -> None:
    store.forget(SPEC, 10, "cpu")


OPERATIONS = [
    Operation("append", _append, frozenset({3, 10}), ended=frozenset({10})),
    Operation("suspend", _suspend, suspended=((11, 4), (13, 0))),
    Operation("write", _write, frozenset({4}), suspended=((14, 0),)),
    Operation("pack", Store.pack),
    Operation("merge", _merge, frozenset({5, 6}), suspended=((11, 3), (12, 0))),
    Operation("thin", _thin),
    Operation("forget", _forget, ended=frozenset({10})),
]

PAIRS = [*product([*OPERATIONS, Operation("load", Store.load)], OPERATIONS)]


def check(store: Store, done: Collection[Operation], tried: Collection[Operation] = ()) -> None:
    """The store is whole, and has all of what is done, some of what was tried, and nothing else."""
    store = Store(store.path)
    assert store.damaged == ()
    must = STORED.union(*(operation.stored for operation in done))
    may = must.union(*(operation.stored for operation in tried))
    rows = store.load(columns=["best_test", "end_weights"])
    assert rows.seed.is_unique
    assert must <= set(rows.seed) <= may, sorted(rows.seed)
    for row in rows.itertuples():
        assert row.best_test == run(row.seed).best_test
        np.testing.assert_array_equal(row.end_weights, run(row.seed).end_weights)

    needed, possible = dict(SUSPENDED), {seed: {step} for seed, step in SUSPENDED.items()}
    for operation in [*done, *tried]:
        for seed, step in operation.suspended:
            possible.setdefault(seed, set()).add(step)
            if operation in done:
                needed[seed] = max(step, needed.get(seed, step))
    over = {*rows.seed}.union(*(operation.ended for operation in [*done, *tried]))
    for seed in possible:
        state = store.resume(SPEC, seed, "cpu")
        if state is not None:
            assert int(state["step"]) in possible[seed]
            assert int(state["step"]) >= needed.get(seed, 0)
        else:
            assert seed in over or seed not in needed, f"the state of {seed} is lost"
    assert {seed for _, seed, _ in store.suspended} >= needed.keys() - over


def fail(folder: Path, disk: Disk, operation: Operation, *, lasting: bool) -> int:
    """Fails every call of an operation in turn, or all from that call on; returns how many there are."""
    clean = fresh(folder / "clean")
    points = disk.points(lambda: operation.act(clean))
    check(clean, [operation])
    for point in points:
        store = fresh(folder / str(point))
        disk.failing(point, lasting=lasting)
        with suppress(type(disk.error)):
            operation.act(store)
        disk.well()
        check(store, [], [operation])
        if not lasting:
            operation.act(store)
            check(store, [operation])
        shutil.rmtree(folder / str(point))
    return len(points)


def race(folder: Path, disk: Disk, one: Operation, other: Operation, chosen: slice = slice(None)) -> int:
    """Stops one before its calls, or some of them, while the other does all of its work; returns before how many."""
    clean = fresh(folder / "clean")
    points = disk.points(lambda: one.act(clean))[chosen]
    for point in points:
        store = fresh(folder / str(point))
        disk.interrupted(point, lambda store=store: other.act(Store(store.path)))
        one.act(store)
        disk.well()
        check(store, [one, other])
        shutil.rmtree(folder / str(point))
    return len(points)
