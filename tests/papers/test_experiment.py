import dataclasses

import pytest

from arithmos.papers import EXPERIMENTS
from arithmos.spec import MODELS, Layer, Model

TABLE = EXPERIMENTS["table-2"]


def cells(experiment):
    return [(spec.task.operation, spec.model.name) for spec in experiment.specs]


def test_nothing_selected_is_everything():
    assert TABLE.select() == TABLE


def test_models_keep_the_order_of_the_operations():
    part = TABLE.select(models=[MODELS["NAU"], MODELS["NALU"]])
    assert cells(part) == [("mul", "NALU"), ("add", "NAU"), ("add", "NALU"), ("sub", "NAU"), ("sub", "NALU")]


def test_a_model_from_outside_is_put_before_every_problem_once():
    own = Model("own", (Layer("NAU"), Layer("NAU")))
    part = TABLE.select(models=[own, MODELS["NMU"]])
    assert cells(part) == [("mul", "own"), ("mul", "NMU"), ("add", "own"), ("sub", "own")]


def test_a_published_model_may_be_put_before_another_operation():
    assert cells(TABLE.select(models=[MODELS["NAU"]], operations=["mul"])) == [("mul", "NAU")]


def test_a_name_that_a_model_of_other_layers_has():
    other = dataclasses.replace(MODELS["NALU"], name="NMU")
    part = TABLE.select(models=[other], operations=["mul"])
    assert [spec.model.layers for spec in part.specs] == [MODELS["NALU"].layers]


def test_variants_of_a_model_stay_as_they_are():
    strengths = EXPERIMENTS["regularizer-mul"]
    assert strengths.select(models=[MODELS["NMU"]]).specs == strengths.specs
    ablation = EXPERIMENTS["ablation"].select(models=[MODELS["NMU"]])
    assert {spec.model.name for spec in ablation.specs} == {"NMU"}
    assert len(ablation.specs) == 9


def test_a_model_named_twice_runs_once():
    assert len(TABLE.select(models=[MODELS["NMU"], MODELS["NMU"]]).specs) == 1


def test_shorter_runs_and_fewer_seeds():
    part = TABLE.select(seeds=3, iterations=100)
    assert (part.seeds, {spec.iterations for spec in part.specs}) == (3, {100})
    assert part.published is None
    assert TABLE.select(seeds=3, iterations=5_000_000).published.name == "table_static"
    assert part.runs == 33
    assert part.iterations == 33 * 101


def test_what_there_is_not():
    with pytest.raises(ValueError, match="table-2 has no operation 'squre'; it has mul, add, sub"):
        TABLE.select(operations=["squre"])
    with pytest.raises(ValueError, match="did you mean 'mul'"):
        TABLE.select(operations=["add", "mull"])
    with pytest.raises(ValueError, match="seeds must be a whole number from 1 to 1,000,000, got 0"):
        TABLE.select(seeds=0)
    with pytest.raises(ValueError, match="iterations must be a whole number"):
        TABLE.select(iterations=-1)
