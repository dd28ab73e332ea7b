"""A campaign whose plug is pulled, again and again."""

import random
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from arithmos.store import Store

KILLS = 20


def _run(store):
    options = ["--models", "NMU,NACMul", "--seeds", "40", "--iterations", "100000", "--engine", "cpu", "--jobs", "1"]
    command = [sys.executable, "-m", "arithmos", "run", "table-1", *options, "--store", str(store)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _results(store):
    columns = ["best_step", "best_validation", "best_test", "solved_at", "best_weights", "end_weights"]
    return Store(store).load(columns=columns)


@pytest.mark.slow
def test_twenty_kills_lose_nothing_and_change_nothing(tmp_path):
    begun = time.monotonic()
    whole = _run(tmp_path / "whole")
    output, _ = whole.communicate(timeout=600)
    assert whole.returncode == 0, output
    expected, duration = _results(tmp_path / "whole"), time.monotonic() - begun
    assert len(expected) == 80

    rng, stored = random.Random(1), 0
    for _ in range(KILLS):
        process = _run(tmp_path / "cut")
        time.sleep(rng.uniform(0.2, 0.8) * duration)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        now = len(Store(tmp_path / "cut"))
        assert now >= stored, "a stored run was lost"
        stored = now
    last = _run(tmp_path / "cut")
    output, _ = last.communicate(timeout=600)
    assert last.returncode == 0, output
    store = Store(tmp_path / "cut")
    assert store.duplicates == 0
    pd.testing.assert_frame_equal(_results(tmp_path / "cut"), expected)
