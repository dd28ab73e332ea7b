"""Second-order training: specs with `LM`, and data for `train(method="auto")`, right and wrong."""

import random
from pathlib import Path
from typing import Any

import torch
from torch import nn

import arithmos
from arithmos.engines.contract import Job
from arithmos.engines.torch import TorchEngine
from arithmos.nn import NAU, NMU, RealNPU
from arithmos.spec import LM, MODELS, Layer, Model, Spec
from arithmos.tasks import OPERATIONS, Arithmetic

from . import named
from .values import anything, near

LAST = {"NAU": NAU, "NMU": NMU, "RealNPU": RealNPU}


def second_order_spec(rng: random.Random, folder: Path) -> str:
    """A spec with the second-order optimizer: it has a name that stays, and an engine runs it or says why not."""
    values: dict[str, Any] = {
        "damping": 10 ** rng.uniform(-6, 2),
        "factors": rng.randrange(1, 9),
        "fresh": rng.random() < 0.5,
        "single": rng.random() < 0.5,
        "noise": rng.choice([0.0, 0.01, 1.0]),
    }
    wrong = []
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        name = rng.choice([*values])
        values[name] = near(rng, values[name]) if rng.random() < 0.4 else anything(rng)
        wrong.append(name)
    second = rng.choice([*LAST, "NALU", "NMU", "RealNPU"])
    model = rng.choice([MODELS["NMU"], Model(f"NAU>{second}", (Layer("NAU"), Layer(second)))])
    task = Arithmetic(operation=rng.choice([*OPERATIONS]), input_size=rng.randrange(4, 9), subset_ratio=0.5)
    sizes = {"hidden_size": rng.randrange(1, 4), "batch_size": rng.randrange(1, 40)}
    steps = {"iterations": rng.randrange(1, 6), "evaluate_every": rng.randrange(1, 4)}
    try:
        spec = Spec(task=task, model=model, optimizer=LM(**values), **sizes, **steps)
    except ValueError as error:
        return named(error, [*wrong, "networks that lm trains"])
    assert Spec.from_plain(spec.plain()) == spec
    if why := TorchEngine().refuses(spec):
        return named(ValueError(why), ["LM", "Levenberg", "second-order", "layers", "lm"])
    if rng.random() < 0.1:
        [run] = TorchEngine().run([Job(spec, (0,))])
        assert run.spec == spec
        assert len(run.best_weights)
    return "accepted"


def training_data(rng: random.Random, folder: Path) -> str:
    """Rows for a search: the model computes what was found, or the data is refused by name."""
    inputs, rows = rng.randrange(1, 5), rng.choice([0, 1, 5, 12, 40, 40, 40])
    generator = torch.Generator().manual_seed(rng.randrange(10**6))
    dtype = rng.choice([torch.float32, torch.float64, torch.float64])
    x = torch.empty(rows, inputs, dtype=dtype).uniform_(-2, 2, generator=generator)
    t = x[:, :2].prod(1, keepdim=True) if rng.random() < 0.6 else x.sum(1, keepdim=True)
    t = t + rng.choice([0, 0, 1e-3]) * torch.randn(t.shape, generator=generator, dtype=dtype)
    change = rng.randrange(16)
    if rows and change < 2:
        (x if change else t)[rng.randrange(rows)] = rng.choice([float("nan"), float("inf"), 1e30, 0.0])
    x, t = {2: (x, t[:, 0]), 3: (x[:-1], t), 4: (x[..., None], t), 5: (x.int(), t), 6: (x, t.expand(-1, 2))}.get(
        change, (x, t)
    )
    data: Any = {7: x, 8: (x, t, t), 9: (x.tolist(), t)}.get(change, (x, t))
    second = rng.choice([*LAST])
    model = nn.Sequential(NAU(inputs, 2), LAST[second](2, 1)) if rng.random() < 0.7 else LAST[second](inputs, 1)
    model = model.to(rng.choice([dtype, dtype, torch.float32]))
    try:
        result = arithmos.train(model, data, method="auto", time_limit=0.3)
    except (ValueError, TypeError) as error:
        return named(error, ["data", "rows", "x ", "t ", "dtype", "model"])
    assert result.message
    with torch.no_grad():
        found = model(x.to(next(model.parameters()).dtype))
    if result.exact and not any(result.noise):
        error = (found.double() - t.double()).abs().max() / t.abs().max().clamp_min(1)
        assert error < 0.02, f"{result.message} {error}"
    return "accepted"
