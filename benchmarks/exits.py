"""Count the exit statuses of every command on a machine that is too busy.

A process can fail after its work is done: while Python exits, a thread of a library that asks for the interpreter is
ended, and if that happens inside C++ the process aborts with status 134. It takes a thread that is late, as threads
are where many processes share few cores. So every command is run many times, several at once for each core. With
`--late`, threads other than the first wait 0.1 s whenever they ask for the interpreter, which finds in ten runs what
load finds in hundreds; it needs a C compiler and a shared library of Python.

    python benchmarks/exits.py [--times 200] [--at-once 6] [--late] [--only "store merge"] [--log exits.tsv] [--write]

`--log` keeps every end in a file as it comes; started again with that file, only what is missing is run. `--write` puts
the table into `exits.md` next to this file, or `exits-late.md`; `--times 0 --log … --write` only the table of a log.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import machine

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.factories import make_run, make_spec  # noqa: E402

from arithmos.store import Store  # noqa: E402

SPEC = make_spec()
SMALL = "run table-1 --models NMU --seeds 2 --iterations 1000"
COMMANDS = {
    "list": "list",
    "models": "models",
    "show": "show table-1",
    "show a run": f"show {SPEC.id} 0",
    "run --dry-run": "run table-1 --dry-run",
    "run --engine cpu": f"{SMALL} --engine cpu",
    "run --engine torch": f"{SMALL} --engine torch",
    "run --dask": f"{SMALL} --engine torch --dask local:1",
    "table": "table table-1",
    "figure": "figure table-1 -o figure.svg",
    "verdict": "verdict table-1",
    "claims": "claims",
    "judges": "judges",
    "report": "report -o report.html",
    "fit": "fit data.csv --target y",
    "export": f"export {SPEC.id} 0 --to network.c",
    "store info": "store info",
    "store check": "store check",
    "store merge": "store merge others",
    "store pack": "store pack",
    "store thin": "store thin --into small",
}

LATE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

int PyGILState_Ensure(void) {
    int (*ensure)(void) = dlsym(RTLD_NEXT, "PyGILState_Ensure");
    if (syscall(SYS_gettid) != getpid()) usleep(100000);
    return ensure();
}
"""


def prepare(folder: Path) -> None:
    """Two stores of a few parts each, and a table of numbers."""
    for offset, name in enumerate(("runs", "others")):
        for seed in range(5):
            Store(folder / name).append([make_run(SPEC, seed=5 * offset + seed)])
    rows = [f"{a},{b},{a * b}" for a in range(1, 9) for b in range(1, 9)]
    (folder / "data.csv").write_text("\n".join(["a,b,y", *rows]) + "\n", encoding="utf-8")


def compile_late(folder: Path) -> Path:
    """A library that makes threads late, to be loaded before all others."""
    library = folder / "late.so"
    (folder / "late.c").write_text(LATE, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(folder / "late.c"), "-ldl"], check=True)
    return library


def end_of(command: str, template: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Exit status of a command, and the last line of its messages."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(template, folder, dirs_exist_ok=True)
        words = [sys.executable, "-m", "arithmos", *command.split()]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, " ".join((done.stderr.strip().splitlines() or [""])[-1].split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=3 * len(os.sched_getaffinity(0)))
    parser.add_argument("--late", action="store_true")
    parser.add_argument("--only", action="append", choices=COMMANDS)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    ends: dict[str, Counter[tuple[int, str]]] = {name: Counter() for name in COMMANDS}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.at_once) as pool:
        path = options.log or Path(scratch, "log")
        path.touch()
        for line in path.read_text(encoding="utf-8").splitlines():
            name, status, message = line.split("\t")
            ends[name][int(status), message] += 1
        template = Path(scratch, "template")
        prepare(template)
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        if options.late:
            environment["LD_PRELOAD"] = str(compile_late(Path(scratch)))
        names = options.only or list(COMMANDS)
        turns = [name for turn in range(options.times) for name in names if turn >= ends[name].total()]
        results = pool.map(lambda name: end_of(COMMANDS[name], template, environment), turns)
        with path.open("a", encoding="utf-8") as log:
            for name, end in zip(turns, results, strict=True):
                ends[name][end] += 1
                print(name, *end, sep="\t", file=log, flush=True)
                if end[0]:
                    print(name, *end, flush=True)
    rows = []
    for name, counts in ends.items():
        others = "; ".join(f"{count} × {status}: {line}" for (status, line), count in counts.items() if status)
        rows.append([f"`{COMMANDS[name]}`", counts.total(), sum(n for (s, _), n in counts.items() if not s), others])
    rows.append(["all", *(sum(row[column] for row in rows) for column in (1, 2)), ""])
    text = machine.table(["command", "runs", "status 0", "other ends"], [row for row in rows if row[1]])
    print(text)
    if options.write:
        about = machine.describe("torch", "pyarrow", "pandas", "scipy")
        kind = "threads made late" if options.late else f"{options.at_once} at once"
        head = f"# Exit statuses\n\n{about} Made by `benchmarks/exits.py`, whose head says how; {kind}.\n\n"
        (HERE / ("exits-late.md" if options.late else "exits.md")).write_text(head + text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
