"""Units as strangers would write them: a gated pair of matrices, and an MLP that no program has a place for."""

import torch
from torch import Tensor, nn


class GatedPair(nn.Module):
    """Sum and product of inputs with a matrix each, mixed by a gate: g (A x) + (1 - g) prod_i (b x_i + 1 - b)."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.add = nn.Parameter(torch.empty(out_features, in_features))
        self.mul = nn.Parameter(torch.empty(out_features, in_features))
        self.gate = nn.Parameter(torch.empty(out_features, in_features))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        nn.init.uniform_(self.add, -0.5, 0.5, generator=generator)
        nn.init.uniform_(self.mul, 0.25, 0.75, generator=generator)
        nn.init.uniform_(self.gate, -0.5, 0.5, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        g = torch.sigmoid(x @ self.gate.T)
        product = (self.mul * x.unsqueeze(-2) + 1 - self.mul).prod(-1)
        return g * (x @ self.add.T) + (1 - g) * product

    def weights(self) -> dict[str, Tensor]:
        return {"add": self.add, "mul": self.mul}


class MLP(nn.Module):
    """Perceptron with one hidden layer of 16."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.hidden, self.out = nn.Linear(in_features, 16), nn.Linear(16, out_features)

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.out(torch.tanh(self.hidden(x)))
        return z
