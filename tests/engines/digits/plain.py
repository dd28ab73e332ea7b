"""One run on sequences of digits, written out in plain PyTorch: no stack, no mask, no graph."""

import numpy as np
import torch

from arithmos.nn import LSTM

STARTS = {"NMU": 1.0, "NACMul": 1.0, "NACMulSigma": 1.0, "NACMulNMU": 1.0, "SolvedMul": 1.0}
"""What a cell starts from; the others from 0."""


class Plain:
    def __init__(self, spec, seed, dtype=torch.float32):
        self.spec, self.seed, self.dtype = spec, seed, dtype
        self.network = spec.network(seed).to(dtype)
        self.parameters = list(self.network.parameters())
        self.optimizer = torch.optim.Adam(self.parameters)

    def put(self, parameters, exp_avg, exp_avg_sq, step):
        position = 0
        for parameter in self.parameters:
            place = slice(position, position := position + parameter.numel())

            def own(array, place=place, parameter=parameter):
                return torch.from_numpy(array[place].copy()).view_as(parameter).to(self.dtype)

            parameter.data.copy_(own(parameters))
            moments = {"exp_avg": own(exp_avg), "exp_avg_sq": own(exp_avg_sq)}
            self.optimizer.state[parameter] = {"step": torch.tensor(float(step)), **moments}

    def flat(self):
        return torch.cat([parameter.detach().flatten() for parameter in self.parameters]).double().numpy()

    def images(self, part, chosen):
        images, labels = self.spec.task.pixels(part)
        scaled = (torch.from_numpy(images[chosen]).to(self.dtype) / 255 - 0.1307) / 0.3081
        targets = np.cumprod if self.spec.task.operation == "mul" else np.cumsum
        return scaled, torch.from_numpy(targets(labels[chosen].astype(float), axis=1)).to(self.dtype)

    def outputs(self, numbers):
        """Outputs of every step, and what the cell saw."""
        cell, task = self.network[1], self.spec.task
        unit = getattr(cell, "unit", cell)
        start = STARTS.get(self.spec.model.layers[0].unit, 0.0) if task.initial is None else task.initial
        h = torch.full((len(numbers), 1), start, dtype=self.dtype)
        c = h
        outputs, seen = [], []
        for i in range(numbers.shape[1]):
            seen.append(torch.cat([numbers[:, i], h], dim=1))
            if isinstance(unit, LSTM):
                h, c = unit.step(numbers[:, i], torch.cat([h, c], dim=1)).chunk(2, dim=1)
            else:
                h = unit(seen[-1])
            outputs.append(h)
        return torch.cat(outputs, dim=1), torch.stack(seen)

    def loss(self, step):
        spec, task = self.spec, self.spec.task
        epoch, place = divmod(step, -(-task.sequences // spec.batch_size))
        chosen = task.at(self.seed, epoch)[place * spec.batch_size :][: spec.batch_size]
        images, targets = self.images("training", chosen)
        outputs, seen = self.outputs(self.network[0](images))
        squares = (outputs - targets) ** 2
        loss = squares.mean() if task.every_step else squares[:, -1].mean()
        unit = spec.model.layers[0].unit
        if unit in ("NMU", "NACMulNMU", "NAU"):
            w = self.network[1].unit.weight
            ramp = min(max((step + 1 - 10_000) / 90_000, 0.0), 1.0)
            loss = loss + 10 * ramp * torch.minimum(w.abs(), (1 - (w.abs() if unit == "NAU" else w)).abs()).mean()
        if spec.model.inputs.strength:
            w = self.network[1].unit.weights()["weight"]
            if unit == "NACMulNMU" and spec.model.inputs.logs:
                seen = torch.log(seen.abs() + 1e-7)
            mean = seen.mean(dim=(0, 1))
            term = (1 - w.abs()) * mean**2 if unit in ("NAU", "NACAdd") else (1 - w) * (1 - mean) ** 2
            loss = loss + spec.model.inputs.strength * term.mean()
        return loss

    def advance(self, step):
        self.optimizer.zero_grad()
        self.loss(step).backward()
        self.optimizer.step()
        unit = self.spec.model.layers[0].unit
        if unit in ("NMU", "NACMulNMU", "NAU"):
            self.network[1].unit.weight.data.clamp_(-1.0 if unit == "NAU" else 0.0, 1.0)

    @torch.no_grad()
    def error(self, part, length):
        """Mean squared error over all steps of the sequences of a length."""
        images, targets = self.images(part, self.spec.task.evaluation(part, length))
        outputs, _ = self.outputs(self.network[0](images))
        return ((outputs - targets) ** 2).double().mean().item()
