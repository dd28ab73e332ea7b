"""`DigitReader`s of many runs at once; every parameter has the run on its leading axis.

A convolution here is a function of images `[s, n, c, h, h]`, weights `[s, o, c, 5, 5]` and biases `[s, o]` that also
applies the ReLU and takes the largest of each 2 × 2, and returns `[s, n, o, (h - 4) / 2, (h - 4) / 2]`. There are
several, which differ in speed and, by rounding, in their last bits. Runs may share images through a stride of 0.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

Convolution = Callable[[Tensor, Tensor, Tensor], Tensor]


def grouped(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolve all runs at once, with one group per run."""
    s, n, c, h, w = x.shape
    channels = weight.shape[1]
    flat = x.transpose(0, 1).reshape(n, s * c, h, w)
    y = F.conv2d(flat, weight.flatten(0, 1), bias.flatten(), groups=s)
    y = F.max_pool2d(F.relu(y), 2)
    return y.view(n, s, channels, *y.shape[2:]).transpose(0, 1)


def unfolded(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Convolve by one matrix product per run, over all patches."""
    s, n, c, h, w = x.shape
    rows, columns = h - 4, w - 4
    patches = x.unfold(3, 5, 1).unfold(4, 5, 1)  # [s, n, c, rows, columns, 5, 5]
    patches = patches.permute(0, 1, 3, 4, 2, 5, 6).reshape(s, n * rows * columns, c * 25)
    y = torch.baddbmm(bias[:, None], patches, weight.flatten(2).mT)
    y = y.view(s * n, rows, columns, -1).permute(0, 3, 1, 2)
    y = F.max_pool2d(F.relu(y), 2)
    return y.reshape(s, n, *y.shape[1:])


def read(parameters: Mapping[str, Tensor], images: Tensor, convolve: Convolution) -> Tensor:
    """Read a number `[s, n]` off each of the images `[s, n, 28, 28]`."""
    p = parameters
    x = convolve(images.unsqueeze(2), p["conv1.weight"], p["conv1.bias"])
    x = convolve(x, p["conv2.weight"], p["conv2.bias"]).flatten(2)
    x = F.relu(torch.baddbmm(p["linear1.bias"].unsqueeze(1), x, p["linear1.weight"].mT))
    return torch.baddbmm(p["linear2.bias"].unsqueeze(1), x, p["linear2.weight"].mT).squeeze(2)
