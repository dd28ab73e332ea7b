"""A full disk, flipped bits, foreign files."""

import errno
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.factories import make_run, make_runs, make_spec, make_state
from tests.faults import Disk

from arithmos.store import Store, _part


def hidden(path: Path) -> list[Path]:
    return list(path.glob(".*"))


def only_part(store: Store) -> Path:
    (part,) = store.path.glob("part-*.parquet")
    return part


def test_a_full_disk_leaves_a_readable_store_whenever_it_fills_up(tmp_path: Path, disk: Disk) -> None:
    points = disk.points(lambda: Store(tmp_path / "clean").append(make_runs(2)))
    assert len(points) >= 6
    for point in points:
        store = Store(tmp_path / f"full-{point}")
        disk.failing(point)
        with pytest.raises(OSError, match=r"cannot write to the store.*free some space.*full"):
            store.append(make_runs(2))
        disk.well()
        assert not hidden(store.path)
        assert store.damaged == ()
        assert len(Store(store.path)) in (0, 2)
        store.append(make_runs(2))
        assert len(store) == 2


def test_a_full_disk_does_not_touch_what_is_stored(store: Store, disk: Disk) -> None:
    store.append(make_runs(3))
    for point in disk.points(lambda: store.append([make_run(seed=8)])):
        disk.failing(point)
        with pytest.raises(OSError, match="free some space"):
            store.append([make_run(seed=9)])
        disk.well()
        assert store.missing(make_spec(), (0, 1, 2, 8)) == ()
        assert not hidden(store.path)


def test_an_interrupt_leaves_nothing_behind(store: Store, disk: Disk) -> None:
    store.append(make_runs(1))
    disk.error = KeyboardInterrupt()
    for point in disk.points(lambda: store.append([make_run(seed=8)])):
        disk.failing(point)
        with pytest.raises(KeyboardInterrupt):
            store.append([make_run(seed=9)])
        disk.well()
        assert len(Store(store.path)) >= 2
        assert store.damaged == ()
        assert not hidden(store.path)


def test_a_disk_that_syncs_no_folders_will_do(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append([make_run()])
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(22, "Invalid argument")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    store.append([make_run(seed=1)])
    assert len(store) == 2


@pytest.mark.parametrize("seed", range(4))
def test_every_flipped_bit_is_named_and_the_rest_is_read(store: Store, tmp_path: Path, seed: int) -> None:
    store.append(make_runs(3))
    part = only_part(store)
    store.append([make_run(seed=7)])
    sound, rng = part.read_bytes(), np.random.default_rng(seed)
    for _ in range(25):
        data = bytearray(sound)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        part.write_bytes(data)
        with pytest.warns(UserWarning, match=f"{part.name} is set aside .damaged"):
            assert store.load().seed.tolist() == [7]
        assert [name for name, _ in store.damaged] == [part.name]
    part.write_bytes(sound)
    assert len(store) == 4
    assert store.damaged == ()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_part_is_named(store: Store, share: float) -> None:
    store.append(make_runs(3))
    part = only_part(store)
    part.write_bytes(part.read_bytes()[: int(share * part.stat().st_size)])
    with pytest.warns(UserWarning, match=r"damaged: its \d+ bytes do not have the digest"):
        assert store.missing(make_spec(), range(3)) == (0, 1, 2)
    assert store.damaged[0][0] == part.name


def test_check_finds_what_changed_behind_the_clock(store: Store) -> None:
    store.append(make_runs(3))
    part = only_part(store)
    assert store.check() == ()
    assert len(store.load()) == 3
    stat = part.stat()
    data = bytearray(part.read_bytes())
    data[-20] ^= 1
    part.write_bytes(data)
    os.utime(part, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.warns(UserWarning, match="set aside"):
        assert [name for name, _ in store.check()] == [part.name]


def test_page_checksums_are_there_for_readers_that_know_no_digest(store: Store) -> None:
    store.append(make_runs(50))
    part = only_part(store)
    with pq.ParquetFile(part) as file:
        chunk = file.metadata.row_group(0).column(file.schema_arrow.names.index("elapsed_s"))
        last = chunk.data_page_offset + chunk.total_compressed_size - 10
    data = bytearray(part.read_bytes())
    data[last] ^= 1
    part.write_bytes(data)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(part, page_checksum_verification=True)


class Boom:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("echo unpickled > unpickled",)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("notes.txt", b"hello"),
        ("results.parquet", b"PAR1"),
        ("part-1234.parquet", b""),
        (f"part-{_part.digest(b'junk')}.parquet", b"junk"),
        (f"part-{_part.digest(pickle.dumps(Boom()))}.parquet", pickle.dumps(Boom())),
    ],
)
def test_a_foreign_file_is_named_and_the_rest_is_read(store: Store, name: str, data: bytes) -> None:
    store.append(make_runs(2))
    (store.path / name).write_bytes(data)
    with pytest.warns(UserWarning, match=f"{name} is set aside"):
        assert len(store.load()) == 2
    assert [file for file, _ in store.damaged] == [name]
    store.append([make_run(seed=5)])
    store.pack()
    assert (store.path / name).read_bytes() == data
    assert len(store) == 3


def foreign_part(store: Store, table: pa.Table) -> str:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return _part.place(store.path, "part", sink.getvalue().to_pybytes())


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"spec_id": ["a"]}),
        pa.table({"spec_id": ["a"]}).replace_schema_metadata({"arithmos.kind": "part"}),
        pa.table({"spec_id": ["a"]}).replace_schema_metadata({"arithmos.kind": "part", "arithmos.schema": "1"}),
        pa.table({"spec_id": ["a"]}).replace_schema_metadata({"arithmos.kind": "part", "arithmos.schema": "one"}),
        pa.table({"spec_id": ["a"]}).replace_schema_metadata({"arithmos.kind": "part", "arithmos.schema": "0"}),
        pa.table({"spec_id": ["a"]}).replace_schema_metadata({"arithmos.kind": "state", "arithmos.schema": "1"}),
    ],
)
def test_a_parquet_file_of_another_kind_is_named(store: Store, table: pa.Table) -> None:
    store.append(make_runs(2))
    name = foreign_part(store, table)
    with pytest.warns(UserWarning, match=f"{name} is set aside"):
        assert len(store.load()) == 2


def test_a_file_that_cannot_be_read_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(make_runs(2))
    part = only_part(store)
    store.append([make_run(seed=5)])
    real = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.name == part.name:
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    with pytest.warns(UserWarning, match=f"{part.name} is set aside .unreadable: Input/output error"):
        assert store.load().seed.tolist() == [5]


def test_a_damaged_file_is_warned_of_once(store: Store, recwarn: pytest.WarningsRecorder) -> None:
    store.append(make_runs(2))
    (store.path / "notes.txt").write_text("hello")
    for _ in range(3):
        store.load()
    assert len(recwarn) == 1


def test_folders_links_to_nowhere_and_hidden_files_are_passed_by(store: Store) -> None:
    store.append(make_runs(2))
    (store.path / "folder").mkdir()
    (store.path / "gone.parquet").symlink_to(store.path / "nowhere")
    (store.path / ".unfinished-1-abc").write_bytes(b"half")
    (store.path / "_notes.txt").write_text("mine")
    assert len(store.load()) == 2
    assert store.damaged == ()


@pytest.mark.parametrize("stale", [False, True], ids=["gone", "stale"])
def test_a_part_that_is_packed_while_it_is_read_is_found_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, stale: bool
) -> None:
    for seed in range(3):
        store.append([make_run(seed=seed)])
    real, reader = Path.read_bytes, Store(store.path)

    def packed_in_between(path: Path) -> bytes:
        monkeypatch.setattr(Path, "read_bytes", real)
        store.pack()
        if stale:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", packed_in_between)
    assert reader.load().seed.tolist() == [0, 1, 2]
    assert reader.duplicates == 0


def test_a_listing_that_missed_a_pack_is_made_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        store.append([make_run(seed=seed)])
    folder = store._runs
    real, torn = folder._list, [True, False]

    def listing() -> dict[str, tuple[str, int, int]]:
        return {} if torn and torn.pop() is False else real()

    monkeypatch.setattr(folder, "_list", listing)
    assert len(store.load()) == 3
    torn.extend([False, True])
    assert len(store.load()) == 3


def test_a_copied_folder_is_a_merged_store(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    store.append(make_runs(2))
    other.append([make_run(seed=2)])
    other.suspend(make_spec(), 3, "cpu", make_state())
    shutil.copytree(other.path, store.path, dirs_exist_ok=True)
    assert store.load().seed.tolist() == [0, 1, 2]
    assert store.resume(make_spec(), 3, "cpu") is not None


def test_merge_leaves_damaged_parts_behind(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    other.append(make_runs(2))
    part = only_part(other)
    other.append([make_run(seed=2)])
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="set aside"):
        store.merge(other)
    assert store.load().seed.tolist() == [2]
    assert store.damaged == ()
