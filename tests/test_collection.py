"""A test file that cannot be imported fails the suite, and the matrix names files that exist."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_file_that_cannot_be_imported_is_an_error(tmp_path):
    (tmp_path / "test_lost.py").write_text("from os import nothing_of_this_name\n")
    options = ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "tests.conftest", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *map(str, options), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2, done.stdout
    assert "nothing_of_this_name" in done.stdout


def test_the_tests_of_the_matrix_exist():
    names = re.findall(r"tests/[\w/.]+", (ROOT / ".ci" / "matrix").read_text(encoding="utf-8"))
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []
