import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.factories import make_run, make_spec, make_state

import arithmos
from arithmos.store import Store, _part, _schema, _states


def folder(store: Store) -> list[Path]:
    return sorted((store.path / "_suspended").glob("state-*.parquet"))


def same(a: dict[str, np.ndarray] | None, b: dict[str, np.ndarray]) -> bool:
    assert a is not None
    assert list(a) == list(b)
    return all(a[name].dtype == b[name].dtype and np.array_equal(a[name], b[name]) for name in b)


def test_a_suspended_run_goes_on_from_its_state(store: Store) -> None:
    spec = make_spec()
    assert store.resume(spec, 3, "cpu") is None
    store.suspend(spec, 3, "cpu", make_state(5))
    assert same(Store(store.path).resume(spec, 3, "cpu"), make_state(5))
    assert store.resume(spec, 3, "cuda") is None
    assert store.resume(spec, 4, "cpu") is None
    assert store.suspended == ((spec.id, 3, "cpu"),)
    assert len(store) == 0


def test_all_kinds_of_arrays_come_back(store: Store) -> None:
    state = {
        "file": np.array(2**63, np.uint64),
        "": np.zeros((0, 3), np.float32),
        "nan": np.array([[np.nan, -0.0]], np.float64),
        "bits": np.array([True, False]),
        "text": np.array(["a", "bc"]),
    }
    store.suspend(make_spec(), 0, "cpu", state)
    found = store.resume(make_spec(), 0, "cpu")
    assert found is not None
    for name, array in state.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)


def test_nothing_is_pickled(store: Store) -> None:
    with pytest.raises(TypeError, match="state 'w' must be an array of plain numbers"):
        store.suspend(make_spec(), 0, "cpu", {"w": np.array([object()])})
    assert folder(store) == []


def test_the_last_state_counts_and_the_one_before_goes(store: Store) -> None:
    for step in range(4):
        store.suspend(make_spec(), 0, "cpu", make_state(step))
        assert same(store.resume(make_spec(), 0, "cpu"), make_state(step))
    assert len(folder(store)) == 1


def test_the_last_state_counts_when_the_clock_was_put_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = [(make_spec(), seed, "cpu", make_state(1)) for seed in range(2)]
    store.suspend_all(cut)
    monkeypatch.setattr(_states, "now", lambda: _states.EPOCH)
    store.suspend(make_spec(), 0, "cpu", make_state(2))
    assert same(store.resume(make_spec(), 0, "cpu"), make_state(2))
    assert same(store.resume(make_spec(), 1, "cpu"), make_state(1))


def test_many_runs_are_suspended_in_one_file(store: Store) -> None:
    store.suspend_all((make_spec(), seed, "cpu", make_state(seed)) for seed in range(500))
    assert len(folder(store)) == 1
    assert all(same(store.resume(make_spec(), seed, "cpu"), make_state(seed)) for seed in range(0, 500, 50))
    store.suspend_all([])
    assert len(folder(store)) == 1


def test_storing_a_run_drops_its_state(store: Store) -> None:
    store.suspend_all((make_spec(), seed, "cpu", make_state(seed)) for seed in range(2))
    store.append([make_run(seed=0, engine="cpu"), make_run(seed=1, engine="torch")])
    assert store.suspended == ((make_spec().id, 1, "cpu"),)
    assert same(store.resume(make_spec(), 1, "cpu"), make_state(1))
    store.append([make_run(seed=1, engine="cpu")])
    assert folder(store) == []


def test_forget(store: Store) -> None:
    store.suspend_all((make_spec(), seed, "cpu", make_state(seed)) for seed in range(2))
    store.forget(make_spec(), 0, "cpu")
    assert store.resume(make_spec(), 0, "cpu") is None
    assert same(store.resume(make_spec(), 1, "cpu"), make_state(1))
    store.forget(make_spec(), 1, "cpu")
    store.forget(make_spec(), 1, "cpu")
    assert folder(store) == []


def test_a_damaged_state_is_named_and_the_run_starts_anew(store: Store) -> None:
    store.suspend(make_spec(), 0, "cpu", make_state())
    (file,) = folder(store)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    with pytest.warns(UserWarning, match=f"{file.name} is set aside .damaged"):
        assert store.resume(make_spec(), 0, "cpu") is None
    assert store.damaged[0][0] == f"_suspended/{file.name}"
    store.suspend(make_spec(), 0, "cpu", make_state(1))
    assert same(store.resume(make_spec(), 0, "cpu"), make_state(1))


def test_a_state_whose_numbers_alone_are_damaged_is_named_too(store: Store) -> None:
    """The digest in its name is that of the damaged file, and what its rows are about can be read."""
    store.suspend(make_spec(), 0, "cpu", make_state())
    (path,) = folder(store)
    data = bytearray(path.read_bytes())
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    (arrays,) = (column for column in columns if column.path_in_schema.startswith("arrays"))
    data[arrays.data_page_offset + arrays.total_compressed_size - 1] ^= 1
    path.unlink()
    name = _part.place(path.parent, "state", bytes(data))
    with pytest.warns(UserWarning, match=f"{name} is set aside .*damaged"):
        assert store.resume(make_spec(), 0, "cpu") is None
    store.forget(make_spec(), 0, "cpu")
    assert store.damaged[0][0] == f"_suspended/{name}"


def test_a_state_of_another_version_is_not_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_schema, "__version__", "0.0.1")
    store.suspend(make_spec(), 0, "cpu", make_state())
    with pytest.warns(UserWarning, match=r"suspended by arithmos 0\.0\.1 start again"):
        assert store.resume(make_spec(), 0, "cpu") is None


SUSPEND = """
from tests.factories import make_spec, make_state
from arithmos.store import Store
store = Store({path!r})
"""


def test_a_state_made_by_other_code_is_not_used(tmp_path: Path) -> None:
    """A kernel was changed since, under the same version of the package."""
    shutil.copytree(Path(arithmos.__file__).parent, tmp_path / "src" / "arithmos", ignore=lambda *_: ["__pycache__"])

    def python(code: str) -> str:
        folders = os.pathsep.join([str(tmp_path / "src"), str(Path(__file__).parents[2])])
        command = [sys.executable, "-c", SUSPEND.format(path=str(tmp_path / "runs")) + code]
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": folders}, capture_output=True, text=True, check=True
        )
        return done.stdout + done.stderr

    python("store.suspend(make_spec(), 0, 'cpu', make_state())")
    resume = "print(store.resume(make_spec(), 0, 'cpu') is None, store.resume(make_spec(), 0, 'cpu') is None)"
    assert python(resume) == "False False\n"
    with (tmp_path / "src" / "arithmos" / "engines" / "cuda" / "leaf.cuh").open("a") as kernel:
        kernel.write("// changed\n")
    said = python(resume)
    assert "True True\n" in said
    assert said.count("suspended runs start again: the code of arithmos") == 1, "told once"


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["step"]},
        {"arrays": [b""] * 5},
        {"arrays": [b"\x93NUMPY"] * 5},
        {"arrays": [_header("{'descr':")] * 5},
        {"arrays": [_header("a\n\t b\n  c")] * 5},
        {"arrays": [_header("-" * 9000 + "1")] * 5},
        {"arrays": [_header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**15,)}")] * 5},
        {"arrays": [_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,)}")] * 5},
        {"arrays": [_header("{'descr': '|V0', 'fortran_order': False, 'shape': (10000000000000000000000,)}")] * 5},
        {"arrays": [_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}") + bytes(8)] * 5},
    ],
)
def test_a_state_of_odd_bytes_is_named_and_the_run_starts_anew(store: Store, change: dict[str, object]) -> None:
    row = _schema.row_of_state(make_spec(), 0, "cpu", make_state()) | {"written": _schema.now()}
    store._states.folder.add(pa.Table.from_pylist([row | change], schema=_schema.STATES))
    with pytest.warns(UserWarning, match="starts again: its state cannot be read"):
        assert store.resume(make_spec(), 0, "cpu") is None


def test_a_state_of_nothing_is_set_aside_and_the_run_starts_anew(store: Store) -> None:
    row = _schema.row_of_state(make_spec(), 0, "cpu", make_state()) | {"written": _schema.now(), "arrays": [None] * 5}
    store._states.folder.add(pa.Table.from_pylist([row], schema=_schema.STATES))
    with pytest.warns(UserWarning, match="is set aside .damaged: arrays has null in it"):
        assert store.resume(make_spec(), 0, "cpu") is None


def test_pack_carries_states_of_unfinished_runs(store: Store) -> None:
    for seed in range(3):
        store.suspend(make_spec(), seed, "cpu", make_state(seed))
    store.suspend_all((make_spec(), seed, "cpu", make_state(seed + 10)) for seed in range(2, 4))
    store.append([make_run(seed=3, engine="cpu")])
    store.pack()
    assert len(folder(store)) == 1
    assert same(store.resume(make_spec(), 0, "cpu"), make_state(0))
    assert same(store.resume(make_spec(), 2, "cpu"), make_state(12))
    assert [seed for _, seed, _ in store.suspended] == [0, 1, 2]


def test_a_state_packed_by_another_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        store.suspend(make_spec(), seed, "cpu", make_state(seed))
    table = store._states.folder.table

    def packed_in_between(name: str) -> object:
        Store(store.path).pack()
        return table(name)

    monkeypatch.setattr(store._states.folder, "table", packed_in_between)
    assert same(store.resume(make_spec(), 1, "cpu"), make_state(1))


def test_of_two_copies_of_a_state_neither_is_dropped(store: Store) -> None:
    """A pack has written the one, and may remove the other a moment later."""
    store.suspend(make_spec(), 0, "cpu", make_state(1))
    (file,) = folder(store)
    copy = store._states.folder.add(store._states.folder.table(file.name))
    store.suspend(make_spec(), 1, "cpu", make_state(1))
    assert {file.name, copy} <= {path.name for path in folder(store)}
    store.suspend(make_spec(), 0, "cpu", make_state(2))
    assert not {file.name, copy} & {path.name for path in folder(store)}


def test_merge_carries_states_and_the_last_one_counts(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    store.suspend_all((make_spec(), seed, "cpu", make_state(seed)) for seed in range(2))
    other.merge(store)
    other.suspend(make_spec(), 0, "cpu", make_state(20))
    other.append([make_run(seed=1, engine="cpu")])
    store.merge(other)
    assert same(store.resume(make_spec(), 0, "cpu"), make_state(20))
    assert store.suspended == ((make_spec().id, 0, "cpu"),)
