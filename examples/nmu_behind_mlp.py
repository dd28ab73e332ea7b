"""An NMU after an MLP: the MLP learns to read dials although the only target is the product of their values.

Three dials show their values as the sine and cosine of an angle. The network sees the dials and the product of their
values, never the values. Once the weights of the NMU are 1, the MLP has to read each dial correctly, and the network
can multiply more dials than it was trained on. The input regularizer is needed for the weights to become 1: the MLP
can compensate for any other weight by reading other values.
"""

import torch
from torch import Tensor, nn

import arithmos
from arithmos.nn import NMU

STEPS = 4_000
LOW, HIGH = 0.5, 2.5


class Dials(nn.Module):
    """Read each dial with the same MLP, and multiply the values."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.reader = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 1), nn.Flatten(-2))
        self.product = NMU(count, 1)

    def forward(self, dials: Tensor) -> tuple[Tensor, Tensor]:
        values = self.reader(dials)  # [batch, dials, 2] -> [batch, dials]
        return self.product(values), values


def batch(n: int, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return dials, their product and their values."""
    values = torch.empty(n, count).uniform_(LOW, HIGH, generator=generator)
    return torch.stack([values.sin(), values.cos()], -1), values.prod(1, keepdim=True), values


def main(steps: int = STEPS, seed: int = 0) -> float:
    """Train on three dials, print the results, and return the relative error on six."""
    torch.set_num_threads(1)  # the matrices are small
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Dials(3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    arithmos.constrain(optimizer, model)
    schedule = arithmos.SparsitySchedule(strength=1, start=steps / 2, end=3 * steps / 4)
    for step in range(steps):
        dials, product, _ = batch(128, 3, generator)
        found, read = model(dials)
        loss = nn.functional.mse_loss(found, product) + schedule(step) * arithmos.sparsity_loss(model)
        loss = loss + arithmos.input_regularizer_mul(model.product.weight, read.mean(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    dials, product, values = batch(1_000, 6, generator)
    with torch.no_grad():
        read = model.reader(dials)
        error = ((read.prod(1, keepdim=True) - product).abs() / product).mean().item()
    print(f"weights of the NMU: {', '.join(f'{w:.3f}' for w in model.product.weight[0].tolist())}")
    print(f"mean error of a dial, whose value was no target: {(read - values).abs().mean():.4f}, range {LOW} to {HIGH}")
    print(f"relative error of the product of six dials after training on three: {error:.3f}")
    return error


if __name__ == "__main__":
    main()
