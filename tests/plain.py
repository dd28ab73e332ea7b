"""A run as one would write it down: one network, `torch.optim.Adam`, no stack. What the engines are compared with."""

import numpy as np
import torch

from arithmos import constrain, sparsity_loss
from arithmos.nn._noise import RunNoise, drawn_from


class Plain:
    """One run, step by step, from its start or from a given state."""

    def __init__(self, spec, seed, dtype=torch.float32):
        self.spec, self.seed, self.dtype, self.step = spec, seed, dtype, 0
        self.network = spec.network(seed).to(dtype)
        adam = spec.optimizer
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=adam.lr, betas=(adam.beta1, adam.beta2), eps=adam.eps
        )
        constrain(self.optimizer, self.network)

    def advance(self, steps=1):
        for _ in range(steps):
            x, t = (
                torch.from_numpy(a).to(self.dtype)
                for a in self.spec.task.batch(self.seed, self.step, self.spec.batch_size)
            )
            with drawn_from(RunNoise(self.step).source(torch.tensor(self.seed))):
                loss = (self.network(x) - t).square().mean()
            loss = loss + self.spec.model.schedule(self.step) * sparsity_loss(self.network)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
        return self

    def flat(self, of=lambda parameter: parameter):
        return torch.cat([of(p).detach().flatten() for p in self.network.parameters()]).numpy().copy()

    def state(self):
        """Step, parameters and moments, as plain arrays."""
        moments = {
            name: self.flat(
                lambda p, name=name: self.optimizer.state[p][name] if self.optimizer.state else torch.zeros_like(p)
            )
            for name in ("exp_avg", "exp_avg_sq")
        }
        return {"step": self.step, "parameters": self.flat(), **moments}

    def load(self, state):
        position = 0
        for p in self.network.parameters():
            place = slice(position, position + p.numel())
            position += p.numel()
            with torch.no_grad():
                p.copy_(torch.from_numpy(np.asarray(state["parameters"][place])).view_as(p))
            self.optimizer.state[p] = {
                "step": torch.tensor(float(state["step"])),
                "exp_avg": torch.from_numpy(state["exp_avg"][place]).to(self.dtype).view_as(p).clone(),
                "exp_avg_sq": torch.from_numpy(state["exp_avg_sq"][place]).to(self.dtype).view_as(p).clone(),
            }
        self.step = int(state["step"])
        return self

    def errors(self):
        """Validation and test error of the present parameters."""
        with torch.no_grad():
            pairs = (self.spec.task.validation(self.seed), self.spec.task.test(self.seed))
            return [
                float(
                    (self.network(torch.from_numpy(x.copy()).to(self.dtype)) - torch.from_numpy(t))
                    .double()
                    .square()
                    .mean()
                )
                for x, t in pairs
            ]
