"""What all layers share: messages, ranges, sparsity, representation."""

import pytest
import torch

from arithmos import functional
from arithmos.nn import NALU, NAU, NMU, UNITS, GatedNAUNMU, Linear, NACAdd, NACMul, NACMulNMU

units = pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)


@units
@pytest.mark.parametrize(("argument", "sizes"), [("in_features", (0, 2)), ("out_features", (3, -1))])
def test_sizes_must_be_positive(unit, argument, sizes):
    with pytest.raises(ValueError, match=rf"^{argument} must be a positive integer, got {min(sizes)}$"):
        unit.build(*sizes)


@units
@pytest.mark.parametrize("size", [2.0, "2", True, None])
@pytest.mark.usefixtures("shapes_unchecked")
def test_sizes_must_be_integers(unit, size):
    with pytest.raises(ValueError, match=f"^out_features must be a positive integer, got {size!r}$"):
        unit.build(2, size)


@units
def test_parameters_must_be_floating(unit):
    with pytest.raises(
        TypeError, match=r"^dtype must be a floating-point type, such as torch.float32, got torch.int64$"
    ):
        unit.build(2, 2, dtype=torch.int64)


@units
@pytest.mark.usefixtures("shapes_unchecked")
def test_inputs_must_fit(unit):
    layer = unit.build(3, 2)
    message = r"^the last axis of the input must have size in_features = 3, got an input of shape "
    for shape in ((5, 4), (4,), ()):
        with pytest.raises(ValueError, match=message + str(shape).replace("(", r"\(").replace(")", r"\)")):
            layer(torch.ones(shape))


@units
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
@pytest.mark.usefixtures("shapes_unchecked")
def test_inputs_must_be_floating(unit, dtype):
    with pytest.raises(TypeError, match=f"^the input must be a floating-point tensor, got {dtype}; convert it"):
        unit.build(3, 2)(torch.ones(5, 3, dtype=dtype))


@pytest.mark.parametrize("layer", [NAU, NMU, NACMulNMU, NACAdd, NACMul, NALU, GatedNAUNMU])
def test_options_are_named(layer):
    known = {
        **dict.fromkeys((NAU, GatedNAUNMU), ("default", "paper", "small", "fifth")),
        **dict.fromkeys((NMU, NACMulNMU), ("default", "paper", "unit", "small", "near-one")),
    }.get(layer, ("default", "paper", "small"))
    with pytest.raises(ValueError, match=f"^init must be {' or '.join(map(repr, known))}, got 'glorot'$"):
        layer(4, 2, init="glorot")


def test_options_are_shown():
    assert repr(NMU(3, 2)) == "NMU(in_features=3, out_features=2)"
    assert repr(NAU(3, 2, init="paper", clip=False)) == "NAU(in_features=3, out_features=2, init='paper', clip=False)"
    assert NALU(3, 2, shared=False).extra_repr() == "in_features=3, out_features=2, shared=False"


def test_bounds():
    assert NAU(2, 1).bounds() == {"weight": (-1, 1)}
    assert NMU(2, 1).bounds() == NACMulNMU(2, 1).bounds() == {"weight": (0, 1)}
    assert NMU(2, 1, project=False).bounds() == {}
    assert GatedNAUNMU(2, 1).bounds() == {"add.weight": (-1, 1), "mul.weight": (0, 1)}
    assert NALU(2, 1).bounds() == Linear(2, 1).bounds() == {}


@units
def test_weights_by_name(unit):
    weights = unit.build(3, 2).weights()
    assert list(weights) == {"NALU": ["add"], "NALUSeparate": ["add", "mul"], "GatedNAUNMU": ["add", "mul"]}.get(
        unit.name, ["weight"]
    )
    assert {tuple(weight.shape) for weight in weights.values()} == {(2, 3)}


@pytest.mark.parametrize(("layer", "low"), [(NAU, -1.0), (NMU, 0.0)])
def test_clip_and_project_are_apart(layer, low):
    wide, x = torch.tensor([[-3.0, 0.5, 3.0]]), torch.tensor([2.0, 3.0, 5.0])
    clipped, free = layer(3, 1, project=False), layer(3, 1, project=False, clip=False)
    for each in (clipped, free):
        each.weight.data.copy_(wide)
    assert clipped.weights()["weight"].tolist() == [[low, 0.5, 1.0]]
    assert free.weights()["weight"].tolist() == wide.tolist()
    inside = layer(3, 1)
    inside.weight.data.copy_(wide.clamp(low, 1))
    torch.testing.assert_close(clipped(x), inside(x))
    assert not torch.allclose(free(x), inside(x))
    clipped(x).sum().backward()
    assert clipped.weight.grad.count_nonzero() == 1  # none outside the range
    assert clipped.sparsity() > 1  # of the stored weight: |1 - |-3|| or |-3|


@pytest.mark.parametrize(
    ("weight", "signed", "unsigned", "slope_signed", "slope_unsigned"),
    [
        (0.0, 0.0, 0.0, 0, 0),
        (0.25, 0.25, 0.25, 1, 1),
        (0.5, 0.5, 0.5, 0, 0),
        (0.75, 0.25, 0.25, -1, -1),
        (1.0, 0.0, 0.0, 0, 0),
        (1.5, 0.5, 0.5, 1, 1),
        (-0.25, 0.25, 0.25, -1, -1),
        (-0.5, 0.5, 0.5, 0, -1),
        (-0.75, 0.25, 0.75, 1, -1),
        (-1.0, 0.0, 1.0, 0, -1),
    ],
)
def test_sparsity_of_a_weight(weight, signed, unsigned, slope_signed, slope_unsigned):
    for is_signed, value, slope in ((True, signed, slope_signed), (False, unsigned, slope_unsigned)):
        w = torch.tensor([[weight]], requires_grad=True)
        found = functional.sparsity(w, signed=is_signed)
        found.backward()
        assert (found.item(), w.grad.item()) == (value, slope)


def test_sparsity_is_a_sum_of_means():
    gated = GatedNAUNMU(3, 2)
    torch.nn.init.constant_(gated.add.weight, -0.75)
    torch.nn.init.constant_(gated.mul.weight, 0.9)
    assert gated.sparsity().item() == pytest.approx(0.25 + 0.1)
    for unit in ("NALU", "NACAdd", "NACMulSigma", "Linear", "ReLU"):
        zero = UNITS[unit].build(3, 2, dtype=torch.float64).sparsity()
        assert (zero.item(), zero.shape, zero.dtype) == (0, (), torch.float64)


def test_a_layer_keeps_no_state_but_its_parameters():
    """No count of steps, no warning: `constrain` looks after ranges."""
    module = NMU(2, 1)
    before = {name: value for name, value in vars(module).items() if name != "_parameters"}
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    for _ in range(20):
        (-module(torch.full((1, 2), 2.0)).sum()).backward()
        optimizer.step()
    assert module.weight.max() > 1
    assert {name: value for name, value in vars(module).items() if name != "_parameters"} == before
