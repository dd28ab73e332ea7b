"""Several rows of one run: the one that keeps more counts, and none goes that says something of its own."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.factories import make_digits_run, make_run, make_runs, make_spec

from arithmos.cli import main
from arithmos.engines.contract import Curve, Run
from arithmos.judging.thin import thin
from arithmos.papers import EXPERIMENTS
from arithmos.store import COLUMNS, HEAVY, Store, _store

TRIES = range(8)
"""The names of files are random, so whatever depends on them shows in a few tries."""


def everything(store: Store) -> pd.DataFrame:
    return Store(store.path).load(columns=list(COLUMNS))


def assert_equal(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.parametrize("attempt", TRIES)
def test_a_thinned_store_merged_back_takes_no_weights_away(store: Store, tmp_path: Path, attempt: int) -> None:
    store.append(make_runs(6, make_spec(iterations=100_000)))
    store.append([make_digits_run(EXPERIMENTS["mnist-product"].specs[-1])])
    before = everything(store)
    assert len(before["curve_step"].iloc[0]) > 60  # so that there is something to thin
    thin(store, tmp_path / "small", keep=1)
    store.merge(tmp_path / "small")
    assert_equal(everything(store), before)
    store.pack()
    assert store.duplicates == 0
    assert_equal(everything(store), before)


@pytest.mark.parametrize("attempt", TRIES)
def test_a_full_store_merged_into_a_thinned_one_fills_it(store: Store, tmp_path: Path, attempt: int) -> None:
    small = Store(tmp_path / "small")
    store.append(make_runs(6, make_spec(iterations=100_000)))
    thin(store, small, keep=0)
    small.merge(store)
    small.pack()
    assert_equal(everything(small), everything(store))


def test_thin_with_its_stores_swapped_takes_nothing_away(store: Store, tmp_path: Path) -> None:
    store.append(make_runs(6, make_spec(iterations=100_000)))
    small = Store(tmp_path / "small")
    thin(store, small, keep=0)
    small.append([make_run(make_spec("add"))])
    before, files = everything(store), set(store.path.iterdir())
    thin(small, store, keep=0)
    thin(small, store, keep=0)
    assert files < set(store.path.iterdir())
    after = everything(store)
    assert_equal(after[after["operation"] == "mul"].reset_index(drop=True), before)
    assert after.loc[after["operation"] == "add", list(HEAVY)].isna().all(axis=None)
    assert store.duplicates == 0


@pytest.mark.parametrize("columns", [["best_test"], ["best_weights"], ["version"], list(COLUMNS)])
def test_the_row_that_counts_is_the_same_whatever_is_read(
    store: Store, monkeypatch: pytest.MonkeyPatch, columns: list[str]
) -> None:
    monkeypatch.setattr(_store, "now", lambda: datetime(2026, 1, 1, tzinfo=UTC))  # two machines in one microsecond
    nothing = np.empty(0, np.float32)
    poor = make_run(best_test=0.5, best_weights=nothing, end_weights=nothing)
    for attempt in TRIES:
        tried = Store(store.path / str(attempt))
        for run in (poor, make_run(best_test=0.25)) if attempt % 2 else (make_run(best_test=0.25), poor):
            tried.append([run])
        found = tried.load(columns=[*columns, "best_test"])
        assert found["best_test"].tolist() == [0.25]


def test_of_equals_in_one_microsecond_the_same_counts_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_store, "now", lambda: datetime(2026, 1, 1, tzinfo=UTC))
    values = [0.1, 0.2, 0.3, 0.4, 0.5]
    found = set()
    for attempt in TRIES:
        store = Store(tmp_path / str(attempt))
        for value in np.roll(values, attempt).tolist():
            store.append([make_run(best_test=value)])
        found.add(store.load()["best_test"].item())
        store.pack()
        found.add(store.load()["best_test"].item())
    assert len(found) == 1


def with_other_weights() -> Run:
    return make_run(seed=1, best_weights=make_run(seed=1).best_weights[::-1].copy())


def with_another_curve() -> Run:
    curve = make_run(seed=1).curve
    return make_run(seed=1, curve=Curve(curve.step, curve.validation, curve.test * 2, curve.sparsity))


@pytest.mark.parametrize(
    "other",
    [make_run(seed=1, best_test=0.125), make_run(seed=1, ended_early=True), with_other_weights(), with_another_curve()],
    ids=["number", "flag", "weights", "curve"],
)
def test_rows_that_conflict_are_reported_and_stay(store: Store, other: Run) -> None:
    store.append(make_runs(3))
    assert store.conflicts() == ()
    store.append([other, make_run(seed=2)])
    before, key = everything(store), (other.spec.id, 1, "torch")
    for packed in (False, True, True):
        if packed:
            store.pack()
            assert (store.duplicates, store.summary().files) == (1, 1)
        assert store.conflicts() == Store(store.path).conflicts() == (key,)
        assert_equal(everything(store), before)
    done = CliRunner().invoke(main, ["store", "check", "--store", str(store.path)], catch_exceptions=False)
    assert done.exit_code == 1
    assert f"conflict: spec {other.spec.id}, engine torch, seed 1" in done.stdout


def test_copies_are_no_conflict(store: Store, tmp_path: Path) -> None:
    diverged = {"best_gate": -np.float64("nan"), "end_test": float("nan"), "ended_early": True}
    runs = [*make_runs(2, make_spec(iterations=100_000)), make_run(seed=9, **diverged)]
    for _ in range(2):
        store.append(runs)
    thin(store, tmp_path / "small")
    store.merge(tmp_path / "small")
    assert store.duplicates == 6
    assert store.conflicts() == ()
    done = CliRunner().invoke(main, ["store", "check", "--store", str(store.path)], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (0, "3 sound runs, 0 damaged files\n")
    store.pack()
    assert store.duplicates == 0


def test_a_curve_of_every_record_covers_a_thinned_one(store: Store) -> None:
    spec = make_spec(iterations=1_000_000)
    run = make_run(spec)
    store.append([run])
    step = np.arange(0, 1_000_001, 1000)
    whole = Curve(step, *np.zeros((3, len(step)), np.float32))
    for name in ("validation", "test", "sparsity"):
        getattr(whole, name)[np.searchsorted(step, run.curve.step)] = getattr(run.curve, name)
    store.append([make_run(spec, curve=whole)])
    store.pack()
    assert store.duplicates == 0
    assert everything(store)["curve_step"].iloc[0].tolist() == step.tolist()


def test_a_damaged_row_that_counted_gives_way_to_its_copy(store: Store) -> None:
    store.append([make_run()])
    [best] = store.path.glob("part-*")
    nothing = np.empty(0, np.float32)
    store.append([make_run(best_weights=nothing, end_weights=nothing)])
    assert len(store.load(columns=["best_weights"])["best_weights"].item())
    best.write_bytes(best.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="set aside"):
        assert not len(store.load(columns=["best_weights"])["best_weights"].item())
