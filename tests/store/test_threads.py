"""Arrow's threads are left alone."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.factories import make_runs

from arithmos.store import Store

READ = """
import os, sys
from arithmos.store import Store
threads = lambda: len(os.listdir("/proc/self/task"))
before = threads()
store = Store(sys.argv[1])
assert len(store) == 6  # reads every part from memory, once it is verified
assert store.check() == ()
print(threads() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not list threads")
def test_no_thread_of_arrow_holds_our_bytes(tmp_path: Path) -> None:
    """One that releases them while Python exits needs the interpreter, and aborts the process: status 134."""
    for run in make_runs(6):
        Store(tmp_path).append([run])
    command = [sys.executable, "-c", READ, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"
