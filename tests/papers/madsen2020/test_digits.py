import pytest

from arithmos import bench
from arithmos.engines.probe import finding
from arithmos.nn import NAU
from arithmos.papers import EXPERIMENTS

PRODUCT, SUM = EXPERIMENTS["mnist-product"], EXPERIMENTS["mnist-sum"]


def test_models_are_those_of_the_figures():
    def told(name):
        return {
            spec.model.label: (spec.model.inputs.strength, bool(spec.model.schedule.strength))
            for spec in EXPERIMENTS[name].specs
        }

    product = {"NAC•,NMU": (1, True), "NAC•,σ": (0, False), "NAC•": (0, False), "LSTM": (0, False), "NALU": (0, False)}
    assert told("mnist-product") == product | {"NMU": (1, True)}
    assert told("mnist-product-no-rz") == product | {"NAC•,NMU": (0, True), "NMU": (0, True)}
    adders = {"NAC₊": (0, False), "NAC₊,Rz": (1, False), "LSTM": (0, False), "NALU": (0, False)}
    assert told("mnist-sum") == adders | {"NAU": (1, True)}
    assert told("mnist-sum-no-rz") == adders | {"NAU": (0, True)}
    assert told("mnist-reference") == dict.fromkeys(("reference ×", "reference +"), (0, False))


def test_what_figures_share_is_run_once():
    first, second = ({spec.id for spec in EXPERIMENTS[name].specs} for name in ("mnist-product", "mnist-product-no-rz"))
    assert len(first & second) == 4
    first, second = ({spec.id for spec in EXPERIMENTS[name].specs} for name in ("mnist-sum", "mnist-sum-no-rz"))
    assert len(first & second) == 4


def test_epochs():
    [part] = bench.select(["mnist-product"], models=["NMU"], seeds=1, epochs=3)
    [spec] = part.specs
    assert (spec.iterations, spec.evaluate_every, spec.records, part.published) == (3 * 388, 388, 4, None)
    assert PRODUCT.select(epochs=1000).specs[0].evaluate_every == PRODUCT.specs[0].evaluate_every == 5 * 388
    with pytest.raises(ValueError, match="epochs must be at least 1, got 0"):
        PRODUCT.select(epochs=0)
    with pytest.raises(ValueError, match="only one of epochs and iterations must be given, got 3 and 100"):
        PRODUCT.select(epochs=3, iterations=100)
    with pytest.raises(ValueError, match="table-1 has no epochs, because its observations are always new"):
        EXPERIMENTS["table-1"].select(epochs=3)


def test_any_unit_can_be_the_cell(tmp_path, shapes_unchecked):
    own = tmp_path / "mine.py"
    own.write_text(
        "import torch\n\n\nclass Mean(torch.nn.Module):\n    identity = 0.0\n\n"
        "    def __init__(self, in_features, out_features):\n        super().__init__()\n"
        "        self.in_features, self.out_features = in_features, out_features\n"
        "        self.weight = torch.nn.Parameter(torch.ones(()))\n\n"
        "    def forward(self, x):\n        return self.weight * x.mean(-1, keepdim=True)\n\n\n"
        "class None_(Mean):\n    def forward(self, x):\n        return x[..., :0]\n"
    )
    [part] = bench.select(["mnist-product"], models=["NAU", f"{own}:Mean", "NMU"])
    nau, mean, nmu = part.specs
    assert isinstance(nau.network(0)[1].unit, NAU)
    assert mean.network(0)[1].initial == 0.0
    assert nmu == PRODUCT.specs[-1]
    assert nau.model.schedule == nmu.model.schedule
    [part] = bench.select(["mnist-product"], models=[f"{own}:None_"])
    assert "a number for each of 3 sequences of 2 numbers, got shape" in finding(part.specs[0]).refused
    with pytest.raises(KeyError, match="unknown unit 'NAUU'; did you mean 'NAU'"):
        bench.select(["mnist-product"], models=["NAUU"])


def test_the_sum_has_its_own_operation():
    assert [spec.task.operation for spec in EXPERIMENTS["mnist-reference"].specs] == ["mul", "add"]
    part = EXPERIMENTS["mnist-reference"].select(operations=["add"])
    assert [spec.task for spec in part.specs] == [SUM.specs[0].task]
