"""Parameters start as the published runs did, or on request as the paper says."""

import math
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.ranges import NAC_RANGES

from arithmos.nn import (
    NALU,
    NAU,
    NMU,
    UNITS,
    GatedNAUNMU,
    Linear,
    LinearReLU,
    LinearReLU6,
    NACAdd,
    NACMul,
    NACMulNMU,
    NACMulSigma,
)


def sample(layer, name, draws=300):
    """Many starts of one parameter, from one generator."""
    generator = torch.Generator().manual_seed(3)
    starts = []
    for _ in range(draws):
        layer.reset_parameters(generator)
        starts.append(layer.get_parameter(name).detach().flatten().clone())
    return torch.cat(starts).double().numpy()


def assert_uniform(values, low, high):
    assert low <= values.min()
    assert values.max() <= high
    assert stats.kstest(values, stats.uniform(low, high - low).cdf).pvalue > 1e-3


@pytest.mark.parametrize("sizes", NAC_RANGES)
@pytest.mark.parametrize("name", ["W_hat", "M_hat"])
def test_nac_range(sizes, name):
    r = NAC_RANGES[sizes]
    values = sample(NACAdd(*sizes), name)
    assert_uniform(values, -r - 1e-5, r + 1e-5)
    assert abs(values).max() > 0.98 * r


@pytest.mark.parametrize(
    ("layer", "name", "low", "high"),
    [
        (NACMul(10, 2), "M_hat", -2.07425, 2.07425),
        (NACMulNMU(4, 2), "weight", 0.25, 0.75),
        (NACMulNMU(4, 2, init="paper"), "weight", 0.5 - math.sqrt(0.75), 0.5 + math.sqrt(0.75)),
        (NAU(4, 2), "weight", -0.5, 0.5),
        (NAU(100, 2), "weight", -0.24254, 0.24254),
        (NAU(4, 2, init="paper"), "weight", -1.0, 1.0),
        (NMU(4, 2), "weight", 0.25, 0.75),
        (NMU(4, 2, init="paper"), "weight", 0.5 - math.sqrt(0.75), 0.5 + math.sqrt(0.75)),
        (NALU(10, 2), "add.W_hat", -2.07425, 2.07425),
        (NALU(10, 2, shared=False), "mul.M_hat", -2.07425, 2.07425),
        (NALU(10, 2), "gate.weight", -math.sqrt(0.5), math.sqrt(0.5)),
        (GatedNAUNMU(10, 2), "add.weight", -0.5, 0.5),
        (GatedNAUNMU(10, 2), "mul.weight", 0.25, 0.75),
        (GatedNAUNMU(10, 2, init="paper"), "add.weight", -math.sqrt(0.5), math.sqrt(0.5)),
        (GatedNAUNMU(10, 2), "gate.weight", -math.sqrt(0.5), math.sqrt(0.5)),
        (Linear(10, 2), "weight", -math.sqrt(0.5), math.sqrt(0.5)),
        (LinearReLU(6, 2), "weight", -1.0, 1.0),
        (LinearReLU6(6, 2), "weight", -1.0, 1.0),
    ],
)
def test_uniform_starts(layer, name, low, high):
    values = sample(layer, name)
    assert_uniform(values, low - 1e-5, high + 1e-5)
    assert values.max() - values.min() > 0.98 * (high - low)


def test_sigma_starts_normal():
    values = sample(NACMulSigma(10, 2), "W_hat")
    assert stats.kstest(values, stats.norm(0, math.sqrt(2 / 12)).cdf).pvalue > 1e-3


@pytest.mark.parametrize("layer", [Linear(3, 2), LinearReLU(3, 2), LinearReLU6(3, 2)])
def test_biases_start_at_zero(layer):
    assert layer.bias.count_nonzero() == 0


def test_the_papers_variance():
    assert sample(NMU(20, 5, init="paper"), "weight").var() == pytest.approx(0.25, rel=0.02)
    assert sample(NMU(20, 5), "weight").var() == pytest.approx(1 / 48, rel=0.02)
    nac = NACAdd(100, 20, init="paper")
    assert nac.weights()["weight"].var().item() == pytest.approx(2 / 120, rel=0.2)


@pytest.mark.parametrize("layer", [NACAdd, NACMul, NALU])
def test_the_paper_has_no_start_for_small_nacs(layer):
    with pytest.raises(ValueError, match="4"):
        layer(3, 1, init="paper")
    layer(4, 1, init="paper")


def test_units_draw_in_a_fixed_order():
    """W_hat before M_hat; the sum, the product, then the gate: published seeds depend on it."""
    generator = torch.Generator().manual_seed(11)
    r, bound = NAC_RANGES[10, 2], math.sqrt(0.5)
    expected = [torch.empty(2, 10).uniform_(-r, r, generator=generator) for _ in range(4)]
    expected.append(torch.empty(2, 10).uniform_(-bound, bound, generator=generator))
    for construct in (False, True):
        torch.manual_seed(11)
        nalu = NALU(10, 2, shared=False)
        if not construct:
            nalu.reset_parameters(torch.Generator().manual_seed(11))
        names = [name for name, _ in nalu.named_parameters()]
        assert names == ["add.W_hat", "add.M_hat", "mul.W_hat", "mul.M_hat", "gate.weight"]
        for found, wanted in zip(nalu.parameters(), expected, strict=True):
            torch.testing.assert_close(found.detach(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("unit", UNITS.values(), ids=lambda unit: unit.name)
@given(seed=st.integers(0, 2**63 - 1), sizes=st.tuples(st.integers(1, 40), st.integers(1, 40)))
@settings(max_examples=10)
def test_starts_are_in_range(unit, seed, sizes):
    layer = unit.build(*sizes)
    layer.reset_parameters(torch.Generator().manual_seed(seed))
    for name, (low, high) in layer.bounds().items():
        weight = layer.get_parameter(name)
        assert low <= weight.min()
        assert weight.max() <= high


def test_nothing_is_drawn_without_memory():
    """Specs build their units so, to check them; torch's own way would load its compiler."""
    code = (
        "import sys, torch; from arithmos.nn import INALU, NALU; INALU(3, 2, device='meta'); NALU(3, 2, device='meta')"
    )
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch._dynamo' not in sys.modules"], check=True)
