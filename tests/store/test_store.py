import dataclasses
import errno
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from tests.factories import first_version, make_digits_run, make_run, make_runs, make_spec, make_state

from arithmos import __version__
from arithmos.engines.contract import Curve, Run
from arithmos.papers import EXPERIMENTS
from arithmos.store import COLUMNS, HEAVY, KEY, Store, _migrations, _schema
from arithmos.store._schema import PREFIXES
from arithmos.tasks import TEN_PARAMETERS, Rows

FIELDS = [field.name for field in dataclasses.fields(Run) if field.name not in ("spec", "curve", "exact", *PREFIXES)]


def assert_stored(store: Store, run: Run, *, without: tuple[str, ...] = ()) -> None:
    frame = store.load(specs=[run.spec], columns=list(COLUMNS))
    row = frame[(frame.seed == run.seed) & (frame.engine == run.engine)].iloc[0]
    for name in set(FIELDS) - set(without):
        np.testing.assert_array_equal(row[name], getattr(run, name), err_msg=name)
    for name in ("step", "validation", "test", "sparsity"):
        np.testing.assert_array_equal(row[f"curve_{name}"], getattr(run.curve, name))
    for column, prefix in PREFIXES.items():
        for name, value in getattr(run, column).items():
            np.testing.assert_array_equal(row[prefix + name], value, err_msg=name)
    assert row["spec"] == run.spec.json()
    assert row["version"] == __version__


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    runs = make_runs(3)
    store.append(runs)
    for run in runs:
        assert_stored(store, run)
    assert Store(store.path).load().equals(store.load())


def test_a_run_on_digits_comes_back_as_it_was(store: Store) -> None:
    spec = EXPERIMENTS["mnist-product"].specs[-1]
    run = make_digits_run(spec)
    store.append([run, make_run()])
    assert_stored(store, run)
    row = store.load(specs=[spec]).iloc[0]
    assert (row.task, row.operation, row.length, row.input_strength) == ("digits", "mul", 2, 1.0)
    assert (list(row.test_lengths), list(row.digits)) == (list(range(1, 21)), list(range(1, 10)))


def test_a_store_from_before_digits_opens_as_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = make_runs(3)
    monkeypatch.setattr(_migrations, "VERSION", 1)
    monkeypatch.setattr(_migrations, "MIGRATIONS", {})
    store._runs.add(first_version(_schema.table_of_runs(runs, _schema.now())))
    store.suspend(runs[0].spec, 7, "torch", make_state())
    monkeypatch.undo()
    assert "length" not in pq.ParquetFile(next(store.path.glob("part-*"))).schema_arrow.names
    for run in runs:
        assert_stored(Store(store.path), run, without=("gpu",))
    loaded = Store(store.path).load(columns=list(COLUMNS))
    assert loaded[["digits", "test_lengths", "images", "length", "input_strength", "gpu"]].isna().all(axis=None)
    assert not {*_migrations.EXTRA} & {*loaded}
    assert set(store.resume(runs[0].spec, 7, "torch")) == set(make_state())
    store.pack()
    assert_stored(store, runs[0], without=("gpu",))


def test_nan_and_empty_arrays_come_back(store: Store) -> None:
    nothing = np.array([], np.float32)
    run = make_run(
        ended_early=True,
        records=0,
        best_test=float("nan"),
        threshold_released=float("inf"),
        best_weights=np.array([np.nan, -0.0, np.inf], np.float32),
        end_weights=nothing,
        curve=Curve(np.array([], np.int64), nothing, nothing, nothing),
    )
    store.append([run])
    assert_stored(store, run)
    assert store.curves().empty


numbers = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(),
    seed=st.integers(0, 2**32 - 1),
    engine=st.sampled_from(["torch", "cpu", "cuda", "µ\N{SNOWMAN}"]),
    length=st.integers(0, 5),
)
def test_any_run_comes_back(store: Store, data: st.DataObject, seed: int, engine: str, length: int) -> None:
    def floats(n: int) -> np.ndarray:
        return data.draw(npst.arrays(np.float32, n, elements=numbers))

    step = np.array(sorted(data.draw(st.sets(st.integers(0, 2**62), min_size=length, max_size=length))), np.int64)
    changes = {name: data.draw(numbers) for name in FIELDS if name.startswith(("best_t", "end_t", "best_g", "thr"))}
    run = make_run(
        make_spec(hidden_size=1 + len(store)),
        seed,
        engine,
        best_weights=floats(length),
        end_weights=floats(3),
        curve=Curve(step, floats(length), floats(length), floats(length)),
        **changes,
    )
    store.append([run])
    assert_stored(store, run)


def test_a_spec_is_described_in_flat_columns(store: Store) -> None:
    rows = Rows([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], [2, 12, 30, 56, 90])
    store.append([make_run(make_spec("div", "NALU", hidden_size=3)), make_run(make_spec(task=TEN_PARAMETERS))])
    store.append([make_run(make_spec(task=rows, model="NAU"))])
    frame = store.load().set_index("model")
    assert frame.loc["NMU", "label"] == "NMU"
    assert frame.loc["NALU", ["operation", "layers", "hidden_size", "interpolation"]].tolist() == [
        "div",
        "NALU>NALU",
        3,
        "[[1.0, 2.0]]",
    ]
    assert frame.loc["NMU", ["subset_count", "sparsity_strength", "sparsity_end"]].tolist() == [2, 10.0, 2e6]
    assert pd.isna(frame.loc["NMU", "subset_ratio"])
    assert frame.loc["NAU", ["task", "rows", "input_size"]].tolist() == ["rows", rows.digest, 2]
    assert pd.isna(frame.loc["NAU", "operation"])


def test_other_tools_read_the_folder_as_it_is(store: Store) -> None:
    store.append(make_runs(3))
    store.append(make_runs(2, engine="cpu"))
    store.suspend(make_spec(), 9, "cpu", {"w": np.zeros(3)})
    frame = pd.read_parquet(store.path)
    assert len(frame) == 5
    assert list(frame) == list(COLUMNS)


def test_weights_and_curves_are_read_only_when_asked_for(store: Store) -> None:
    store.append(make_runs(2))
    assert not set(HEAVY) & set(store.load())
    assert list(store.load(columns=["end_weights"])) == [*KEY, "end_weights"]
    assert list(store.load(columns=[])) == list(KEY)


def test_load_of_some_specs(store: Store) -> None:
    one, other = make_spec("mul"), make_spec("add")
    store.append(make_runs(2, one) + make_runs(3, other))
    assert len(store.load(specs=[one])) == 2
    assert len(store.load(specs=[other.id])) == 3
    assert store.load(specs=[]).empty
    assert list(store.load(specs=[])) == [name for name in store.load() if name in COLUMNS]


def test_load_of_some_runs(store: Store) -> None:
    one, other = make_spec("mul"), make_spec("add")
    store.append(make_runs(3, one) + make_runs(3, other) + make_runs(3, other, "cpu"))
    wanted = [(one.id, 2, "torch"), (other.id, 0, "cpu")]
    found = store.load(runs=[*wanted, (other.id, 9, "cpu")], columns=["best_weights"])
    assert set(found[[*KEY]].itertuples(index=False, name=None)) == set(wanted)
    assert len(store.load(specs=[one], runs=wanted)) == 1
    assert store.load(runs=[]).empty


def test_load_names_an_unknown_column(store: Store) -> None:
    with pytest.raises(KeyError, match=r"unknown column 'best_tset'; did you mean 'best_test'"):
        store.load(columns=["best_tset"])


def test_curves_have_a_row_a_record(store: Store) -> None:
    runs = make_runs(3)
    store.append(runs)
    curves = store.curves()
    assert len(curves) == 3 * 6
    one = curves[curves.seed == 1]
    np.testing.assert_array_equal(one.step, runs[1].curve.step)
    np.testing.assert_array_equal(one.test, runs[1].curve.test)
    assert list(curves) == [*KEY, "step", "validation", "test", "sparsity"]


def test_missing_counts_an_engine_or_any(store: Store) -> None:
    spec = make_spec()
    assert store.missing(spec, range(3)) == (0, 1, 2)
    store.append([make_run(spec, 1, "cpu")])
    assert store.missing(spec, range(3)) == (0, 2)
    assert store.missing(spec, range(3), engine="cpu") == (0, 2)
    assert store.missing(spec, range(3), engine="cuda") == (0, 1, 2)
    assert store.missing(make_spec("add"), [1]) == (1,)


def test_missing_sees_what_another_process_stored(store: Store) -> None:
    other = Store(store.path)
    assert store.missing(make_spec(), [0]) == (0,)
    other.append([make_run()])
    assert store.missing(make_spec(), [0]) == ()


def test_of_two_rows_of_a_run_the_first_written_counts(store: Store) -> None:
    store.append([make_run(seed=1, best_test=1.0)])
    for value in (2.0, 3.0, 4.0, 5.0, 6.0):
        store.append([make_run(seed=0), make_run(seed=1, best_test=value)])
    assert store.load().set_index("seed").loc[1, "best_test"] == 1.0
    assert len(store) == len(store.load()) == 2
    assert store.duplicates == 9


def test_an_engine_of_its_own_is_no_duplicate(store: Store) -> None:
    store.append([make_run(engine="cpu"), make_run(engine="cuda")])
    assert (len(store), store.duplicates) == (2, 0)


def test_appending_nothing_writes_nothing(store: Store) -> None:
    store.append([])
    assert not store.path.exists()
    assert store.load().empty
    assert store.summary().runs == 0


def test_merge_is_copying(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    store.append(make_runs(2))
    other.append([make_run(seed=1), make_run(seed=2)])
    for _ in range(2):
        store.merge(other, str(other.path))
        assert (len(store), store.duplicates, store.summary().files) == (3, 1, 2)


def test_merge_needs_a_store(store: Store, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no store to merge.*nowhere"):
        store.merge(tmp_path / "nowhere")


def test_summary_counts(store: Store) -> None:
    store.append(make_runs(3) + make_runs(2, make_spec("add")))
    store.append([make_run()])
    store.suspend(make_spec(), 7, "cpu", {"w": np.zeros(3)})
    summary = store.summary()
    assert (summary.runs, summary.specs, summary.duplicates, summary.suspended) == (5, 2, 1, 1)
    assert summary.files == 3
    assert summary.bytes == sum(path.stat().st_size for path in store.path.rglob("*.parquet"))


def test_a_store_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match=r"a store must be a folder.*file'"):
        Store(tmp_path / "file")
    with pytest.raises(NotADirectoryError, match=r"cannot read the store.*choose a folder"):
        Store(tmp_path / "file" / "runs").append([make_run()])


@pytest.mark.parametrize(("code", "advice"), [(errno.EACCES, "may write to"), (errno.EROFS, "read-only")])
def test_an_unwritable_store_says_so_before_the_first_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, code: int, advice: str
) -> None:
    store.append([make_run()])
    real = os.open

    def refuse(path: str, flags: int, *rest: int) -> int:
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code), str(path))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match=rf"cannot write to the store.*{advice}.*runs'"), store.writer():
        pass
    assert len(Store(store.path)) == 1


def test_an_unreadable_store_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError, match=r"cannot read the store.*permissions"):
        store.load()
