"""Units since 2020 as formulas: what a layer reads itself as is what it computes, and the exact judge uses it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from arithmos.formula.powers import value_of
from arithmos.formula.stored import judge
from arithmos.nn import GNALU, NEWER, NMRU, NPU, MulMCFC
from arithmos.nn.g_nalu import SLOPE
from arithmos.papers import single_module
from arithmos.spec import Layer, Model, Spec

BIG = 40.0
"""Parameter at which tanh and sigmoid are 1 in float64."""
GATED = {"INALU", "INALUShared", "GNALU"}
EXPONENTS = {  # exponents that each unit can have, once its weights are exact
    **dict.fromkeys(["NPU", "NaiveNPU", "RealNPU", "RealNPUModified", "NRU"], (-1, 0, 1)),
    **dict.fromkeys(["INALU", "INALUShared", "GNALU", "NMRU", "NMRUPlain", "NMRUGated"], (-1, 0, 1)),
    **dict.fromkeys(["SNMU", "SNMUBatch"], (0, 1)),
    **dict.fromkeys(["MCFC", "MulMCFC"], (1,)),
}


def exact(name, weights, product=True):
    """Parameters of a layer with these weights, and one output."""
    w = torch.tensor([weights], dtype=torch.float64)
    free = {"W_hat": w * BIG / SLOPE, "M_hat": torch.full_like(w, BIG / SLOPE)}
    sides = {
        f"{key}_{side}": w * BIG if key == "W" else torch.full_like(w, BIG) for key in "WM" for side in ("add", "mul")
    }
    gate = torch.tensor([-BIG if product else BIG], dtype=torch.float64)
    ones = torch.ones(len(weights), dtype=torch.float64)
    reciprocal = torch.cat([(w > 0).double(), (w < 0).double()], -1)
    none = torch.zeros(1, dtype=torch.float64)
    return {
        "INALU": {**sides, "gate": gate},
        "INALUShared": {name: value for name, value in sides.items() if name.endswith("add")} | {"gate": gate},
        "GNALU": {**free, "G": torch.full_like(w, gate.item())},
        "NPU": {"real": w, "imaginary": 0 * w, "gate": ones},
        "NaiveNPU": {"real": w, "imaginary": 0 * w},
        "NMRU": {"weight": reciprocal},
        "NMRUPlain": {"weight": reciprocal},
        "NMRUGated": {"weight": reciprocal, "gate": torch.ones(2 * len(weights), dtype=torch.float64)},
        "MCFC": {"junction": w, "out": none + BIG, "bias": none},
        "MulMCFC": {"junction": w, "out": none + BIG, "bias": none, "shift": none},
    }.get(name, {"weight": w} | ({"gate": ones} if name.startswith("Real") else {}))


def layer(name, parameters):
    built = NEWER[name].build(next(iter(parameters.values())).shape[-1] // (2 if name.startswith("NMRU") else 1), 1)
    built.double().load_state_dict(parameters)
    return built.eval()


def test_every_unit_is_here():
    assert set(EXPONENTS) == set(NEWER)


@st.composite
def layers(draw):
    name = draw(st.sampled_from(sorted(NEWER)))
    size = draw(st.integers(1, 4))
    choice = st.sampled_from(EXPONENTS[name])
    weights = draw(st.lists(choice, min_size=size, max_size=size))
    whole = st.integers(1, 99) if name in ("GNALU", "MulMCFC") else st.integers(-99, 99).filter(bool)
    point = draw(st.lists(whole, min_size=size, max_size=size))
    return name, [float(w) for w in weights], draw(st.booleans()) if name in GATED else True, point


@given(layers())
def test_a_layer_with_exact_weights_computes_what_it_reads_itself_as(given_layer):
    name, weights, product, point = given_layer
    built = layer(name, exact(name, weights, product))
    x = torch.tensor(point, dtype=torch.float64)
    with torch.no_grad():
        reading = built.reading(x)
        assert float(value_of(reading, point)) == pytest.approx(built(x).item(), rel=1e-5, abs=1e-6)
    expected = (
        sum(w * v for w, v in zip(weights, point, strict=True))
        if name == "MCFC" or (name in GATED and not product)
        else math.prod(v**w for w, v in zip(weights, point, strict=True))
    )
    assert float(value_of(reading, point)) == pytest.approx(expected)


def spec(name, operation, inputs=2, at=6):
    inside, outside = single_module.NINE[at]
    return Spec(
        task=single_module.task(operation, inputs, inside, outside), model=Model(name, (Layer(name),)), iterations=1000
    )


def flat(name, weights, off=0.0, product=True):
    parameters = exact(name, weights, product)
    built = layer(name, parameters)
    values = torch.cat([parameter.detach().flatten() for parameter in built.parameters()]).numpy()
    return values - off * np.sign(values)


@pytest.mark.parametrize("name", [name for name in NEWER if EXPONENTS[name][0] == -1])
def test_quotients_are_exact_and_products_are_not(name):
    rows = [flat(name, w, off) for w in ([1.0, -1.0], [1.0, 1.0]) for off in (0.0, 0.1)]
    assert judge(spec(name, "div"), [0] * 4, rows) == [True, True, False, False]
    assert judge(spec(name, "mul"), [0] * 4, rows) == [False, False, True, True]


@pytest.mark.parametrize("name", sorted(GATED))
def test_gates_decide_between_sum_and_product(name):
    rows = [flat(name, [1.0, 1.0], 0.2, product) for product in (True, False)]
    assert judge(spec(name, "mul"), [0, 0], rows) == [True, False]
    assert judge(spec(name, "add"), [0, 0], rows) == [False, True]


def test_other_numbers_of_parameters_and_nan_are_not_exact():
    good = flat("NRU", [1.0, -1.0])
    assert judge(spec("NRU", "div"), [0, 1, 2], [good, good[:1], np.array([np.nan, 1.0])]) == [True, None, False]


def test_operands_are_those_of_the_seed():
    place = spec("NRU", "div", inputs=10)
    weights = np.zeros(10)
    (first, _), (second, _) = place.task.subsets(3)
    weights[first], weights[second] = 1.0, -1.0
    verdicts = judge(place, range(25), [flat("NRU", weights.tolist())] * 25)
    assert verdicts[3]
    assert verdicts == [place.task.subsets(seed) == place.task.subsets(3) for seed in range(25)]


def test_what_has_no_formula():
    x = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    undecided = GNALU(2, 1)
    undecided.G.data = torch.tensor([[1.0, -1.0]])
    wavy = NPU(2, 2)
    wavy.imaginary.data = torch.tensor([[0.0, 2.0], [0.0, 0.0]])
    scaled = MulMCFC(2, 1)
    scaled.shift.data += 1.0
    closed = NMRU(2, 1, gated=True)
    closed.weight.data, closed.gate.data = torch.tensor([[1.0, 0.0, 0.0, 1.0]]), torch.tensor([1.0, 0.0, 1.0, 0.0])
    with torch.no_grad():
        for built in (undecided, wavy, scaled, closed):
            assert value_of(built.reading(x), [2, 3]) is None
        assert value_of(wavy.reading(x), [2, 3], output=1) is not None
        closed.gate.data = torch.tensor([1.0, 0.0, 0.0, 1.0])  # factors of what is not used
        assert value_of(closed.reading(x), [2, 3]) == pytest.approx(2 / 3)


def test_roots():
    built = layer("RealNPU", exact("RealNPU", [0.5, 0.5]))
    with torch.no_grad():
        reading = built.reading(torch.ones(1, 2))
    assert value_of(reading, [4, 9]) == 6
    assert value_of(reading, [4, -9]) == 0
