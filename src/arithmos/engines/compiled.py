"""Compiled iterations of a stack of runs: batch, gradient, Adam's step and projection as one graph.

The graph is recorded from what the eager engine calls, below Python and below `vmap`, so whatever can be stacked can be
compiled. It computes the same numbers up to rounding.
"""

import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from ..spec import Adam, Spec
from .batches import Batches
from .contract import explained
from .networks import Networks
from .updates import FirstOrderTrainer

COMPILED_FROM = 50_000
"""Iterations from which on compiling pays: it takes 10 to 60 seconds."""

Graph = Callable[..., None]


class NotCompiled(RuntimeError):
    """Raised when an iteration cannot be compiled; the message says why."""


def worth_compiling(spec: Spec, device: torch.device, *, stacked: bool) -> bool:
    """Return whether the iterations of a stack are compiled.

    It depends on nothing but the spec, so that a run that is resumed has the same bits as one that is not interrupted.
    """
    optimizer = spec.optimizer
    return (
        spec.iterations >= COMPILED_FROM
        and stacked
        and device.type == "cpu"
        and isinstance(optimizer, Adam)
        and not optimizer.reinitialize
        and not spec.model.penalties
        and spec.observations.draws(0) is not None
    )


class CompiledStep:
    """Iterations of a stack, compiled when the first of them is run.

    Args:
        spec: spec of the runs.
        networks: their networks.
        batches: their batches.
        trainer: their trainer, whose moments are updated.
        say: receives a line before something is compiled.
    """

    def __init__(
        self, spec: Spec, networks: Networks, batches: Batches, trainer: FirstOrderTrainer, say: Callable[[str], None]
    ) -> None:
        self.spec, self.networks, self.batches, self.trainer, self._say = spec, networks, batches, trainer, say
        self._names = [name for name, value in networks.parameters.items() if value.requires_grad]
        rates = spec.first_order.layer_rates or (1.0,) * len(spec.model.layers)
        self._rates = [rates[int(name.partition(".")[0])] for name in self._names]
        ranges = {id(value): (low, high) for value, low, high in networks.bounds}
        self._ranges = [ranges.get(id(value)) for value in trainer.trained]
        self._graphs: dict[bool, Graph] = {}

    def advance(self, step: int) -> None:
        """Run one iteration.

        Raises:
            NotCompiled: it cannot be compiled, and was not run; the trainer can resume from its state.
        """
        strength = self.spec.model.schedule(step)
        regularized = strength > 0
        values = self._arguments(step, strength)
        if regularized not in self._graphs:
            try:
                self._graphs[regularized] = self._compile(regularized, values)
            except Exception as error:
                for state in self.trainer.optimizer.state.values():
                    state["step"].fill_(step)
                raise NotCompiled(explained(error)) from error
        self._graphs[regularized](*values)

    def _arguments(self, step: int, strength: float) -> tuple[list[Tensor], list[Tensor], list[Tensor], Tensor, Tensor]:
        """Return parameters, moments, numbers of the iteration, and the words of its batch."""
        own, state = self.spec.first_order, self.trainer.optimizer.state
        assert isinstance(own, Adam)
        for value in self.trainer.trained:
            if not state[value]:
                zeros = {name: torch.zeros_like(value) for name in ("exp_avg", "exp_avg_sq")}
                state[value] = {"step": torch.tensor(0.0), **zeros}
        rest1, rest2 = 1 - own.beta1 ** (step + 1), 1 - own.beta2 ** (step + 1)
        sizes = [own.lr * rate / rest1 for rate in self._rates]
        numbers = torch.tensor([strength, rest2**0.5, *sizes])
        parameters = [value.detach() for value in self.trainer.trained]
        first, second = ([state[v][name] for v in self.trainer.trained] for name in ("exp_avg", "exp_avg_sq"))
        return parameters, first, second, numbers, self.batches.words(step)

    def _compile(self, regularized: bool, values: tuple[object, ...]) -> Graph:
        self._say(f"compiling the iterations of {self.spec.model.name}")

        def iterate(p: list[Tensor], m: list[Tensor], v: list[Tensor], numbers: Tensor, word: Tensor) -> None:
            gradients = self._gradients(p, numbers[0], word, regularized)
            for place, own in enumerate(zip(p, m, v, gradients, strict=True)):
                self._update(*own, numbers[1], numbers[2 + place], self._ranges[place])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of torch's compiler are about its own code
            graph = make_fx(iterate)(*_copied(values))
            compiled: Graph = torch.compile(graph, dynamic=False, fullgraph=True)
            compiled(*_copied(values))  # what fails, fails here
        return compiled

    def _gradients(
        self, parameters: Sequence[Tensor], strength: Tensor, word: Tensor, regularized: bool
    ) -> Sequence[Tensor]:
        """Return the gradients of a batch, as `FirstOrderTrainer.advance` computes them."""
        trained = [value.detach().requires_grad_() for value in parameters]
        whole = self.networks.parameters
        self.networks.parameters = {**whole, **dict(zip(self._names, trained, strict=True))}
        try:
            loss = self.trainer.loss(self.batches.from_words(word), strength, regularized)
        finally:
            self.networks.parameters = whole
        found = torch.autograd.grad(loss.sum(), trained, allow_unused=True)
        gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]
        self.trainer.transform(gradients)
        return gradients

    def _update(
        self,
        parameter: Tensor,
        first: Tensor,
        second: Tensor,
        gradient: Tensor,
        correction: Tensor,
        size: Tensor,
        range_: tuple[float, float] | None,
    ) -> None:
        """Perform a step of Adam, its operations in the order of torch's, and project the parameter into its range."""
        own = self.spec.first_order
        assert isinstance(own, Adam)
        first.lerp_(gradient, 1 - own.beta1)
        second.mul_(own.beta2).addcmul_(gradient, gradient, value=1 - own.beta2)
        parameter.sub_(size * first / (second.sqrt() / correction + own.eps))
        if range_ is not None:
            parameter.clamp_(*range_)


def _copied(values: object) -> tuple[object, ...]:
    """Return arguments of a graph that it may change."""
    assert isinstance(values, tuple)
    return tuple(v.clone() if isinstance(v, Tensor) else [one.clone() for one in v] for v in values)
