"""Any number of named thresholds: engines record the first step below each, and know no more than their count."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.engines.cuda.shim import HostDevice

from arithmos import tasks
from arithmos.engines.contract import NEVER, Job
from arithmos.engines.cpu import CpuEngine
from arithmos.engines.cuda import CudaEngine
from arithmos.engines.torch import TorchEngine
from arithmos.spec import MODELS, Adam, Spec
from arithmos.store import Store
from arithmos.tasks import Rows

LIMITS = {"near": 5.0, "never": 0.0, "at once": 1e9}


class Limited(Rows):
    """Sums of two inputs, with the first few of `LIMITS`."""

    kind = "limited"
    limits = 0

    @property
    def criteria(self) -> tuple[str, ...]:
        return tuple(self.thresholds())

    def thresholds(self) -> dict[str, float]:
        return dict([*LIMITS.items()][: self.limits])

    def plain(self) -> dict[str, Any]:
        return super().plain() | {"limits": self.limits}

    @staticmethod
    def sizes(plain: Mapping[str, Any]) -> tuple[int, int]:
        return 2, 1


@pytest.fixture(params=[0, 1, 2, 3])
def spec(request, monkeypatch):
    monkeypatch.setitem(tasks.KINDS, Limited.kind, Limited)
    x = np.random.default_rng(0).uniform(1, 2, (300, 2)).astype(np.float32)
    task = Limited(x, x[:, 0] + x[:, 1])
    task.limits = request.param
    return Spec(task=task, model=MODELS["NAU"], iterations=60, evaluate_every=5, batch_size=32, optimizer=Adam(lr=1e-2))


ENGINES = {"torch": TorchEngine, "cpu": CpuEngine, "cuda": lambda: CudaEngine(HostDevice())}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_step_below_each_threshold(spec, engine, tmp_path):
    [run] = ENGINES[engine]().run([Job(spec, (0,))])
    assert [*run.thresholds.items()] == [*LIMITS.items()][: spec.task.limits]
    assert [*run.solved_at] == [*run.thresholds]
    for name, limit in run.thresholds.items():
        below = run.curve.step[run.curve.test < limit]
        assert run.solved_at[name] == (below[0] if below.size else NEVER)
    if "near" in run.solved_at:
        assert 0 < run.solved_at["near"] < 60
    store = Store(tmp_path / "runs")
    store.append([run, dataclasses.replace(run, seed=1, thresholds={}, solved_at={})])
    rows = store.load()
    for name, limit in run.thresholds.items():
        assert rows[f"threshold_{name}"].to_list() == pytest.approx([limit, np.nan], nan_ok=True)
        assert rows[f"solved_at_{name}"].to_list() == [run.solved_at[name], NEVER]
