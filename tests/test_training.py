import copy
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import arithmos
from arithmos.nn import NALU, NAU, NMU, UNITS, GatedNAUNMU, NACAdd, NACMulNMU

FINITE = st.floats(-3, 3)


def set_(layer, values):
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(values))
    return layer


class Outsider(nn.Module):
    """A unit of somebody else's: one parameter, its own idea of weights, range and sparsity."""

    def __init__(self):
        super().__init__()
        self.angle = nn.Parameter(torch.full((1, 2), 5.0))

    def forward(self, x):
        return x @ self.angle.clamp(-2, 2).T

    def weights(self):
        return {"angle": self.angle / 2}

    def bounds(self):
        return {"angle": (-2.0, 2.0)}

    def sparsity(self):
        return (self.angle**2).mean()


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


class TestSparsitySchedule:
    @given(st.floats(0, 100), st.integers(0, 1000), st.integers(1, 1000), st.integers(0, 3000))
    def test_is_a_clipped_line(self, strength, start, length, step):
        schedule = arithmos.SparsitySchedule(strength, start, start + length)
        expected = strength * np.clip((step - start) / length, 0, 1)
        assert schedule(step) == pytest.approx(expected)

    def test_without_length_is_a_step(self):
        schedule = arithmos.SparsitySchedule(2.0, 5, 5)
        assert [schedule(step) for step in (0, 4, 5, 6)] == [0, 0, 2, 2]

    @pytest.mark.parametrize("strength", [-1.0, math.inf, math.nan])
    def test_refuses_a_bad_strength(self, strength):
        with pytest.raises(ValueError, match=f"strength must (be a finite number|not be negative), got {strength}"):
            arithmos.SparsitySchedule(strength, 0, 1)

    @pytest.mark.parametrize(("start", "end"), [(2, 1), (-1, 1), (0, math.inf), (0, math.nan), (math.nan, 1)])
    def test_refuses_a_bad_range(self, start, end):
        with pytest.raises(ValueError, match=f"got start={start}, end={end}|(start|end) must be a finite number"):
            arithmos.SparsitySchedule(1.0, start, end)


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


def sums(n, generator):
    x = torch.rand(n, 2, generator=generator) * 4 - 2
    return x, x.sum(1, keepdim=True)


class TestTrain:
    @pytest.fixture
    def generator(self):
        return torch.Generator().manual_seed(0)

    def fit(self, generator, steps=1500, **options):
        torch.manual_seed(0)
        model = NAU(2, 1)
        options = {"learning_rate": 0.01, "validation": sums(100, generator)} | options
        result = arithmos.train(model, lambda step: sums(32, generator), steps, **options)
        return model, result

    def test_learns_to_add(self, generator):
        model, result = self.fit(generator)
        assert model.weight.tolist() == [[1.0, 1.0]]
        assert result.error < 1e-10

    def test_learns_which_inputs_to_multiply(self, generator):
        x = 1 + torch.rand(64, 3, generator=generator)
        batch = x, x[:, :1] * x[:, 2:]
        model = NMU(3, 1)
        model.reset_parameters(generator)
        result = arithmos.train(model, [batch], 1000, validation=batch, learning_rate=0.01)
        assert result.error < 1e-6
        assert model.weight.detach() == pytest.approx(np.array([[1, 0, 1]]), abs=1e-3)

    def test_keeps_the_best_state_not_the_last(self):
        x = torch.ones(8, 2)
        towards, away = (x, torch.full((8, 1), 2.0)), (x, torch.full((8, 1), -2.0))
        torch.manual_seed(0)
        model = NAU(2, 1)
        weights = {}
        result = arithmos.train(
            model,
            lambda step: towards if step < 50 else away,
            100,
            validation=towards,
            learning_rate=0.03,
            callback=lambda step, error: weights.update({step: model.weight.detach().clone()}),
        )
        errors = dict(result.history)
        assert 0 < result.step < 100
        assert result.error == errors[result.step] == min(errors.values()) < errors[100]
        assert torch.equal(model.weight, weights[result.step])

    def test_evaluates_two_hundred_times_and_at_both_ends(self, generator):
        _, result = self.fit(generator, steps=1001)
        assert [step for step, _ in result.history] == [*range(0, 1001, 5), 1001]
        _, result = self.fit(generator, steps=3)
        assert [step for step, _ in result.history] == [0, 1, 2, 3]
        _, result = self.fit(generator, steps=10, every=4)
        assert [step for step, _ in result.history] == [0, 4, 8, 10]

    def test_default_schedule_is_relative_to_the_steps(self, generator, monkeypatch):
        strengths = []
        original = arithmos.SparsitySchedule.__call__
        monkeypatch.setattr(
            arithmos.SparsitySchedule,
            "__call__",
            lambda self, step: strengths.append(original(self, step)) or strengths[-1],
        )
        self.fit(generator, steps=10)
        assert strengths == [0, 0, 0, 0, 0, 0, 4, 8, 10, 10]

    def test_follows_a_schedule_that_is_any_function(self, generator):
        steps = []
        self.fit(generator, steps=5, schedule=lambda step: steps.append(step) or 0.0)
        assert steps == [0, 1, 2, 3, 4]

    def test_keeps_weights_in_range(self, generator):
        validation = torch.ones(1, 2), torch.full((1, 1), 100.0)
        weights = []
        torch.manual_seed(0)
        model = NAU(2, 1)
        arithmos.train(
            model,
            [validation],
            20,
            validation=validation,
            learning_rate=1.0,
            callback=lambda step, error: weights.append(model.weight.abs().max().item()),
        )
        assert max(weights) == 1

    def test_trains_in_training_mode_and_judges_in_evaluation_mode(self, generator):
        modes = []

        class Watch(nn.Linear):
            def forward(self, x):
                modes.append(self.training)
                return super().forward(x)

        model = Watch(2, 1).eval()
        arithmos.train(model, [sums(4, generator)], 2, validation=sums(4, generator))
        assert modes == [False, True, False, True, False]
        assert not model.training

    def test_goes_through_finite_batches_again(self, generator):
        batches = [sums(4, generator) for _ in range(3)]
        self_made, given = [], copy.deepcopy(batches)
        for form in (batches, torch.utils.data.DataLoader(given, batch_size=None)):
            torch.manual_seed(0)
            model = NAU(2, 1)
            arithmos.train(model, form, 10, validation=batches[0])
            self_made.append(model.weight)
        torch.testing.assert_close(*self_made)

    def test_says_when_an_iterator_ran_out(self, generator):
        iterator = itertools.repeat(sums(4, generator), 3)
        with pytest.raises(ValueError, match="batches ran out before the last step"):
            arithmos.train(NAU(2, 1), iterator, 4, validation=sums(4, generator))

    def test_diverging_keeps_the_last_good_state(self, generator):
        x, t = sums(4, generator)
        model = NAU(2, 1)
        result = arithmos.train(model, lambda step: (x, t if step < 5 else t * math.nan), 10, validation=(x, t))
        assert math.isnan(result.history[-1][1])
        assert math.isfinite(result.error)
        assert result.step <= 5
        assert model.weight.isfinite().all()

    def test_refuses_targets_of_another_shape(self, generator):
        x, t = sums(4, generator)
        with pytest.raises(ValueError, match=r"shape of the output, \(4, 1\), got \(4,\)"):
            arithmos.train(NAU(2, 1), [(x, t.squeeze(1))], 1, validation=(x, t.squeeze(1)))

    def test_refuses_no_steps(self, generator):
        with pytest.raises(ValueError, match="steps must be at least 1, got 0"):
            arithmos.train(NAU(2, 1), [], 0, validation=sums(4, generator))

    def test_trains_a_module_that_is_not_ours(self, generator):
        result = arithmos.train(nn.Linear(2, 1), [sums(4, generator)], 3, validation=sums(4, generator))
        assert result.step == 3

    def test_trains_a_unit_kept_in_range_by_exp_log(self, generator):
        x = 1 + torch.rand(64, 2, generator=generator)
        batch = x, x.prod(1, keepdim=True)
        torch.manual_seed(0)
        unit = NACMulNMU(2, 1)
        result = arithmos.train(unit, [batch], 1000, validation=batch, learning_rate=0.01)
        assert result.error < 1e-8
