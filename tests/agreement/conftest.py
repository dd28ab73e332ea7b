"""The fused engines, each as it is asked for here: whole runs, and single steps from a given state."""

import pytest

from arithmos.engines import ENGINES
from arithmos.engines.contract import Control

ARRAYS = ("parameters", "exp_avg", "exp_avg_sq")


def _cpu_steps(spec, seed):
    from arithmos.engines.cpu.run import RunState

    run = RunState(spec, seed, Control())

    def step(state):
        for name in ARRAYS:
            getattr(run, name)[:] = state[name]
        run.step = int(state["step"])
        run.train(run.step + 1)
        return run.state()

    return step


def _cuda_steps(spec, seed):
    from tests.engines.cuda.runs import advance

    from arithmos.engines.cuda.device import Gpu

    device = Gpu()
    return lambda state: advance(device, spec, seed, state)


STEPPERS = {"cpu": _cpu_steps, "cuda": _cuda_steps}
NAMES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(params=NAMES, scope="session")
def steps(request):
    """`steps(spec, seed)(state)` is the state one iteration later."""
    return STEPPERS[request.param]


@pytest.fixture(params=NAMES, scope="session")
def engine(request):
    """An engine, for whole runs."""
    return ENGINES[request.param]()
