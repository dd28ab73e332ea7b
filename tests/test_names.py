"""A name of a class means one thing in the whole package."""

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "arithmos"

KNOWN = {"Table", "Uniform"}
"""What a task draws from, beside a table of a report and how parameters start."""


def test_a_class_has_a_name_of_its_own():
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} <= KNOWN
