"""Units that somebody might write: what the engines make of each is in the tests that name them."""

import numpy as np
import torch
from torch import nn

from arithmos.nn import NMU, Uniform


class EvalBroken(NMU):
    """Learns, and returns 0 in evaluation mode."""

    def forward(self, x):
        z = super().forward(x)
        return z if self.training else torch.zeros_like(z)


class Dropped(NMU):
    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(super().forward(x))


class Noisy(NMU):
    """Adds noise in evaluation mode too."""

    def forward(self, x):
        z = super().forward(x)
        return z + 0.01 * torch.randn_like(z)


class Normed(NMU):
    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.norm = nn.BatchNorm1d(out_features)

    def forward(self, x):
        return self.norm(super().forward(x))


class Rounded(NMU):
    """Says that its weights are 0 or 1."""

    def weights(self):
        return {"weight": self.weight.round()}


class Branching(NMU):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else super().forward(-x)


class Hooked(NMU):
    """Halves its gradients, of which its forward says nothing."""

    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.weight.register_hook(lambda gradient: gradient / 2)

    def forward(self, x):
        return super().forward(x)


class Masked(NMU):
    """Has a constant of its own in every run."""

    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.register_buffer("shift", torch.rand(out_features))

    def forward(self, x):
        return super().forward(x) + self.shift


class Frozen(NMU):
    """One parameter is not to be trained, and another has no part in the output."""

    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.scale = nn.Parameter(torch.full((), 0.5), requires_grad=False)
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.scale * super().forward(x)


class RaisesThird(NMU):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 3:
            raise RuntimeError("this is the third call")
        return super().forward(x)


class RaisesLate(NMU):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 20:
            raise RuntimeError("this is the twentieth call")
        return super().forward(x)


class Exits(NMU):
    def forward(self, x):
        raise SystemExit(3)


class ReturnsNaN(NMU):
    def forward(self, x):
        return super().forward(x) * torch.nan


class Integers(NMU):
    def forward(self, x):
        return super().forward(x).long()


class OneAxisLess(NMU):
    def forward(self, x):
        return super().forward(x)[..., 0]


class EvalOneAxisLess(NMU):
    def forward(self, x):
        z = super().forward(x)
        return z if self.training else z[..., 0]


class TwoOutputs(NMU):
    def forward(self, x):
        return super().forward(x), x


class Detached(NMU):
    def forward(self, x):
        return super().forward(x).detach()


class Double(NMU):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features, dtype=torch.float64)

    def forward(self, x):
        return super().forward(x.double()).float()


class Counting(NMU):
    """Keeps state that is no buffer."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return super().forward(x) + 1 / self.calls


class Elsewhere(NMU):
    """Draws random numbers that are not torch's."""

    def forward(self, x):
        return super().forward(x) + float(np.random.default_rng().uniform())


class BadBounds(NMU):
    def bounds(self):
        return {"weights": (0.0, 1.0)}


class BadBuild(NMU):
    """Cannot be built any more after the first few times."""

    built = 0

    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        type(self).built += 1
        if self.built > 8:
            raise RuntimeError("built too often")


class HalfNMU(NMU):
    """Draws its weights from another range."""

    def __init__(self, in_features, out_features, *, device=None, dtype=None):
        super().__init__(in_features, out_features, device=device, dtype=dtype)
        self.rule = Uniform(0.0, 0.5)
        self.reset_parameters()
