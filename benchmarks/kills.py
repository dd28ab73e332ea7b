"""Kill campaigns three hundred times, and check that no run is lost, stripped, duplicated or different.

Campaigns of 500 runs (Table 1, NMU, 10,000 iterations, cpu engine) are killed by SIGKILL at random times and restarted
on the same store until they are complete. There are seven scenarios:

- cold: the command `arithmos run`, from the start of Python: imports, compilation, planning, training, storing;
- run: `bench.run` in a process forked from one that has compiled the kernel, so that all of its time is the campaign;
- each: the same, but every run is stored immediately, not every five seconds, so that a third of the time is storing;
- pack: the same, with a second process that packs the store continuously; both are killed;
- thin: the same, with a packer, a process that repeatedly thins the store into a small one and merges it back, and a
  process that thins the small store into the large one, the wrong way round; all four are killed;
- torch: the command with the torch engine, in campaigns of their own of 520 short runs, in stacks of 256;
- dask: the command with `--dask local:1`, in campaigns of their own; its worker must end by itself.

A run counts as reported when `Store.append` has returned and the process has written its seed to a pipe or, for the
command, when this process has found it in the store. After every kill the whole store is read again. The numbers are
compared to the bit with those of an undisturbed campaign; a run is stripped if weights or records of its curve are
missing. At the end, campaigns of longer runs are stopped by SIGINT and SIGTERM, and resume in the middle of their runs.

    python benchmarks/kills.py [--kills 300] [--signals 40] [--write]

`--write` writes the table to `kills.md` and the figure to `kills.svg`, next to this file.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import machine
import numpy as np
import pandas as pd

from arithmos import bench
from arithmos.engines import Job, Run
from arithmos.engines.cpu import CpuEngine
from arithmos.judging.thin import thin as write_small
from arithmos.spec import Spec
from arithmos.store import COLUMNS, HEAVY, KEY, Store, Writer

HERE = Path(__file__).parent
SHARES = {"cold": 0.06, "run": 0.18, "each": 0.18, "pack": 0.18, "thin": 0.28, "torch": 0.06, "dask": 0.06}
LIFE_S = {"cold": 5.0, "run": 10.0, "each": 4.0, "pack": 4.0, "thin": 4.0}
"""The longest lives, by kind, after the time in which the first run is stored."""
KEPT = 1
"""Runs that keep their weights in the small store, of the solved ones and of the others."""
VOLATILE = ("elapsed_s", "written")
"""Columns of a run that are not its numbers."""


class Campaign(NamedTuple):
    seeds: int
    iterations: int
    engine: str = "cpu"
    more: tuple[str, ...] = ("--jobs=1",)
    """Further options of the command."""

    @property
    def options(self) -> dict[str, object]:
        return {"models": ["NMU"], "seeds": self.seeds, "iterations": self.iterations, "engine": self.engine}

    def spec(self) -> Spec:
        [part] = bench.select(["table-1"], models=["NMU"], iterations=self.iterations)
        return part.specs[0]

    def run(self, store: Store) -> None:
        bench.run(["table-1"], **self.options, threads=1, store=store)  # type: ignore[arg-type]

    def command(self, store: Path) -> list[str]:
        options = [f"--{name}={value[0] if isinstance(value, list) else value}" for name, value in self.options.items()]
        return [sys.executable, "-m", "arithmos", "run", "table-1", *options, *self.more, f"--store={store}"]


SHORT, LONG = Campaign(500, 10_000), Campaign(60, 400_000)
OTHERS = {"torch": Campaign(520, 20, "torch", ()), "dask": Campaign(200, 10_000, more=("--dask=local:1",))}
"""Campaigns of the scenarios that have others than `SHORT`."""


class Reporting(Store):
    """Says what it has stored, once it has."""

    def append(self, runs: Iterable[Run]) -> None:
        made = list(runs)
        super().append(made)
        os.write(1, f"stored {' '.join(str(run.seed) for run in made)}\n".encode())


class Eager(Reporting):
    """Stores every run at once."""

    def writer(self, **options: Any) -> Writer:
        return super().writer(**options | {"flush_s": 0.0})


def pack(path: Path) -> None:
    store = Store(path)
    while True:
        store.pack()
        time.sleep(0.02)


def small(path: Path) -> Path:
    """The small store beside a store."""
    return path.with_name(f"{path.name}-small")


def thin(path: Path) -> None:
    store = Store(path)
    while True:
        if len(store):
            write_small(store, small(path), keep=KEPT)
            store.merge(small(path))
        time.sleep(0.02)


def thin_back(path: Path) -> None:
    while True:
        if small(path).is_dir():
            write_small(Store(small(path)), path, keep=0)
            Store(small(path)).pack()
        time.sleep(0.02)


LIVES: dict[str, tuple[Callable[[Path], None], ...]] = {
    "run": (lambda path: SHORT.run(Reporting(path)),),
    "each": (lambda path: SHORT.run(Eager(path)),),
    "pack": (lambda path: SHORT.run(Eager(path)), pack),
    "thin": (lambda path: SHORT.run(Eager(path)), pack, thin, thin_back),
    "long": (lambda path: LONG.run(Reporting(path)),),
}


def serve() -> None:
    """For each line on stdin, a kind of life and a store, forks the processes of that life.

    It waits for their end after the next line: until then their numbers are nobody else's, though they may have ended.
    """
    list(CpuEngine(1).run([Job(SHORT.spec(), (0,))]))
    print("ready", flush=True)
    while line := sys.stdin.readline():
        kind, path = line.split()
        for life in LIVES[kind]:
            pid = os.fork()
            if pid == 0:
                try:
                    life(Path(path))
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            print("started", pid, flush=True)
        print("all", flush=True)
        sys.stdin.readline()
        for _ in LIVES[kind]:
            print("ended", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)


class Server:
    """The process from which campaigns are forked, seen from outside."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self.reported: set[int] = set()
        self._read("ready")

    def live(self, kind: str, store: Path, wait: Callable[[], object], number: int = signal.SIGKILL) -> list[int]:
        """Starts a life, waits, and ends it; returns how its processes ended, as their exit codes."""
        if kind == "cold":
            return cold(SHORT, store, wait)
        pids = self._start(kind, store)
        wait()
        for pid in pids:
            os.kill(pid, number)
        return self._wait(pids)

    def whole(self, kind: str, store: Path) -> None:
        """A life that nobody disturbs."""
        if self._wait(self._start(kind, store)) != [0]:
            raise SystemExit("the undisturbed campaign failed")

    def _start(self, kind: str, store: Path) -> list[int]:
        self._in.write(f"{kind} {store}\n")
        self._in.flush()
        return self._read("all")["started"]

    def _wait(self, pids: list[int]) -> list[int]:
        self._in.write("wait\n")
        self._in.flush()
        return [self._read("ended")["ended"][0] for _ in pids]

    def _read(self, last: str) -> dict[str, list[int]]:
        """The numbers of the lines up to the one that begins with a word."""
        found: dict[str, list[int]] = {}
        word = ""
        while word != last:
            word, *numbers = self._out.readline().split() or [last]
            found.setdefault(word, []).extend(map(int, numbers))
        self.reported |= set(found.get("stored", []))
        return found


@contextmanager
def server() -> Iterator[Server]:
    command = [sys.executable, __file__, "--server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()


def cold(campaign: Campaign, store: Path, wait: Callable[[], object]) -> list[int]:
    """A life of the command; the processes that it started must end within a minute of it."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(campaign.command(store), start_new_session=True, **quiet) as process:
        wait()
        process.kill()
    for _ in range(600):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return [process.returncode]
        time.sleep(0.1)
    raise SystemExit(f"a process of session {process.pid} did not end with its campaign")


def until_stored(path: Path) -> float:
    """Seconds from now until there is a run in a store."""
    begun, store = time.monotonic(), Store(path)
    while not len(store):
        time.sleep(0.1)
    return time.monotonic() - begun


def numbers(store: Store) -> pd.DataFrame:
    """All that is stored of the runs but how long they took and when, by seed."""
    columns = [name for name in COLUMNS if name not in (*KEY, *VOLATILE)]
    return store.load(columns=columns).set_index("seed", drop=False)


def different(rows: pd.DataFrame, expected: pd.DataFrame) -> int:
    """How many rows are not, to the bit, those of the undisturbed campaign."""
    wanted = expected.loc[rows.index]
    unequal = np.zeros(len(rows), bool)
    for name in rows:
        for number, (a, b) in enumerate(zip(rows[name], wanted[name], strict=True)):
            unequal[number] |= not same(a, b)
    return int(unequal.sum())


def stripped(rows: pd.DataFrame, expected: pd.DataFrame) -> int:
    """How many rows have fewer weights or records than those of the undisturbed campaign."""
    columns = [name for name in HEAVY if expected[name].notna().any()]
    lengths = [frame[columns].map(lambda values: 0 if values is None else len(values)) for frame in (rows, expected)]
    return int((lengths[0] < lengths[1].loc[rows.index]).any(axis=1).sum())


def same(a: object, b: object) -> bool:
    """Two values of a column, which may be numbers, texts, arrays or missing."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.tobytes() == b.tobytes()
    return bool(a == b or (a != a and b != b))


@dataclass
class Tally:
    """What became of all lives."""

    campaigns: int = 0
    compared: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    unfinished: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    stripped: int = 0
    conflicts: int = 0
    failed: int = 0
    small: int = 0
    twice: int = 0
    different: int = 0
    damaged: int = 0
    most_copies: int = 0
    events: list[dict[str, object]] = field(default_factory=list)


class Disturbed:
    """A campaign under attack."""

    def __init__(self, path: Path, expected: pd.DataFrame, tally: Tally) -> None:
        self.store, self.expected, self.tally = Store(path), expected, tally
        self.reported: set[int] = set()
        self.hidden = 0

    def check(self, kind: str) -> int:
        """Reads the whole store after a life; returns how many runs it has."""
        tally = self.tally
        rows = numbers(self.store)
        self.reported |= {*rows.index}
        tally.lost += len(self.reported - {*rows.index})
        tally.twice += int(rows.index.duplicated().sum())
        tally.stripped += stripped(rows, self.expected)
        tally.different += different(rows, self.expected)
        tally.conflicts += len(self.store.conflicts())
        tally.damaged += len(self.store.damaged)
        tally.most_copies = max(tally.most_copies, self.store.duplicates)
        hidden = len(list(self.store.path.glob(".unfinished-*")))
        tally.unfinished[kind] += max(0, hidden - self.hidden)
        self.hidden = hidden
        return len(rows)

    def finish(self) -> None:
        """The campaign is complete: pack it, and look at it with other eyes."""
        self.store.pack()
        fresh = Store(self.store.path)
        rows = numbers(fresh)
        if len(rows) != len(self.expected) or fresh.duplicates or fresh.check():
            raise SystemExit(f"{self.store.path} is not whole")
        self.tally.stripped += stripped(rows, self.expected)
        self.tally.different += different(rows, self.expected)
        self._finish_small()
        self.tally.campaigns += 1
        self.tally.compared += len(rows)

    def _finish_small(self) -> None:
        """The small store, brought up to date, has every run, and weights of a few."""
        if not small(self.store.path).is_dir():
            return
        copy = Store(small(self.store.path))
        write_small(self.store, copy, keep=KEPT)
        rows = numbers(copy)
        light = [name for name in rows if name not in HEAVY]
        if len(rows) != len(self.expected) or different(rows[light], self.expected[light]) or copy.check():
            raise SystemExit(f"{copy.path} is not whole")
        self.tally.small += 1


def attack(folder: Path, source: Server, kills: int, rng: random.Random, tally: Tally) -> None:
    """Kills campaigns until so many processes have been killed, and lets the last one finish."""
    source.whole("run", folder / "whole")
    expected = numbers(Store(folder / "whole"))
    lives = {}
    for kind, life_s in LIFE_S.items():
        begun = time.monotonic()
        source.live(kind, folder / kind, lambda kind=kind: until_stored(folder / kind))
        lives[kind] = time.monotonic() - begun + life_s
    begun, number = time.monotonic(), 0
    left = Counter({kind: round(share * kills) for kind, share in SHARES.items() if kind not in OTHERS})
    while left.total() > 0:
        source.reported, path = set(), folder / f"cut-{number}"
        target = Disturbed(path, expected, tally)
        while left.total() > 0:
            kind = rng.choice(sorted(left.elements()))
            life = rng.uniform(0, lives[kind])
            codes = source.live(kind, path, lambda life=life: time.sleep(life))
            killed = codes.count(-signal.SIGKILL)
            tally.failed += sum(code not in (0, -signal.SIGKILL) for code in codes)
            tally.kills[kind] += killed
            left[kind] = max(0, left[kind] - killed)
            target.reported |= source.reported
            count = target.check(kind)
            minute = (time.monotonic() - begun) / 60
            if killed:
                tally.events.append({"minute": minute, "campaign": number, "runs": count, "kind": kind})
            if tally.kills.total() % 20 < killed:
                print(f"{minute:.1f} min: {tally.kills.total()} kills, campaign {number} has {count} runs", flush=True)
            if count == len(expected):
                break
        if count < len(expected):
            source.whole("run", path)
            count = target.check("run")
            minute = (time.monotonic() - begun) / 60
        tally.events.append({"minute": minute, "campaign": number, "runs": count, "kind": "complete"})
        target.finish()
        number += 1


def attack_others(folder: Path, kills: int, rng: random.Random, tally: Tally) -> None:
    """Kills the command in the scenarios with campaigns of their own, and lets the last campaign of each finish."""
    for kind, campaign in OTHERS.items():
        begun = time.monotonic()
        subprocess.run(campaign.command(folder / kind), check=True, stdout=subprocess.DEVNULL)
        whole_s, expected = time.monotonic() - begun, numbers(Store(folder / kind))
        number, left = 0, round(SHARES[kind] * kills)
        while left > 0:
            target = Disturbed(folder / f"{kind}-{number}", expected, tally)
            while target.check(kind) < len(expected):
                if left <= 0:
                    subprocess.run(campaign.command(target.store.path), check=True, stdout=subprocess.DEVNULL)
                    continue
                life = rng.uniform(0.1, 0.8) * whole_s
                [code] = cold(campaign, target.store.path, lambda life=life: time.sleep(life))
                tally.failed += code not in (0, -signal.SIGKILL)
                tally.kills[kind] += code == -signal.SIGKILL
                left -= code == -signal.SIGKILL
            target.finish()
            number += 1
        print(f"{kind}: {tally.kills[kind]} kills, {number} campaigns", flush=True)


def interrupt(folder: Path, source: Server, signals: int, rng: random.Random, tally: Tally) -> dict[str, int]:
    """Stops campaigns of longer runs by SIGINT and SIGTERM; returns what was seen."""
    source.whole("long", folder / "long-whole")
    expected = numbers(Store(folder / "long-whole"))
    seen = Counter({"sent": 0, "suspended": 0, "campaigns": 0, "codes other than 0": 0})
    while seen["sent"] < signals:
        source.reported, path = set(), folder / f"long-{seen['campaigns']}"
        target = Disturbed(path, expected, tally)
        while len(target.store) < len(expected):
            number = (signal.SIGINT, signal.SIGTERM)[seen["sent"] % 2]
            # Not in the first instants: before `bench.run` listens, a signal just ends the process.
            [code] = source.live("long", path, lambda: time.sleep(rng.uniform(1.0, 6.0)), number)
            seen["sent"] += 1
            seen["codes other than 0"] += code != 0
            seen["suspended"] += len(target.store.suspended)
            target.reported |= source.reported
            target.check("long")
        target.finish()
        seen["campaigns"] += 1
    return seen


def text(tally: Tally, seen: dict[str, int]) -> str:
    kinds = [[kind, tally.kills[kind], tally.unfinished[kind]] for kind in SHARES]
    return "\n\n".join(
        [
            f"# {tally.kills.total()} kills",
            f"{machine.describe('numba', 'pyarrow', 'torch')} Made by `benchmarks/kills.py`, see its docstring.",
            machine.table(["scenario", "processes killed", "unfinished files left"], kinds),
            machine.table(
                ["all scenarios", ""],
                [
                    ["campaigns completed", tally.campaigns],
                    ["runs compared at the end", f"{tally.compared:,}"],
                    ["small stores, thinned and merged back, that were complete at the end", tally.small],
                    ["runs lost after they were reported as stored", tally.lost],
                    ["runs whose weights or curves were stripped", tally.stripped],
                    ["runs stored with different numbers", tally.conflicts],
                    ["runs that appear twice in results", tally.twice],
                    ["runs whose numbers differ in any bit", tally.different],
                    ["damaged files", tally.damaged],
                    ["processes that failed without being killed", tally.failed],
                    ["largest number of copies of runs on disk, before a pack removed them", tally.most_copies],
                ],
            ),
            f"SIGINT and SIGTERM were sent {seen['sent']} times, alternately, during campaigns of {LONG.seeds} runs of "
            f"{LONG.iterations:,} iterations (campaigns: {seen['campaigns']}). {seen['suspended']} suspended runs were "
            f"found and resumed, and {seen['codes other than 0']} processes ended with an exit code other than 0. The "
            "table above includes them.",
            "![Runs stored over time, with every kill](kills.svg)",
        ]
    )


def draw(tally: Tally, path: Path) -> None:
    import altair as alt

    from arithmos.report.charts.files import save
    from arithmos.report.charts.style import BLUE, GOLD, GRAY, GREEN, PURPLE, RED, styled

    frame = pd.DataFrame(tally.events)
    kinds, colors = [*LIFE_S, "complete"], [BLUE, RED, GOLD, GRAY, PURPLE, GREEN]
    base = alt.Chart(frame).encode(
        alt.X("minute:Q", title="minutes"), alt.Y("runs:Q", title="runs in the store of the campaign")
    )
    lines = base.mark_line(color=GRAY, strokeWidth=1, opacity=0.6).encode(alt.Detail("campaign:N"))
    marks = base.mark_point(size=36, filled=True, opacity=0.9).encode(
        alt.Color("kind:N", title="killed in", scale=alt.Scale(domain=kinds, range=colors)),
        alt.Shape("kind:N", title="killed in", scale=alt.Scale(domain=kinds)),
    )
    save(styled((lines + marks).properties(width=640, height=280)), path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300, help="processes to kill")
    parser.add_argument("--signals", type=int, default=40, help="times SIGINT and SIGTERM are sent, in turns")
    parser.add_argument("--seed", type=int, default=0, help="of the instants")
    parser.add_argument("--write", action="store_true", help="write kills.md and kills.svg")
    parser.add_argument("--server", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.server:
        serve()
        return
    tally, rng = Tally(), random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder, server() as source:
        attack(Path(folder), source, options.kills, rng, tally)
        attack_others(Path(folder), options.kills, rng, tally)
        seen = interrupt(Path(folder), source, options.signals, rng, tally)
    written = text(tally, seen)
    print(written)
    if options.write:
        (HERE / "kills.md").write_text(written + "\n", encoding="utf-8")
        draw(tally, HERE / "kills.svg")


if __name__ == "__main__":
    main()
