"""The runs of `results/`, judged once."""

from pathlib import Path

import pytest

from arithmos.judging.cells import judged
from arithmos.papers import EXPERIMENTS
from arithmos.papers.verdicts import verdicts_of
from arithmos.store import Store


@pytest.fixture(scope="session")
def results():
    return Store(Path(__file__).parents[2] / "results")


@pytest.fixture(scope="session")
def published():
    """Experiments of the first paper that have published numbers."""
    return [each for each in EXPERIMENTS.values() if each.paper == "madsen2020" and each.published]


@pytest.fixture(scope="session")
def cells(results, published):
    return judged(results, published)


@pytest.fixture(scope="session")
def recounted(cells, published):
    """Verdicts on all published numbers."""
    return verdicts_of(cells, published)
