"""Two processes on one store: one is stopped before each of its calls in turn while the other does all of its work."""

import shutil
from itertools import product
from pathlib import Path

import pytest
from tests.faults import Disk
from tests.store.operations import OPERATIONS, Operation, check, fresh

from arithmos.store import Store

READ = Operation("load", Store.load)
PAIRS = [*product([*OPERATIONS, READ], OPERATIONS)]
SOME = 8
"""On an ordinary day every so many-th call will do."""


def race(folder: Path, disk: Disk, one: Operation, other: Operation, chosen: slice = slice(None)) -> int:
    """Stops one at its calls, or at some of them, while the other works; returns at how many."""
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


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=[f"{one.name}-{other.name}" for one, other in PAIRS])
def test_neither_of_two_loses_anything(tmp_path: Path, monkeypatch, number: int) -> None:
    race(tmp_path, Disk(monkeypatch, reads=True), *PAIRS[number], slice(number % SOME, None, SOME))


@pytest.mark.slow
def test_neither_of_two_loses_anything_at_any_call(tmp_path: Path, monkeypatch) -> None:
    disk = Disk(monkeypatch, reads=True)
    points = [race(tmp_path / f"{one.name}-{other.name}", disk, one, other) for one, other in PAIRS]
    assert sum(points) > 1000
