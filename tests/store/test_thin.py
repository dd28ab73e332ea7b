import numpy as np
import pandas as pd
import pytest
from tests.factories import first_version, make_digits_run, make_run, make_runs, make_spec

from arithmos.judging.exact import judged_runs
from arithmos.judging.thin import thin
from arithmos.papers import EXPERIMENTS
from arithmos.store import COLUMNS, HEAVY, Store, _migrations, _part, _schema
from arithmos.store._schema import CURVE
from arithmos.tasks import TEN_PARAMETERS, Rows

TEN = make_spec(task=TEN_PARAMETERS)
RIGHT = np.array([1, 1, 1, 1, 1, 1, 0, 0, 1, 1], np.float32)


def everything(store: Store) -> pd.DataFrame:
    return store.load(columns=list(COLUMNS))


def kept(store: Store) -> list[int]:
    frame = everything(store)
    assert all(frame[name].notna().equals(frame["best_weights"].notna()) for name in (*CURVE, "end_weights"))
    return frame.loc[frame["best_weights"].notna(), "seed"].tolist()


def test_runs_are_judged_before_they_are_stored(store: Store) -> None:
    rows = make_spec(task=Rows(np.ones((9, 4)), np.ones(9)))
    runs = [make_run(TEN, 0, best_weights=RIGHT), make_run(TEN, 1, best_weights=RIGHT * 0), make_run(rows, 2)]
    with store.writer(judge=judged_runs) as writer:
        for run in runs:
            writer.add(run)
    assert store.load().set_index("seed")["exact"].to_dict() == {0: True, 1: False, 2: None}


def test_all_runs_stay_and_a_few_keep_their_weights(store: Store, tmp_path) -> None:
    store.append(judged_runs(make_runs(20)))
    small = Store(tmp_path / "small")
    thin(store, small)
    light = [name for name in everything(store) if name not in HEAVY]
    pd.testing.assert_frame_equal(everything(small)[light], everything(store)[light])
    assert kept(small) == [0, 1, 2, 3]  # of the solved, which have even seeds, and of the others
    thin(store, tmp_path / "none", keep=0)
    assert kept(Store(tmp_path / "none")) == []
    assert Store(tmp_path / "none").curves().empty


def test_each_spec_and_engine_keeps_its_own(store: Store, tmp_path) -> None:
    one, other = make_spec("mul"), make_spec("add")
    store.append([*make_runs(4, one), *make_runs(4, other), *make_runs(4, other, "cpu")])
    thin(store, tmp_path / "small", keep=1)
    frame = everything(Store(tmp_path / "small"))
    assert (
        frame[frame["best_weights"].notna()].groupby(["spec_id", "engine"])["seed"].apply(list).tolist() == [[0, 1]] * 3
    )


def test_both_criteria_find_their_runs(store: Store, tmp_path) -> None:
    limits = {"threshold_released": 1.0, "threshold_corrected": 2.0}
    errors = [0.5, 0.5, 1.5, 1.5, 2.5, 2.5]
    store.append(make_run(seed=seed, best_test=error, **limits) for seed, error in enumerate(errors))
    thin(store, tmp_path / "small", keep=1)
    assert kept(Store(tmp_path / "small")) == [0, 2, 4]


def test_curves_are_thinned_and_stay_so(store: Store, tmp_path) -> None:
    spec = make_spec(iterations=5_000_000)
    store.append(make_runs(1, spec))
    thin(store, tmp_path / "one")
    thin(Store(tmp_path / "one"), tmp_path / "two")
    whole, one, two = (Store(path).curves() for path in (store.path, tmp_path / "one", tmp_path / "two"))
    assert len(whole) > 100
    assert len(one) <= 61
    pd.testing.assert_frame_equal(one, two)
    assert {0, 5_000_000} <= set(one["step"]) <= set(whole["step"])
    merged = one.merge(whole, on=list(whole))
    assert len(merged) == len(one)


def test_runs_on_digits_stay_whole(store: Store, tmp_path) -> None:
    run = make_digits_run(EXPERIMENTS["mnist-product"].specs[-1])
    store.append([run])
    thin(store, tmp_path / "small", keep=0)
    row, whole = (everything(Store(path)).iloc[0] for path in (tmp_path / "small", store.path))
    for name in HEAVY:
        np.testing.assert_array_equal(row[name], whole[name])


def test_a_store_that_grows_is_thinned_into_the_same_one(store: Store, tmp_path) -> None:
    small = Store(tmp_path / "small")
    store.append([make_run(seed=seed) for seed in (6, 7)])
    thin(store, small)
    store.append([make_run(seed=seed) for seed in range(6)])
    thin(store, small)
    assert everything(small)["seed"].tolist() == list(range(8))
    assert kept(small) == [0, 1, 6, 7]  # what was kept before stays, and counts
    assert small.duplicates == 0
    assert small.summary().files == 2
    thin(store, small)
    assert small.summary().files == 2
    other = Store(tmp_path / "other")
    other.append([make_run(seed=8)])
    thin(other, small)
    assert everything(small)["seed"].tolist() == list(range(9))


def test_older_stores_are_judged_too(store: Store, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(_migrations, "VERSION", 1)
        table = _schema.table_of_runs([make_run(TEN, 0, best_weights=RIGHT)], _schema.now())
        _part.place(store.path, "part", _part.encode(first_version(table), "part"))
    assert everything(store)["exact"].tolist() == [None]
    thin(store, tmp_path / "small", keep=0)
    assert everything(Store(tmp_path / "small"))["exact"].tolist() == [True]
    assert store.load(columns=["best_weights"])["best_weights"].iloc[0].tolist() == RIGHT.tolist()


def test_a_kill_in_between_loses_nothing(store: Store, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = Store(tmp_path / "small")
    store.append(make_runs(3))
    thin(store, small)
    store.append([make_run(seed=3)])
    with monkeypatch.context() as broken:
        broken.setattr(small._runs, "place", interrupted)
        with pytest.raises(KeyboardInterrupt):
            thin(store, small)
    assert len(Store(small.path)) == 3


def interrupted(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_what_cannot_be_thinned_is_refused(store: Store, tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no store to thin"):
        thin(Store(tmp_path / "nowhere"), tmp_path / "small")
    store.append(make_runs(1))
    with pytest.raises(ValueError, match="into must be another store"):
        thin(store, store.path)
    with pytest.raises(ValueError, match="keep must be at least 0, got -1"):
        thin(store, tmp_path / "small", keep=-1)
