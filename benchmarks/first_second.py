"""Measure the first second: cold starts of commands that only answer, and the time of `fit` to its first candidate.

Each command starts ten times in a new process, in turns with the others; reported are medians. Processor time is that
of the process; `import torch`, measured in the same turns, is the yardstick where other work shares the machine.
The largest imports of `--help` are those of `python -X importtime`.

    python benchmarks/first_second.py [--starts 10] [--write]

`--write` writes the tables to `first_second.md`, next to this file.
"""

import argparse
import os
import statistics
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
ARITHMOS = ("-m", "arithmos")
FIT = (*ARITHMOS, "fit", "data.csv", "--target", "force")
CACHE = "XDG_CACHE_HOME"
"""Variable with the folder of the cache."""

YARDSTICK = "`import torch`"
STARTS = {
    "`arithmos --help`": (*ARITHMOS, "--help"),
    "`arithmos --version`": (*ARITHMOS, "--version"),
    "`arithmos --wrong`": (*ARITHMOS, "--wrong"),
    "`arithmos run --sedes 3`": (*ARITHMOS, "run", "--sedes", "3"),
    "`arithmos list`, the first time": (*ARITHMOS, "list"),
    "`arithmos list`, again": (*ARITHMOS, "list"),
    "`arithmos list --store results`, the first time": (*ARITHMOS, "list", "--store", str(RESULTS)),
    "`arithmos fit`, to its first candidate": FIT,
    YARDSTICK: ("-c", "import torch"),
    "`import torch, arithmos.nn`": ("-c", "import torch, arithmos.nn, arithmos.optim"),
}


def data(folder: Path) -> None:
    """Write a table whose formula is force = mass * speed / length."""
    x = np.random.default_rng(0).uniform(1, 5, (300, 4))
    rows = np.column_stack([x, x[:, 0] * x[:, 1] / x[:, 2]])
    np.savetxt(folder / "data.csv", rows, "%.17g", ",", header="mass,speed,length,other,force", comments="")


def start(command: Sequence[str], folder: Path, cache: Path) -> tuple[float, float]:
    """Return processor and wall seconds of a command, of `fit` until its first line about the search."""
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-P", *command],
        cwd=folder,
        env=os.environ | {CACHE: str(cache), "PYTHONDONTWRITEBYTECODE": ""},  # our modules are compiled once
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    if command == FIT:
        assert process.stderr is not None
        process.stderr.readline()
        wall, ticks = time.monotonic() - begun, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        process.kill()
        process.communicate()
        return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"), wall
    _, _, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begun
    process.communicate()
    return usage.ru_utime + usage.ru_stime, wall


def imports(folder: Path) -> list[list[str]]:
    """Return the imports of `--help` that take longest, with those that they cause, outside the standard library."""
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", *ARITHMOS, "--help"], cwd=folder, capture_output=True, text=True
    )
    lines = [line.split("|") for line in done.stderr.splitlines()[1:] if line.startswith("import time:")]
    found = [(int(total), name.strip()) for _, total, name in lines if total.strip().isdigit()]
    ours = [(total, name) for total, name in found if name.partition(".")[0] in ("arithmos", "click")]
    rows = [[f"`{name}`", f"{total / 1000:.1f}"] for total, name in sorted(ours, reverse=True)[:6]]
    alone = sum(int(line[0].rpartition(":")[2]) for line in lines)
    return [*rows, [f"all {len(found)} modules", f"{alone / 1000:.1f}"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="write first_second.md")
    options = parser.parse_args()
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in STARTS}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        data(folder)
        for name, command in STARTS.items():  # compiles our modules
            start(command, folder, folder / ("compiled" if name.endswith("first time") else "kept"))
        for turn in range(options.starts):
            for name, command in STARTS.items():
                cache = folder / (f"{turn}-{len(name)}" if name.endswith("first time") else "kept")
                spent[name].append(start(command, folder, cache))
        largest = imports(folder)
    rows, torch = [], statistics.median(cpu for cpu, _ in spent[YARDSTICK])
    for name, seconds in spent.items():
        cpu, wall = (statistics.median(column) for column in zip(*seconds, strict=True))
        least = min(cpu for cpu, _ in seconds)
        rows.append([name, f"{cpu:.2f}", f"{cpu / torch:.2f}", f"{least:.2f}", f"{wall:.2f}"])
    written = "\n\n".join(
        [
            "# The first second",
            f"{machine.describe('torch', 'click', 'pyarrow')} Made by `benchmarks/first_second.py`, whose head says "
            f"how, with other work on the machine, on which wall times depend; {options.starts} starts each.",
            machine.table(["", "processor s, median", "of that of torch", "least", "wall s, median"], rows),
            "## Imports of `arithmos --help`",
            machine.table(["module, with those that it imports", "ms"], largest),
        ]
    )
    print(written)
    if options.write:
        (HERE / "first_second.md").write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
