"""Simulate the thresholds of the catalogue's tasks, and write them into the package."""

import json
from pathlib import Path
from typing import Any

from arithmos.papers import EXPERIMENTS
from arithmos.tasks import Arithmetic
from arithmos.tasks.threshold import SAMPLES, key, known, simulate


def written(data: dict[str, dict[str, Any]]) -> str:
    """Data as JSON, one line per entry."""
    groups = []
    for name, entries in data.items():
        lines = ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in entries.items())
        groups.append(f"  {json.dumps(name)}: {{\n{lines}\n  }}")
    return "{\n" + ",\n".join(groups) + "\n}\n"


specs = [spec for experiment in EXPERIMENTS.values() for spec in experiment.specs]
tasks = dict.fromkeys(spec.task for spec in specs if isinstance(spec.task, Arithmetic) and spec.task.rule == "network")
simulated: dict[str, list[float]] = {}
for task in tasks:
    for longer in known()["longer"].values():
        if (name := key(task, longer)) not in simulated:
            found = simulate(task, longer, SAMPLES)
            simulated[name] = [found.value, found.standard_error]
            print(name, *simulated[name], flush=True)
path = Path(__file__).parents[1] / "src/arithmos/tasks/thresholds.json"
path.write_text(written(known() | {"simulated": simulated}))
