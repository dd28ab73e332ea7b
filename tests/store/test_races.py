"""Two processes on one store: one is stopped before each of its calls in turn while the other does all of its work."""

from pathlib import Path

import pytest
from tests.faults import Disk
from tests.store.operations import PAIRS, race

SOME = 8
"""On an ordinary day every so many-th call will do."""


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=[f"{one.name}-{other.name}" for one, other in PAIRS])
def test_neither_of_two_loses_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    race(tmp_path, Disk(monkeypatch, reads=True), *PAIRS[number], slice(number % SOME, None, SOME))


@pytest.mark.slow
def test_neither_of_two_loses_anything_at_any_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch, reads=True)
    points = [race(tmp_path / f"{one.name}-{other.name}", disk, one, other) for one, other in PAIRS]
    assert sum(points) > 1000
