"""Our own study: its cells in `results/`, and its claims."""

import pytest

from arithmos.judging.cells import judged
from arithmos.papers import PAPERS
from arithmos.papers.claims import claims_of

PAPER = PAPERS["arithmos2026"]


@pytest.fixture(scope="module")
def cells(results):
    return judged(results, PAPER.experiments, None)


def test_every_run_is_stored(cells):
    for experiment in PAPER.experiments:
        for spec, at, cell in cells.of(experiment):
            assert cell.n == experiment.seeds, (experiment.name, spec.model.name, at)


def test_claims_hold(cells):
    found = claims_of(cells, PAPER.claims).set_index("claim")["verdict"]
    assert set(found) == {"holds"}, found.to_dict()
    assert len(found) == len(PAPER.claims)
