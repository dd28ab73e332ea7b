"""Second-order training of a stack of runs: the formula search of `arithmos.optim` behind the trainers' contract."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from .. import philox
from ..nn._noise import words
from ..optim.layouts import balanced, layout
from ..optim.search import FormulaSearch
from ..spec import LM, Spec
from .contract import Floats, State
from .networks import Networks

ROUNDS = 1000
"""Number of starts per form, more than the iterations of a run allow."""


def formula_search(spec: Spec, seeds: Sequence[int], device: torch.device) -> FormulaSearch:
    """Return the search of the runs of a spec, before its first iteration."""
    assert isinstance(spec.optimizer, LM), "other optimizers have no search"
    known = layout(spec.network(0))
    assert known is not None, "a spec checks its layers"
    forms = [form for form in known.forms if len(form) <= spec.optimizer.factors]
    epsilon = torch.finfo(torch.float32 if spec.optimizer.single else torch.float64).eps
    return FormulaSearch(
        forms,
        seeds,
        spec.task.input_size,
        epsilon=epsilon,
        bound=known.bound,
        rounds=ROUNDS,
        damping=spec.optimizer.damping,
        device=device,
    )


class SecondOrderTrainer:
    """Training of a stack of networks by the second-order recipe.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        networks: their networks, which have the weights of the search after every iteration.
    """

    def __init__(self, spec: Spec, seeds: tuple[int, ...], networks: Networks) -> None:
        assert isinstance(spec.optimizer, LM), "other optimizers have no search"
        self.search, self.networks = formula_search(spec, seeds, networks.device), networks
        self.fresh, self.noise = spec.optimizer.fresh, spec.optimizer.noise
        self.seeds = torch.tensor(seeds, dtype=torch.int64, device=networks.device)
        self.dtype = torch.float32 if spec.optimizer.single else torch.float64
        self.network = spec.network(0).double()
        self.layout = layout(self.network)

    @property
    def finished(self) -> bool:
        """Whether all runs are done."""
        return all(run.ended for run in self.search.progress)

    def batch(self, step: int) -> int:
        """Return the step whose batch an iteration has."""
        return step if self.fresh else 0

    def observe(self, step: int, validation: Floats) -> None:
        """Take no note of records."""

    @torch.no_grad()
    def advance(self, step: int, x: Tensor, t: Tensor, validation: Floats) -> None:
        """Run one iteration of the runs that are not done, and give its weights to the networks."""
        moving = [number for number, run in enumerate(self.search.progress) if not run.ended]
        t = t.double().squeeze(2)
        if self.noise:
            t = t + self.noise * t.std(1, keepdim=True) * normal(self.seeds, self.batch(step), t.shape[1])
        self.search.step(x.double(), t)
        assert self.layout is not None
        for number in moving:
            try:
                self.layout.write([balanced(self.search.current(number))])
            except ValueError:  # more factors than the network has: it keeps the weights of the iteration before
                continue
            for name, value in self.network.named_parameters():
                own = self.networks.parameters[name]
                (own[number] if self.networks.stacked else own).copy_(value)
        self.networks.project()

    def moments(self, name: str) -> list[Tensor]:
        """Return zeros for every parameter: there are no moments."""
        return [torch.zeros_like(value) for value in self.networks.parameters.values()]

    def state(self, run: int) -> State:
        """Return the state of one run."""
        return self.search.state(run)

    def resume(self, step: int, moments: Mapping[str, Sequence[Tensor]], states: Sequence[State]) -> None:
        """Resume suspended runs, given what `state` returned."""
        for run, state in enumerate(states):
            self.search.restore(run, state)


def normal(seeds: Tensor, step: int, rows: int) -> Tensor:
    """Return normal numbers `[s, rows]` for the targets of an iteration, by the method of Box and Muller (1958)."""
    first, second = ((words(seeds, philox.TARGETS, step, rows, 2).double() + 0.5) * 2.0**-32).unbind(-1)
    return (-2 * first.log()).sqrt() * (2 * math.pi * second).cos()
