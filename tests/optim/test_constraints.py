import copy

import pytest
import torch
from tests.optim.layers import Outsider
from torch import nn

import arithmos
from arithmos.nn import NAU, NMU, UNITS


def drift(module, handle_of, lr=10.0):
    """One large step down the sum of all parameters."""
    optimizer = torch.optim.SGD(module.parameters(), lr=lr)
    handle = handle_of(optimizer)
    for _ in range(2):
        optimizer.zero_grad()
        sum(p.sum() for p in module.parameters()).backward()
        optimizer.step()
    return handle


class TestConstrain:
    @pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
    def test_projects_what_the_unit_declares_and_nothing_else(self, unit):
        layer = unit.build(3, 2)
        free = copy.deepcopy(layer)
        drift(layer, lambda optimizer: arithmos.constrain(optimizer, nn.Sequential(layer)))
        drift(free, lambda optimizer: None)
        bounds = layer.bounds()
        for name, parameter in layer.named_parameters():
            expected = free.get_parameter(name)
            if name in bounds:
                low, high = bounds[name]
                assert not torch.equal(expected.clamp(low, high), expected)
                expected = expected.clamp(low, high)
            torch.testing.assert_close(parameter, expected)

    def test_leaves_the_moments_of_adam_alone(self):
        model = nn.Sequential(NAU(2, 2), NMU(2, 1))
        free = copy.deepcopy(model)
        x = torch.ones(4, 2) * 3
        states = []
        for module, constrained in ((model, True), (free, False)):
            optimizer = torch.optim.Adam(module.parameters(), lr=5.0)
            if constrained:
                arithmos.constrain(optimizer, module)
            module(x).sum().backward()
            optimizer.step()
            states.append([optimizer.state[p]["exp_avg"] for p in module.parameters()])
        torch.testing.assert_close(*states)
        assert set(model[1].weight.flatten().tolist()) <= {0.0, 1.0}

    def test_ends_with_its_handle(self):
        nmu = NMU(2, 1)
        drift(nmu, lambda optimizer: arithmos.constrain(optimizer, nmu).remove())
        assert (nmu.weight < 0).all()

    def test_asks_a_foreign_module(self):
        module = Outsider()
        drift(module, lambda optimizer: arithmos.constrain(optimizer, module))
        assert module.angle.tolist() == [[-2.0, -2.0]]

    def test_is_harmless_without_ranges(self):
        module = nn.Linear(2, 2)
        arithmos.constrain(torch.optim.SGD(module.parameters()), module)

    def test_warns_if_earlier_steps_left_the_range(self):
        nmu = NMU(2, 1)
        optimizer = torch.optim.Adam(nmu.parameters(), lr=5.0)
        nmu(torch.full((1, 2), 3.0)).sum().backward()
        optimizer.step()
        with pytest.warns(UserWarning, match="earlier steps have moved parameters of Sequential out of their range"):
            arithmos.constrain(optimizer, nn.Sequential(nmu))

    def test_does_not_warn_of_initial_values_outside_the_range(self):
        nmu = NMU(40, 10, init="paper")
        assert nmu.weight.min() < 0
        arithmos.constrain(torch.optim.Adam(nmu.parameters()), nmu)

    def test_refuses_an_optimizer_of_other_parameters(self):
        optimizer = torch.optim.Adam(NMU(2, 1).parameters())
        with pytest.raises(ValueError, match="optimizer steps none of the parameters of NMU"):
            arithmos.constrain(optimizer, NMU(2, 1))
