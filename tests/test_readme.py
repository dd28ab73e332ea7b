"""The README's Python blocks run, in order, as one program."""

import re
from pathlib import Path

import pytest
import torch

import arithmos

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("shapes_unchecked")
def test_python_blocks_run_and_learn():
    torch.manual_seed(0)
    text = README.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks
    namespace = {"__name__": "readme"}
    for block in blocks:
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + block[1], str(README), "exec"), namespace)
    assert arithmos.sparsity_error(namespace["model"]) < 1e-2


@pytest.mark.parametrize("path", re.findall(r'(?:src="|\]\()(?!https?://|#)([^")]+)', README.read_text("utf-8")))
def test_files_it_shows_exist(path):
    assert (README.parent / path).is_file()
