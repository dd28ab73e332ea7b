import shutil
from pathlib import Path

import pytest

import arithmos
from arithmos.engines.code import CODE, ROOMS, SOURCE, digest, with_libraries

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
    assert before == digest(ROOT) == SOURCE
    (copy / file).write_text((copy / file).read_text() + "\n")
    assert digest(copy) != before


def test_the_digest_does_not_change_with_a_report(copy):
    before = digest(copy)
    (copy / "report" / "html.py").write_text("")
    assert digest(copy) == before


@pytest.mark.parametrize("file", ["engines/__pycache__/torch.pyc", "nn/.hidden"])
def test_the_digest_does_not_change_with_what_is_no_source(copy, file):
    (copy / file).parent.mkdir(exist_ok=True)
    (copy / file).write_text("")
    assert digest(copy) == SOURCE


def test_the_code_changes_with_a_library(monkeypatch):
    assert with_libraries(SOURCE) == CODE
    monkeypatch.setattr("arithmos.engines.code.version", lambda name: "0")
    assert with_libraries(SOURCE) != CODE
