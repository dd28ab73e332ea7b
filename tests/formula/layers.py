"""Networks of every kind, and layers with weights of one's choice."""

import torch
from torch import nn

from arithmos.nn import UNITS
from arithmos.spec import MODELS, model

EVERY = [*MODELS, *[name for name in UNITS if name not in MODELS]]


def chosen(name):
    """A published model, or a unit twice."""
    return MODELS[name] if name in MODELS else model(f"{name}>{name}")


def network(name, sizes=(5, 3, 2)):
    torch.manual_seed(0)
    layers = zip(chosen(name).layers, sizes[:-1], sizes[1:], strict=True)
    return nn.Sequential(*[layer.build(i, o) for layer, i, o in layers]).double()


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
