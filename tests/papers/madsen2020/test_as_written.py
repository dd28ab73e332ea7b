import pytest

from arithmos.nn import NAU, NMU
from arithmos.papers import EXPERIMENTS

TABLE, ABLATION = EXPERIMENTS["as-written"], EXPERIMENTS["as-written-ablation"]
AS_RUN = {spec.id for name in ("all-models", "ablation") for spec in EXPERIMENTS[name].specs}


def written(experiment):
    """The models that are in no other experiment, by label."""
    return {spec.model.label: spec for spec in experiment.specs if spec.id not in AS_RUN}


def test_runs():
    assert (TABLE.runs, ABLATION.runs) == (1600, 2250)


def test_each_stands_below_the_model_that_was_run():
    for run, said in zip(TABLE.specs[::2], TABLE.specs[1::2], strict=True):
        assert run.id in AS_RUN
        assert said.id not in AS_RUN
        assert (said.task, said.model.schedule) == (run.task, run.model.schedule)
        assert said.model.label.startswith(run.model.label)


def test_models_are_those_of_the_text():
    layers = {label: [layer.name for layer in spec.model.layers] for label, spec in written(TABLE).items()}
    assert layers == {
        "NAC•,NMU after NAC₊ (model table)": ["NACAdd", "NACMulNMU"],
        "NMU, Var[W] = 1/4 (initialization)": ["NAU", "NMU"],
        "ReLU in both layers (model table)": ["LinearReLU", "LinearReLU"],
        "ReLU6 in both layers (model table)": ["LinearReLU6", "LinearReLU6"],
        "NAU, Glorot uncapped (initialization)": ["NAU", "NAU"],
    }


def test_initial_weights_have_the_variance_of_the_text():
    quarter = written(TABLE)["NMU, Var[W] = 1/4 (initialization)"]
    uncapped = written(TABLE)["NAU, Glorot uncapped (initialization)"]
    for spec, unit, bound in ((quarter, NMU, 0.75), (uncapped, NAU, 0.5)):
        starts = [spec.network(seed)[1].weight.abs().max().item() for seed in range(20)]
        assert isinstance(spec.network(0)[1], unit)
        assert max(starts) > bound


@pytest.mark.parametrize("spec", written(ABLATION).values(), ids=lambda spec: spec.model.label)
def test_nothing_bounds_the_weights(spec):
    network = spec.network(0)
    for layer in network:
        layer.weight.data.fill_(3.0)
        assert layer.bounds() == {}
        assert layer.weights()["weight"].max() == 3


def test_ablation_is_with_and_without_the_regularizer():
    assert [spec.model.schedule.strength for spec in written(ABLATION).values()] == [10, 0]
