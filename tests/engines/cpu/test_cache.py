"""Loops from the cache on disk: the same bits as those just compiled, in any process and any order."""

import dataclasses
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from arithmos.engines import code, kernel_cache
from arithmos.engines.contract import Control, Job
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.cpu._cache import LoopCache
from arithmos.engines.cpu.kernel import SIGNATURE
from arithmos.engines.cpu.run import RunState
from arithmos.spec import MODELS, Spec
from arithmos.tasks import TEN_PARAMETERS

TRAIN = """
import sys
from arithmos.engines.contract import Control
from arithmos.engines.cpu.run import RunState
from arithmos.spec import MODELS, Spec
from arithmos.tasks import TEN_PARAMETERS
for name in sys.argv[1:]:
    run = RunState(Spec(task=TEN_PARAMETERS, model=MODELS[name], iterations=300), 0, Control())
    run.kernel.compile(lambda: print("compiling"))
    run.train(300)
    print(name, run.parameters.tobytes().hex())
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    return tmp_path / "arithmos" / "kernels"


def trained(*models):
    """Return what another process prints that trains these models."""
    done = subprocess.run([sys.executable, "-c", TRAIN, *models], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


def test_a_loop_from_the_cache_has_the_same_bits(folder):
    """It calls the functions that it called where it was compiled, and not its own copies, which round otherwise."""
    compiling, compiled = trained("NACMul")
    assert compiling == "compiling"
    assert len([path for path in folder.iterdir() if path.suffix != ".json"]) == 1  # beside the programs of its units
    assert trained("NACMul") == [compiled]


@pytest.mark.slow
def test_all_loops_from_the_cache_have_the_same_bits(folder):
    models = [*MODELS]
    compiled = [line for line in trained(*models) if line != "compiling"]
    assert trained(*reversed(models)) == compiled[::-1]


def add_function():
    """Return a function as Numba would compile it anew, with its cache."""

    @numba.njit
    def add(a, b):
        return a + b

    cache = LoopCache("add")
    cache.attach(add)
    return add, cache


def test_a_damaged_entry_is_compiled_again(folder):
    signature = (numba.int64, numba.int64)
    add, cache = add_function()
    add.compile(signature)
    [entry] = folder.iterdir()
    whole = entry.read_bytes()
    for damaged in (whole[:-10], b"", whole[:20] + bytes(20) + whole[40:]):
        entry.write_bytes(damaged)
        add, cache = add_function()
        assert not cache.holds(signature)
        add.compile(signature)
        assert sum(add.stats.cache_hits.values()) == 0
        assert add(2, 3) == 5
        assert cache.holds(signature)
    add, _ = add_function()
    add.compile(signature)
    assert sum(add.stats.cache_hits.values()) == 1
    assert add(2, 3) == 5


def test_an_entry_of_something_else_is_compiled_again(folder):
    signature = (numba.int64, numba.int64)
    add, _ = add_function()
    add.compile(signature)
    [entry] = folder.iterdir()
    kernel_cache.save(entry.name, b"not what Numba wrote")
    add, _ = add_function()
    add.compile(signature)
    assert add(2, 3) == 5
    assert kernel_cache.load(entry.name) != b"not what Numba wrote"


@pytest.mark.parametrize("change", ["text", "package", "setting", "version"])
def test_names_depend_on_source_package_settings_and_versions(change, monkeypatch):
    before = LoopCache("text").name
    assert LoopCache("text").name == before
    if change == "package":
        monkeypatch.setattr(code, "SOURCE", "another")
    elif change == "setting":
        monkeypatch.setitem(os.environ, "NUMBA_OPT", "1")
    elif change == "version":
        monkeypatch.setattr(np, "__version__", "0")
    assert LoopCache("another" if change == "text" else "text").name != before


def test_a_cached_kernel_is_not_announced(folder):
    spec = Spec(task=TEN_PARAMETERS, model=MODELS["Linear"], iterations=10)
    spec = dataclasses.replace(spec, optimizer=dataclasses.replace(spec.optimizer, clip_value=7.0))  # nobody else's
    said = []
    list(CpuEngine().run([Job(spec, (0,))], Control(say=said.append)))
    assert said == ["compiling the kernel of Linear"]
    kernel = RunState(spec, 0, Control()).kernel
    assert kernel.cache.holds(SIGNATURE)
    kernel.compile(lambda: said.append("again"))
    assert len(said) == 1
