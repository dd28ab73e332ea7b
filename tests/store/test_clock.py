"""A clock that jumps: back, far ahead, and days ahead in the middle of something."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.factories import make_run, make_runs, make_spec, make_state
from tests.faults import Disk
from tests.store.operations import OPERATIONS, check, fresh

from arithmos.store import Store, _states, _store

JUMPS = [datetime(1970, 1, 1, tzinfo=UTC), datetime(2262, 6, 1, tzinfo=UTC), datetime(2001, 1, 1, tzinfo=UTC)]


def at(moment: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_store, _states):
        monkeypatch.setattr(module, "now", lambda: moment)
    monkeypatch.setattr(time, "time", moment.timestamp)


def test_runs_and_states_outlive_jumps_of_the_clock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = make_spec()
    for step, moment in enumerate(JUMPS):
        at(moment, monkeypatch)
        store.append([make_run(spec, step), make_run(spec, 7)])
        store.suspend(spec, 20, "cpu", make_state(step))
        store.pack()
        state = Store(store.path).resume(spec, 20, "cpu")
        assert state is not None
        assert int(state["step"]) == step
        assert store.missing(spec, range(step + 1)) == ()
    frame = Store(store.path).load()
    assert frame.seed.tolist() == [0, 1, 2, 7]
    assert frame.written.dt.year.tolist() == [1970, 2262, 2001, 1970]
    assert (store.duplicates, store.damaged, store.summary().files) == (0, (), 2)


def test_a_writer_does_not_care_what_time_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.writer(flush_s=1000) as writer:
        for run, moment in zip(make_runs(3), JUMPS, strict=True):
            at(moment, monkeypatch)
            writer.add(run)
        assert writer.unsaved == 2
    assert len(store) == 3


@pytest.mark.parametrize("operation", OPERATIONS[:2], ids=lambda operation: operation.name)
def test_a_pack_days_ahead_takes_no_file_away_from_a_writer(tmp_path: Path, monkeypatch, operation) -> None:
    """It takes whatever lies there unfinished for abandoned."""
    disk = Disk(monkeypatch)
    ahead = time.time() + 3 * 24 * 3600

    def pack() -> None:
        with monkeypatch.context() as jump:
            jump.setattr(time, "time", lambda: ahead)
            Store(store.path).pack()

    for point in range(1, 5):
        store = fresh(tmp_path / str(point))
        disk.interrupted(point, pack)
        operation.act(store)
        disk.well()
        check(store, [operation])
    assert disk.met == ["write", "fsync", "close", "replace"]
