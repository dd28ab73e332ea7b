"""Units in the normal form, drawn at random: weight maps, input maps, reductions, outputs, and their combination."""

import torch
from hypothesis import strategies as st
from torch import nn

from arithmos.functional import clamp

WEIGHTS = {
    "free": lambda w, v: w,
    "clamp": lambda w, v: clamp(w, -1.0, 1.0),
    "sigmoid": lambda w, v: w.sigmoid(),
    "nac": lambda w, v: w.tanh() * v.sigmoid(),
    "size": lambda w, v: w.abs(),
    "square": lambda w, v: w**2 * v,
}
INPUTS = {
    "x": lambda x, g: x,
    "log": lambda x, g: torch.log(x.abs() + 0.01),
    "sign": lambda x, g: torch.sign(x),
    "wave": lambda x, g: torch.sin(2 * x),
    "reciprocal": lambda x, g: 1 / (x.abs() + 0.5),
    "gated": lambda x, g: g.clamp(0, 1) * x + 1 - g.clamp(0, 1),
    "negative": lambda x, g: (x < 0).to(x.dtype),
}
TERMS = {
    "sum": lambda w, x: x @ w.T,
    "sum of terms": lambda w, x: (w.cos() * x.unsqueeze(-2) + w).sum(-1),
    "product": lambda w, x: (w * x.unsqueeze(-2) + 1 - w).prod(-1),
    "product of powers": lambda w, x: ((x.abs() + 0.5).unsqueeze(-2) ** w).prod(-1),
    "sum of least": lambda w, x: torch.minimum(w, x.unsqueeze(-2)).sum(-1),
    "total": lambda w, x: x.sum(-1, keepdim=True) * w.sum(-1),
}
OUTPUTS = {
    "value": lambda s, b: s,
    "bias": lambda s, b: s + b,
    "exp": lambda s, b: torch.exp(torch.minimum(s, torch.full_like(s, 1.5))),
    "relu": lambda s, b: torch.relu(s - b),
    "tanh": lambda s, b: torch.tanh(s) * b,
    "cos": lambda s, b: torch.cos(s + b),
    "root": lambda s, b: torch.sqrt(s.abs() + 1),
    "choice": lambda s, b: torch.where(s > b, s, 0.5 * s),
}
PATHS = st.tuples(*(st.sampled_from(list(names)) for names in (WEIGHTS, INPUTS, TERMS, OUTPUTS)))
MIXES = {
    "sum": lambda z, g: sum(z),
    "gate": lambda z, g: g.sigmoid() * z[0] + (1 - g.sigmoid()) * z[-1],
    "product": lambda z, g: z[0] * z[-1],
    "larger": lambda z, g: torch.maximum(z[0], z[-1]),
}


class Random(nn.Module):
    """Unit in the normal form: weight maps, input maps, reductions, outputs, and their combination."""

    def __init__(self, in_features, out_features, paths, mix):
        super().__init__()
        self.paths, self.mix = paths, mix
        matrices = [nn.Parameter(torch.rand(out_features, in_features)) for _ in range(2 * len(paths))]
        self.matrices = nn.ParameterList(matrices)
        self.turned = nn.Parameter(torch.rand(in_features, out_features))
        self.biases = nn.ParameterList([nn.Parameter(torch.rand(out_features)) for _ in paths])
        self.inputs = nn.ParameterList([nn.Parameter(torch.rand(in_features)) for _ in paths])
        self.gate = nn.Parameter(torch.rand(out_features))

    def forward(self, x):
        z = []
        for k, (weight, inputs, term, output) in enumerate(self.paths):
            w = WEIGHTS[weight](self.matrices[2 * k], self.matrices[2 * k + 1])
            if k:
                w = w * self.turned.T
            z.append(OUTPUTS[output](TERMS[term](w, INPUTS[inputs](x, self.inputs[k])), self.biases[k]))
        return MIXES[self.mix](z, self.gate)

    def sparsity(self):
        w = self.matrices[0]
        return torch.minimum(w.abs(), (1 - w).abs()).mean() + self.gate.square().sum()


SIZES = st.tuples(st.integers(1, 6), st.integers(1, 3), st.integers(1, 2))

RANDOM = (
    st.lists(PATHS, min_size=1, max_size=3),
    st.sampled_from(list(MIXES)),
    SIZES,
    st.integers(0, 10**6),
    st.booleans(),
)
