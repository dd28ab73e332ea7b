"""Time the exact judge on 20,000 runs that are all the formula, so that every run needs exact arithmetic.

python benchmarks/exact.py
"""

import time

import numpy as np

from arithmos.formula.stored import judge
from arithmos.spec import MODELS, Spec
from arithmos.tasks import Arithmetic

RUNS = 20_000
CASES = [("NMU", "mul", [1, 1]), ("NACMul", "div", [1, -1]), ("NACMulSigma", "root", [0.5, 0]), ("NAU", "sub", [1, -1])]


def weights(spec: Spec, seed: int, second: list[float]) -> np.ndarray:
    """Return a network that is the task's formula, with weights slightly off."""
    assert isinstance(spec.task, Arithmetic)
    first = np.zeros((2, spec.task.input_size))
    for row, (start, stop) in zip(first, spec.task.subsets(seed), strict=True):
        row[start:stop] = 1
    exact = np.concatenate([first.ravel(), second])
    return (exact + np.random.default_rng(seed).uniform(-0.2, 0.2, exact.size)).astype(np.float32)


print("| model | operation | runs | exact | seconds |\n|---|---|---|---|---|")
for model, operation, second in CASES:
    spec = Spec(task=Arithmetic(operation=operation), model=MODELS[model])
    stored = [weights(spec, seed, second) for seed in range(RUNS)]
    begun = time.process_time()
    found = judge(spec.json(), range(RUNS), stored)
    print(f"| {model} | {operation} | {RUNS} | {sum(map(bool, found))} | {time.process_time() - begun:.1f} |")
