"""What all engines must agree on: every model and operation, and networks, sizes and tasks off the beaten path."""

import dataclasses
from pathlib import Path

import numpy as np

from arithmos.optim import SparsitySchedule
from arithmos.spec import MODELS, Layer, Model, Spec
from arithmos.tasks import TEN_PARAMETERS, Arithmetic, Rows

EARLY = SparsitySchedule(10.0, 5, 40)
"""Active within the tests, for every model: units without a regularizer pay it no heed."""


ROOT = Path(__file__).parents[2]
STRANGERS = {
    **{name: name for name in ("INALU", "RealNPU", "NPU", "NRU", "NMRU", "SNMU")},
    "DividingNMU": f"{ROOT / 'examples' / 'own_unit.py'}:DividingNMU",
    "GatedPair": f"{ROOT / 'benchmarks' / 'strangers.py'}:GatedPair",
}
"""Units of `benchmarks/units.md` that have programs."""


def model_of(name):
    if name in MODELS:
        return dataclasses.replace(MODELS[name], schedule=EARLY)
    return Model(name, tuple(Layer(unit) for unit in name.split(">")), EARLY)


def small(name, operation="mul", model=None, **options):
    """Sizes that are multiples of nothing."""
    task = options.pop("task", None) or Arithmetic(operation=operation, input_size=11, subset_ratio=0.3)
    defaults = {"hidden_size": 3, "batch_size": 50, "evaluate_every": 10**6}
    return Spec(task=task, model=model or model_of(name), **defaults | options)


def rows(outputs):
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, (200, 7)).astype(np.float32)
    return Rows(x, np.stack([x[:, 0] * x[:, 1], x[:, 2] + x[:, 3], x[:, 4]], axis=1)[:, :outputs])


def on(name, **task):
    defaults = {"operation": "mul", "input_size": 11, "subset_ratio": 0.3}
    return small(name, task=Arithmetic(**defaults | task))


NAU_NMU = model_of("NMU")
ODD = {
    "default sizes": small("NMU", task=Arithmetic(operation="mul"), hidden_size=2, batch_size=128),
    "ten parameters": small("NMU", task=TEN_PARAMETERS, hidden_size=2, batch_size=128),
    "one input": small("NMU", task=Arithmetic(operation="squared", input_size=1, fixed=((0, 1),))),
    "one hidden": small("GatedNAUNMU", hidden_size=1),
    "twenty hidden": small("NALU", hidden_size=20),
    "one observation": small("NMU", batch_size=1),
    "batch of many blocks": small("NAU", batch_size=300),
    "not projected": small("NMU", model=NAU_NMU.with_options(project=False)),
    "not clipped": small("NMU", model=NAU_NMU.with_options(clip=False)),
    "neither": small("NMU", model=NAU_NMU.with_options(project=False, clip=False)),
    "one layer": small("NMU>", model=Model("NMU", (Layer("NMU"),), EARLY)),
    "three layers": small("NAU>NMU>Linear"),
    "products first": small("NMU>NAU"),
    "exp-log first": small("NACMul>ReLU6"),
    "sigmoid first": small("NACMulSigma>NACAdd"),
    "gates of both kinds": small("NALUSeparate>GatedNAUNMU"),
    "signs multiplied": small("NAU>MulMCFCSignINALU"),
    "signs by cosine": small("NAU>MulMCFCSignRealNPU"),
    "gates with biases": small("NALUBiased>NALUBiased"),
    "one gate for all outputs": small("NALUVector>NALUVector"),
    "negative inputs": on("GatedNAUNMU", interpolation=((-2.0, 2.0),)),
    "inputs that are zero": small("NMU>NMU", task=Rows(np.eye(20)[:, :7], np.ones(20))),
    "range that is not exact": on("NMU", interpolation=((0.1, 7.3),)),
    "range in two parts": on("NMU", interpolation=((-6.0, -2.0), (2.0, 6.0))),
    "three subsets": on("NMU", fixed=((0, 4), (2, 9), (5, 11))),
    "rows": small("NMU", task=rows(1)),
    "rows with three outputs": small("GateNALUSeparate", task=rows(3)),
}
