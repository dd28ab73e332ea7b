"""Programs of units from the cache on disk: the same objects as those just traced, without torch's compiler."""

import os
import subprocess
import sys

import pytest

from arithmos.engines.trace import kept, units
from arithmos.engines.trace.values import Untraceable
from arithmos.nn import CELLS
from arithmos.spec import Layer

LAYERS = [Layer(name) for name in CELLS]
TRACE = """
import sys
from arithmos.engines.trace import unit_program
from arithmos.spec import Layer
unit_program(Layer("NMU"))
print("torch._inductor" in sys.modules)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(units, "_found", {})
    return tmp_path / "arithmos" / "kernels"


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_a_program_is_read_as_it_was_written(layer):
    """Equal terms are the same object, so equal programs have the very same terms."""
    try:
        program = units._traced(layer)
    except Untraceable as error:
        pytest.skip(str(error))
    assert kept.read(kept.written(program)) == program


def test_a_program_is_traced_once_for_all_processes(cache, monkeypatch):
    program = units.unit_program(Layer("NALU"))
    assert [path.suffix for path in cache.iterdir()] == [".json"]
    monkeypatch.setattr(units, "_found", {})
    monkeypatch.setattr(units, "_traced", lambda layer: pytest.fail("traced again"))
    assert units.unit_program(Layer("NALU")) == program


def test_the_second_process_does_not_load_the_compiler_of_torch():
    done = [
        subprocess.run([sys.executable, "-c", TRACE], env=os.environ, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert done[1].stdout == "False\n"


def test_other_code_has_other_entries(cache, monkeypatch):
    units.unit_program(Layer("NMU"))
    monkeypatch.setattr(units, "_found", {})
    monkeypatch.setattr(kept, "CODE", "other")
    units.unit_program(Layer("NMU"))
    assert len([*cache.iterdir()]) == 2


def test_the_unit_of_a_user_is_traced_in_every_process(cache, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from arithmos.nn import NMU\n\n\nclass Mine(NMU):\n    pass\n")
    units.unit_program(Layer(f"{file}:Mine"))
    assert not cache.exists()


def test_a_program_that_would_be_read_as_another_is_not_kept(cache, monkeypatch):
    other = units._traced(Layer("NAU"))
    monkeypatch.setattr(kept, "read", lambda text: other)
    units.unit_program(Layer("NMU"))
    assert not cache.exists()
