"""The package's experiments as data: the same list as from the experiments themselves, without loading them."""

import subprocess
import sys

import pytest
from tests.factories import make_run

from arithmos import _platform, bench, listed
from arithmos.papers import EXPERIMENTS
from arithmos.papers.catalogue import OWN
from arithmos.store import Store


def test_the_file_is_that_of_the_experiments():
    """Made again by `python tools/listed.py`."""
    assert listed.FILE.read_text(encoding="utf-8") == listed.written(listed.listed(OWN))


@pytest.mark.parametrize("gpu", ["", None])
def test_it_lists_what_the_experiments_do(tmp_path, monkeypatch, gpu):
    """With a store that has runs of each engine, runs of which several rows are stored, and runs of no experiment."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    store = Store(tmp_path / "runs")
    first, second, digits = (EXPERIMENTS[name].specs[0] for name in ("table-1", "table-2", "mnist-sum"))
    store.append([make_run(first, seed, "cpu", elapsed_s=1.0 + seed, gpu=gpu) for seed in range(5)])
    store.append([make_run(first, seed, "torch", elapsed_s=9.0, gpu=gpu) for seed in range(3)])
    store.append([make_run(second, seed, "cuda", elapsed_s=0.1, gpu="NVIDIA H200") for seed in range(100)])
    store.append([make_run(first, seed, "cpu", elapsed_s=50.0, gpu=gpu) for seed in range(4)])
    store.append([make_run(digits, 0, "torch", elapsed_s=3000.0, gpu=gpu), make_run()])
    monkeypatch.setattr(bench._plan, "PAPERS", {paper.key: paper for paper in OWN})
    assert listed.shipped_rows(store.path) == bench.catalogue(store).to_dict("records")


def test_an_empty_store_is_listed_too(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert listed.shipped_rows(tmp_path / "none") == bench.catalogue(tmp_path / "none").to_dict("records")


def test_other_papers_or_a_gpu_need_the_experiments(monkeypatch):
    monkeypatch.setattr(listed, "may_have_gpu", lambda: False)
    monkeypatch.setattr(listed, "entry_points", lambda group: [])
    assert listed.suffices()
    monkeypatch.setattr(listed, "entry_points", lambda group: ["theirs"])
    assert not listed.suffices()
    monkeypatch.setattr(listed, "entry_points", lambda group: [])
    monkeypatch.setattr(listed, "may_have_gpu", lambda: True)
    assert not listed.suffices()


@pytest.mark.skipif(_platform.may_have_gpu(), reason="with a GPU, torch says which engines there are")
def test_the_first_list_loads_no_torch(tmp_path):
    """Nor pandas, numba or scipy; the store is read by Arrow alone unless it has several rows of a run."""
    Store(tmp_path / "runs").append([make_run(EXPERIMENTS["table-1"].specs[0], seed) for seed in range(3)])
    script = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); sys.argv[1:] = ['list']"
    script += "; from arithmos.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"XDG_CACHE_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    *shown, loaded = done.stdout.splitlines()
    assert any(line.startswith("madsen2020/table-1") and line.split()[4:6] == ["6.0·10⁷", "3"] for line in shown)
    packages = {name.partition(".")[0] for name in loaded.split()}
    assert "pyarrow" in packages
    assert not packages & {"torch", "pandas", "numba", "scipy", "rich"}
