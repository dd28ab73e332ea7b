"""Layers with weights of one's choice."""

import torch


def filled(layer, *weights):
    """The layer with these numbers as the parameters that it has, in order."""
    with torch.no_grad():
        for parameter, weight in zip(layer.parameters(), weights, strict=True):
            parameter.copy_(torch.as_tensor(weight))
    return layer


def nac(layer, weight):
    """A NAC with weights as close to these as saturated parameters come."""
    weight = torch.as_tensor(weight)
    return filled(layer, weight * 20, torch.full_like(weight, 20.0))
