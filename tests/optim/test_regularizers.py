import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.optim.layers import Outsider, set_
from torch import nn

import arithmos
from arithmos.nn import NALU, NAU, NMU, UNITS, GatedNAUNMU, NACAdd

FINITE = st.floats(-3, 3)


class TestSparsityLoss:
    @given(st.lists(FINITE, min_size=6, max_size=6), st.lists(st.floats(0, 1), min_size=2, max_size=2))
    def test_is_the_sum_over_matrices_of_their_means(self, signed, unsigned):
        a, b = np.float32(signed).reshape(2, 3), np.float32(unsigned).reshape(1, 2)
        model = nn.Sequential(set_(NAU(3, 2), a), set_(NMU(2, 1), b))
        expected = np.minimum(abs(a), abs(1 - abs(a))).mean() + np.minimum(abs(b), abs(1 - b)).mean()
        assert arithmos.sparsity_loss(model).item() == pytest.approx(expected, abs=1e-6)

    def test_counts_both_sides_of_a_gate_once(self):
        unit = GatedNAUNMU(3, 2)
        add, mul = unit.weights().values()
        expected = torch.minimum(add.abs(), 1 - add.abs()).mean() + torch.minimum(mul, 1 - mul).mean()
        torch.testing.assert_close(arithmos.sparsity_loss(nn.Sequential(unit)), expected)

    def test_counts_a_layer_used_twice_once(self):
        layer = NAU(2, 2)
        nested = nn.ModuleList([layer, nn.Sequential(layer), nn.Sequential(layer)])
        torch.testing.assert_close(arithmos.sparsity_loss(nested), layer.sparsity())

    def test_pulls_weights_to_the_nearest_of_0_and_1(self):
        nmu = set_(NMU(2, 1), [[0.3, 0.7]])
        arithmos.sparsity_loss(nmu).backward()
        assert nmu.weight.grad.tolist() == [[0.5, -0.5]]

    @pytest.mark.parametrize("module", [nn.Linear(2, 2), NACAdd(2, 2), NALU(2, 2), nn.Identity()], ids=repr)
    def test_is_zero_where_nothing_is_regularized(self, module):
        assert arithmos.sparsity_loss(module).item() == 0

    def test_keeps_the_type_of_the_module(self):
        assert arithmos.sparsity_loss(nn.Linear(2, 2, dtype=torch.float64)).dtype == torch.float64
        assert arithmos.sparsity_loss(NAU(2, 2, dtype=torch.float64)).dtype == torch.float64

    def test_asks_a_foreign_module(self):
        assert arithmos.sparsity_loss(nn.Sequential(Outsider(), set_(NAU(1, 1), [[1.0]]))).item() == 25


class TestSparsityError:
    def test_is_the_furthest_weight_of_all_layers(self):
        model = nn.Sequential(set_(NAU(2, 1), [[-0.9, 0.05]]), nn.Sequential(set_(NMU(1, 1), [[0.8]])))
        assert arithmos.sparsity_error(model).item() == pytest.approx(0.2)

    def test_reads_effective_weights(self):
        nac = NACAdd(2, 1)
        with torch.no_grad():
            nac.W_hat.fill_(20.0)
            nac.M_hat.fill_(0.0)
        assert arithmos.sparsity_error(nac).item() == pytest.approx(0.5)

    def test_reads_the_clipped_weight_of_a_drifted_parameter(self):
        assert arithmos.sparsity_error(set_(NMU(2, 1), [[1.4, -3.0]])).item() == 0

    def test_leaves_out_the_gate(self):
        unit = GatedNAUNMU(2, 1)
        for layer in (unit.add, unit.mul):
            nn.init.ones_(layer.weight)
        assert arithmos.sparsity_error(unit).item() == 0

    def test_can_pass_one_half_where_weights_are_free(self):
        linear = UNITS["Linear"].build(2, 1)
        nn.init.constant_(linear.weight, 3.0)
        assert arithmos.sparsity_error(linear).item() == 2

    def test_of_nan_is_nan(self):
        assert arithmos.sparsity_error(set_(NAU(2, 1), [[math.nan, 0.0]])).isnan()

    def test_asks_a_foreign_module(self):
        assert arithmos.sparsity_error(Outsider()).item() == 1.5

    def test_needs_weights(self):
        with pytest.raises(ValueError, match="Linear has no arithmetic weights"):
            arithmos.sparsity_error(nn.Linear(2, 2))


class TestInputRegularizers:
    @given(st.lists(FINITE, min_size=6, max_size=6), st.lists(FINITE, min_size=3, max_size=3))
    def test_formulas(self, weight, mean):
        w, x = np.float64(weight).reshape(2, 3), np.float64(mean)
        args = torch.tensor(w), torch.tensor(x)
        add = sum((1 - abs(w[o, i])) * x[i] ** 2 for o in range(2) for i in range(3)) / 6
        mul = sum((1 - w[o, i]) * (1 - x[i]) ** 2 for o in range(2) for i in range(3)) / 6
        assert arithmos.input_regularizer_add(*args).item() == pytest.approx(add, abs=1e-12)
        assert arithmos.input_regularizer_mul(*args).item() == pytest.approx(mul, abs=1e-12)

    @pytest.mark.parametrize("f", [arithmos.input_regularizer_add, arithmos.input_regularizer_mul])
    def test_gradients_reach_weight_and_input(self, f):
        weight = torch.tensor([[0.3, 0.7, 0.2], [0.6, 0.1, 0.9]], dtype=torch.float64, requires_grad=True)
        mean = torch.tensor([0.5, 2.0, -1.0], dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(f, (weight, mean))

    @pytest.mark.parametrize("f", [arithmos.input_regularizer_add, arithmos.input_regularizer_mul])
    @pytest.mark.parametrize("shape", [(1,), (2,), (4, 3)])
    def test_refuse_a_mean_of_another_shape(self, f, shape):
        with pytest.raises(ValueError, match=r"weight must be \(out, in\) and mean_input \(in,\)"):
            f(torch.ones(2, 3), torch.ones(shape))
