import shutil
from pathlib import Path

import pytest

import arithmos
from arithmos.engines.code import ROOMS, digest

ROOT = Path(arithmos.__file__).parent


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(ROOT, tmp_path / "arithmos", ignore=lambda *_: ["__pycache__"]))


def test_every_room_is_there():
    assert all((ROOT / room).exists() for room in ROOMS)


@pytest.mark.parametrize(
    "file", ["engines/cpu/kernel.py", "engines/cuda/judge.cuh", "nn/nmu.py", "tasks/thresholds.json"]
)
def test_the_digest_changes_with_what_decides_the_numbers_of_a_run(copy, file):
    before = digest(copy)
    assert before == digest(ROOT)
    (copy / file).write_text((copy / file).read_text() + "\n")
    assert digest(copy) != before


def test_the_digest_does_not_change_with_a_report(copy):
    before = digest(copy)
    (copy / "report" / "html.py").write_text("")
    assert digest(copy) == before


def test_the_digest_changes_with_a_library(copy, monkeypatch):
    before = digest(copy)
    monkeypatch.setattr("arithmos.engines.code.version", lambda name: "0")
    assert digest(copy) != before
