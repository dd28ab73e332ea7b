"""Second-order recipe for a stack of runs: products of powers of sums, by Levenberg-Marquardt.

A run makes attempts in turn: one factor, two factors, and so on, with fixed exponents of 1 or with free ones. An
attempt ends when its loss no longer falls. After every iteration the weights are rounded; a run is done when the
rounded network fits its batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from .. import philox
from ..optim.damped import Iterate, iterate
from ..spec import LM, Spec
from .contract import Floats, State
from .networks import Networks
from .powers import PowerForm, PowerProblem, attempts, gauged, rounded, start

SMALLEST = 1e-26
"""Loss, as a share of the target's variance, that float64 does not resolve."""

NOISIEST = 0.25
"""Largest share of the target's variance that is taken for noise."""

EXACT, EXACT_SINGLE = 1e-11, 1e-6
"""Largest error of a rounded network, as a share of the largest target; for observations in float32."""


class Search:
    """Recipe in progress for a stack of runs.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        device: device of the tensors.

    Attributes:
        done: mask of runs whose rounded network fits.
    """

    STATE = ("point", "damping", "growth", "attempt", "lowest", "since", "done")

    def __init__(self, spec: Spec, seeds: tuple[int, ...], device: torch.device) -> None:
        assert isinstance(spec.optimizer, LM), "other optimizers have no search"
        self.spec, self.seeds, self.device, self.settings = spec, seeds, device, spec.optimizer
        units = tuple(layer.name for layer in spec.model.layers)
        self.size = spec.task.input_size
        self.attempts = attempts(units, spec.hidden_size, self.settings.factors)
        runs, most = len(seeds), max(attempt.factors for attempt in self.attempts)
        self.point = torch.zeros(runs, most * (self.size + 1), dtype=torch.float64, device=device)
        self.damping, self.growth, self.lowest = (torch.zeros(runs, dtype=torch.float64, device=device) for _ in "abc")
        self.attempt = torch.full((runs,), -1, device=device)
        self.since = torch.zeros_like(self.attempt)
        self.done = torch.zeros(runs, dtype=torch.bool, device=device)

    def live(self) -> Tensor:
        """Return the runs that are not done."""
        return (~self.done).nonzero().squeeze(1)

    def advance(self, step: int, runs: Tensor, x: Tensor, t: Tensor) -> None:
        """Perform one iteration of some runs on their batches, x [s, b, i] and t [s, b]."""
        patience = torch.tensor([self._tried(number).patience for number in self.attempt[runs].tolist()])
        waited = step - self.since[runs] >= patience.to(self.device)
        over = (self.attempt[runs] < 0) | waited | (self.lowest[runs] <= SMALLEST)
        self.attempt[runs] += over.long()
        for number in sorted(set(self.attempt[runs].tolist())):
            here = (self.attempt[runs] == number).nonzero().squeeze(1)
            self._iterate(step, runs[here], x[here], t[here], over[here], self._tried(number))

    def _tried(self, number: int) -> PowerForm:
        return self.attempts[number % len(self.attempts)]

    def _iterate(self, step: int, runs: Tensor, x: Tensor, t: Tensor, new: Tensor, attempt: PowerForm) -> None:
        """Perform one iteration of runs in the same attempt, some of which have just begun it."""
        length = attempt.factors * (self.size + int(attempt.free))
        if new.any():
            begun = runs[new]
            self.point[begun, :length] = start(x[new], t[new], attempt, self._noise(begun, attempt))
            self.damping[begun], self.growth[begun], self.lowest[begun] = self.settings.damping, 2.0, torch.inf
            self.since[begun] = step
        problem = PowerProblem(x, t, attempt)
        state = Iterate.start(self.point[runs, :length])
        state = iterate(problem, replace(state, damping=self.damping[runs], growth=self.growth[runs]))
        loss = 2 * state.loss / t.shape[1]
        better = loss < self.lowest[runs] / 2
        self.lowest[runs[better]], self.since[runs[better]] = loss[better], step
        self.point[runs, :length], self.damping[runs], self.growth[runs] = state.point, state.damping, state.growth
        found = rounded(state.point, attempt, self.size)
        fits = self._fits(problem, found, state.loss, stalled=step - self.since[runs] >= attempt.patience - 1)
        self.point[runs[fits], :length] = found[fits]
        self.done[runs[fits]] = True

    def _fits(self, problem: PowerProblem, point: Tensor, loss: Tensor, stalled: Tensor) -> Tensor:
        """Return which rounded networks fit their batches: to rounding, or as well as free weights fit to noise."""
        residuals = problem.residuals(point)
        limit = EXACT_SINGLE if self.settings.single else EXACT
        exact = (residuals * problem.scale).abs().amax(1) <= limit * problem.t.abs().amax(1)
        rows, free = residuals.shape[1], point.shape[1]
        if rows <= free:
            return exact
        # Fitted weights explain their share of the noise; three deviations of its sum of squares are allowed for.
        noise = 2 * loss / (rows - free)
        stalled = stalled & (2 * loss / rows <= NOISIEST)
        limit_of_noise = noise * rows * (1 + 3 * (2 / rows) ** 0.5)
        fits: Tensor = exact | (stalled & (residuals.square().sum(1) <= limit_of_noise))
        return fits

    def _noise(self, runs: Tensor, attempt: PowerForm) -> Tensor:
        words = [
            philox.words(
                (self.seeds[run], philox.RUN), philox.RESTART, int(self.attempt[run]), attempt.factors, self.size
            )
            for run in runs.tolist()
        ]
        uniform = np.stack(words).astype(np.float64) / 2.0**31 - 1
        return torch.from_numpy(uniform).to(self.device)

    def layers(self) -> tuple[Tensor, Tensor]:
        """Return the weights of the NAU [s, h, i] and the exponents of its outputs [s, h] of every run.

        A search that is not done has its scale shared by the factors as far as the range of the NAU allows.
        """
        hidden = self.spec.hidden_size if len(self.spec.model.layers) > 1 else 1
        weights = torch.zeros(len(self.seeds), hidden, self.size, dtype=torch.float64, device=self.device)
        exponents = torch.zeros(len(self.seeds), hidden, dtype=torch.float64, device=self.device)
        for number in sorted({*self.attempt.tolist()} - {-1}):
            attempt, runs = self._tried(number), (self.attempt == number).nonzero().squeeze(1)
            length = attempt.factors * (self.size + int(attempt.free))
            own, powers, scale = gauged(self.point[runs, :length], attempt, self.size)
            for row in range(attempt.rows):
                weights[runs, row] = (own[:, 0] - weights[runs, :row].sum(1)).clamp(-1, 1)
                exponents[runs, row] = 1.0
            if attempt.rows:
                continue
            share = scale.abs().unsqueeze(1) ** (1 / (powers * attempt.factors))
            share[:, 0] *= torch.where(scale < 0, -1.0, 1.0)
            weights[runs, : attempt.factors] = (own * share.unsqueeze(2)).clamp(-1, 1).nan_to_num()
            exponents[runs, : attempt.factors] = powers
        return weights, exponents

    def state(self, run: int) -> State:
        """Return the state of one run for a checkpoint."""
        return {name: getattr(self, name)[run].cpu().numpy() for name in self.STATE}

    def restore(self, run: int, state: State) -> None:
        """Restore what `state` returned."""
        for name in self.STATE:
            getattr(self, name)[run] = torch.from_numpy(np.asarray(state[name]))


class SecondOrderTrainer:
    """Training of a stack of networks by the second-order recipe.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        networks: their networks, which have the weights of the recipe after every iteration.
    """

    def __init__(self, spec: Spec, seeds: tuple[int, ...], networks: Networks) -> None:
        self.search, self.networks = Search(spec, seeds, networks.device), networks
        self.dtype = torch.float32 if self.search.settings.single else torch.float64

    @property
    def finished(self) -> bool:
        """Whether all runs are done."""
        return bool(self.search.done.all())

    def batch(self, step: int) -> int:
        """Return the step whose batch an iteration has."""
        return step if self.search.settings.fresh else 0

    def observe(self, step: int, validation: Floats) -> None:
        """Take no note of records."""

    @torch.no_grad()
    def advance(self, step: int, x: Tensor, t: Tensor, validation: Floats) -> None:
        """Run one iteration of the runs that are not done, and give its weights to the networks."""
        live = self.search.live()
        self.search.advance(step, live, x[live].double(), t[live].double().squeeze(2))
        weights, exponents = self.search.layers()
        last = self.search.spec.model.layers[-1].name
        for name, value in self.networks.parameters.items():
            if name.startswith("0."):
                value.copy_(weights)
            elif name.endswith("gate"):
                value.copy_((exponents != 0).view_as(value))
            else:
                value.copy_((exponents if last == "RealNPU" else exponents != 0).view_as(value))

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
