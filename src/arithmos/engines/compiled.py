"""Compiled iterations of a stack of runs: batch, gradient, Adam's step and projection as one graph.

The graph is recorded from what the eager engine calls, below Python and below `vmap`, so whatever can be stacked can be
compiled. It computes the same numbers up to rounding. On a GPU, `graphs` runs many iterations at once.
"""

import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from ..spec import Adam, Spec
from .batches import Batches, Pair
from .contract import explained
from .networks import Networks
from .updates import FirstOrderTrainer

COMPILED_FROM = 50_000
"""Iterations from which on compiling pays: it takes 10 to 60 seconds."""

Graph = Callable[..., None]
State = tuple[list[Tensor], list[Tensor], list[Tensor]]


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
        and device.type in ("cpu", "cuda")
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

    def advance(self, step: int, end: int) -> int:
        """Run one iteration, or more up to an end, and return the next one.

        Raises:
            NotCompiled: it cannot be compiled, and was not run; the trainer can resume from its state.
        """
        regularized = self.regularized(step)
        values = (*self._state(), torch.tensor(self._numbers(step)), self.batches.words(step))
        self._graph(step, regularized, values)(*values)
        return step + 1

    def regularized(self, step: int) -> bool:
        """Return whether the sparsity is regularized in an iteration, which is another graph."""
        return self.spec.model.schedule(step) > 0

    def _state(self) -> State:
        """Return the parameters and both moments, which an iteration changes in place."""
        state = self.trainer.optimizer.state
        for value in self.trainer.trained:
            if not state[value]:
                zeros = {name: torch.zeros_like(value) for name in ("exp_avg", "exp_avg_sq")}
                state[value] = {"step": torch.tensor(0.0), **zeros}
        parameters = [value.detach() for value in self.trainer.trained]
        first, second = ([state[v][name] for v in self.trainer.trained] for name in ("exp_avg", "exp_avg_sq"))
        return parameters, first, second

    def _numbers(self, step: int) -> list[float]:
        """Return the numbers of an iteration: strength of the regularizer, Adam's correction, and its step sizes."""
        own = self.spec.first_order
        assert isinstance(own, Adam)
        rest1, rest2 = 1 - own.beta1 ** (step + 1), 1 - own.beta2 ** (step + 1)
        return [self.spec.model.schedule(step), rest2**0.5, *(own.lr * rate / rest1 for rate in self._rates)]

    def _graph(self, step: int, regularized: bool, values: tuple[object, ...]) -> Graph:
        """Return the graph of an iteration, which is compiled for these arguments if it is new."""
        if regularized not in self._graphs:
            try:
                self._say(f"compiling the iterations of {self.spec.model.name}")
                self._graphs[regularized] = self._compile(regularized, values)
            except Exception as error:
                raise self._failed(step, error) from error
        return self._graphs[regularized]

    def _failed(self, step: int, error: Exception) -> NotCompiled:
        """Return an error as the reason not to compile, after which torch's own optimizer continues at this step."""
        for state in self.trainer.optimizer.state.values():
            state["step"].fill_(step)
        return NotCompiled(explained(error))

    def _compile(self, regularized: bool, values: tuple[object, ...]) -> Graph:
        def iterate(p: list[Tensor], m: list[Tensor], v: list[Tensor], *rest: Tensor) -> None:
            numbers, batch = self._inputs(rest)
            gradients = self._gradients(p, numbers[0], batch, regularized)
            for place, own in enumerate(zip(p, m, v, gradients, strict=True)):
                self._update(*own, numbers[1], numbers[2 + place], self._ranges[place])

        with warnings.catch_warnings(), torch.autograd.set_multithreading_enabled(False):  # gradients in this thread
            warnings.simplefilter("ignore")  # those of torch's compiler are about its own code
            graph = make_fx(iterate)(*copied(values))
            compiled: Graph = torch.compile(graph, dynamic=False, fullgraph=True)
            compiled(*copied(values))  # what fails, fails here
        return compiled

    def _inputs(self, rest: tuple[Tensor, ...]) -> tuple[Tensor, Pair]:
        """Return the numbers of an iteration and its batch, given the last arguments of the graph."""
        numbers, word = rest
        return numbers, self.batches.from_words(word)

    def _gradients(
        self, parameters: Sequence[Tensor], strength: Tensor, batch: Pair, regularized: bool
    ) -> Sequence[Tensor]:
        """Return the gradients of a batch, as `FirstOrderTrainer.advance` computes them."""
        trained = [value.detach().requires_grad_() for value in parameters]
        whole = self.networks.parameters
        self.networks.parameters = {**whole, **dict(zip(self._names, trained, strict=True))}
        try:
            loss = self.trainer.loss(batch, strength, regularized)
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


def copied(values: object) -> tuple[object, ...]:
    """Return arguments of a graph that it may change."""
    assert isinstance(values, tuple)
    return tuple(v.clone() if isinstance(v, Tensor) else [one.clone() for one in v] for v in values)
