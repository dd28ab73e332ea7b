"""Files in a store that somebody else has written: other columns, other types, other values, or no Parquet at all."""

import hashlib
import json
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner
from tests.factories import make_run, make_runs, make_spec, make_state

from arithmos.cli import main
from arithmos.judging.thin import thin
from arithmos.papers import EXPERIMENTS
from arithmos.report import summarize, verdicts
from arithmos.report.page.provenance import made, others
from arithmos.report.page.samples import samples
from arithmos.store import COLUMNS, Store, _part
from arithmos.store._part import NewerError
from arithmos.store._schema import RUNS, STATES, row_of_state, table_of_runs
from arithmos.store._schema import now as at_once

from . import named
from .files import broken_bytes, broken_text
from .values import json_like

SPEC = make_spec()
EXPERIMENT = EXPERIMENTS["table-1"]


def store_part(rng: random.Random, folder: Path) -> str:
    """A part that has the right name: it is set aside and named, or can be used for everything."""
    store = Store(folder)
    store.append(make_runs(2))
    store.suspend(SPEC, 7, "cpu", make_state())
    before = store.load(specs=[SPEC]).drop(columns="written")
    kind = rng.choice(["part", "part", "part", "state"])
    name = _part.place(folder / ("" if kind == "part" else "_suspended"), kind, foreign(rng, kind))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            for use in rng.sample(USES, 3):
                use(Store(folder))
            damaged = dict(Store(folder).damaged)
        except NewerError as error:
            return named(error, [name])
        assert Store(folder).load(specs=[SPEC]).drop(columns="written").iloc[:2].equals(before), "sound runs changed"
    if damaged:
        assert any(name in str(warning.message) for warning in warned)
        assert [file.endswith(name) for file in damaged] == [True]
        return "refused"
    return "accepted"


def command(*arguments: str) -> Callable[[Store], None]:
    """A command on a store, which says what it cannot do in a line."""

    def run(store: Store) -> None:
        done = CliRunner().invoke(main, [*arguments, "--store", str(store.path)], catch_exceptions=False)
        assert done.exit_code in (0, 1, 2), done.output

    return run


def resume(store: Store) -> None:
    for seed in (7, 8):
        for engine in ("cpu", "torch"):
            store.resume(SPEC, seed, engine)


USES: list[Callable[[Store], object]] = [
    len,
    lambda store: store.missing(SPEC, range(5)),
    lambda store: store.load(columns=list(COLUMNS)),
    Store.summary,
    Store.check,
    Store.pack,
    resume,
    made,
    others,
    lambda store: samples(store, "released"),
    lambda store: summarize(store, EXPERIMENT),
    lambda store: verdicts(store, [EXPERIMENT]),
    lambda store: Store(f"{store.path}-merged").merge(store),
    command("show", SPEC.id),
    command("show", SPEC.id, "9"),
    command("show", EXPERIMENT.specs[0].id, "8"),
    command("table", EXPERIMENT.name),
    command("list"),
    command("run", EXPERIMENT.name, "--dry-run"),
    command("store", "info"),
    command("store", "check"),
    command("judges", EXPERIMENT.name),
    command("show", EXPERIMENT.specs[0].id, "8", "--formula"),
    lambda store: thin(store, f"{store.path}-thinned"),
    Store.curves,
]
"""What a store is used for."""


def foreign(rng: random.Random, kind: str) -> bytes:
    """Bytes of a part that is not quite one."""
    table = runs(rng) if kind == "part" else states()
    change = rng.choice([columns, types, nulls, values, values, specs, metadata, bytes_, other_parquet])
    return change(rng, table, kind)


def runs(rng: random.Random) -> pa.Table:
    spec = rng.choice([SPEC, *EXPERIMENT.specs])
    return table_of_runs([make_run(spec, seed) for seed in (8, 9)], at_once())


def states() -> pa.Table:
    return pa.Table.from_pylist([row_of_state(SPEC, 8, "cpu", make_state()) | {"written": at_once()}], schema=STATES)


def columns(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """Columns are gone, there twice, in another order, or under another name."""
    names = list(table.schema.names)
    change = rng.randrange(4)
    if change == 0:
        return _part.encode(table.drop_columns(rng.sample(names, rng.randrange(1, 4))), kind)
    if change == 1:
        rng.shuffle(names)
        return _part.encode(table.select(names), kind)
    if change == 2:
        return _part.encode(
            table.append_column(rng.choice(["more", "seed", "é", ""]), pa.array([1] * len(table))), kind
        )
    return _part.encode(table.rename_columns([f"{n}_" if n == rng.choice(names) else n for n in names]), kind)


KINDS: list[Callable[[int], pa.Array]] = [
    lambda n: pa.array(["x"] * n),
    lambda n: pa.array(["1"] * n),
    lambda n: pa.array([1.5] * n),
    lambda n: pa.array([float("nan")] * n),
    lambda n: pa.array([2**62] * n),
    lambda n: pa.array([-1] * n, pa.int8()),
    lambda n: pa.array([True] * n),
    lambda n: pa.array([b"\xff"] * n),
    lambda n: pa.array([[1.0]] * n),
    lambda n: pa.array([[["x"]]] * n),
    lambda n: pa.array([{"a": 1}] * n),
    lambda n: pa.nulls(n),
    lambda n: pa.array(["x"] * n).dictionary_encode(),
]


def types(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """Columns of another type."""
    for _ in range(rng.choice([1, 1, 3])):
        at = rng.randrange(table.num_columns)
        table = table.set_column(at, table.schema.names[at], rng.choice(KINDS)(len(table)))
    return _part.encode(table, kind)


def nulls(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """Columns with nothing in them."""
    for _ in range(rng.choice([1, 1, 3])):
        at = rng.randrange(table.num_columns)
        field = table.schema.field(at)
        table = table.set_column(at, field, pa.nulls(len(table), field.type))
    return _part.encode(table, kind)


def values(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """Columns of the right type with values that make no sense."""
    for _ in range(rng.choice([1, 1, 2])):
        at = rng.randrange(table.num_columns)
        field = table.schema.field(at)
        table = table.set_column(
            at, field, pa.array([nonsense(rng, field.type) for _ in range(len(table))], field.type)
        )
    return _part.encode(table, kind)


def nonsense(rng: random.Random, kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return [nonsense(rng, kind.value_type) for _ in range(rng.randrange(4))]
    if pa.types.is_map(kind):
        return [(nonsense(rng, kind.key_type), nonsense(rng, kind.item_type)) for _ in range(rng.randrange(4))]
    if pa.types.is_integer(kind):
        return rng.choice([-1, 2, 2**31, 2**62, -(2**62)])  # not the seeds of sound runs, whose first row counts
    if pa.types.is_floating(kind):
        return rng.choice([0.0, -1.0, 1e30, float("nan"), float("inf")])
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_binary(kind):
        return rng.choice([b"", b"\x93NUMPY", b"\x80\x04."])
    if pa.types.is_timestamp(kind):
        return rng.choice([0, 2**60, -(2**60)])
    value = json_like(rng)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else json.dumps(str(value)[:99])


def specs(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """Another spec, with its own id; what follows from it does not."""
    if kind != "part":
        return values(rng, table, kind)
    text = table["spec"][0].as_py()
    text = json.dumps(json_like(rng)) if rng.random() < 0.3 else broken_text(rng, text)
    text = text.encode("utf-8", "replace").decode()
    spec_id = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    for name, value in (("spec", text), ("spec_id", spec_id)):
        field = table.schema.field(name)
        table = table.set_column(table.schema.get_field_index(name), field, pa.array([value] * len(table), field.type))
    return _part.encode(table, kind)


def metadata(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """What a part says of itself."""
    said: dict[bytes, bytes] = {
        _part.KIND: rng.choice([kind.encode(), b"part", b"state", b"", b"\xff"]),
        _part.SCHEMA_VERSION: rng.choice([b"1", b"2", b"0", b"-1", b"99", b"x", b"", b"\xff", b"9" * 5000]),
        _part.PACKAGE_VERSION: rng.choice([b"0.1", b"\xff", b""]),
    }
    for name in rng.sample(list(said), rng.randrange(2)):
        del said[name]
    return plain(table.replace_schema_metadata(said))


def bytes_(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """No Parquet, or a broken one; its name has the digest of what it is."""
    texts = [b"", b"PAR1", b"PAR1PAR1", b"spec_id,seed\n1,2\n", b"\0" * 4096]
    return rng.choice(texts) if rng.random() < 0.3 else broken_bytes(rng, _part.encode(table, kind))


def other_parquet(rng: random.Random, table: pa.Table, kind: str) -> bytes:
    """Somebody else's Parquet file."""
    return plain(rng.choice([pa.table({"a": [1]}), pa.table({}), RUNS.empty_table(), table.slice(0, 0), table]))


def plain(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data
