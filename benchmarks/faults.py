"""Count the faults that a store survives: a full disk at every call, another process at every call, damaged bytes.

- Full disk: every call by which an operation changes the disk fails once, and again together with all later calls.
- Races: one operation is stopped before each of its calls, including reads, while another operation runs completely.
- Damage: random bits are flipped in random parts of a store of real runs, parts are cut short, and blocks of 4 KiB
  are set to zero, as happens with disks, memory and file systems. The store must name the file and return exactly the
  other rows. For comparison, plain Parquet readers read the same bytes, each in a separate process, because some crash.

The store must keep the rules of the tests (`tests/store/operations.py`); this program stops if one is broken.

    python benchmarks/faults.py [--flips 1000] [--write]

`--write` writes the tables to `faults.md`, next to this file.
"""

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.faults import Disk  # noqa: E402
from tests.store.operations import OPERATIONS, PAIRS, fail, race  # noqa: E402

from arithmos.store import COLUMNS, KEY, Store  # noqa: E402

RUNS, PARTS = 200, 5
OUTCOMES = ("an error", "a crash", "no difference", "wrong rows, no error")
BLOCK = 4096


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def full_disk() -> str:
    """Calls that met a full disk, by operation and kind of call."""
    rows, total = [], 0
    for operation in OPERATIONS:
        with scratch() as folder, pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch)
            once = fail(folder / "once", disk, operation, lasting=False)
            met = Counter(disk.met)
            lasting = fail(folder / "lasting", disk, operation, lasting=True)
        total += once + lasting
        rows.append([operation.name, *(met[name] for name in Disk.CHANGES), once + lasting, once + lasting])
        print(rows[-1], flush=True)
    rows.append(["all", *["" for _ in Disk.CHANGES], total, total])
    return machine.table(["operation", *Disk.CHANGES, "faults", "store whole afterwards"], rows)


def races() -> str:
    """Calls before which somebody else did something, by pair of operations."""
    counts = {}
    for one, other in PAIRS:
        with scratch() as folder, pytest.MonkeyPatch.context() as patch:
            counts[one.name, other.name] = race(folder, Disk(patch, reads=True), one, other)
        print(one.name, other.name, counts[one.name, other.name], flush=True)
    others = [operation.name for operation in OPERATIONS]
    ones = dict.fromkeys(one for one, _ in counts)
    rows = [[one, *(counts[one, other] for other in others)] for one in ones]
    return machine.table(["stopped", *(f"for {other}" for other in others)], rows) + (
        f"\n\n{sum(counts.values()):,} of {sum(counts.values()):,} races lost no data."
    )


def parts_of_results(folder: Path) -> Store:
    """Some runs of Table 2 in a few parts."""
    source = Store(shutil.copytree(HERE.parent / "results", folder / "results"))
    [table] = source._runs.tables(list(COLUMNS)).values()
    store = Store(folder / "store")
    for start in range(0, RUNS, RUNS // PARTS):
        store._runs.add(table.slice(start, RUNS // PARTS))
    return store


def flip(data: bytearray, rng: np.random.Generator) -> None:
    data[rng.integers(len(data))] ^= 1 << rng.integers(8)


def cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[rng.integers(len(data)) :]


def zero(data: bytearray, rng: np.random.Generator) -> None:
    begin = rng.integers(len(data) // BLOCK) * BLOCK
    data[begin : begin + BLOCK] = bytes(BLOCK)


def read_plainly(data: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(data), use_threads=False)


def read_checksums(data: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(data), use_threads=False, page_checksum_verification=True)


READERS: dict[str, Callable[[bytes], pa.Table]] = {
    "page checksums verified": read_checksums,
    "as any tool reads it": read_plainly,
}


def in_a_child(work: Callable[[], int]) -> int:
    """What some work that may crash, hang or eat all memory returns; 1 if it does."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**32,) * 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            os._exit(work())
        except BaseException:
            os._exit(0)
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1


def outcome(read: Callable[[bytes], pa.Table], data: bytes, sound: pa.Table) -> int:
    """What a reader makes of damaged bytes, as an index of `OUTCOMES`."""
    return in_a_child(lambda: 2 if same(read(data), sound) else 3)


def same(a: pa.Table, b: pa.Table) -> bool:
    """Two tables are equal, to the bit."""
    return a.schema.equals(b.schema) and all(
        _bits(a[name].combine_chunks()).equals(_bits(b[name].combine_chunks())) for name in a.schema.names
    )


def _bits(array: pa.Array) -> pa.Array:
    if pa.types.is_list(array.type):
        return pa.ListArray.from_arrays(array.offsets, _bits(array.values), mask=array.is_null())
    whole = {pa.float64(): pa.int64(), pa.float32(): pa.int32()}
    return array.view(whole[array.type]) if array.type in whole else array


def damage(count: dict[str, int]) -> str:
    """Damages parts, and sees who notices."""
    rng = np.random.default_rng(0)
    found: dict[tuple[str, str], Counter[int]] = {}
    with scratch() as folder:
        store = parts_of_results(folder)
        parts = sorted(store.path.glob("part-*"))
        sizes = np.array([part.stat().st_size for part in parts])
        rows = {part: read_plainly(part.read_bytes()) for part in parts}
        plain = {part: _as_pandas_writes(rows[part]) for part in parts}
        columns = [*KEY, "best_test", "end_weights"]
        everything = store.load(columns=columns)
        for kind, harm in (("flipped bits", flip), ("cut short", cut), ("zeroed blocks", zero)):
            for number in range(count[kind]):
                part = parts[rng.choice(len(parts), p=sizes / sizes.sum())]
                sound = part.read_bytes()
                damaged = sound
                while damaged == sound:
                    harmed = bytearray(sound)
                    harm(harmed, rng)
                    damaged = bytes(harmed)
                part.write_bytes(damaged)
                _must_be_named(store.path, part, rows[part], everything, columns)
                part.write_bytes(sound)
                found.setdefault((kind, "our store"), Counter())[0] += 1
                for name, read in READERS.items():
                    found.setdefault((kind, name), Counter())[outcome(read, damaged, rows[part])] += 1
                harmed = bytearray(plain[part])
                harm(harmed, rng)
                result = outcome(read_plainly, bytes(harmed), read_plainly(plain[part]))
                found.setdefault((kind, "as pandas writes and reads it"), Counter())[result] += 1
                if number % 100 == 0:
                    print(kind, number, flush=True)
    table = [
        [kind, reader, counts.total(), *(counts[number] for number in range(len(OUTCOMES)))]
        for (kind, reader), counts in found.items()
    ]
    return machine.table(["damage", "reader", "files", *OUTCOMES], table)


def _as_pandas_writes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _must_be_named(path: Path, part: Path, lost: pa.Table, everything: pd.DataFrame, columns: list[str]) -> None:
    """A store that nobody has looked at yet sets the part aside, and has the rows of all others."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        store = Store(path)
        found = store.load(columns=columns)
    gone = set(zip(*(lost[name].to_pylist() for name in KEY), strict=True))
    kept = [key not in gone for key in zip(*(everything[name] for name in KEY), strict=True)]
    pd.testing.assert_frame_equal(found, everything[kept].reset_index(drop=True), check_exact=True)
    if [name for name, _ in store.damaged] != [part.name] or part.name not in str(said[0].message):
        raise SystemExit(f"{part.name} is damaged and was not named")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000, help="bits to flip, each in a sound store")
    parser.add_argument("--write", action="store_true", help="write faults.md")
    options = parser.parse_args()
    sections = [
        "# Faults",
        f"{machine.describe('numpy', 'pandas', 'pyarrow')} Made by `benchmarks/faults.py`, see its docstring.",
        "## A full disk at every call",
        full_disk(),
        "The columns in the middle count the calls of one pass. `faults` counts two passes; in the second the disk "
        "stays full.",
        "## Another process at every call",
        races(),
        "## Damaged bytes",
        f"Parts of {RUNS} runs of Table 2, {RUNS // PARTS} in each. An error is the desired outcome.",
        damage({"flipped bits": options.flips, "cut short": options.flips // 5, "zeroed blocks": options.flips // 5}),
        "Our store reports a file as damaged if its digest does not match its name, whatever it contains. Page "
        "checksums, which its parts also have, do not cover the headers and the footer.",
    ]
    written = "\n\n".join(sections)
    print(written)
    if options.write:
        (HERE / "faults.md").write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
