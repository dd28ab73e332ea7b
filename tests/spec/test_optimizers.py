"""Optimizers and penalties of a spec: their checks, and ids that stay as they were."""

import dataclasses

import pytest
from tests.factories import make_digits

from arithmos.papers import EXPERIMENTS
from arithmos.papers.files import load, to_toml
from arithmos.spec import LM, MODELS, Adam, Penalty, RMSprop, Spec
from arithmos.tasks import TEN_PARAMETERS

SPEC = Spec(task=TEN_PARAMETERS, model=MODELS["NMU"], iterations=200_000)


def test_the_second_order_recipe_is_read_back():
    spec = dataclasses.replace(SPEC, optimizer=LM(fresh=False))
    assert Spec.from_plain(spec.plain()) == spec


def test_ids_of_published_specs_stay():
    assert SPEC.id == "76a4d084edf660e9"
    assert "name" not in SPEC.plain()["optimizer"]
    assert dataclasses.replace(SPEC, optimizer=Adam(clip_norm=0, layer_rates=[])).id == SPEC.id


def test_each_added_setting_is_in_the_id():
    changes = [
        Adam(layer_rates=(1, 0.1)),
        Adam(clip_value=0.1),
        Adam(clip_norm=0.1),
        Adam(scale_loss=True),
        Adam(reinitialize=5000),
        Adam(precondition=True),
        RMSprop(),
        RMSprop(alpha=0.9),
        LM(),
        LM(single=True),
        LM(fresh=False),
        LM(noise=0.01),
    ]
    ids = {dataclasses.replace(SPEC, optimizer=optimizer).id for optimizer in changes}
    penalized = dataclasses.replace(SPEC.model, penalties=(Penalty(kind="l1", strength=1e-9),))
    assert len(ids | {SPEC.id, dataclasses.replace(SPEC, model=penalized).id}) == len(changes) + 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(layer_rates=0.1), "layer_rates must be a list of numbers, got 0.1"),
        (lambda: Adam(layer_rates=(1, 0)), "layer_rates must be above 0, got 0"),
        (lambda: Adam(clip_value=-1), "clip_value must be from 0 to"),
        (lambda: Adam(scale_loss=1), "scale_loss must be True or False, got 1"),
        (lambda: Adam(reinitialize=0.5), "reinitialize must be a whole number"),
        (lambda: Adam(precondition=1), "precondition must be True or False, got 1"),
        (lambda: LM(noise=-0.1), "noise must be from 0 to"),
        (lambda: LM(noise="1"), "noise must be a finite number"),
        (lambda: RMSprop(alpha=1), "alpha must be at least 0 and below 1, got 1"),
        (lambda: Penalty(kind="l2", strength=1), "kind of a penalty must be one of l1, norm, pull, got 'l2'"),
        (lambda: Penalty(kind="l1", strength=0), "strength must be above 0, got 0"),
        (lambda: Penalty(kind="l1", strength=1, most=0.5), "most must be at least strength 1.0, got 0.5"),
        (
            lambda: dataclasses.replace(SPEC, optimizer=Adam(layer_rates=(1,))),
            "layer_rates must be one per layer, 2 of them, got 1",
        ),
        (lambda: LM(factors=0), "factors must be a whole number from 1 to 8, got 0"),
        (lambda: LM(fresh=1), "fresh must be True or False, got 1"),
        (
            lambda: dataclasses.replace(SPEC, model=MODELS["NALU"], optimizer=LM()),
            "networks that lm trains must be one of NAU, NAU>NAU, NAU>NMU, NAU>RealNPU with one output, got NALU>NALU",
        ),
        (lambda: dataclasses.replace(SPEC, optimizer="adam"), "optimizer must be an optimizer of arithmos.spec"),
    ],
)
def test_wrong_settings_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sequences_train_with_adam_alone():
    spec = EXPERIMENTS["mnist-product"].specs[-1]
    task = dataclasses.replace(spec.task, source=make_digits(train=40, test=20), validation_size=10)
    spec = dataclasses.replace(spec, task=task)
    with pytest.raises(ValueError, match="must be trained with Adam alone, got rmsprop, clip_norm"):
        dataclasses.replace(spec, optimizer=RMSprop(clip_norm=1.0))


FILE = """
models = [{name = "NMU", penalties = [{kind = "l1", strength = 1e-9, most = 1e-7}]}]
task.operation = "mul"

[optimizer]
name = "rmsprop"
lr = [0.005, 0.01]
alpha = 0.9
layer_rates = [1, 0.1]
clip_norm = 1
"""


def test_files_hold_optimizers_and_penalties(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(FILE)
    experiment = load(path)
    assert experiment.axis == "lr"
    first, _ = experiment.specs
    assert first.optimizer == RMSprop(0.005, 0.9, layer_rates=(1.0, 0.1), clip_norm=1.0)
    assert first.model.penalties == (Penalty(kind="l1", strength=1e-9, most=1e-7),)
    path.write_text(to_toml(experiment))
    assert load(path).specs == experiment.specs


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('optimizer.name = "sgd"', "optimizer.name must be one of adam, rmsprop, lm"),
        ('optimizer = {name = "rmsprop", beta1 = 0.5}', "optimizer.beta1 is unknown"),
        ("optimizer.layer_rates = 3", "optimizer.layer_rates must be a list of numbers"),
    ],
)
def test_wrong_keys_are_named(line, message, tmp_path):
    (tmp_path / "own.toml").write_text(f"models = 'NMU'\ntask.operation = 'mul'\n{line}")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "own.toml")
