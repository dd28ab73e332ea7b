"""A short run of every model and layout on the GPU, to be watched by compute-sanitizer.

    compute-sanitizer --tool memcheck --error-exitcode 9 python tests/engines/cuda/short_runs.py
    compute-sanitizer --tool racecheck --error-exitcode 9 python tests/engines/cuda/short_runs.py

`--compile` only fills the cache of kernels, which is faster without the sanitizer.
"""

import dataclasses
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from arithmos.engines import Control
from arithmos.engines.cuda import group
from arithmos.engines.cuda.device import Gpu
from arithmos.engines.cuda.plan import make_plan
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic, Rows

DEFAULT = Spec(task=Arithmetic(operation="mul"), model=MODELS["NMU"], iterations=11, evaluate_every=8)
X = np.random.default_rng(0).uniform(1, 2, (300, 10)).astype(np.float32)


def cases():
    for model in MODELS.values():
        yield model.name, dataclasses.replace(DEFAULT, model=model), {}
    for size in (4, 37, 300):
        task = dataclasses.replace(DEFAULT.task, input_size=size)
        yield f"{size} inputs", dataclasses.replace(DEFAULT, task=task), {}
    for name in ("NMU", "GatedNAUNMU"):
        spec = dataclasses.replace(DEFAULT, model=MODELS[name], hidden_size=10)
        yield f"{name}, ten hidden, two tiles, two threads an observation", spec, {"tile": 64, "split": 2}
    yield "forty hidden", dataclasses.replace(DEFAULT, hidden_size=40), {}
    yield "rows", dataclasses.replace(DEFAULT, task=Rows(X, X[:, 0] * X[:, 1])), {}


def main():
    group.thresholds = lambda spec: (0.1, 0.1)  # simulating the true ones takes minutes
    device = Gpu()
    plans = [make_plan(spec, device.limits, **layout) for _, spec, layout in cases()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(device.compile, plans))
    if "--compile" in sys.argv:
        return
    for (name, spec, _), plan, code in zip(cases(), plans, codes, strict=True):
        kernel = device.load(code, plan)
        runs = group.RunGroup(
            device, plan, kernel, spec, {0: None, 1: None}, Control(), lambda _, make: device.upload(make())
        )
        for chunk in (5, 20):
            runs.launch(chunk)
            runs.wait()
        ended = list(runs.finished("cuda", Control()))
        print(f"{name}: {len(ended)} runs, validation error {ended[0].end_validation:.6g}", flush=True)


if __name__ == "__main__":
    main()
