"""Measure where the processor time of a Dask cluster on loopback goes, against a command without a cluster.

A campaign of four runs is all start: imports, the kernel, connections. What a longer one takes beyond that is the cost
of its runs. Both sides start without compiled kernels, in turns. Reported are medians of processor seconds, by process.

    python benchmarks/cluster_parts.py [--runs 4 1000] [--repeats 2] [--write]

`--write` writes the table to `cluster_parts.md`, next to this file.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import machine
from cluster import Campaign, Machines, cpu_of

HERE = Path(__file__).parent
PROCESSES = ("plain", "client", "scheduler", "worker that compiles first", "other worker")


def spent(folder: Path, seeds: int) -> list[float]:
    """Return the processor seconds of each of `PROCESSES` for one campaign."""
    options = ["table-1", "--engine", "cpu", "--models", "NMU", "--iterations", "20000", "--seeds", str(seeds)]
    folder.mkdir()
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache-plain")
    plain = Campaign(folder / "plain", options).spent().cpu_s
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache-dask")
    machines = Machines(folder)
    try:
        machines.ready()
        time.sleep(1)  # what the last answer to us takes
        processes = (machines.scheduler, *machines.workers)
        before = [cpu_of(process) for process in processes]
        client = Campaign(folder / "dask", options, machines.address).spent().cpu_s
        scheduler, *workers = (cpu_of(process) - begun for process, begun in zip(processes, before, strict=True))
    finally:
        machines.stop()
    return [plain, client, scheduler, *sorted(workers, reverse=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[4, 1000], metavar="N")
    parser.add_argument("--repeats", type=int, default=2, metavar="N")
    parser.add_argument("--write", action="store_true", help="write cluster_parts.md")
    options = parser.parse_args()
    found: dict[int, list[list[float]]] = {runs: [] for runs in options.runs}
    with tempfile.TemporaryDirectory() as temporary:
        for turn in range(options.repeats):
            for runs, measured in found.items():
                measured.append(spent(Path(temporary, f"{turn}-{runs}"), runs))
                print(runs, measured[-1], file=sys.stderr)
    rows = []
    for runs, measured in found.items():
        plain, *parts = (statistics.median(column) for column in zip(*measured, strict=True))
        rows.append([runs, *(f"{value:.1f}" for value in (plain, sum(parts), *parts))])
    written = "\n\n".join(
        [
            "# Where the processor time of a cluster goes",
            f"{machine.describe('distributed')} Made by `benchmarks/cluster_parts.py`, whose head says how; other "
            f"work ran beside it. Processor seconds, medians of {options.repeats}.",
            machine.table(["runs of 20,000 iterations", "plain", "Dask, all", *PROCESSES[1:]], rows),
            "With four runs one worker has all the work: the client, and the imports of the other worker, come on top. "
            "With 1000 runs the other worker compiles the same kernel at the same time. Both are a price per campaign "
            "and worker, not per run; with kernels in the cache only the imports are left.",
        ]
    )
    print(written)
    if options.write:
        (HERE / "cluster_parts.md").write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
