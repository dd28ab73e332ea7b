"""Noise of units: the same for every stack, another for every run, iteration and call."""

import numpy as np
import pytest
import torch
from torch.func import vmap

from arithmos import philox
from arithmos.engines.contract import Failed, Job
from arithmos.engines.torch import TorchEngine
from arithmos.nn import NMU, Unit, noise
from arithmos.nn._noise import RunNoise, drawn_from, no_noise
from arithmos.spec import Layer, Model, Spec
from arithmos.tasks import TEN_PARAMETERS


def drawn(seed, step, calls=1, **options):
    run = RunNoise(step)
    with drawn_from(run.source(torch.tensor(seed))):
        return [noise(torch.ones(5, 6), **options) for _ in range(calls)]


def test_noise_is_the_stream_of_its_run():
    first, second = drawn(3, 17, calls=2, low=1.0, high=5.0)
    for k, found in enumerate((first, second)):
        words = philox.words((3, philox.RUN), philox.UNIT + k, 17, 5, 6)
        np.testing.assert_array_equal(found, philox.uniform(words, ((1.0, 5.0),)))
    assert not torch.equal(first, drawn(3, 18)[0])
    assert not torch.equal(first, drawn(4, 17)[0])


def test_noise_is_the_same_in_a_stack():
    x, run = torch.ones(2, 5, 6), RunNoise(9)

    def call(seed, x):
        with drawn_from(run.source(seed)):
            return noise(x)

    stacked = vmap(call)(torch.tensor([3, 8]), x)
    torch.testing.assert_close(stacked, torch.stack([drawn(3, 9)[0], drawn(8, 9)[0]]), rtol=0, atol=0)


def test_noise_outside_a_run_is_torch_s():
    torch.manual_seed(0)
    first = noise(torch.ones(4), 2.0, 4.0)
    torch.manual_seed(0)
    torch.testing.assert_close(first, 2 + 2 * torch.rand(4))
    with pytest.raises(ValueError, match="low must be less than high, got"):
        noise(torch.ones(4), 1.0, 1.0)
    with drawn_from(no_noise), pytest.raises(RuntimeError, match=r"noise\(\) is for training"):
        noise(torch.ones(4))


class Stochastic(NMU):
    """Multiplies its inputs by noise while it trains, and divides it out again."""

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        n = noise(x, 1.0, 5.0)
        return super().forward(x * n) / super().forward(n)


class NoisyJudge(NMU):
    def forward(self, x):
        return super().forward(x) + noise(x).sum()


def spec_of(module, **options):
    unit = Unit(module, name=module.__name__, label="")
    return Spec(task=TEN_PARAMETERS, model=Model("noisy", (Layer("NAU"), Layer(unit))), **options)


def test_a_unit_with_noise_trains_alike_in_any_stack():
    spec = spec_of(Stochastic, iterations=30, evaluate_every=10)
    together = {run.seed: run for run in TorchEngine().run([Job(spec, (0, 1))])}
    [alone] = TorchEngine().run([Job(spec, (1,))])
    np.testing.assert_allclose(alone.end_weights, together[1].end_weights, rtol=1e-4, atol=1e-5)
    assert not np.allclose(together[0].end_weights, together[1].end_weights)


def test_noise_in_evaluation_mode_is_refused():
    with pytest.raises(Failed, match=r"noise\(\) is for training on batches"):
        list(TorchEngine().run([Job(spec_of(NoisyJudge, iterations=10), (0,))]))
