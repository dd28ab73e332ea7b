"""A question that reads a store several times reads each part once, whatever happens to the parts meanwhile."""

from collections import Counter

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.factories import make_run, make_runs, make_spec

from arithmos.spec import Spec
from arithmos.store import COLUMNS, KEY, Store, _part

SPECS = (make_spec(), make_spec("add", "NAU"), make_spec("sub"))


@pytest.fixture
def several(store: Store) -> Store:
    """Runs of several specs and engines in several parts, some of them there twice."""
    for number in range(6):
        spec, engine = SPECS[number % 3], ("cpu", "torch")[number % 2]
        store.append([make_run(spec, seed, engine) for seed in range(number, number + 4)])
    store.append([make_run(SPECS[0], 1, "cpu"), make_run(SPECS[2], 9, "cuda")])
    return store


def by_id() -> list[Spec]:
    return sorted(SPECS, key=lambda spec: spec.id)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each part was opened."""
    counts: Counter[str] = Counter()
    read = _part.read

    def count(source: object, path: object, *rest: object) -> object:
        counts[str(path)] += 1
        return read(source, path, *rest)

    monkeypatch.setattr(_part, "read", count)
    return counts


def assert_equal(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.parametrize("kept", [(), ("best_test", "layers"), tuple(COLUMNS)])
def test_a_snapshot_answers_as_its_store_does(several: Store, kept: tuple[str, ...]) -> None:
    snapshot = several.snapshot(kept)
    everything = several.load(columns=list(COLUMNS))
    assert len(snapshot) == len(several) == len(everything) == 25
    assert snapshot.specs == sorted(spec.id for spec in SPECS)
    assert_equal(snapshot.load(columns=list(COLUMNS)), everything)
    assert_equal(snapshot.load(), several.load())
    for specs in ([SPECS[1]], [SPECS[2].id, SPECS[0]], ["0" * 16], []):
        ids = [spec if isinstance(spec, str) else spec.id for spec in specs]
        part = everything[everything["spec_id"].isin(ids)].reset_index(drop=True)
        assert_equal(
            snapshot.load(specs=specs, columns=["best_test", "best_weights"]), part[[*KEY, "best_test", "best_weights"]]
        )
        assert_equal(snapshot.curves(specs=specs), several.curves(specs=specs))
    rows = everything.iloc[[3, 17, 4]]
    runs = [*rows[list(KEY)].itertuples(index=False, name=None), ("0" * 16, 0, "cpu")]
    found = snapshot.load(runs=runs, columns=["curve_step"])
    assert_equal(found, rows.sort_index()[[*KEY, "curve_step"]].reset_index(drop=True))
    with pytest.raises(KeyError, match="unknown column 'best_tets'; did you mean 'best_test'"):
        snapshot.load(columns=["best_tets"])


def test_missing_seeds_are_those_of_an_engine(several: Store) -> None:
    snapshot = several.snapshot()
    for spec in (*SPECS, make_spec("div")):
        for engine in ("cpu", "torch", "cuda"):
            missing = snapshot.missing(spec, 12, engine)
            assert tuple(missing) == several.missing(spec, range(12), engine)


def test_parts_are_opened_once_for_all_columns_that_are_kept(several: Store, opened: Counter[str]) -> None:
    names = ["best_test", "layers", "best_gate"]
    snapshot = Store(several.path).snapshot(names)
    for name in names:
        snapshot.load(columns=[name])
        snapshot.snapshot([name]).load(specs=[SPECS[0]], columns=[name])
    twice = {name for name, count in opened.items() if count > 1}
    assert len(opened) == 7
    assert len(twice) == 2  # the parts of the run that is there twice, to see which of its rows counts


def test_what_parts_are_about_is_read_once(several: Store, opened: Counter[str]) -> None:
    store, seeds = Store(several.path), several.seeds()
    opened.clear()
    for _ in range(3):
        assert len(store) == 25
        assert store.seeds() == seeds
    assert opened.total() == 7
    store.append([make_run(SPECS[2], 20)])
    assert len(store) == 26
    assert opened.total() == 8
    assert len(store.snapshot()) == len(store.snapshot()) == 26
    assert opened.total() == 8 + 2  # the parts of the run that is there twice, to see which of its rows counts


def test_specs_are_described_once(several: Store, opened: Counter[str]) -> None:
    snapshot = several.snapshot()
    opened.clear()
    described = snapshot.described(["layers", "operation"])
    assert opened.total() <= len(SPECS)
    assert described.to_dict("list") == {
        "spec_id": snapshot.specs,
        "layers": [">".join(layer.name for layer in spec.model.layers) for spec in by_id()],
        "operation": [spec.task.operation for spec in by_id()],
    }


def test_other_columns_are_read_from_the_parts_that_have_them(several: Store, opened: Counter[str]) -> None:
    snapshot = several.snapshot()
    opened.clear()
    assert len(snapshot.load(runs=[(SPECS[2].id, 9, "cuda")], columns=["best_weights"])) == 1
    assert opened.total() == 1


def test_a_snapshot_outlives_a_pack(several: Store) -> None:
    snapshot = several.snapshot(["best_test"])
    before = several.load(columns=["best_test", "best_weights"])
    Store(several.path).pack()
    assert len(list(several.path.glob("*.parquet"))) == 1
    assert_equal(snapshot.load(columns=["best_test", "best_weights"]), before)
    several.append(make_runs(3, make_spec("div")))
    assert len(snapshot) == len(before)


def test_a_part_that_is_damaged_after_the_snapshot_is_left_out(several: Store) -> None:
    snapshot = several.snapshot(["best_test"])
    [name] = [path for path in several.path.glob("*.parquet") if 9 in pq.read_table(path)["seed"].to_pylist()][:1]
    gone = pq.read_table(name).num_rows
    name.write_bytes(name.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="is set aside"):
        found = snapshot.load(columns=["best_weights"])
    assert len(found) == len(snapshot) == len(several)
    assert 25 - gone <= len(found) < 25


def test_no_runs(store: Store) -> None:
    snapshot = store.snapshot(["best_test"])
    assert (len(snapshot), snapshot.specs) == (0, [])
    assert snapshot.load(columns=["best_test", "best_weights"]).empty
    assert [*snapshot.missing(SPECS[0], 3, "cpu")] == [0, 1, 2]
    assert np.all(snapshot.curves().columns == [*KEY, "step", "validation", "test", "sparsity"])
