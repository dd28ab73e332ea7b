"""First-order training of a stack of runs: gradients, penalties, clipping, torch's optimizer, restarts.

Tensors have a leading axis with one position per run, and each run is treated as if it were alone.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .. import philox
from ..optim.preconditioner import input_weights, precondition, preconditioner
from ..spec import Adam, Penalty, Spec
from ..spec.optimizers import PULLED
from .batches import Pair
from .contract import Floats, State
from .networks import Networks
from .states import NOTHING, PerRun

NORM_EPSILON = 1e-6
"""Number that torch adds to a norm before it divides by it."""

STAGNANT = 1.0
"""Validation error up to which a run is never reinitialized."""

LOOK = 10
"""Iterations between two tests for stagnation."""

MOMENTS = {
    "adam": {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq"},
    "rmsprop": {"exp_avg_sq": "square_avg"},
}
"""Names in torch's state of the arrays of a suspended run, by optimizer; an array that is not kept is 0."""


def make_optimizer(spec: Spec, parameters: Mapping[str, Tensor]) -> torch.optim.Optimizer:
    """Return torch's optimizer of the trained parameters, whose names start with the number of their layer."""
    own = spec.first_order
    rates = own.layer_rates or (1.0,) * len(spec.model.layers)
    groups = [{"params": [p], "lr": own.lr * rates[int(name.partition(".")[0])]} for name, p in parameters.items()]
    if not own.layer_rates:  # one group: torch then updates all tensors in one call
        groups = [{"params": [*parameters.values()], "lr": own.lr}]
    if isinstance(own, Adam):
        return torch.optim.Adam(groups, betas=(own.beta1, own.beta2), eps=own.eps)
    return torch.optim.RMSprop(groups, alpha=own.alpha, eps=own.eps)


def loss_scale(spec: Spec, seeds: Sequence[int]) -> NDArray[np.float64] | None:
    """Return the factor of each run's squared error: one over the variance of its targets; None if not asked for.

    The variance is that of the validation targets, the mean over the outputs; targets that do not vary are not scaled.
    """
    if not spec.first_order.scale_loss:
        return None
    targets = (spec.observations.validation(seed)[1].astype(np.float64) for seed in seeds)
    variances = np.array([t.var(axis=0).mean() for t in targets])
    return 1 / np.where(variances > 0, variances, 1.0)


def input_preconditioner(spec: Spec, seeds: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """Return scale and direction of the preconditioner of the inputs, `[runs, inputs]`; None if not asked for.

    The inputs are those of the validation set.
    """
    if not spec.first_order.precondition:
        return None
    found = [preconditioner(torch.tensor(spec.observations.validation(seed)[0])) for seed in seeds]
    scale, direction = (np.stack([one[part].float().numpy() for one in found]) for part in range(2))
    return scale, direction


def preconditioned_names(spec: Spec) -> list[str]:
    """Return the names of the first layer's parameters whose gradients are preconditioned."""
    return input_weights(spec.model.layers[0].blank(*spec.sizes[:2]), spec.sizes[0])


def penalty_of(penalty: Penalty, parameters: Sequence[Tensor], runs: int) -> Tensor:
    """Return a penalty of each run, without its strength: `[runs]`."""
    flat = [p.reshape(runs, -1) for p in parameters]
    if penalty.kind == "norm":
        return torch.stack([torch.linalg.vector_norm(p, dim=1) for p in flat]).sum(0)
    if penalty.kind == "l1":
        return torch.stack([p.abs().sum(1) for p in flat]).sum(0)
    return torch.stack([(PULLED - p.abs()).clamp(min=0).mean(1) for p in flat]).sum(0)


@torch.no_grad()
def clip_gradients(spec: Spec, gradients: Sequence[Tensor], runs: int) -> None:
    """Clip the entries of the gradients, then the norm of each run's."""
    value, norm = spec.first_order.clip_value, spec.first_order.clip_norm
    if value:
        for gradient in gradients:
            gradient.clamp_(-value, value)
    if norm:
        flat = [gradient.view(runs, -1) for gradient in gradients]
        total = torch.stack([g.square().sum(1) for g in flat]).sum(0).sqrt()
        factor = (norm / (total + NORM_EPSILON)).clamp(max=1.0)
        for gradient in flat:
            gradient.mul_(factor[:, None])


def stagnates(errors: NDArray[np.float32]) -> bool:
    """Return whether a list of validation errors, one per iteration, no longer falls although it is large.

    Its first half is then at most one standard deviation above its second half, whose mean is above `STAGNANT`.
    """
    half = len(errors) // 2
    first, second = errors[:half].astype(np.float64), errors[half:].astype(np.float64)
    return bool(first.mean() <= second.mean() + second.std() and second.mean() > STAGNANT)


class Restarts(PerRun):
    """Reinitialization of stagnating runs, with what it has to remember: the validation error of every record.

    Args:
        spec: spec of the runs.
        seeds: one per run.

    Attributes:
        errors: `[runs, records]`.
        since: iteration since which each run has its present weights.
        count: restarts of each run so far.
    """

    STATE = ("errors", "since", "count")

    def __init__(self, spec: Spec, seeds: Sequence[int]) -> None:
        self.spec, self.seeds = spec, seeds
        self.errors = np.full((len(seeds), spec.records), np.nan, np.float32)
        self.since = np.zeros(len(seeds), np.int64)
        self.count = np.zeros(len(seeds), np.int64)

    def observe(self, step: int, validation: NDArray[np.float32]) -> None:
        """Keep the validation errors of a record."""
        self.errors[:, step // self.spec.evaluate_every] = validation

    def due(self, step: int) -> list[int]:
        """Return the runs to start again after an iteration, each with its counters moved on."""
        patience, every = self.spec.first_order.reinitialize, self.spec.evaluate_every
        chosen = []
        for run in range(len(self.seeds)) if step % LOOK == 0 else ():
            since = int(self.since[run])
            if step + 1 - since > patience and stagnates(self.errors[run, np.arange(since, step + 1) // every]):
                chosen.append(run)
                self.since[run], self.count[run] = step + 1, self.count[run] + 1
        return chosen

    def seed_of(self, run: int) -> int:
        """Return the seed of a run's new initial weights."""
        return int(philox.words((self.seeds[run], philox.RUN), philox.RESTART, int(self.count[run]), 1, 1)[0, 0])


class FirstOrderTrainer:
    """Training of a stack of networks with an optimizer of torch.

    Args:
        spec: spec of the runs.
        seeds: one per run.
        networks: their networks.
    """

    dtype = torch.float32
    finished = False

    def __init__(self, spec: Spec, seeds: Sequence[int], networks: Networks) -> None:
        self.spec, self.runs, self.networks = spec, len(seeds), networks
        trained = {name: value for name, value in networks.parameters.items() if value.requires_grad}
        self.trained = [*trained.values()]
        self.optimizer = make_optimizer(spec, trained)
        scale = loss_scale(spec, seeds)
        self.scale = None if scale is None else torch.from_numpy(scale).float().to(networks.device)
        self.restarts = Restarts(spec, seeds) if spec.first_order.reinitialize else None
        arrays = input_preconditioner(spec, seeds)
        self.preconditioner = None if arrays is None else [torch.from_numpy(a).to(networks.device) for a in arrays]
        chosen = set() if arrays is None else {f"0.{name}" for name in preconditioned_names(spec)}
        self.preconditioned = [place for place, name in enumerate(trained) if name in chosen]

    def batch(self, step: int) -> int:
        """Return the step whose batch an iteration has: its own."""
        return step

    def observe(self, step: int, validation: Floats) -> None:
        """Take note of the validation errors of a record."""
        if self.restarts is not None:
            self.restarts.observe(step, validation)

    def advance(self, step: int, x: Tensor, t: Tensor, validation: Floats) -> None:
        """Run one iteration: gradient, update, projection.

        Args:
            step: the iteration.
            x: inputs.
            t: targets.
            validation: validation errors of the last record.
        """
        strength = self.spec.model.schedule(step)
        with self.networks.training(step):
            self.optimizer.zero_grad()
            total = self.loss((x, t), strength, strength > 0) + self._penalties(step, validation)
            total.sum().backward()  # type: ignore[no-untyped-call]
        gradients = []
        for value in self.trained:
            if value.grad is None:  # not in the loss, or not yet; Adam counts its steps anyway
                value.grad = torch.zeros_like(value)
            gradients.append(value.grad)
        self.transform(gradients)
        self.optimizer.step()
        self.networks.project()
        if self.restarts is not None:
            for run in self.restarts.due(step):
                self._restart(run, self.restarts.seed_of(run))

    def loss(self, batch: Pair, strength: float | Tensor, regularized: bool) -> Tensor:
        """Return the loss of each run on a batch, without penalties."""
        error, sparsity = self.networks.errors(batch, regularized)
        loss: Tensor = (error if self.scale is None else error * self.scale) + strength * sparsity
        return loss

    @torch.no_grad()
    def transform(self, gradients: Sequence[Tensor]) -> None:
        """Multiply the gradients of the weights of the inputs by the preconditioner of each run, and clip all."""
        if self.preconditioner is not None:
            scale, direction = self.preconditioner
            for own in (gradients[place].view(self.runs, -1, scale.shape[-1]) for place in self.preconditioned):
                own.copy_(precondition(own, scale, direction))
        clip_gradients(self.spec, gradients, self.runs)

    def _penalties(self, step: int, validation: Floats) -> Tensor | float:
        """Return the penalties of each run; those that wait for a validation error look at that of the last record."""
        total: Tensor | float = 0.0
        for penalty in self.spec.model.penalties:
            if strength := penalty.at(step):
                term = strength * penalty_of(penalty, self.trained, self.runs)
                if penalty.below:
                    term = term * torch.from_numpy(validation < penalty.below).to(self.networks.device)
                total = total + term
        return total

    @torch.no_grad()
    def _restart(self, run: int, seed: int) -> None:
        """Give a run new initial weights; the state of the optimizer stays."""
        parameters = self.networks.parameters.values()
        for value, new in zip(parameters, self.spec.network(seed).parameters(), strict=True):
            (value[run] if self.networks.stacked else value).copy_(new)

    def moments(self, name: str) -> list[Tensor]:
        """Return an array of `ARRAYS` for every parameter; 0 for one that is not trained, or has no such moment."""
        key = MOMENTS[self.spec.optimizer.name].get(name, "")
        return [self.optimizer.state[v].get(key, torch.zeros_like(v)) for v in self.networks.parameters.values()]

    def state(self, run: int) -> State:
        """Return what one run has to remember beside its moments."""
        return NOTHING if self.restarts is None else self.restarts.state(run)

    def resume(self, step: int, moments: Mapping[str, Sequence[Tensor]], states: Sequence[State]) -> None:
        """Resume suspended runs, given their moments as `moments` returns them and what `state` returned."""
        for place, value in enumerate(self.networks.parameters.values()):
            if value.requires_grad:
                own = {key: moments[name][place] for name, key in MOMENTS[self.spec.optimizer.name].items()}
                self.optimizer.state[value] = {"step": torch.tensor(float(step)), **own}
        for run, state in enumerate(states):
            if self.restarts is not None:
                self.restarts.restore(run, state)
