"""Data moves from left to right: a room imports only from rooms to its left, lazy imports included."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "arithmos"

LINE = (
    *("statistics", "theory", "philox", "data", "nn", "functional", "optim", "tasks", "spec", "engines"),
    *("store", "listed", "judging", "progress", "papers", "report", "bench", "cli"),
)
BESIDE = ("formula", "regression", "export")
"""Rooms beside the line; they import none of `FAR`."""
FAR = ("judging", "papers", "report", "bench", "cli")


def modules() -> Iterator[tuple[tuple[str, ...], ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE.parent).with_suffix("").parts, ast.parse(path.read_text(encoding="utf-8"))


def imported(parts: tuple[str, ...], tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """What a module imports from the package when it runs, wherever in it the statement stands."""
    typed = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    unseen = {inner for node in typed for inner in ast.walk(node)}
    for node in (node for node in ast.walk(tree) if node not in unseen):
        if isinstance(node, ast.ImportFrom):
            base = parts[: -node.level] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            if base[:1] == ("arithmos",):
                yield from ((*base, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names if alias.name.startswith("arithmos."))


def edges() -> set[tuple[str, str]]:
    """Pairs of rooms of which the first imports from the second."""
    found = set()
    for parts, tree in modules():
        for target in imported(parts, tree):
            found.add((parts[1], target[1]))
    return {(room, other) for room, other in found if room != other}


def test_rooms_import_from_their_left_only():
    place = {room: number for number, room in enumerate(LINE)}
    turned = {(room, other) for room, other in edges() if place.get(other, -1) > place.get(room, len(LINE))}
    beside = {(room, other) for room, other in edges() if room in BESIDE and other in FAR}
    back = {("store", other) for other in BESIDE} & edges()
    assert not turned | beside | back


def test_rooms_have_no_cycles():
    graph: dict[str, set[str]] = {}
    for room, other in edges():
        graph.setdefault(room, set()).add(other)
    assert list(TopologicalSorter(graph).static_order())


def test_only_papers_and_statistics_know_the_words_of_a_paper():
    """Names of thresholds are data, and a paper's key is its folder's."""
    files = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".cu", ".cuh")]
    named = {path for path in files if re.search("released|corrected|madsen", path.read_text(encoding="utf-8"))}
    assert {path.relative_to(PACKAGE).parts[0] for path in named} == {"papers", "statistics"}
