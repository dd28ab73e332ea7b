import torch
from torch.testing import assert_close

from arithmos.nn import NAU, NMU


def fit(layer, target, steps=500):
    """Train on numbers in [-2, 2], with the range kept and, in the second half, the weights driven to its ends."""
    generator = torch.Generator().manual_seed(5)
    layer.reset_parameters(generator)
    optimizer = torch.optim.Adam(layer.parameters(), lr=3e-2)
    ((name, (low, high)),) = layer.bounds().items()
    for step in range(steps):
        x = torch.empty(64, layer.in_features).uniform_(-2, 2, generator=generator)
        loss = (layer(x) - target(x)).square().mean() + (step > steps / 2) * 0.1 * layer.sparsity()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        layer.get_parameter(name).data.clamp_(low, high)
    return layer


def test_nmu_learns_to_select_an_input():
    assert_close(
        fit(NMU(2, 1), target=lambda x: x[:, :1]).weight.detach(), torch.tensor([[1.0, 0.0]]), rtol=0, atol=1e-2
    )


def test_nmu_learns_to_multiply():
    learned = fit(NMU(3, 1), target=lambda x: x[:, :1] * x[:, 2:])
    assert_close(learned.weight.detach(), torch.tensor([[1.0, 0.0, 1.0]]), rtol=0, atol=1e-2)


def test_nau_learns_to_subtract():
    learned = fit(NAU(3, 1), target=lambda x: x[:, :1] - x[:, 2:])
    assert_close(learned.weight.detach(), torch.tensor([[1.0, 0.0, -1.0]]), rtol=0, atol=1e-2)
