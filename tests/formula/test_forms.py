"""Forms are found by what a layer computes, whatever its class declares."""

import pytest
import torch
from tests.own_units import EvalBroken, HalfNMU
from torch import nn

from arithmos.formula.forms import LayerForm, form
from arithmos.nn import NEWER, NMU, UNITS

FORMS = {
    "NACMulNMU": LayerForm(("exp-log",)),
    "NACMulSigma": LayerForm(("exp-log",)),
    "NACMul": LayerForm(("exp-log",)),
    "NACAdd": LayerForm(("sum",)),
    "GatedNAUNMU": LayerForm(("sum", "product")),
    "Linear": LayerForm(("sum",)),
    "NALU": LayerForm(("sum", "exp-log")),
    "NALUSeparate": LayerForm(("sum", "exp-log")),
    "NAU": LayerForm(("sum",)),
    "NMU": LayerForm(("product",)),
    "LinearReLU": LayerForm(("sum",), "relu"),
    "LinearReLU6": LayerForm(("sum",), "relu6"),
    "SNMU": LayerForm(("product",)),  # in evaluation mode
    "SNMUBatch": LayerForm(("product",)),
}


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (5, 3), (1000, 2)])
@pytest.mark.parametrize("unit", [*UNITS.values(), *NEWER.values()], ids=lambda unit: unit.name)
def test_every_unit(unit, sizes):
    assert form(unit.build(*sizes)) == FORMS.get(unit.name)


def test_weights_that_are_not_generic_do_not_mislead():
    layer = NMU(2, 1)
    layer.weight.data = torch.tensor([[1.0, 0.0]])  # a sum with these weights is the same
    assert form(layer) == LayerForm(("product",))
    assert layer.weight.tolist() == [[1.0, 0.0]]


class OtherShape(NMU):
    def weights(self):
        return {"weight": torch.cat([self.weight, self.weight], 1)}


class Shifted(NMU):
    parts = "of no meaning"

    def forward(self, x):
        return super().forward(x) + 1e-3


@pytest.mark.parametrize("module", [nn.Linear(2, 1), EvalBroken(2, 1), OtherShape(2, 1), Shifted(2, 1)])
def test_what_has_none(module):
    assert form(module) is None


def test_a_subclass_with_other_initial_weights():
    assert form(HalfNMU(3, 2)) == LayerForm(("product",))
