"""A disk that fills up at every moment of every operation, in our imagination and, where permitted, in truth."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.factories import make_runs
from tests.faults import Disk, small_disk
from tests.store.operations import OPERATIONS, Operation, fail

from arithmos.store import Store


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
def test_a_full_disk_leaves_a_readable_store(tmp_path: Path, disk: Disk, operation: Operation, lasting: bool) -> None:
    points = fail(tmp_path, disk, operation, lasting=lasting)
    assert points >= 8
    assert {"open", "write", "fsync", "close", "replace"} <= set(disk.met)


@pytest.mark.parametrize("operation", OPERATIONS[1:4], ids=lambda operation: operation.name)
def test_an_interrupt_leaves_a_readable_store(tmp_path: Path, disk: Disk, operation: Operation) -> None:
    disk.error = KeyboardInterrupt()
    fail(tmp_path, disk, operation, lasting=True)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[tuple[Path, object]]:
    with ExitStack() as stack:
        try:
            remount = stack.enter_context(small_disk(tmp_path / "disk", "64k"))
        except PermissionError as error:
            pytest.skip(f"no disk of our own: {error}")
        yield tmp_path / "disk", remount


def test_a_disk_that_is_really_full(mounted) -> None:
    folder, remount = mounted
    store, runs = Store(folder / "runs"), make_runs(40)
    reported: list[int] = []

    def fill() -> None:
        for run in runs:
            store.append([run])
            reported.append(run.seed)

    with pytest.raises(OSError, match=r"No space left on device.*free some space"):
        fill()
    assert Store(store.path).load().seed.tolist() == reported
    stored = len(reported)
    assert 1 <= stored < 40
    with pytest.raises(OSError, match="free some space"):
        store.pack()
    remount("size=4m")
    store.append(runs[stored:])
    store.pack()
    assert Store(store.path).load(columns=["best_test"]).best_test.tolist() == [run.best_test for run in runs]
    assert store.summary().files == 1


def test_a_disk_that_is_really_read_only(mounted) -> None:
    folder, remount = mounted
    store, other = Store(folder / "runs"), Store(folder.parent / "other")
    store.append(make_runs(2))
    other.append(make_runs(3))
    remount("ro")
    for change in (lambda: store.append(make_runs(1)), store.prepare, lambda: store.merge(other)):
        with pytest.raises(OSError, match="the disk is read-only; choose a folder on another one"):
            change()
    read = Store(store.path)
    assert (len(read.load()), read.check(), os.listdir(folder)) == (2, (), ["runs"])
