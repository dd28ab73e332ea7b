import os
import time
from pathlib import Path

import numpy as np
import pytest
from tests.factories import make_run, make_runs, make_spec, make_state
from tests.faults import Disk

from arithmos.store import COLUMNS, Store


def files(store: Store) -> list[Path]:
    return [path for path in store.path.rglob("*") if path.is_file()]


def everything(store: Store) -> str:
    return store.load(columns=list(COLUMNS)).to_json(date_format="iso", double_precision=15)


def test_pack_makes_one_part_of_many_and_changes_nothing(store: Store) -> None:
    for seed in range(5):
        store.append([make_run(seed=seed), make_run(make_spec("add"), seed, "cpu")])
    before = everything(store)
    store.pack()
    assert len(files(store)) == 1
    assert everything(store) == everything(Store(store.path)) == before
    assert len(store) == 10


def test_pack_drops_duplicates_and_keeps_the_first(store: Store) -> None:
    for seconds in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        store.append([make_run(elapsed_s=seconds)])
    store.pack()
    assert store.duplicates == 0
    assert store.load().elapsed_s.tolist() == [1.0]


def test_packing_twice_leaves_the_files_alone(store: Store) -> None:
    store.append(make_runs(2))
    store.append([make_run(seed=2)])
    store.suspend(make_spec(), 8, "cpu", make_state())
    store.pack()
    before = files(store)
    store.pack()
    assert files(store) == before


def test_packed_parts_are_no_larger_than_asked(store: Store) -> None:
    rng = np.random.default_rng(0)
    for seed in range(40):
        store.append([make_run(seed=seed, end_weights=rng.normal(size=50 * seed).astype(np.float32))])
    before = everything(store)
    store.pack(max_bytes=70_000)
    sizes = [path.stat().st_size for path in files(store)]
    assert 2 < len(sizes) <= 8

    assert max(sizes) <= 70_000
    assert everything(store) == before
    store.pack()
    assert len(files(store)) == 1


def test_pack_refuses_what_does_not_fit_and_changes_nothing(store: Store) -> None:
    for seed in range(6):
        store.append([make_run(seed=seed)])
    before = files(store)
    size = max(path.stat().st_size for path in before)
    with pytest.raises(ValueError, match=r"max_files 1 of max_bytes \d+ do not hold .* set max_files to [2-6]"):
        store.pack(max_bytes=size + 10, max_files=1)
    with pytest.raises(ValueError, match=r"max_bytes must hold the largest run, which takes \d+ bytes, got 100"):
        store.pack(max_bytes=100)
    assert files(store) == before


def test_an_empty_store_packs_to_nothing(store: Store) -> None:
    store.pack()
    assert not store.path.exists()


def test_a_pack_that_fails_anywhere_loses_nothing(tmp_path: Path, disk: Disk) -> None:
    def filled(name: str) -> Store:
        store = Store(tmp_path / name)
        for seed in range(3):
            store.append([make_run(seed=seed)])
            store.suspend(make_spec(), 10 + seed, "cpu", make_state())
        return store

    points = disk.points(filled("clean").pack)
    assert len(points) >= 10
    for point in points:
        store = filled(f"failed-{point}")
        disk.failing(point)
        with pytest.raises(OSError, match="No space left"):
            store.pack()
        disk.well()
        assert store.missing(make_spec(), range(3)) == ()
        assert len(store.suspended) == 3
        store.pack()
        assert store.summary().files == 2
        assert len(files(store)) == 2


def test_two_packs_at_once_lose_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is about to remove the old parts is overtaken by another, which packs the new ones again."""
    for seed in range(4):
        store.append([make_run(seed=seed)])
    other, remove = Store(store.path), store._runs.remove

    def overtaken(names: dict[str, object]) -> None:
        other.pack(max_bytes=other.summary().bytes // 5)
        other.pack()
        remove(names)

    monkeypatch.setattr(store._runs, "remove", overtaken)
    store.pack()
    assert Store(store.path).load().seed.tolist() == [0, 1, 2, 3]


def test_pack_does_not_remove_what_came_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        store.append([make_run(seed=seed)])
    other, place = Store(store.path), store._runs.place

    def slow(data: bytes) -> str:
        other.append([make_run(seed=9)])
        return place(data)

    monkeypatch.setattr(store._runs, "place", slow)
    store.pack()
    assert store.load().seed.tolist() == [0, 1, 2, 9]


def test_pack_removes_what_killed_writers_left_a_day_ago(store: Store) -> None:
    store.append(make_runs(1))
    old, new = store.path / ".unfinished-1-a", store.path / ".unfinished-2-b"
    for path, age in ((old, 25 * 3600), (new, 60)):
        path.write_bytes(b"half a part")
        os.utime(path, (time.time() - age,) * 2)
    store.pack()
    assert not old.exists()
    assert new.exists()
