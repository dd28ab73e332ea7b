"""Measure planning and reading with a store of 200,000 rows in 2,000 parts, plans of 10⁶ runs and more, huge inputs,
and the pages on the runs in `results/`.

The store is made from `results/`: the same runs under other engines and with other seeds, each with weights and a
learning curve, 100 rows per part in random order, as nine campaigns would leave them. Each command runs in a separate
process; its processor time, wall time and peak resident memory are measured, and the size of the largest page.

    python benchmarks/load.py [--before SRC] [--write]

`--before` names the `src` folder of another version to compare with; `--write` writes the tables to `load.md`, next to
this file.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import machine
import numpy as np

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
ROWS, PARTS = 200_000, 2_000
ENGINES = ("cuda", "cpu", "torch")
SEEDS_APART = 10_000
LIMIT_S, LIMIT_MB = 60, 2_000
"""A command is ended after so many seconds of processor time, or when it takes so much memory."""

SWEEP = """\
models = "NMU"
task.operation = "mul"
optimizer.lr = [{rates}]
"""

STORE = ("--store", "large")
PLAN = ("run", "--engine", "cpu", "--dry-run", *STORE)
VERBS = {
    "`run --dry-run`, 10⁶ runs of 3 specs": (*PLAN, "table-1", "--seeds", "333334"),
    "`run --dry-run`, 10⁶ runs of 10,000 specs": (*PLAN, "sweep.toml"),
    "`run --dry-run`, 6.6·10⁷ runs of 66 specs": (*PLAN, "all-models", "--seeds", "1000000"),
    "`list`": ("list", *STORE),
    "`table all-models`": ("table", "all-models", *STORE),
    "`verdict`": ("verdict", *STORE),
    "`claims`": ("claims", *STORE),
    "`report`": ("report", *STORE),
    "`store info`": ("store", "info", *STORE),
}

PAGE = "page.html"
PAGES = {
    "`report --paper madsen2020`": "madsen2020",
    "`report --paper heim2020`": "heim2020",
    "`report --paper ranking`": "ranking",
}

FIT = ("fit", "--target", "y", "--budget", "5s")
INPUTS = {
    "TOML, a key of 100,000 names": ("table", "key.toml"),
    "CSV, 300,000 constant columns": (*FIT, "wide.csv"),
    "CSV, a first line of 200 MB": (*FIT, "head.csv"),
    "safetensors, 10⁶ layers": ("-c", "import arithmos.export as e; e.load_safetensors('deep.safetensors')"),
    "CSV, two columns with the same name": (*FIT, "twice.csv"),
}


def make(folder: Path) -> None:
    """Write the store and all files that the commands read."""
    rates = ", ".join(f"{rate:.8g}" for rate in np.geomspace(1e-5, 1e-1, 10_000))
    (folder / "sweep.toml").write_text(SWEEP.format(rates=rates))
    (folder / "key.toml").write_text(".".join("a" * 100_000) + " = 1\n")
    names = [*(f"x{number}" for number in range(300_000)), "y"]
    rows = [",".join(["1"] * 300_000 + [str(row)]) for row in range(5)]
    (folder / "wide.csv").write_text("\n".join([",".join(names), *rows]))
    (folder / "head.csv").write_text("x" * 200_000_000 + ",y\n1,2\n")
    (folder / "twice.csv").write_text("x,x,y\n" + "".join(f"{row},{row * row},{2 * row}\n" for row in range(20)))
    layer = {"unit": "NAU", "version": 1, "options": {"in_features": 1, "out_features": 1}}
    network = json.dumps([layer] * 10**6, separators=(",", ":"))
    header = json.dumps({"__metadata__": {"format": "pt", "arithmos.network": network}}).encode()
    (folder / "deep.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    enlarge(RESULTS, folder / "large")


def enlarge(source: Path, folder: Path) -> None:
    """Write a store of many rows in many parts out of a small one: campaign after campaign, engine after engine."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from arithmos.store._folder import Folder
    from arithmos.store._schema import RUNS

    def replaced(table: pa.Table, name: str, values: object) -> pa.Table:
        field = RUNS.field(name)
        return table.set_column(RUNS.get_field_index(name), field, pa.array(values, field.type))

    table = whole(pa.concat_tables(Folder(source, "part", RUNS).tables(RUNS.names).values()).combine_chunks())
    digits = pc.equal(table["task"], "digits").to_numpy()
    random, store, rows = np.random.default_rng(0), Folder(folder, "part", RUNS), []
    for campaign in range(-(-ROWS // len(table))):
        first, engine = divmod(campaign, len(ENGINES))
        rows += [(first, ENGINES[engine], row) for row in random.permutation(np.flatnonzero(~digits))]
        rows += [(campaign, "torch", row) for row in random.permutation(np.flatnonzero(digits))]
    for start in range(0, ROWS, ROWS // PARTS):
        first, engines, places = zip(*rows[start : start + ROWS // PARTS], strict=True)
        part = table.take(places)
        part = replaced(part, "seed", np.asarray(part["seed"]) + SEEDS_APART * np.array(first))
        store.add(replaced(part, "engine", engines))


def whole(table):
    """Rows of a thinned store, one per spec and seed, each with weights and a curve of a run of its spec."""
    import pandas as pd
    import pyarrow as pa

    from arithmos.store import HEAVY

    kept = pd.Series(np.arange(len(table))).where(table["best_weights"].is_valid().to_numpy())
    rows = pa.array(kept.groupby(table["spec_id"].to_pandas()).transform("first"), pa.int64())
    for name in HEAVY:
        number = table.schema.get_field_index(name)
        table = table.set_column(number, table.schema.field(number), table[name].take(rows))
    again = table.select(["spec_id", "seed"]).to_pandas().duplicated()  # another engine's
    return table.filter(pa.array(~again))


def measure(source: Path, command: Sequence[str], folder: Path) -> tuple[str, list[str]]:
    """Run a command of a version; returns how it ended, and its processor seconds, wall seconds and peak resident MB.

    The peak is that of the command, or of the largest of its children.
    """
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-P", *(command if command[0] == "-c" else ("-m", "arithmos", *command))],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(source.resolve())},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S)),
    )
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        if resident_mb(process.pid) > LIMIT_MB:
            process.kill()
        time.sleep(0.05)
    _, status, usage = ended
    killed = os.WIFSIGNALED(status)
    ending = "stopped" if killed else "refused" if os.WEXITSTATUS(status) else "done"
    over = "> " if killed else ""
    seconds = usage.ru_utime + usage.ru_stime, time.monotonic() - begun
    return ending, [*(f"{over}{value:.1f}" for value in seconds), f"{over}{usage.ru_maxrss * 1024 / 1e6:,.0f}"]


def resident_mb(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def runs(paper: str) -> str:
    """Return the number of runs in `results/` that the page on a paper is about."""
    from arithmos.papers import PAPERS
    from arithmos.store import Store

    specs = {spec.id for experiment in PAPERS[paper].experiments for spec in experiment.specs}
    return f"{len(Store(RESULTS).load(specs=specs, columns=[])):,}"


def text(large: Path, verbs: list[list[str]], pages: list[list[str]], inputs: list[list[str]], sides: list[str]) -> str:
    from arithmos.store import Store

    found = Store(large).summary()
    units = ("processor s", "wall s", "peak MB")
    return "\n\n".join(
        [
            "# Large stores, large plans, large inputs",
            f"{machine.describe('pyarrow', 'pandas', 'torch')} Made by `benchmarks/load.py`, with other work on both "
            "cores, on which wall times depend. Each command ran once, in a separate process, from start to end; "
            "imports take 350 MB and 2 to 3 s of it. A command is stopped at "
            f"{LIMIT_S} s of processor time or {LIMIT_MB:,} MB; a `>` precedes what it had used by then.",
            f"## A store of {found.runs:,} runs",
            f"The store has {found.specs} specs and {found.files:,} files with {found.bytes / 1e6:.0f} MB in total.",
            machine.table(["", *(f"{unit}, {side}" for side in sides for unit in units)], verbs),
            "## Pages on the runs in `results/`",
            machine.table(["", "runs", *(f"{unit}, {side}" for side in sides for unit in (*units, "page MB"))], pages),
            "## Inputs that are too large or wrong",
            machine.table(["", *(f"{unit}, {side}" for side in sides for unit in ("answer", *units))], inputs),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="SRC", help="src folder of another version")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep store and files there, or use those there")
    parser.add_argument("--only", metavar="WORD", default="", help="only the commands whose line has this word")
    parser.add_argument("--write", action="store_true", help="write load.md")
    parser.add_argument("--make", type=Path, metavar="DIR", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(options.make)
        return
    sources = {"0.1": options.before} if options.before else {}
    sources["now"] = HERE.parent / "src"
    verbs, pages, inputs = [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "large").is_dir():  # in another process: the peak of a child begins at that of its parent
            subprocess.run([sys.executable, __file__, "--make", str(folder)], check=True)
        for line, command in [*VERBS.items(), *INPUTS.items()]:
            if options.only in line:
                measured = [measure(source, command, folder) for source in sources.values()]
                if line in VERBS and any(answer == "refused" for answer, _ in measured):
                    raise SystemExit(f"{line} failed")
                if line in VERBS:
                    verbs.append([line, *(figure for _, figures in measured for figure in figures)])
                else:
                    inputs.append([line, *(value for answer, figures in measured for value in (answer, *figures))])
                print(line, *measured, flush=True)
        for line, paper in PAGES.items():
            if options.only in line:
                row = [line, runs(paper)]
                for source in sources.values():
                    command = ("report", "--store", str(RESULTS), "--paper", paper, "--output", PAGE)
                    row += measure(source, command, folder)[1]
                    row.append(f"{(folder / PAGE).stat().st_size / 1e6:.2f}")
                    (folder / PAGE).unlink()
                pages.append(row)
                print(*row, flush=True)
        written = text(folder / "large", verbs, pages, inputs, [*sources])
    print(written)
    if options.write:
        (HERE / "load.md").write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
