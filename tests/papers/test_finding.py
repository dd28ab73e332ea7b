import pytest

from arithmos.papers import EXPERIMENTS, PAPERS, Finding
from arithmos.papers.madsen2020.estimators import COMPARISONS


@pytest.mark.parametrize(
    "found", PAPERS["madsen2020"].findings, ids=lambda found: f"{found.experiment}-{found.model}-{found.at}"
)
def test_a_finding_is_about_something_in_the_catalogue(found):
    experiment = EXPERIMENTS[found.experiment]
    cells = [
        {
            "experiment": experiment.name,
            "model": spec.model.name,
            "operation": spec.task.operation,
            "at": at,
            "measure": measure,
        }
        for spec, at in experiment.places()
        for measure in (*COMPARISONS, "exact_rate")
    ]
    assert any(map(found.concerns, cells))
    assert found.text.endswith(".")


def test_findings_of_an_experiment():
    paper = PAPERS["madsen2020"]
    assert {found.experiment for found in paper.findings_on("subset")} == {"subset"}
    assert paper.findings_on("no-such-experiment") == []


def test_a_finding_concerns_its_cells_alone():
    row = {"experiment": "subset", "model": "NMU", "operation": "mul", "at": 0.5, "measure": "success_rate"}
    assert Finding("subset", "x").concerns(row)
    assert Finding("subset", "x", model="NMU", at=0.5).concerns(row)
    assert not Finding("subset", "x", at=0.25).concerns(row)
    assert not Finding("subset", "x", measure="sparsity_mean").concerns(row)
    assert not Finding("overlap", "x").concerns(row)
    assert not Finding("subset", "x", at=0.0).concerns(row)


def test_a_finding_on_our_own_runs_says_so_in_any_store():
    assert Finding("table-1", "Odd.").sentences == "Odd."
    assert Finding("table-1", "Odd.", own=True).sentences == "The project's own runs: Odd."
