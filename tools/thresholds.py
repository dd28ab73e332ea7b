"""Simulate the thresholds of the catalogue's tasks, and write them into the package."""

import json
from pathlib import Path

from arithmos.papers import EXPERIMENTS
from arithmos.tasks import Arithmetic
from arithmos.tasks.threshold import SAMPLES, key, simulate

specs = [spec for experiment in EXPERIMENTS.values() for spec in experiment.specs]
tasks = dict.fromkeys(spec.task for spec in specs if isinstance(spec.task, Arithmetic))
known: dict[str, list[float]] = {}
for task in tasks:
    for as_released in (True, False):
        if (name := key(task, as_released)) not in known:
            found = simulate(task, as_released, SAMPLES)
            known[name] = [found.value, found.standard_error]
            print(name, *known[name], flush=True)
lines = (f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in known.items())
path = Path(__file__).parents[1] / "src/arithmos/tasks/thresholds.json"
path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
