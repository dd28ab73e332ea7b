"""Units since 2020: each computes its printed formula, and its gradient is that of the formula."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.nn import formulas
from tests.nn.formulas import FORMULAS, TRAINING, chosen

from arithmos import functional
from arithmos.nn import CELLS, GNALU, INALU, MCFC, NALU, NEWER, NMRU, NMU, NRU, SNMU, LinearSigmoid, RealNPU

units = pytest.mark.parametrize("unit", NEWER.values(), ids=lambda unit: unit.name)
values = st.floats(-8, 8).filter(lambda v: abs(v) > 0.01)
sizes = st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 3))


@st.composite
def problems(draw):
    batch, i, o = draw(sizes)
    return draw(hnp.arrays(np.float64, (batch, i), elements=values)), o, draw(st.integers(0, 2**32 - 1))


def layer(unit, i, o, seed):
    """A layer in evaluation mode, with parameters in and somewhat out of its range."""
    built = unit.build(i, o, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    for parameter in built.parameters():
        torch.nn.init.uniform_(parameter, -1.5, 1.5, generator=generator)
    return built.eval()


def expected(built, name, x, formulas=FORMULAS):
    parameters = {key: value.detach().numpy() for key, value in built.named_parameters()}
    outputs = range(built.out_features)
    rows = [[formulas[name](row, o, parameters) for o in outputs] for row in x]
    return np.array(rows).reshape(len(x), built.out_features)


@units
@given(problem=problems())
@settings(max_examples=25, deadline=None)
def test_the_formula(unit, problem):
    x, o, seed = problem
    built = layer(unit, x.shape[1], o, seed)
    found = built(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(found, expected(built, unit.name, x), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", TRAINING)
@given(problem=problems())
@settings(max_examples=25, deadline=None)
def test_the_formula_of_training(name, problem):
    x, o, seed = problem
    built = layer(NEWER[name], x.shape[1], o, seed).train()
    found = built(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(found, expected(built, name, x, TRAINING), rtol=1e-8, atol=1e-10)


@units
def test_the_gradient_is_that_of_the_formula(unit):
    """Central differences of the NumPy formula, in every parameter."""
    built = layer(unit, 3, 2, 5)
    x = np.array([[0.5, -1.5, 2.0], [3.0, 0.7, -0.2]])
    x = np.abs(x) if unit.name == "MulMCFC" else x
    built(torch.from_numpy(x)).sum().backward()
    for name, parameter in built.named_parameters():
        flat = parameter.detach().view(-1)
        for place, value in enumerate(flat.tolist()):
            sides = []
            for step in (1e-6, -1e-6):
                flat[place] = value + step
                sides.append(expected(built, unit.name, x).sum())
            flat[place] = value
            found = parameter.grad.view(-1)[place].item()
            assert found == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5, abs=1e-6), (name, place)


@units
def test_gradients_are_finite_in_single_precision(unit):
    built = unit.build(4, 2)
    built.reset_parameters(torch.Generator().manual_seed(0))
    for built.training in (True, False):
        built.zero_grad()
        x = torch.tensor([[1e-3, -1e-3, 20.0, -20.0], [1.0, 2.0, -0.1, 0.3]])
        x = (x.abs() if unit.name == "MulMCFC" else x).requires_grad_()
        built(x).sum().backward()
        for name, tensor in [*built.named_parameters(), ("x", x)]:
            assert tensor.grad is not None, name
            assert tensor.grad.isfinite().all(), name


@units
@pytest.mark.usefixtures("shapes_unchecked")
def test_inputs_and_sizes_are_checked(unit):
    with pytest.raises(ValueError, match=r"^in_features must be a positive integer, got 0$"):
        unit.build(0, 2)
    with pytest.raises(TypeError, match=r"^dtype must be a floating-point type"):
        unit.build(2, 2, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"^the last axis of the input must have size in_features = 3"):
        unit.build(3, 2)(torch.ones(5, 4))
    with pytest.raises(TypeError, match=r"^the input must be a floating-point tensor"):
        unit.build(3, 2)(torch.ones(5, 3, dtype=torch.int64))


class TestRealNPU:
    def test_exact_weights_divide(self):
        npu = RealNPU(3, 1, dtype=torch.float64)
        npu.weight.data.copy_(torch.tensor([[1.0, -1.0, 0.7]]))
        npu.gate.data.copy_(torch.tensor([1.0, 1.5, -0.2]))
        x = torch.tensor([[6.0, -3.0, 5.0], [-1.0, -4.0, 0.0]], dtype=torch.float64)
        torch.testing.assert_close(npu(x), (x[:, :1] / x[:, 1:2]), rtol=1e-6, atol=1e-6)
        assert npu.weights()["weight"].tolist() == [[1.0, -1.0, 0.0]]

    def test_without_epsilon_small_inputs_are_exact(self):
        x = torch.tensor([[1e-6, 1e-6]], dtype=torch.float64)
        for epsilon, error in ((2.0**-23, 0.02), (0.0, 1e-12)):
            npu = RealNPU(2, 1, epsilon=epsilon, dtype=torch.float64)
            torch.nn.init.constant_(npu.weight, 1.0)
            torch.nn.init.constant_(npu.gate, 1.0)
            relative = (npu(x).item() - 1e-12) / 1e-12
            assert (relative > 0.02) if error == 0.02 else abs(relative) < error

    def test_a_gate_outside_its_range_has_a_gradient_only_if_it_is_straight(self):
        for straight, wanted in ((False, 0), (True, 2)):
            npu = RealNPU(2, 1, straight=straight)
            torch.nn.init.constant_(npu.weight, 0.5)
            npu.gate.data.copy_(torch.tensor([-0.1, 1.1]))
            npu(torch.tensor([[3.0, 2.0]])).sum().backward()
            assert npu.gate.grad.count_nonzero() == wanted

    def test_options_of_the_modified_unit(self):
        modified = NEWER["RealNPUModified"].build(2, 1)
        assert modified.bounds() == {"weight": (-1.0, 1.0), "gate": (0.0, 1.0)}
        modified.weight.data.copy_(torch.tensor([[0.75, -0.25]]))
        modified.gate.data.copy_(torch.tensor([0.9, 0.2]))
        assert modified.sparsity().item() == pytest.approx((0.25 + 0.75) / 2 + (0.1 + 0.2) / 2)
        assert RealNPU(2, 1).bounds() == {}
        assert RealNPU(2, 1).sparsity() == 0
        with_zero = functional.sparsity_of_power(modified.weight, modified.gate, "both, with 0")
        assert with_zero.item() == pytest.approx((0.25 + 0.25) / 2 + 0.15)
        with pytest.raises(ValueError, match=r"^project must be 'none' or 'gate' or 'weight' or 'both', got 'all'$"):
            RealNPU(2, 1, project="all")


class TestExactWeights:
    """Every unit computes its operation with the weights that it should find, on inputs of both signs."""

    x = torch.tensor([[6.0, -3.0], [-1.5, -4.0], [0.2, 8.0]], dtype=torch.float64)

    @pytest.mark.parametrize("separate", [False, True])
    def test_nru(self, separate):
        nru = NRU(2, 1, separate=separate, dtype=torch.float64)
        nru.weight.data.copy_(torch.tensor([[1.0, -1.0]]))
        for nru.training in (True, False):
            torch.testing.assert_close(nru(self.x), self.x[:, :1] / self.x[:, 1:])

    @pytest.mark.parametrize("signed", [False, True])
    def test_nmru(self, signed):
        nmru = NMRU(2, 1, signed=signed, dtype=torch.float64)
        nmru.weight.data.copy_(torch.tensor([[1.0, 0.0, 0.0, 1.0]]))
        for nmru.training in (True, False):
            torch.testing.assert_close(nmru(self.x), self.x[:, :1] / self.x[:, 1:], rtol=1e-6, atol=1e-6)
        assert {name: weight.tolist() for name, weight in nmru.weights().items()} == {"mul": [[1, 0]], "div": [[0, 1]]}

    def test_inalu(self):
        inalu = INALU(2, 1, dtype=torch.float64)
        for name, value in {"W_add": (20, -20), "M_add": (40, 40), "W_mul": (20, 20), "M_mul": (40, 40)}.items():
            inalu.get_parameter(name).data.copy_(torch.tensor([value]))
        for logit, target in ((40.0, self.x[:, :1] - self.x[:, 1:]), (-40.0, self.x.prod(-1, keepdim=True))):
            torch.nn.init.constant_(inalu.gate, logit)
            torch.testing.assert_close(inalu(self.x), target)
            assert inalu.gate_value(self.x).round().tolist() == [[float(logit > 0)]] * 3


def test_the_gate_of_an_inalu_may_depend_on_the_input():
    torch.manual_seed(0)
    inalu = INALU(3, 2, init="glorot", input_gate=True, dtype=torch.float64)
    x = torch.randn(5, 3, dtype=torch.float64)
    p = {name: parameter.detach().numpy() for name, parameter in inalu.named_parameters()}
    assert p["gate"].shape == (2, 3)
    for row, outputs, gates in zip(x.numpy(), inalu(x).tolist(), inalu.gate_value(x).tolist(), strict=True):
        logits = p["gate"] @ row
        assert gates == pytest.approx(1 / (1 + np.exp(-logits)))
        assert outputs == pytest.approx([formulas.inalu(row, o, {**p, "gate": logits}) for o in range(2)])
    with pytest.raises(ValueError, match="init='glorot' must go with input_gate=True"):
        INALU(3, 2, init="glorot")


def test_a_sigmoid_layer():
    layer = LinearSigmoid(2, 1)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -2.0]]))
        layer.bias.fill_(0.5)
    assert layer(torch.tensor([3.0, 1.0])).item() == pytest.approx(1 / (1 + np.exp(-1.5)))


class TestSNMU:
    def test_noise_cancels_for_exact_weights_only(self):
        x = torch.tensor([[-1.5, -1.2, 0.3]] * 4, dtype=torch.float64)
        for batch in (False, True):
            snmu = SNMU(3, 1, batch=batch, dtype=torch.float64)
            snmu.weight.data.copy_(torch.tensor([[1.0, 1.0, 0.0]]))
            noisy, again = snmu(x * torch.tensor([1.0, 1.0, 2.0])), snmu(x)
            torch.testing.assert_close(noisy, again)
            torch.nn.init.constant_(snmu.weight, 0.5)
            assert not torch.allclose(snmu(x), snmu(x))

    def test_formula_of_training(self):
        x, n, w = (torch.rand(5, 3, dtype=torch.float64) for _ in range(3))
        found = functional.snmu(x, w, n).numpy()
        rows = zip(x.numpy(), n.numpy(), strict=True)
        wanted = [[chosen(a * b, row) / chosen(b, row) for row in w.numpy()] for a, b in rows]
        np.testing.assert_allclose(found, wanted)

    def test_is_an_nmu_in_evaluation(self):
        snmu, nmu = SNMU(3, 2).eval(), NMU(3, 2)
        nmu.load_state_dict(snmu.state_dict())
        x = torch.randn(5, 3)
        assert torch.equal(snmu(x), nmu(x))

    def test_range_of_noise(self):
        with pytest.raises(ValueError, match=r"^low and high must be 0 < low < high, got low=2.0, high=1.0$"):
            SNMU(2, 1, low=2.0, high=1.0)


def test_g_nalu_is_a_nalu_with_scaled_parameters():
    golden, nalu = GNALU(3, 2, dtype=torch.float64), NALU(3, 2, dtype=torch.float64)
    scale = np.log((1 + 5**0.5) / 2)
    for ours, theirs in zip(golden.parameters(), nalu.parameters(), strict=True):
        theirs.data.copy_(scale * ours)
    x = torch.randn(6, 3, dtype=torch.float64)
    torch.testing.assert_close(golden(x), nalu(x))


def test_an_mcfc_of_one_output_adds_all_inputs():
    mcfc = MCFC(5, 1, dtype=torch.float64)
    assert torch.softmax(mcfc.junction, 0).tolist() == [[1.0] * 5]
    assert mcfc.junction.norm().item() == pytest.approx(1)
    assert mcfc.sparsity() < 0


@pytest.mark.parametrize("name", ["MulMCFCSignINALU", "MulMCFCSignRealNPU"])
def test_signed_products_have_a_gradient_at_zero(name):
    """Random inputs are 0 in one of some ten million, and one NaN would end a run."""
    built = NEWER[name].build(3, 2)
    x = torch.tensor([[0.0, -2.0, 3.0]], requires_grad=True)
    built(x).sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (*built.parameters(), x))


@pytest.mark.parametrize("name", ["MulMCFCSignINALU", "MulMCFCSignRealNPU"])
def test_signed_products_multiply(name):
    built = NEWER[name].build(3, 1)
    built.out.data.fill_(40.0)
    if built.gate is not None:
        assert built.gate.tolist() == [0.5] * 3
        built.gate.data.fill_(1.0)
    found = built(torch.tensor([[2.0, -3.0, 5.0], [-2.0, -3.0, 5.0]])).flatten().tolist()
    assert found == pytest.approx([-30.0, 30.0], rel=1e-5)


def test_gates_of_signs_are_regularized_by_a_tenth_of_the_weights():
    plain, gated = (NEWER[name].build(3, 1) for name in ("MulMCFCSignINALU", "MulMCFCSignRealNPU"))
    gated.load_state_dict({**plain.state_dict(), "gate": torch.tensor([0.0, 0.5, 0.9])})
    assert (gated.sparsity() - plain.sparsity()).item() == pytest.approx(0.1 * (0.0 + 0.5 + 0.1) / 3)


def test_the_nalu_of_the_large_task_has_a_bias_and_starts_small():
    built = CELLS["NALUBiased"].build(3, 2, dtype=torch.float64)
    assert [name for name, _ in built.named_parameters()] == ["add.W_hat", "add.M_hat", "gate.weight", "gate.bias"]
    for parameter in built.parameters():
        assert 0 <= parameter.min() <= parameter.max() <= 0.1
    w_hat, m_hat, gates, bias = (parameter.detach().numpy() for parameter in built.parameters())
    x = np.array([[2.0, -3.0, 0.0]])
    w = np.tanh(w_hat) / (1 + np.exp(-m_hat))
    g = 1 / (1 + np.exp(-(x @ gates.T + bias)))
    expected = g * (x @ w.T) + (1 - g) * np.exp(np.log(np.abs(x) + 1e-8) @ w.T)
    np.testing.assert_allclose(built(torch.from_numpy(x)).detach().numpy(), expected, rtol=1e-12)


def test_one_gate_for_all_outputs_is_a_gate_of_equal_rows():
    one, many = (CELLS[name].build(3, 2, dtype=torch.float64) for name in ("NALUVector", "NALU"))
    own = one.state_dict()
    many.load_state_dict({**own, "gate.weight": own["gate.weight"].expand(2, 3)})
    x = torch.randn(5, 3, dtype=torch.float64)
    torch.testing.assert_close(one(x), many(x))
    assert own["gate.weight"].shape == (1, 3)
    torch.testing.assert_close(one.gate_value(x), many.gate_value(x))


def test_with_one_output_one_gate_changes_nothing():
    """Even the initial weights of a seed are the same."""
    built = []
    for name in ("NALUVector", "NALU"):
        torch.manual_seed(0)
        built.append(CELLS[name].build(3, 1).state_dict())
    assert all(torch.equal(built[0][name], built[1][name]) for name in built[1])


def test_means_of_initial_weights():
    built = INALU(1000, 10, init="g 1, M -1, W 0, sd 0.5")
    for name, mean in {"W_add": 0.0, "W_mul": 0.0, "M_add": -1.0, "M_mul": -1.0}.items():
        parameter = built.get_parameter(name)
        assert (parameter.mean().item(), parameter.std().item()) == pytest.approx((mean, 0.5), abs=0.02)
    gates = INALU(1, 10_000, init="g 1, M -1, W 0, sd 0.5").gate
    assert (gates.mean().item(), gates.std().item()) == pytest.approx((1.0, 0.5), abs=0.02)
    with pytest.raises(ValueError, match=r"^init must be 'original' .* or 'g 0, M -1, W 1, sd 0.1', got 'g 0, M -1'$"):
        INALU(2, 1, init="g 0, M -1")


def test_starts():
    """Initial values of the published runs."""
    inalu = INALU(1000, 10)
    means = {"W_add": 1.0, "M_mul": -1.0}
    for name, mean in means.items():
        parameter = inalu.get_parameter(name)
        assert (parameter.mean().item(), parameter.std().item()) == pytest.approx((mean, 0.1), abs=0.01)
    primer = INALU(1000, 10, init="primer")
    assert (primer.W_mul.mean().item(), primer.W_mul.std().item()) == pytest.approx((0.88, 0.2), abs=0.02)
    for name, low, high in (("NRU", -0.5, 0.5), ("NMRU", 0.25, 0.75), ("SNMU", 0.25, 0.75)):
        weight = NEWER[name].build(8, 8).weight
        assert low <= weight.min() < weight.max() <= high
    npu = NEWER["NPU"].build(4, 2)
    assert npu.imaginary.count_nonzero() == 0
    assert npu.gate.tolist() == [0.5] * 4
