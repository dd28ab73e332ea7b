"""A machine that is short of files, memory or threads says nothing about the files of a store."""

import errno
import os
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.factories import make_runs, make_spec, make_state

from arithmos.store import Store

RUNS = 20

SHORTAGES = {
    "files": (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "Too many open files.*ulimit -n"),
    "files of the machine": (OSError(errno.ENFILE, os.strerror(errno.ENFILE)), "Too many open files in system.*close"),
    "memory": (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), "Cannot allocate memory.*free some memory"),
    "memory of Python": (MemoryError(), "Cannot allocate memory.*free some memory"),
    "memory of Arrow": (pa.ArrowMemoryError("malloc of size 64 failed"), "Cannot allocate memory.*free some memory"),
    "threads": (OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "temporarily unavailable.*threads or processes"),
    "threads of Arrow": (
        pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"),
        "temporarily unavailable.*threads or processes",
    ),
    "patience": (OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)), "Connection timed out"),
}


@pytest.fixture
def filled(store: Store) -> Store:
    for run in make_runs(RUNS):
        store.append([run])
    store.suspend(make_spec(), RUNS, "cpu", make_state())
    return Store(store.path)


def failing(error: Exception) -> Callable[..., object]:
    def fail(*args: object, **options: object) -> object:
        raise error

    return fail


PLACES = {"bytes": (Path, "read_bytes"), "columns": (pq, "ParquetFile")}


@pytest.mark.parametrize(
    ("shortage", "place"),
    [(name, place) for name, place in product(SHORTAGES, PLACES) if place == "columns" or "Arrow" not in name],
)
def test_a_shortage_is_raised_and_forgotten(
    filled: Store, monkeypatch: pytest.MonkeyPatch, shortage: str, place: str
) -> None:
    (error, words), where = SHORTAGES[shortage], PLACES[place]
    for read in (filled.load, filled.check, filled.pack, lambda: filled.resume(make_spec(), RUNS, "cpu")):
        with monkeypatch.context() as short:
            short.setattr(*where, failing(error))
            with pytest.raises(OSError, match=f"cannot read the store.*{words}"):
                read()
    assert filled.damaged == ()
    assert len(filled) == len(filled.load()) == RUNS
    assert filled.check() == ()
    assert len(filled.suspended) == 1


def test_a_file_that_could_not_be_read_is_tried_again(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_bytes", failing(OSError(errno.EIO, os.strerror(errno.EIO))))
        with pytest.warns(UserWarning, match="set aside .unreadable: Input/output error"):
            assert len(filled.damaged) == RUNS + 1
        assert filled.load().empty
    assert len(filled.load()) == RUNS
    assert filled.damaged == ()


def test_a_part_that_cannot_be_read_any_more_is_left_out(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name, and what its rows are about, are known from before."""
    assert len(filled.load()) == RUNS
    monkeypatch.setattr(pq, "ParquetFile", failing(OSError(errno.EIO, os.strerror(errno.EIO))))
    with pytest.warns(UserWarning, match="set aside .unreadable: Input/output error"):
        assert filled.load().empty


def test_a_writer_that_can_start_no_thread_stores_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", failing(RuntimeError("can't start new thread")))
    with store.writer(flush_s=1000) as writer:
        for count, run in enumerate(make_runs(3), 1):
            writer.add(run)
            assert len(Store(store.path)) == count
        writer.suspend(make_spec(), RUNS, "cpu", make_state())
        assert len(Store(store.path).suspended) == 1
