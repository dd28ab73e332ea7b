"""Processes that we start: nothing in the current folder is run, whoever put it there."""

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.engines.test_cost import NOTHING

from arithmos import _platform
from arithmos.cli import main

PLANTED = """
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
raise SystemExit("planted")
"""
SHADOWING = ("multiprocessing", "re", "signal", "socket", "struct", "typing", "vl_convert")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules in it that have the names of others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for name in SHADOWING:
        (tmp_path / f"{name}.py").write_text(PLANTED)
    return tmp_path


def ran(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.ran"))


def test_a_module_in_the_current_folder_is_not_run(planted: Path) -> None:
    code = f"import sys, {', '.join(SHADOWING[:-1])}; print(*sys.argv[1:])"
    with _platform.start_python(code, "some", "arguments") as child:
        assert child.communicate()[0].split() == [b"some", b"arguments"]
    assert ran(planted) == []


def test_a_report_runs_nothing_of_the_current_folder(planted: Path) -> None:
    pytest.importorskip("vl_convert")
    done = CliRunner().invoke(main, ["report", "-o", "report.html"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert ran(planted) == []


def test_a_local_cluster_runs_nothing_of_the_current_folder(planted: Path) -> None:
    pytest.importorskip("distributed")

    from arithmos.engines.cluster import Cluster
    from arithmos.engines.cost import Clock

    with Cluster("local:1", Clock(NOTHING, []), threads=1, say=lambda line: None) as cluster:
        assert cluster.threads == 1
    assert ran(planted) == []


@pytest.mark.parametrize("before", [None, "", "yes"])
def test_the_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", before)
    with _platform.safe_path():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert os.environ.get("PYTHONSAFEPATH") == before


def test_this_python_is_the_one_that_is_started() -> None:
    with _platform.start_python("import sys; print(sys.executable, sys.flags.safe_path)") as child:
        assert child.communicate()[0].decode().split() == [sys.executable, "True"]
