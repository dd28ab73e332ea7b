"""Experiments on single modules: their size, their training, and the numbers that they are compared with."""

import numpy as np
import pytest

from arithmos.papers import CLAIMS, EXPERIMENTS, PAPERS, single_module
from arithmos.papers.mistry2022.experiments import UNITS
from arithmos.spec import Adam, Penalty

OTHER_INPUTS = ("mixed-signs", "distributions", "near-zero")
NAMES = [
    f"{paper}/{one.name}"
    for paper in ("mistry2022", "mistry2022division")
    for one in PAPERS[paper].experiments
    if not one.name.startswith(OTHER_INPUTS)
]


def spec(experiment, model, at="U[1,2]"):
    places = EXPERIMENTS[experiment].places()
    return next(spec for spec, place in places if (spec.model.name, place) == (model, at))


@pytest.mark.parametrize("name", NAMES)
def test_every_unit_runs_on_nine_ranges(name):
    experiment = EXPERIMENTS[name]
    models = dict.fromkeys(spec.model.name for spec in experiment.specs)
    assert len(experiment.specs) == 9 * len(models)
    assert len({at for _, at in experiment.places()}) == 9
    assert len({spec.id for spec in experiment.specs}) == len(experiment.specs)
    assert experiment.seeds == 25
    assert {len(spec.model.layers) for spec in experiment.specs} == {1}
    assert {spec.task.rule for spec in experiment.specs} == {"module"}


def test_the_primer_has_5175_runs_and_those_of_the_note():
    of_note = 4 * 9 * 25
    figures = ("addition", "subtraction", "multiplication", "division")
    assert sum(EXPERIMENTS[f"mistry2022/{name}"].runs for name in figures) == 5175 + of_note
    assert [len(units) for units in UNITS.values()] == [6, 5, 10, 6]


def test_training_of_the_units():
    real = spec("mistry2022/division", "RealNPU")
    assert real.optimizer == Adam(lr=5e-3)
    assert real.model.penalties == (Penalty(kind="l1", strength=1e-9, most=1e-7),)
    assert spec("mistry2022/multiplication", "RealNPU").model.penalties[0].most == pytest.approx(1e-5)
    inalu = spec("mistry2022/addition", "INALU")
    assert inalu.optimizer.clip_value == 0.1
    assert inalu.model.layers[0].options == (("init", "primer"),)
    assert spec("mistry2022/addition", "NAU").model.schedule(35_000) == 0.01
    assert spec("mistry2022/multiplication", "NMU").model.schedule(27_500) == 5.0
    two, ten = (spec(f"mistry2022division/{size}-inputs", "NRU") for size in ("two", "ten"))
    assert (two.optimizer.lr, ten.optimizer.lr) == (1.0, 1e-3)
    assert (two.iterations, ten.iterations) == (50_000, 100_000)
    modified = spec("mistry2022division/two-inputs", "RealNPUModified")
    assert (modified.model.schedule.strength, modified.model.schedule.start) == (1.0, 40_000)
    nmru = spec("mistry2022division/ten-inputs", "NMRU")
    assert (nmru.optimizer, nmru.task.subset_length) == (Adam(lr=1e-2, clip_norm=1.0), 1)
    assert spec("mistry2022division/nmru-parts", "NMRUBoth").id == nmru.id
    plain = spec("mistry2022division/nmru-parts", "NMRUNeither")
    assert plain.optimizer.clip_norm == 0
    assert plain.model.layers[0].options == (("signed", False),)


def test_published_numbers_belong_to_cells():
    for name, count in (("addition", 18), ("multiplication", 36)):
        experiment = EXPERIMENTS[f"mistry2022/{name}"]
        places = {(spec.model.name, at) for spec, at in experiment.places()}
        cells = experiment.published.cells
        assert cells.keys() <= places
        assert len(cells) == count
    nmu = {at: cell for (model, at), cell in cells.items() if model == "NMU"}
    assert [nmu[at]["k"] for at in ("U[-2,-1]", "U[-1.2,-1.1]", "U[10,20]")] == [20, 17, 25]


def test_the_two_papers_judge_by_different_thresholds_first():
    assert [*PAPERS["mistry2022"].criteria] == ["epsilon", "absolute"]
    assert [*PAPERS["mistry2022division"].criteria] == ["absolute", "epsilon"]
    assert sum(name.startswith("mistry2022division/") for name in CLAIMS) == 3


def test_nine_ranges_are_those_of_the_setup():
    inside, outside = zip(*single_module.NINE, strict=True)
    assert [low for ((low, _),) in inside] == [-20, -2, -1.2, -0.2, -2, 0.1, 1, 1.1, 10]
    assert outside[2:5] == (((-6.1, -1.2),), ((-2.0, -0.2),), ((-6.0, -2.0), (2.0, 6.0)))


@pytest.mark.parametrize(("name", "places"), [("mixed-signs-two", 5), ("mixed-signs-ten", 5), ("distributions", 6)])
def test_other_inputs_of_a_division(name, places):
    experiment = EXPERIMENTS[f"mistry2022division/{name}"]
    assert len(experiment.specs) == 3 * places
    assert {spec.task.operation for spec in experiment.specs} == {"div"}
    assert len({at for _, at in experiment.places()}) == places
    for spec in experiment.specs:
        x, t = spec.task.test(0)
        assert np.isfinite(t).all()
        first = spec.task.first
        if "|" in spec.task.interpolation:  # the operands come from both halves, so they have unlike signs
            assert (x[:, first] * x[:, first + 1] < 0).all()


def test_divisors_near_zero_have_the_published_thresholds():
    experiment = EXPERIMENTS["mistry2022division/near-zero-redundant"]
    spec = next(one for one, at in experiment.places() if (one.model.name, at) == ("NMRU", "U[0,0.001]"))
    assert spec.task.absolute == 9.268088433600497e-06
    assert spec.task.interpolation == spec.task.extrapolation
    [alone] = {one.iterations for one in EXPERIMENTS["mistry2022division/near-zero"].specs}
    assert alone == 5000


def test_ablations_vary_what_they_name():
    penalties = {
        spec.model.name: [(one.strength, one.most) for one in spec.model.penalties]
        for spec in EXPERIMENTS["mistry2022division/realnpu-l1"].specs
    }
    assert len(penalties) == 8
    assert penalties["RealNPUFree"] == []
    assert penalties["RealNPU0.1"] == [(0.1, 10.0)]
    rates = [dict.fromkeys(s.optimizer.lr for s in EXPERIMENTS[f"{u}-rates"].specs) for u in ("nru", "nmru")]
    assert [*map(list, rates)] == [[1e-3, 1e-2, 1e-1, 1.0], [1e-3, 1e-2, 1e-1]]


def test_redundant_runs_of_the_inalu_are_as_short_as_those_with_two_inputs():
    assert {spec.iterations for spec in EXPERIMENTS["mistry2022/redundant-inalu"].specs} == {50_000}
    assert {spec.iterations for spec in EXPERIMENTS["mistry2022/redundant-addition-10"].specs} == {100_000}
