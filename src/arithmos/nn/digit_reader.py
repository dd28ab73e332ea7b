r"""Convolutional network that reads a number off an image of a digit (Madsen & Johansen, 2020).

.. math:: \text{conv } 5{\times}5 \to \text{ReLU} \to \text{pool} \to \text{conv } 5{\times}5 \to \text{ReLU} \to
          \text{pool} \to \text{linear} \to \text{ReLU} \to \text{linear}

The number is unbounded, and nothing tells the network which number a digit is: it learns that from the layers above it.
"""

from torch import Tensor, nn
from torch.nn import functional as F

from .._typing import Device, Dtype, Float


class DigitReader(nn.Module):
    """Network that reads a number off each image of 28 × 28.

    Layers have torch's initial values, drawn in the order in which they follow each other.
        device: device of the parameters, by default that of torch.
        dtype: floating-point type of the parameters, by default that of torch.

    Shape:
        `(*, 28, 28)` to `(*, 1)`, where `*` is any number of leading axes.

    Example:
        >>> import torch
        >>> DigitReader()(torch.zeros(3, 2, 28, 28)).shape
        torch.Size([3, 2, 1])
    """

    def __init__(self, *, device: Device = None, dtype: Dtype = None) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5, device=device, dtype=dtype)
        self.conv2 = nn.Conv2d(20, 50, 5, device=device, dtype=dtype)
        self.linear1 = nn.Linear(800, 500, device=device, dtype=dtype)
        self.linear2 = nn.Linear(500, 1, device=device, dtype=dtype)

    def forward(self, images: Float[Tensor, "*batch 28 28"]) -> Float[Tensor, "*batch 1"]:
        x = images.reshape(-1, 1, 28, 28)
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.linear1(x.flatten(1)))
        read: Tensor = self.linear2(x)
        return read.reshape(*images.shape[:-2], 1)
