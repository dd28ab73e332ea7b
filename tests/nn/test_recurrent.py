import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from arithmos.nn import NMU, UNITS, Linear, NACAdd, Recurrent

ONE = {"NMU", "NACMul", "NACMulSigma", "NACMulNMU"}


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_starts_from_the_identity_of_its_aggregation(unit):
    cell = Recurrent(unit.build(5, 2))
    assert cell.initial_state(torch.zeros(7, 4, 3)).unique().tolist() == [float(unit.name in ONE)]
    assert cell.initial_state(torch.zeros(7, 4, 3)).shape == (7, 2)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
def test_is_the_unit_applied_step_by_step(unit):
    torch.manual_seed(0)
    cell = Recurrent(unit.build(5, 2))
    x = torch.randn(6, 4, 3)
    h = torch.full((6, 2), cell.initial)
    expected = []
    for t in range(4):
        h = cell.unit(torch.cat([x[:, t], h], -1))
        expected.append(h)
    torch.testing.assert_close(cell(x), torch.stack(expected, 1))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_ones_in_a_product_accumulate(digits):
    cell = Recurrent(NMU(2, 1))
    nn.init.ones_(cell.unit.weight)
    x = torch.tensor(digits, dtype=torch.float32)
    assert cell(x[:, None])[:, 0].tolist() == np.cumprod(digits).tolist()


def test_continues_from_a_given_state():
    cell = Recurrent(UNITS["NAU"].build(3, 1))
    x = torch.randn(2, 6, 2)
    whole = cell(x)
    first = cell(x[:, :4])
    torch.testing.assert_close(cell(x[:, 4:], first[:, -1]), whole[:, 4:])


def test_takes_a_constant_of_its_own():
    assert Recurrent(NMU(2, 1), initial=3.0).initial_state(torch.zeros(1, 1)).item() == 3


@pytest.mark.parametrize("batch", [(), (3,), (3, 2), (0,)])
@pytest.mark.parametrize("time", [0, 1, 5])
def test_shapes(batch, time):
    assert Recurrent(NMU(5, 2))(torch.ones(*batch, time, 3)).shape == (*batch, time, 2)


def test_follows_the_type_of_its_input():
    assert Recurrent(NMU(2, 1, dtype=torch.float64))(torch.ones(4, 1, dtype=torch.float64)).dtype == torch.float64


def test_gradient_goes_through_time():
    cell = Recurrent(NACAdd(2, 1, dtype=torch.float64))
    x = torch.randn(3, 4, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(cell, (x,))
    cell(x)[:, -1].sum().backward()
    assert (x.grad[:, 0] != 0).all()


@pytest.mark.usefixtures("shapes_unchecked")
def test_compiles_and_exports_whole():
    cell = Recurrent(NMU(3, 1)).eval()
    x = torch.randn(4, 5, 2)
    torch.testing.assert_close(torch.compile(cell, fullgraph=True, backend="eager")(x), cell(x))
    torch.testing.assert_close(torch.export.export(cell, (x,)).module()(x), cell(x))


def test_repr_says_where_it_starts():
    assert "initial=1" in repr(Recurrent(NMU(2, 1)))


@pytest.mark.parametrize("unit", [NMU(2, 2), NMU(1, 2), nn.Identity()], ids=repr)
def test_refuses_a_unit_without_room_for_input(unit):
    with pytest.raises(ValueError, match=f"{type(unit).__name__} has in_features="):
        Recurrent(unit)


def test_refuses_to_guess_the_identity_of_a_foreign_unit():
    with pytest.raises(ValueError, match="does not name its initial state; give initial="):
        Recurrent(nn.Linear(2, 1))
    assert Recurrent(nn.Linear(2, 1), initial=0.0).initial == 0
    assert Recurrent(Linear(2, 1)).initial == 0


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize("shape", [(4, 2), (1,)])
def test_refuses_another_shape(shape):
    with pytest.raises(ValueError, match=r"x must be \(\*, time, 1\), got"):
        Recurrent(NMU(2, 1))(torch.ones(shape))
