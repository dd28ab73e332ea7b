"""Parts that somebody else has written: what `check` finds sound can be read by every command."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.factories import make_digits_run, make_run, make_runs, make_spec

from arithmos.cli import main
from arithmos.engines.contract import Curve
from arithmos.papers import EXPERIMENTS
from arithmos.spec import Spec
from arithmos.store import HEAVY, Store, _part
from arithmos.store._schema import RUNS, now, table_of_runs

pytestmark = pytest.mark.filterwarnings("ignore:.*is set aside")

SPEC = EXPERIMENTS["table-1"].specs[0]
REFERENCE = EXPERIMENTS["mnist-reference"].specs[0]
READ = next(spec for spec in EXPERIMENTS["mnist-rz"].specs)
PLAIN = json.loads(SPEC.json())
NOTHING = np.empty(0, np.float32)


def part(*runs: Any) -> pa.Table:
    return table_of_runs(runs or [make_run(SPEC, 7)], now())


def changed(table: pa.Table, **columns: Any) -> pa.Table:
    for name, value in columns.items():
        field = RUNS.field(name)
        table = table.set_column(RUNS.get_field_index(name), field, pa.array([value] * len(table), field.type))
    return table


def with_extra(spec: Spec, **values: Any) -> pa.Table:
    """A run on digits of which one value is missing, or another one."""
    return changed(part(run := make_digits_run(spec)), extra=[*(run.extra | values).items()])


def of_spec(text: str) -> pa.Table:
    return changed(part(), spec=text, spec_id=hashlib.blake2b(text.encode(), digest_size=8).hexdigest())


def spec_with(**changes: Any) -> pa.Table:
    return of_spec(json.dumps(PLAIN | changes, sort_keys=True, separators=(",", ":")))


def many_rows() -> pa.Table:
    """A small file of a great many rows, all of them alike."""
    row, count = part().to_pylist()[0], 2**18 + 1
    columns = []
    for field in RUNS:
        if field.name in HEAVY or row[field.name] is None:
            columns.append(pa.nulls(count, field.type))
        elif pa.types.is_nested(field.type):
            columns.append(pa.array([row[field.name]] * count, field.type))
        else:
            columns.append(pa.repeat(pa.scalar(row[field.name], field.type), count))
    return pa.table(columns, RUNS)


UNSOUND: dict[str, Callable[[], pa.Table]] = {
    "an empty object for a spec": lambda: of_spec("{}"),
    "a list for a spec": lambda: of_spec("[]"),
    "null for a spec": lambda: of_spec("null"),
    "a text for a spec": lambda: of_spec('"[["'),
    "no JSON for a spec": lambda: of_spec("[["),
    "a spec nested beyond the recursion limit": lambda: of_spec("[" * 100_000 + "]" * 100_000),
    "a spec nested in itself": lambda: of_spec('{"task":' * 50_000 + "1" + "}" * 50_000),
    "a task of another kind": lambda: spec_with(task=PLAIN["task"] | {"kind": "chess"}),
    "a task without an operation": lambda: spec_with(task={"kind": "arithmetic", "version": 1}),
    "a text for a size": lambda: spec_with(hidden_size="two"),
    "layers that are none": lambda: spec_with(layers=3),
    "options that are none": lambda: spec_with(layers=[{"unit": "NAU", "version": "1", "options": []}]),
    "layers of another spec": lambda: changed(part(), layers="NAU>NAU"),
    "options that are no JSON": lambda: changed(part(), options="[["),
    "an operation of another spec": lambda: changed(part(), operation="add"),
    "a task of another spec": lambda: changed(part(), task="digits"),
    "a length on arithmetic": lambda: changed(part(), length=2),
    "a reading on arithmetic": lambda: changed(part(), extra=[("digit_outputs", [1.0])]),
    "a great many thresholds": lambda: changed(part(), thresholds=[(f"τ{number}", 1.0) for number in range(100)]),
    "a threshold of nothing": lambda: changed(part(), thresholds=[("released", None)]),
    "a step before the first": lambda: changed(part(), solved_at=[("released", -2)]),
    "steps that fall": lambda: changed(part(), **{name: [3] * 6 for name in HEAVY[:4]}),
    "null in a list": lambda: changed(part(), best_weights=[None, 1.0]),
    "digits without a curve": lambda: changed(part(make_digits_run(REFERENCE)), **dict.fromkeys(HEAVY[:4]), extra=[]),
    "digits without errors by length": lambda: with_extra(REFERENCE, curve_lengths=None),
    "digits with too few errors": lambda: with_extra(REFERENCE, curve_lengths=[1.0]),
    "digits with a best step beyond the curve": lambda: changed(part(make_digits_run(REFERENCE)), best_step=10**9),
    "digits with too few numbers read": lambda: with_extra(READ, digit_outputs=[1.0]),
    "digits with too many weights": lambda: changed(part(make_digits_run(READ)), best_weights=[1.0] * 3),
    "digits without weights": lambda: changed(part(make_digits_run(READ)), best_weights=None),
    "more rows than a part has": many_rows,
}

ODD: dict[str, Callable[[], pa.Table]] = {
    "too few weights": lambda: part(make_run(SPEC, 8, best_weights=np.ones(3, np.float32), end_weights=NOTHING)),
    "too many weights": lambda: part(make_run(SPEC, 9, best_weights=np.ones(99, np.float32))),
    "an empty curve": lambda: part(make_run(SPEC, 10, curve=Curve(NOTHING.astype(int), NOTHING, NOTHING, NOTHING))),
    "weights without a curve": lambda: changed(part(make_run(SPEC, 11)), **dict.fromkeys(HEAVY[:4])),
    "a curve without weights": lambda: changed(part(make_run(SPEC, 12)), best_weights=None, end_weights=None),
    "an unknown engine": lambda: part(make_run(SPEC, 13, "abacus")),
    "an unknown processor": lambda: changed(part(make_run(SPEC, 14)), processor="", version="", gpu=None),
    "numbers beyond all measure": lambda: changed(
        part(make_run(SPEC, 15)),
        **dict.fromkeys(("best_test", "best_validation", "end_test"), float("inf")),
        **dict.fromkeys(("best_sparsity", "elapsed_s"), float("nan")),
        thresholds=[("released", float("inf")), ("corrected", float("nan"))],
        best_step=2**32 - 1,
        solved_at=[("released", 2**32 - 1), ("corrected", -1)],
    ),
    "a unit of another version": lambda: changed(
        spec_with(layers=[layer | {"version": "99"} for layer in PLAIN["layers"]]), best_weights=[1.0]
    ),
    "a unit with options that it never had": lambda: changed(
        spec_with(layers=[layer | {"options": {"colour": 1}} for layer in PLAIN["layers"]]),
        options=json.dumps([{"colour": 1}] * len(PLAIN["layers"])),
    ),
    "a task of another version": lambda: spec_with(task=PLAIN["task"] | {"version": 99}),
    "a task with more to it": lambda: spec_with(task=PLAIN["task"] | {"weather": "fine"}),
    "a time long ago": lambda: changed(part(make_run(SPEC, 16)), written=0),
    "a reference that learns arithmetic": lambda: part(make_run(make_spec(model="NAU>SolvedMul"))),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with all of them in it, beside sound runs."""
    store = Store(tmp_path_factory.mktemp("odd") / "runs")
    store.append([*make_runs(4, SPEC), *(make_digits_run(REFERENCE, seed) for seed in range(3)), make_digits_run(READ)])
    for table in (*ODD.values(), *UNSOUND.values()):
        _part.place(store.path, "part", _part.encode(table(), "part"))
    return store.path


@pytest.mark.parametrize("name", UNSOUND)
def test_what_no_command_could_read_is_set_aside(store: Store, name: str) -> None:
    store.append(make_runs(2, SPEC))
    added = _part.place(store.path, "part", _part.encode(UNSOUND[name](), "part"))
    assert [file for file, _ in store.check()] == [added]
    assert len(store.load()) == 2


@pytest.mark.parametrize("name", ODD)
def test_what_is_only_odd_is_sound(store: Store, name: str) -> None:
    _part.place(store.path, "part", _part.encode(ODD[name](), "part"))
    assert store.check() == ()
    assert len(store.load()) == 1


@pytest.mark.parametrize(
    "command",
    [
        *("list", "run table-1 --dry-run", "table table-1", "table mnist-product", "figure table-1 -o chart.html"),
        *("figure mnist-rz -o digits.html", "verdict table-1 mnist-product", "claims", "judges", "report"),
        *(f"show {spec.id}{seed}" for spec in (SPEC, REFERENCE, READ) for seed in ("", " 0")),
        *(f"show {SPEC.id} {seed}" for seed in range(8, 17)),
        *(f"show {SPEC.id} {seed} --formula" for seed in range(8, 17)),
        *(f"export {SPEC.id} {seed} --to network.safetensors" for seed in range(8, 12)),
        *("store info", "store check", "store merge runs --store merged", "store thin --into thinned"),
        "store pack --max-files 99",
    ],
)
def test_every_command_reads_the_rest(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    if command.startswith(("figure", "report")):
        pytest.importorskip("altair")
    monkeypatch.chdir(tmp_path)
    Path("runs").symlink_to(path)
    done = CliRunner().invoke(main, command.split(), catch_exceptions=False)
    if command == "store check":
        assert done.exit_code == 1
    elif "--formula" in command or command.startswith("export"):
        assert done.exit_code in (0, 2)  # a network without its weights has no formula
    else:
        assert done.exit_code == 0, done.output
