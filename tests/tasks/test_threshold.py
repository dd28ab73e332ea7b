import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from arithmos.papers import EXPERIMENTS
from arithmos.tasks import TEN_PARAMETERS, Arithmetic, threshold
from arithmos.tasks.threshold import key, known, simulate

SIMULATED = Path(__file__).parents[2] / "../shared/paper/published/thresholds_simulated.csv"
SAMPLES = 100_000


def _simulated():
    if not SIMULATED.exists():
        return []
    with SIMULATED.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _task(row):
    if row["parameter"] == "simple":
        return TEN_PARAMETERS
    parts = (part[2:-1].split(",") for part in row["extrapolation_range"].split("∪"))
    return Arithmetic(
        operation=row["operation"],
        input_size=int(row["input_size"]),
        subset_ratio=float(row["subset_ratio"]),
        overlap_ratio=float(row["overlap_ratio"]),
        extrapolation=tuple((float(low), float(high)) for low, high in parts),
    )


@pytest.mark.skipif(not SIMULATED.exists(), reason="the independent simulation is not beside the project")
@pytest.mark.parametrize("row", _simulated(), ids=lambda row: "-".join(list(row.values())[:6]))
def test_thresholds_are_those_of_an_independent_simulation(row):
    for longer, name in ((1, "as_released"), (0, "dataset_subsets")):
        mine = threshold(_task(row), longer)
        theirs = float(row[f"threshold_{name}"]), float(row[f"se_{name}"])
        assert abs(mine.value - theirs[0]) < 4.5 * np.hypot(mine.standard_error, theirs[1])


def test_one_sum_has_a_closed_form():
    task = Arithmetic(operation="add", input_size=2, fixed=((0, 1),), extrapolation=((2.0, 6.0),))
    # The error is 1e-5 (x2 - x1), of variance 2 · 16 / 12.
    simulated = simulate(task, 0, SAMPLES)
    assert abs(simulated.value / 1e-10 - 32 / 12) < 4.5 * simulated.standard_error / 1e-10


def test_shipped_thresholds_are_what_a_simulation_gives():
    specs = [spec for experiment in EXPERIMENTS.values() for spec in experiment.specs]
    tasks = {spec.task for spec in specs if isinstance(spec.task, Arithmetic) and spec.task.rule != "module"}
    for task in sorted(tasks, key=repr)[::5]:
        for longer in known()["longer"].values():
            shipped, fresh = threshold(task, longer), simulate(task, longer, 20_000)
            assert key(task, longer) in known()["simulated"]
            assert abs(shipped.value - fresh.value) < 5 * fresh.standard_error


def test_repeats_itself_and_sees_the_longer_subsets():
    task = Arithmetic(operation="add", input_size=20)
    assert simulate.__wrapped__(task, 0, 1000) == simulate.__wrapped__(task, 0, 1000)
    longer = dataclasses.replace(task, fixed=tuple((a, b + 1) for a, b in task.subsets_at(0)))
    assert simulate(task, 1, 1000) == simulate(longer, 0, 1000)
    assert simulate(TEN_PARAMETERS, 1, 1000) == simulate(TEN_PARAMETERS, 0, 1000)
