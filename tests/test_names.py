"""The name of a class means one thing in the whole package."""

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "arithmos"


def named(node: ast.stmt) -> list[str]:
    """Classes and aliases of types that a statement of a module defines."""
    if isinstance(node, ast.ClassDef):
        return [node.name]
    return (
        [target.id for target in node.targets if isinstance(target, ast.Name)] if isinstance(node, ast.Assign) else []
    )


def test_a_class_has_a_name_of_its_own():
    bodies = [ast.parse(path.read_text(encoding="utf-8")).body for path in PACKAGE.rglob("*.py")]
    classes = {node.name for body in bodies for node in body if isinstance(node, ast.ClassDef)}
    names = Counter(name for body in bodies for node in body for name in named(node))
    assert {name for name in classes if names[name] > 1} == set()
