import copy
import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

import arithmos
from arithmos.nn import NAU, NMU, NACMulNMU


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

    def test_layers_have_their_own_rates(self, generator):
        torch.manual_seed(0)
        model = nn.Sequential(NAU(2, 2), NMU(2, 1))
        before = [layer.weight.detach().clone() for layer in model]
        batch, weights = sums(32, generator), {}
        arithmos.train(
            model,
            [batch],
            1,
            validation=batch,
            learning_rate=1e-2,
            layer_rates=(1, 0.1),
            every=1,
            callback=lambda step, error: weights.update({step: [layer.weight.detach().clone() for layer in model]}),
        )
        moved = [(now - then).abs() for now, then in zip(weights[1], before, strict=True)]
        torch.testing.assert_close(moved[0], torch.full((2, 2), 1e-2), rtol=1e-3, atol=0)
        torch.testing.assert_close(moved[1], torch.full((1, 2), 1e-3), rtol=1e-3, atol=0)

    def test_a_scaled_loss_does_not_depend_on_the_units_of_the_targets(self):
        weights = []
        for unit in (1.0, 1024.0):
            torch.manual_seed(0)
            model, (x, t) = NAU(2, 1), sums(64, torch.Generator().manual_seed(1))
            batch = x * unit, t * unit
            options = {"validation": batch, "scale_loss": True, "schedule": lambda step: 0.1, "learning_rate": 0.01}
            arithmos.train(model, [batch], 50, **options)
            weights.append(model.weight.detach())
        torch.testing.assert_close(*weights)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"layer_rates": (1,)}, "layer_rates must be one per layer of the model, 2 of them, got 1"),
            ({"layer_rates": (1, 0)}, r"layer_rates must be above 0, got \(1, 0\)"),
            ({"scale_loss": True}, "the validation targets must vary to scale the loss, got a variance of 0"),
        ],
    )
    def test_wrong_options_are_refused(self, options, message):
        batch = torch.ones(8, 2), torch.ones(8, 1)
        with pytest.raises(ValueError, match=message):
            arithmos.train(nn.Sequential(NAU(2, 2), NMU(2, 1)), [batch], 2, validation=batch, **options)

    def test_rates_need_layers_with_all_parameters(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.own = NAU(2, 1), nn.Parameter(torch.ones(1))

        batch = torch.ones(8, 2), torch.ones(8, 1)
        with pytest.raises(ValueError, match="parameters outside of its layers"):
            arithmos.train(Odd(), [batch], 2, validation=batch, layer_rates=(1,))

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
