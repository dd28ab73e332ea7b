"""Units since 2020 as formulas: what a layer reads itself as is what it computes, and the exact judge uses it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from arithmos.formula import expression, recovered
from arithmos.formula.exact import values
from arithmos.formula.network import read_run
from arithmos.formula.stages import snapped
from arithmos.formula.stored import judge
from arithmos.nn import GNALU, NAU, NEWER, NMRU, NPU, MulMCFC, RealNPU
from arithmos.nn.g_nalu import SLOPE
from arithmos.papers import single_module
from arithmos.spec import Layer, Model, Spec
from arithmos.tasks import Arithmetic

BIG = 40.0
"""Parameter at which tanh and sigmoid are 1 in float64."""
GATED = {"INALU", "INALUShared", "GNALU"}
EXPONENTS = {  # exponents that each unit can have, once its weights are exact
    **dict.fromkeys(["NPU", "NaiveNPU", "RealNPU", "RealNPUModified", "NRU"], (-1, 0, 1)),
    **dict.fromkeys(["INALU", "INALUShared", "GNALU", "NMRU", "NMRUPlain", "NMRUGated"], (-1, 0, 1)),
    **dict.fromkeys(["SNMU", "SNMUBatch"], (0, 1)),
    **dict.fromkeys(["MCFC", "MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU"], (1,)),
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
    scaled = {"junction": w, "out": none + BIG, "bias": none, "shift": none}
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
        **dict.fromkeys(["MulMCFC", "MulMCFCSignINALU"], scaled),
        "MulMCFCSignRealNPU": {**scaled, "gate": ones},
    }.get(name, {"weight": w} | ({"gate": ones} if name.startswith("Real") else {}))


def layer(name, parameters):
    built = NEWER[name].build(next(iter(parameters.values())).shape[-1] // (2 if name.startswith("NMRU") else 1), 1)
    built.double().load_state_dict(parameters)
    return built.eval()


def value_of(name, built, rows, point):
    """Exact last output at integers of the formula that a layer is on some rows, with its weights rounded."""
    parameters = torch.cat([p.detach().flatten() for p in built.parameters()]).double().numpy()
    sizes = (built.in_features, built.out_features)
    found = read_run([Layer(name)], sizes, parameters, np.atleast_2d(np.asarray(rows, np.float64)))
    if found is None:
        return None
    return values(snapped(found[0], 0.5)[0], found[1], np.array([point]))[0, -1]


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
        value = float(value_of(name, built, [point], point))
        assert value == pytest.approx(built(x).item(), rel=1e-5, abs=1e-6)
    expected = (
        sum(w * v for w, v in zip(weights, point, strict=True))
        if name == "MCFC" or (name in GATED and not product)
        else math.prod(v**w for w, v in zip(weights, point, strict=True))
    )
    assert value == pytest.approx(expected)


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
    unsigned = MulMCFC(2, 1, sign="cosine")
    unsigned.out.data.fill_(BIG), unsigned.gate.data.zero_()
    without = (("GNALU", undecided), ("NPU", wavy), ("MulMCFC", scaled), ("NMRUGated", closed))
    for name, built in (*without, ("MulMCFCSignRealNPU", unsigned)):
        assert value_of(name, built, x, [2, 3]) is None
    wavy.imaginary.data.zero_()
    assert value_of("NPU", wavy, x, [2, 3]) is not None
    closed.gate.data = torch.tensor([1.0, 0.0, 0.0, 1.0])  # factors of what is not used
    assert value_of("NMRUGated", closed, x, [2, 3]) == pytest.approx(2 / 3)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0]), min_size=1, max_size=3), st.data())
def test_roots_of_negative_numbers_have_the_real_part_of_the_layer(weights, data):
    whole = st.integers(-9, 9).filter(bool)
    point = data.draw(st.lists(whole, min_size=len(weights), max_size=len(weights)))
    built = layer("RealNPU", exact("RealNPU", weights))
    x = torch.tensor(point, dtype=torch.float64)
    with torch.no_grad():
        own = built(x).item()
    assert float(value_of("RealNPU", built, [point], point)) == pytest.approx(own, rel=1e-5, abs=1e-6)
    assert expression(built).numpy()([point]).item() == pytest.approx(own, rel=1e-5, abs=1e-6)


def test_roots():
    built = layer("RealNPU", exact("RealNPU", [0.5, 0.5]))
    assert value_of("RealNPU", built, [[1, 1]], [4, 9]) == 6
    assert value_of("RealNPU", built, [[1, 1]], [4, -9]) == 0
    assert value_of("RealNPU", built, [[1, 1]], [-4, -9]) == -6


def behind_sums(operation, name="RealNPU"):
    task = Arithmetic(operation=operation, input_size=8, subset_ratio=0.25, overlap_ratio=0.5)
    model = Model(name, (Layer("NAU"), Layer(name)))
    return Spec(task=task, model=model, iterations=1000)


def network(spec, exponents, off=0.0, seed=0):
    """Parameters of a network whose first layer adds the operands of a run, whose second has these exponents."""
    sums = np.zeros((2, 8))
    for row, (start, stop) in zip(sums, spec.task.subsets(seed), strict=False):
        row[start:stop] = 1.0
    w, ones = np.array(exponents), np.ones(2)
    second = {"RealNPU": [w, ones], "NPU": [w, 0 * w, ones], "NRU": [w], "NMRU": [np.maximum(w, 0), np.maximum(-w, 0)]}
    return np.concatenate([(1 - off) * sums.ravel(), *((1 - off) * part for part in second[spec.model.name])])


@pytest.mark.parametrize("name", ["RealNPU", "NPU", "NRU", "NMRU"])
def test_a_power_unit_behind_sums_is_judged(name):
    spec = behind_sums("div", name)
    rows = [network(spec, w, off) for w in ([1.0, -1.0], [1.0, 1.0]) for off in (0.0, 0.1)]
    assert judge(spec, [0] * 4, rows) == [True, True, False, False]
    assert judge(behind_sums("mul", name), [0] * 4, rows) == [False, False, True, True]


@pytest.mark.parametrize(
    ("operation", "exponents"), [("root", [0.5, 0.0]), ("squared", [2.0, 0.0]), ("squared", [1.0, 0.0])]
)
def test_roots_and_squares_behind_sums(operation, exponents):
    spec = behind_sums(operation)
    assert judge(spec, [0], [network(spec, exponents)]) == [exponents != [1.0, 0.0]]


def modules(spec, parameters):
    built = torch.nn.Sequential(NAU(8, 2), RealNPU(2, 1)).double()
    torch.nn.utils.vector_to_parameters(torch.from_numpy(parameters), built.parameters())
    return built


def test_a_quotient_of_sums_is_written():
    spec = behind_sums("div")
    built = modules(spec, network(spec, [1.0, -1.0]))
    found = expression(built)
    assert recovered(built, spec.task)
    x = torch.rand(5, 8, dtype=torch.float64) + 1
    np.testing.assert_allclose(found.numpy()(x.numpy()), built(x).detach().numpy(), rtol=1e-6)
    torch.testing.assert_close(found.torch()(x), built(x), rtol=1e-6, atol=0)
    assert "/(" in str(found)
    assert "Abs" not in str(found)


def test_a_gate_that_is_half_open_has_no_formula():
    spec = behind_sums("div")
    built = modules(spec, network(spec, [1.0, -1.0]))
    built[1].gate.data = torch.tensor([1.0, 0.5])
    with pytest.raises(TypeError, match="layer 2, RealNPU, has no known formula: it differs by"):
        expression(built)
