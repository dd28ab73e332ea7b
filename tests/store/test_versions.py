"""Stores of other times: an older schema, a newer one, and files that an earlier arithmos really wrote."""

import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.factories import make_run, make_runs, make_spec, make_state

from arithmos.cli import main
from arithmos.store import COLUMNS, NewerError, Store, _migrations
from arithmos.store._schema import PREFIXES

GOLDEN = Path(__file__).parents[1] / "golden"


def in_version(version: int, monkeypatch: pytest.MonkeyPatch, store: Store) -> None:
    """Stores a run and a suspended one as an arithmos of another schema would."""
    with monkeypatch.context() as other:
        other.setattr(_migrations, "VERSION", version)
        store.append([make_run(seed=1)])
        store.suspend(make_spec(), 5, "cpu", make_state())


def test_a_newer_store_is_refused_and_left_alone(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(make_runs(1))
    in_version(7, monkeypatch, store)
    before = sorted(store.path.rglob("*"))
    newer = rf"part-\w+\.parquet has version 7.*reads up to version {_migrations.VERSION}: update arithmos"
    for read in (
        store.load,
        store.pack,
        store.prepare,
        store.check,
        lambda: store.missing(make_spec(), [0]),
        lambda: Store(tmp_path / "other").merge(store),
    ):
        with pytest.raises(NewerError, match=newer):
            read()
    assert sorted(store.path.rglob("*")) == before


def test_newer_states_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(make_runs(1))
    in_version(7, monkeypatch, store)
    for part in store.path.glob("part-*"):
        part.unlink()
    with pytest.raises(NewerError, match=r"state-\w+\.parquet has version 7"):
        store.append([make_run(seed=2)])


COMMANDS = (
    *("list", "run table-1", "table table-1", "figure table-1", "verdict", "claims", "judges", "report"),
    *(f"show {make_spec().id}", f"show {make_spec().id} 1", f"show {make_spec().id} 1 --formula"),
    *(f"export {make_spec().id} 1 --to network.safetensors",),
    *("store info", "store check", "store pack", "store thin --into small", "store merge empty"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_newer_store_is_named_in_a_line(
    store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(store.path.parent)
    Path("empty").mkdir()
    in_version(7, monkeypatch, store)
    done = CliRunner().invoke(main, [*command.split(), "--store", str(store.path)], catch_exceptions=False)
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1
    assert "update arithmos to read this store" in done.stderr
    assert done.stdout == ""
    assert capfd.readouterr().err == ""  # of other processes
    assert {path.name for path in Path().iterdir()} == {"empty", store.path.name}


def test_a_report_on_newer_states_is_refused_in_a_line(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    in_version(7, monkeypatch, store)
    for part in store.path.glob("part-*"):
        part.unlink()
    arguments = ["report", "--store", str(store.path), "-o", str(tmp_path / "report.html")]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 1
    assert "update arithmos to read this store" in done.stderr.splitlines()[-1]
    assert capfd.readouterr().err == ""
    assert not (tmp_path / "report.html").exists()


def test_an_older_store_is_brought_up_to_date(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append(make_runs(2))
    store.suspend(make_spec(), 5, "cpu", make_state(3))

    def double(table: pa.Table) -> pa.Table:
        doubled = pa.array([2 * value for value in table["elapsed_s"].to_pylist()])
        return table.set_column(table.schema.names.index("elapsed_s"), "elapsed_s", doubled)

    before = store.load(columns=["elapsed_s"]).elapsed_s
    now = _migrations.VERSION
    monkeypatch.setattr(_migrations, "VERSION", now + 2)
    monkeypatch.setattr(_migrations, "MIGRATIONS", {("part", now): double, ("part", now + 1): double})
    monkeypatch.setattr(_migrations, "sources", lambda stored, wanted: ["elapsed_s"])
    store.append([make_run(seed=9, elapsed_s=0.5)])
    assert store.load(columns=["elapsed_s"]).elapsed_s.tolist() == [*(4 * before), 0.5]
    for packed in (False, True):
        if packed:
            store.pack()
        read = Store(store.path)
        assert read.load().elapsed_s.tolist() == [*(4 * before), 0.5]
        state = read.resume(make_spec(), 5, "cpu")
        assert state is not None
        assert int(state["step"]) == 3


@pytest.mark.parametrize("old", sorted(GOLDEN.glob("store-*")), ids=lambda path: path.name)
def test_a_store_that_was_written_long_ago_is_read(tmp_path: Path, old: Path) -> None:
    """A change of the columns needs a new version, a step in `MIGRATIONS`, and a store of the new version beside these.

    Each has two runs and a suspended one in it.
    """
    shutil.copytree(old, tmp_path / "runs")
    store = Store(tmp_path / "runs")
    assert store.check() == ()
    rows = store.load(columns=list(COLUMNS))
    written = pd.read_parquet(tmp_path / "runs")
    assert len(written) == 2
    for column in written.columns.intersection([*PREFIXES]):
        values = pd.DataFrame([*map(dict, written.pop(column))]).add_prefix(PREFIXES[column])
        written = written.join(values)
    assert written.pop("curve_lengths").isna().all() if "curve_lengths" in written else True  # a column until 4
    written = written[[name for name in written if name not in _migrations.EXTRA]]
    pd.testing.assert_frame_equal(rows[list(written)], written)
    assert rows.drop(columns=list(written)).isna().all(axis=None)
    assert {name for name in written if name.startswith("solved_at_")} == {"solved_at_released", "solved_at_corrected"}
    assert len(store.suspended) == 1


def test_packing_brings_a_store_up_to_date_for_good(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "store-4", tmp_path / "runs")
    store = Store(tmp_path / "runs")
    before, states = store.load(columns=list(COLUMNS)), store.suspended
    store.pack()
    [part] = store.path.glob("part-*")
    assert pq.read_schema(part).names == list(COLUMNS)
    pd.testing.assert_frame_equal(Store(store.path).load(columns=list(COLUMNS)), before)
    assert Store(store.path).suspended == states
    store.pack()
    assert [*store.path.glob("part-*")] == [part]
