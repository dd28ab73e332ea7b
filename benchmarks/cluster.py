"""Measure the cost of a Dask cluster on loopback, and what happens to a campaign whose workers are killed.

A scheduler and two workers with one thread each run as separate processes. First, each worker is killed by SIGKILL
after some processor time and replaced by a new one, until a campaign is complete; its runs are compared with those of
the same engine without a cluster. Then both sides make many short runs, alternately, each with everything to import and
to compile, and once runs 25 times as long. Reported are wall-clock seconds from start to end of the command, and the
processor time of all processes.

    python benchmarks/cluster.py [--quick] [--write]

`--write` writes the tables to `cluster.md`, next to this file.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import distributed
import machine
import pandas as pd
import psutil

from arithmos.store import Store

HERE = Path(__file__).parent
RESULTS = ["best_step", "best_validation", "best_test", "solved_at", "best_weights", "end_weights"]


class Machines:
    """The processes of a cluster.

    Args:
        folder: where they put their files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"
        )
        while not self._file.exists():
            time.sleep(0.1)
        self.address = json.loads(self._file.read_text())["address"]
        self.workers = [self._worker(), self._worker()]

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            "worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"
        )

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(self._file), *options]
        with open(self._folder / "log", "ab") as log:
            return subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)

    def kill_those_past(self, cpu_s: float) -> int:
        """Kills the workers that have had so much processor time, and starts others; how many."""
        old = [place for place, worker in enumerate(self.workers) if cpu_of(worker) > cpu_s]
        for place in old:
            self.workers[place].kill()
            self.workers[place].wait()
            self.workers[place] = self._worker()
        return len(old)

    def ready(self) -> None:
        """Returns when both workers are there."""
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(2)

    def cpu_s(self) -> float:
        """Processor time of all, so far."""
        return sum(map(cpu_of, (self.scheduler, *self.workers)))

    def stop(self) -> None:
        """Ends all."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a process."""
    spent = psutil.Process(process.pid).cpu_times()
    return spent.user + spent.system


@dataclass(frozen=True)
class Spent:
    """What a command took: seconds by the clock, and of processor time."""

    wall_s: float
    cpu_s: float


class Campaign:
    """A command that is running.

    Args:
        store: where its runs go.
        options: what it is to run.
        dask: scheduler; without it, this machine on two threads.
    """

    def __init__(self, store: Path, options: Sequence[str], dask: str | None = None) -> None:
        where = ["--jobs", "2"] if dask is None else ["--dask", dask]
        command = [sys.executable, "-m", "arithmos", "run", *options, *where, "--store", str(store)]
        self._begun = time.monotonic()
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def wait(self, seconds: float) -> bool:
        """Waits for so long; whether it has ended."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        if status:
            raise SystemExit(f"a campaign ended with status {status}")
        return True

    def spent(self) -> Spent:
        """Waits for the end."""
        _, status, usage = os.wait4(self._process.pid, 0)
        if status:
            raise SystemExit(f"a campaign ended with status {status}")
        return Spent(time.monotonic() - self._begun, usage.ru_utime + usage.ru_stime)


def kills(folder: Path, options: Sequence[str], life_s: float) -> list[object]:
    """Kills workers until a campaign is complete; a row of the table."""
    Campaign(folder / "plain", options).spent()
    machines = Machines(folder)
    try:
        machines.ready()
        begun, killed = time.monotonic(), 0
        campaign = Campaign(folder / "killed", options, machines.address)
        while not campaign.wait(0.2):
            killed += machines.kill_those_past(life_s)
        took = time.monotonic() - begun
    finally:
        machines.stop()
    store, plain = Store(folder / "killed"), Store(folder / "plain")
    pd.testing.assert_frame_equal(store.load(columns=RESULTS), plain.load(columns=RESULTS))
    command, stored = "arithmos run " + " ".join(options), f"{len(store)} of {len(plain)}"
    return [f"`{command}`", f"{life_s:.0f}", killed, f"{took:.0f}", stored, store.duplicates, 0]


def overhead(folder: Path, options: Sequence[str], repeats: int) -> str:
    """Times the plain engine and the cluster in turns."""
    folder.mkdir()
    found: dict[str, list[Spent]] = {"cpu engine, 2 threads": [], "Dask, 2 workers": []}
    for turn in range(repeats):
        os.environ["XDG_CACHE_HOME"] = str(folder / f"cache-plain-{turn}")
        found["cpu engine, 2 threads"].append(Campaign(folder / f"plain-{turn}", options).spent())
        os.environ["XDG_CACHE_HOME"] = str(folder / f"cache-dask-{turn}")
        (folder / f"{turn}").mkdir()
        machines = Machines(folder / f"{turn}")
        try:
            machines.ready()
            before = machines.cpu_s()
            client = Campaign(folder / f"dask-{turn}", options, machines.address).spent()
            found["Dask, 2 workers"].append(Spent(client.wall_s, client.cpu_s + machines.cpu_s() - before))
        finally:
            machines.stop()
        print(turn, {name: spent[-1] for name, spent in found.items()}, file=sys.stderr)
    middle = {
        name: Spent(*(statistics.median(getattr(one, key) for one in spent) for key in ("wall_s", "cpu_s")))
        for name, spent in found.items()
    }
    plain = next(iter(middle.values()))
    command = "arithmos run " + " ".join(options)
    rows = []
    for name, one in middle.items():
        wall, cpu = one.wall_s / plain.wall_s - 1, one.cpu_s / plain.cpu_s - 1
        rows.append([name, f"{one.wall_s:.1f}", f"{wall:+.1%}", f"{one.cpu_s:.1f}", f"{cpu:+.1%}"])
    return machine.table([f"`{command}`", "seconds", "against plain", "processor seconds", "against plain"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few runs, to see that all works")
    parser.add_argument("--life", type=float, nargs=2, default=(10, 16), metavar="S", help="of workers: torch, cpu")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="turns of the overhead")
    parser.add_argument("--write", action="store_true", help="write cluster.md")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))  # the cluster ends with us
    # No sigmoids: torch rounds them differently in stacks of another size, and chunks that workers died over are split.
    torch = ["table-2", "--engine", "torch", "--models", "NMU,NAU,Linear", "--iterations", "4000"]
    torch += ["--seeds", "5" if options.quick else "20"]
    cpu = ["table-1", "--engine", "cpu", "--models", "NMU", "--iterations"]
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for command, life_s in (
            (torch, options.life[0]),
            ([*cpu, "50000", "--seeds", "100" if options.quick else "4000"], options.life[1]),
        ):
            folder = Path(temporary, command[2])
            folder.mkdir()
            rows.append(kills(folder, command, life_s))
            print(rows[-1], file=sys.stderr)
        seeds = "100" if options.quick else "2000"
        short = overhead(Path(temporary, "short"), [*cpu, "20000", "--seeds", seeds], options.repeats)
        long = overhead(Path(temporary, "long"), [*cpu, "500000", "--seeds", seeds], 1)
    killed = machine.table(
        ["command", "worker life, s", "kills", "seconds", "stored", "stored twice", "runs that differ"], rows
    )
    text = f"""# A Dask cluster on loopback

{machine.describe("distributed")} Made by `benchmarks/cluster.py`.

Two workers run a campaign. Each is killed by SIGKILL after the given seconds of processor time and replaced by a new
one, until the campaign is complete. Imports take about 2 of these seconds, the kernel of the cpu engine 5. The runs
are compared to the bit with those of the same command without a cluster on this machine:

{killed}

Short runs: seconds from start to end of the command, median of {options.repeats} repetitions. Both
sides start without compiled kernels:

{short}

What a cluster costs is imports and compilation, once per campaign and worker. With runs 25 times as long, once:

{long}
"""
    print(text)
    if options.write:
        (HERE / "cluster.md").write_text(text)


if __name__ == "__main__":
    main()
