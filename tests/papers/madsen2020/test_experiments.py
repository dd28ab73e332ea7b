import pytest

from arithmos.papers import EXPERIMENTS
from arithmos.papers.madsen2020.experiments import CONTENTS
from arithmos.spec import MODELS, model
from arithmos.tasks import Arithmetic

RUNS = {
    "table-1": 300,
    "table-2": 1100,
    "hidden-size": 2250,
    "input-range": 1750,
    "ablation": 1800,
    "input-size": 4200,
    "overlap": 1800,
    "subset": 1200,
    "gate": 600,
    "regularizer-add": 300,
    "regularizer-sub": 300,
    "regularizer-mul": 300,
    "all-models": 6600,
}


def test_runs_are_as_many_as_the_paper_reports():
    assert {experiment.name: experiment.runs for experiment in CONTENTS} == RUNS
    assert [name.removeprefix("madsen2020/") for name in EXPERIMENTS][: len(RUNS)] == list(RUNS)
    assert sum(RUNS.values()) - RUNS["table-2"] == 21_400


def test_what_experiments_share_has_one_name():
    table_2 = {spec.id for spec in EXPERIMENTS["table-2"].specs}
    assert table_2 <= {spec.id for spec in EXPERIMENTS["all-models"].specs}
    default = next(spec for spec in EXPERIMENTS["table-2"].specs if spec.model == MODELS["NMU"])
    for name in ("hidden-size", "input-range", "input-size", "overlap", "subset", "ablation", "regularizer-mul"):
        assert default.id in {spec.id for spec in EXPERIMENTS[name].specs}, name


def test_input_sizes_have_their_own_iterations():
    iterations = {spec.task.input_size: spec.iterations for spec in EXPERIMENTS["input-size"].specs}
    assert (iterations[100], iterations[125], iterations[200], iterations[225]) == (5e6, 1e7, 1e7, 1.5e7)


def test_a_part_of_an_experiment():
    part = EXPERIMENTS["table-2"].select(models=[MODELS["NMU"]], operations=["mul"], seeds=7, iterations=10)
    assert [(spec.model.name, spec.task.operation, spec.iterations) for spec in part.specs] == [("NMU", "mul", 10)]
    assert part.runs == 7


def test_a_model_from_outside_takes_each_problem_once():
    own = model("NACAdd>NMU")
    part = EXPERIMENTS["table-2"].select(models=[own])
    assert [spec.task for spec in part.specs] == [Arithmetic(operation=op) for op in ("mul", "add", "sub")]


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="table-2 has no operation 'div'; it has mul, add, sub"):
        EXPERIMENTS["table-2"].select(operations=["div"])
    with pytest.raises(ValueError, match="seeds must be a whole number from 1 to 1,000,000, got 0"):
        EXPERIMENTS["table-2"].select(seeds=0)
    with pytest.raises(KeyError, match="did you mean 'table-1'"):
        EXPERIMENTS["table1"]
