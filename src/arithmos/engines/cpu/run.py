"""Runs in progress: the arguments of their kernel, suspension and resumption."""

import time
from collections.abc import Sequence

import numpy as np
from torch import nn

from ...spec import Spec
from ..contract import Control, Run, State, curve_records, unit_code
from ..judge import Judge
from ..states import ARRAYS, flattened, judged, state_of
from ..trace import identity, unit_program
from ._compile import WIDTH
from .kernel import make_kernel
from .memory import Arrays, aligned, make_noise, make_scratch, make_setting
from .program import LoopProgram, write


class RunState:
    """Run of a spec, from its start or from a checkpoint.

    Args:
        spec: spec of a network whose layers have programs.
        seed: its seed.
        control: control of the caller, with the checkpoint and how much of the curve to keep.

    Raises:
        Failed: a unit raised an error when it was built.
    """

    def __init__(self, spec: Spec, seed: int, control: Control) -> None:
        self.spec, self.seed = spec, seed
        self.program = program_of(spec)
        self.kernel = make_kernel(self.program, spec)
        with unit_code():
            network = spec.network(seed)
        start, buffers = flattened(network), _buffers(self.program, network)
        # A multiple of a register, so that Adam has no remainder; what is beyond the parameters stays 0.
        padded = -(-start.size // WIDTH) * WIDTH
        self._p, self._m, self._v = (aligned((padded,), np.float32, 0) for _ in range(3))
        self.parameters, self.exp_avg, self.exp_avg_sq = (a[: start.size] for a in (self._p, self._m, self._v))
        self.parameters[:] = start
        self.step, self.elapsed_s = 0, 0.0
        self.judge = Judge(spec, (seed,), start.size, control)
        if (state := control.resume(spec, seed)) is not None:
            self._restore(state)
        kept = curve_records(spec, control.all_records)
        self.setting, fixed = make_setting(spec, seed, [*self.judge.thresholds.values()], kept)
        self.arrays = self._arrays(fixed | make_noise(self.program, spec, seed) | buffers)
        self.table = self.kernel.table(self.arrays)

    @property
    def finished(self) -> bool:
        """Whether it has made its last update or met NaN."""
        return self.step > self.spec.iterations or bool(self.judge.ended[0])

    def _arrays(self, fixed: Arrays) -> Arrays:
        """Arrays that the kernel reads and writes, by name."""
        judge = self.judge
        rows = ("best", "best_parameters", "last", "solved_at", "curve")
        return {
            "p": self._p,
            "m": self._m,
            "v": self._v,
            "reached": np.zeros(1, np.int64),
            "errors": np.zeros(2),
            "records": judge.records,
            "ended": judge.ended.view(np.uint8),
            "best_step": judge.best_step,
            **{name: getattr(judge, name)[0] for name in rows},
            **fixed,
            **make_scratch(self.program, self.spec.observations, self._p),
        }

    def train(self, end: int) -> None:
        """Train up to a step."""
        Group([self]).train(end)

    def result(self, engine: str) -> Run:
        """Return the finished run."""
        self.judge.ended |= bool(np.isnan(self.parameters).any())
        return self.judge.runs(engine, self.parameters[None], self.elapsed_s)[0]

    def state(self) -> State:
        """Return the checkpoint from which the run can be resumed."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return state_of(self.step, self.elapsed_s, arrays, self.judge.state(0))

    def _restore(self, state: State) -> None:
        self.step, self.elapsed_s = int(state["step"][0]), float(state["elapsed_s"][0])
        for name in ARRAYS:
            getattr(self, name)[:] = state[name]
        self.judge.restore(0, judged(state))


class Group:
    """Runs of one spec that have come to the same step and train on one thread.

    They take turns between two records, and are evaluated together, because the inputs of the validation set and the
    test set are drawn anew for each evaluation.
    """

    def __init__(self, runs: Sequence[RunState]) -> None:
        self.runs = [*runs]
        self.spec = runs[0].spec
        self._tables = np.stack([run.table for run in runs])
        self._seconds_a_step = 1e-3 * len(runs)

    @property
    def step(self) -> int:
        """The next iteration of all runs that have not met NaN."""
        return max(run.step for run in self.runs)

    @property
    def finished(self) -> bool:
        """Whether all runs are."""
        return all(run.finished for run in self.runs)

    def advance(self, seconds: float) -> int:
        """Train for about so many seconds, and return the iterations made by all runs together."""
        end = self.step + max(1, int(seconds / self._seconds_a_step))
        return self.train(min(self.spec.iterations + 1, end))

    def train(self, end: int) -> int:
        """Train up to a step, and return the iterations made by all runs together."""
        begin, started, made = self.step, time.perf_counter(), 0
        for run in self.runs:
            run.arrays["reached"][0] = run.step
        self.runs[0].kernel.function(self._tables, self.runs[0].setting, begin, end)
        took = time.perf_counter() - started
        for run in self.runs:
            reached = int(run.arrays["reached"][0])
            made += reached - run.step
            run.step = reached
            run.elapsed_s += took / len(self.runs)
        self._seconds_a_step = max(took, 1e-9) / max(1, self.step - begin)
        return made


def _buffers(program: LoopProgram, network: nn.Sequential) -> Arrays:
    """Return the buffers of a run's network, which stay as they are."""
    return {
        name: network[one.layer].get_buffer(one.name).detach().float().flatten().numpy().copy()
        for name, one in program.buffers.items()
    }


_programs: dict[tuple[object, ...], LoopProgram] = {}


def program_of(spec: Spec) -> LoopProgram:
    """Return the program of the spec's network."""
    key = (*map(identity, spec.model.layers), spec.sizes)
    if key not in _programs:
        with unit_code():
            network = spec.network(0)
        _programs[key] = write([unit_program(layer) for layer in spec.model.layers], network, spec.sizes)
    return _programs[key]
