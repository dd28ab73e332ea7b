import threading
import time
from pathlib import Path

import pytest
from tests.factories import make_run, make_spec, make_state
from tests.faults import Disk

from arithmos.store import Store


def parts(store: Store) -> int:
    return len(list(store.path.glob("part-*.parquet")))


def test_runs_are_stored_on_leaving(store: Store) -> None:
    with store.writer(flush_s=1000) as writer:
        for seed in range(5):
            writer.add(make_run(seed=seed))
        assert writer.unsaved == 4  # the first one had nothing to wait for
    assert (writer.stored, writer.unsaved) == (5, 0)
    assert len(store) == 5
    assert parts(store) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_runs_are_stored_on_leaving_in_a_hurry(store: Store, error: type[BaseException]) -> None:
    def hurry() -> None:
        with store.writer(flush_s=1000) as writer:
            for seed in range(3):
                writer.add(make_run(seed=seed))
            raise error

    with pytest.raises(error):
        hurry()
    assert len(store) == 3


def test_runs_are_stored_when_there_are_many(store: Store) -> None:
    with store.writer(flush_s=1000, flush_runs=10) as writer:
        for seed in range(25):
            writer.add(make_run(seed=seed))
        assert writer.stored == 21
        assert len(store) == 21


def test_a_run_does_not_wait_for_the_next_one(store: Store) -> None:
    with store.writer(flush_s=0.05) as writer:
        writer.add(make_run(seed=0))
        writer.add(make_run(seed=1))
        for _ in range(1000):
            if writer.stored == 2:
                break
            time.sleep(0.01)
        assert len(Store(store.path)) == 2


def test_a_full_disk_keeps_the_runs_and_says_how_many(store: Store, disk: Disk) -> None:
    with store.writer(flush_s=1000) as writer:
        writer.add(make_run(seed=0))
        writer.add(make_run(seed=1))
        writer.add(make_run(seed=2))
        for point in range(len(disk.points(lambda: Store(store.path).append([make_run(seed=3)])))):
            disk.failing(point)
            with pytest.raises(OSError, match=r"free some space.*; 2 finished runs are not stored.*runs'"):
                writer.flush()
        assert writer.unsaved == 2
        disk.well()
    assert store.missing(make_spec(), range(4)) == ()


def test_a_full_disk_is_met_on_leaving(store: Store, disk: Disk) -> None:
    def fill() -> None:
        with store.writer(flush_s=1000) as writer:
            writer.add(make_run(seed=0))
            writer.add(make_run(seed=1))
            disk.failing(1)

    with pytest.raises(OSError, match="1 finished runs are not stored"):
        fill()
    assert len(store) == 1


def test_what_fails_in_the_background_is_raised_in_the_foreground(store: Store, disk: Disk) -> None:
    with store.writer(flush_s=0.02) as writer:
        writer.add(make_run(seed=0))
        writer._flushed = time.monotonic() + 1000  # the next one waits for the timer
        disk.failing(1)
        writer.add(make_run(seed=1))
        assert writer._timer is not None
        writer._timer.join()
        assert writer.unsaved == 1
        writer._flushed = -1000
        disk.failing(1)
        with pytest.raises(OSError, match="2 finished runs are not stored"):
            writer.add(make_run(seed=2))
        disk.well()
    assert len(store) == 3


def test_suspended_runs_are_written_together(store: Store) -> None:
    with store.writer(flush_s=1000) as writer:
        for seed in range(4):
            writer.suspend(make_spec(), seed, "cpu", make_state(seed))
        writer.add(make_run(seed=9))
    assert len(store.suspended) == 4
    assert len(list((store.path / "_suspended").iterdir())) == 1


def test_a_finished_run_leaves_no_state(store: Store) -> None:
    with store.writer(flush_s=1000) as writer:
        writer.suspend(make_spec(), 1, "torch", make_state(0))
        writer.add(make_run(seed=1))
    assert not list((store.path / "_suspended").glob("*"))


def test_the_last_state_counts(store: Store) -> None:
    with store.writer(flush_s=1000) as writer:
        for step in range(3):
            writer.suspend(make_spec(), 0, "torch", make_state(step))
    state = store.resume(make_spec(), 0, "torch")
    assert state is not None
    assert state["step"] == 2


def test_a_state_that_comes_while_another_is_written_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.writer(flush_s=1000) as writer:
        writer.suspend(make_spec(), 0, "torch", make_state(0))
        write = store.suspend_all

        def meanwhile(cut):
            write(cut)
            monkeypatch.undo()
            writer._states[make_spec().id, 0, "torch"] = (make_spec(), 0, "torch", make_state(1))

        monkeypatch.setattr(store, "suspend_all", meanwhile)
        writer.flush()
    state = store.resume(make_spec(), 0, "torch")
    assert state is not None
    assert state["step"] == 1


def test_the_folder_is_there_before_the_first_run(tmp_path: Path) -> None:
    with Store(tmp_path / "a" / "b").writer():
        assert list((tmp_path / "a" / "b").iterdir()) == []


def test_threads_may_share_a_writer(store: Store) -> None:
    with store.writer(flush_s=0.001) as writer:
        threads = [
            threading.Thread(target=lambda first=first: [writer.add(make_run(seed=first + i)) for i in range(20)])
            for first in (0, 100, 200)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (len(store), store.duplicates) == (60, 0)
