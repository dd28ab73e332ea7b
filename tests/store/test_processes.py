"""Several processes on one store, and processes that are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.factories import make_run, make_spec

from arithmos.store import Store

ROOT = Path(__file__).parents[2]

CAMPAIGNS = """
import os, sys
from arithmos.store import Store
from tests.factories import make_run, make_spec, make_state

def campaign(path, seeds):
    store, spec = Store(path), make_spec()
    with store.writer(flush_s=0) as writer:
        for count, seed in enumerate(store.missing(spec, seeds)):
            store.suspend(spec, seed, "torch", make_state(seed))
            writer.add(make_run(spec, seed))
            print(seed, flush=True)
            if count % 5 == 4:
                store.pack()

for line in sys.stdin:
    first, stop = map(int, line.split())
    pid = os.fork()
    if pid == 0:
        campaign(sys.argv[1], range(first, stop))
        os._exit(0)
    print("started", pid, flush=True)
    print("ended", os.waitpid(pid, 0)[1], flush=True)
"""
"""A line on stdin starts a campaign, in a process of its own that need not import everything again."""


@contextmanager
def campaigns(store: Store) -> Iterator["Campaigns"]:
    command = [sys.executable, "-c", CAMPAIGNS, str(store.path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Campaigns(process)


class Campaigns:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout
        self.reported: list[int] = []

    def start(self, first: int, stop: int) -> None:
        self.stdin.write(f"{first} {stop}\n")
        self.stdin.flush()

    def kill_after(self, seconds: float) -> None:
        words = self._words()
        while words[0] != "started":
            words = self._words()
        time.sleep(seconds)
        os.kill(int(words[1]), signal.SIGKILL)

    def wait(self) -> int:
        """Exit status of the campaign."""
        while (words := self._words())[0] != "ended":
            pass
        return int(words[1])

    def _words(self) -> list[str]:
        words = self.stdout.readline().split()
        if words[0].isdigit():
            self.reported.append(int(words[0]))
        return words


def test_two_processes_append_and_pack_at_once(store: Store, tmp_path: Path) -> None:
    copy = Store(tmp_path / "copy")
    with campaigns(store) as one, campaigns(store) as other:
        one.start(0, 15)
        other.start(1000, 1015)
        for turn in range(100):
            store.load()  # a reader in between meets no half of anything
            if turn % 20 == 19 and store.path.exists():
                copy.merge(store)
                copy.pack()
            time.sleep(0.02)
        assert one.wait() == other.wait() == 0
    copy.merge(store)
    for each in (store, copy):
        assert each.missing(make_spec(), [*range(15), *range(1000, 1015)]) == ()
    assert store.damaged == store.suspended == ()
    store.pack()
    assert (len(store.load()), store.summary().files, store.duplicates) == (30, 1, 0)


def test_kills_lose_nothing_that_was_reported(store: Store) -> None:
    moments = random.Random(0)
    with campaigns(store) as campaign:
        for _ in range(8):
            campaign.start(0, 1000)
            campaign.kill_after(moments.uniform(0.02, 0.4))
            assert campaign.wait() == signal.SIGKILL
            assert store.missing(make_spec(), campaign.reported) == ()
            assert store.damaged == ()
        stored = store.load(columns=["best_test"])
        campaign.start(0, len(stored) + 5)
        assert campaign.wait() == 0
    assert len(set(campaign.reported)) == len(campaign.reported) >= 5
    found = store.load(columns=["best_test"]).set_index("seed").best_test.to_dict()
    assert found == {seed: make_run(seed=seed).best_test for seed in range(len(stored) + 5)}
    store.pack()
    assert (len(store), store.duplicates) == (len(found), 0)
