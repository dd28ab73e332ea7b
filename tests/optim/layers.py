"""Layers that several tests of training share."""

import torch
from torch import nn


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
