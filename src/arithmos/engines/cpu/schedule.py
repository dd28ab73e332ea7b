"""Order of a program's loops: which nodes are computed together, and when in an iteration."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..trace.program import AXES, REDUCTIONS, Term, View, is_sum_of_products, walk
from .loops import Nest, inlined

WEIGH, FORWARD, BACKWARD, GRADIENT = range(4)
"""Phases of an iteration: once before its batch, for each block of observations twice, and once after the batch."""


_WORDS = ("weigh", "forward", "backward", "gradient")


@dataclass(frozen=True)
class MatrixProduct:
    """Sum of products over one axis, or of several such sums over the batch, for which there is a hand-written loop."""

    node: Term
    sums: tuple[Term, ...]

    @property
    def factors(self) -> list[tuple[Term, Term]]:
        """Both factors of each sum: weights before inputs or outputs, outputs before inputs."""
        order = ("oi", "bo", "bi")
        return [
            (a, b) if order.index(a.axes) < order.index(b.axes) else (b, a)
            for a, b in (one.args[0].args for one in self.sums)
        ]


@dataclass
class Gradients:
    """Elements of parameters' gradients to set or add to: their view, their array, and their value."""

    targets: Sequence[tuple[View, str, Term]]
    added: bool = False


Step = Nest | MatrixProduct


@dataclass
class Schedule:
    """Loops of a program by phase, in order.

    Args:
        steps: loops and matrix products of each phase.
        kept: nodes that must be stored.
    """

    steps: dict[int, list[Step]] = field(default_factory=dict)
    kept: set[Term] = field(default_factory=set)


def schedule(name: str, roots: Iterable[Term], gradients: Gradients | None = None) -> Schedule:
    """Return the loops that compute nodes.

    Args:
        name: prefix of the functions' names.
        roots: nodes that must be stored.
        gradients: gradients to write, after everything else.
    """
    return _Scheduler(name, list(roots), gradients or Gradients(())).schedule()


class _Scheduler:
    def __init__(self, name: str, roots: list[Term], gradients: Gradients) -> None:
        self.name, self.roots, self.gradients = name, roots, gradients
        ends = [*roots, *(node for *_, node in gradients.targets)]
        self.order = list(walk(ends))
        uses = Counter([*ends, *(arg for node in self.order for arg in node.args)])
        self.products: dict[Term, tuple[Term, ...]] = {}
        """Sums of products; several over the batch that are only added up are one."""
        self.parts: set[Term] = set()
        """Sums of products that are only a part of another."""
        for node in self.order:
            if is_sum_of_products(node):
                self.products[node] = (node,)
            elif node.op == "add" and all(uses[arg] == 1 and self._over_batch(arg) for arg in node.args):
                self.products[node] = tuple(one for arg in node.args for one in self.products[arg])
                self.parts.update(node.args)
        self.phase: dict[Term, int] = {}
        """Phase in which a node is known."""
        self.loop: dict[Term, int] = {}
        """Phase of the loop that computes it."""
        self.base: dict[Term, frozenset[Term]] = {}
        """Stored nodes and leaves from which it is computed."""
        self.stage: dict[Term, int] = {}
        for node in self.order:
            self._place(node)

    def _over_batch(self, node: Term) -> bool:
        return any(one.data == "b" for one in self.products.get(node, ()))

    def _place(self, node: Term) -> None:
        at = {"input": FORWARD, "noise": FORWARD, "seed": BACKWARD}.get(node.op, WEIGH)
        reduces = node.op in REDUCTIONS
        args = [arg for one in self.products.get(node, (node,)) for arg in one.args]
        self.loop[node] = max([at, *(self.phase[arg] for arg in args)])
        over_batch = (reduces and "b" in node.data) or self._over_batch(node)
        self.phase[node] = GRADIENT if over_batch else self.loop[node]
        below = frozenset[Term]().union(*(self.base[arg] for arg in args))
        self.base[node] = below if inlined(node) else frozenset([node])
        if not node.leaf and not inlined(node):
            axes = "" if node in self.products else node.args[0].axes if reduces else node.axes
            self.stage[node] = self._stage(below, self.loop[node], axes)

    def _stage(self, below: Iterable[Term], phase: int, axes: str) -> int:
        """Return the first stage of a phase in which loops over these axes find everything below them."""
        stages = [0]
        for node in below:
            if not node.leaf and self.loop[node] == phase:
                together = node.axes == axes and node.op not in REDUCTIONS
                stages.append(self.stage[node] + (0 if together else 1))
        return max(stages)

    def schedule(self) -> Schedule:
        nests: dict[tuple[int, int, str], Nest] = {}
        products: dict[tuple[int, int, str], list[MatrixProduct]] = {}

        def nest(phase: int, stage: int, axes: str) -> Nest:
            return nests.setdefault((phase, stage, axes), Nest("", axes))

        for node in self.order:
            if node.leaf or inlined(node) or node in self.parts:
                continue
            phase, stage = self.loop[node], self.stage[node]
            if node in self.products:
                products.setdefault((phase, stage, "0"), []).append(MatrixProduct(node, self.products[node]))
            elif node.op in REDUCTIONS:
                nest(phase, stage, node.args[0].axes).reductions.append(node)
            else:
                nest(phase, stage, node.axes).nodes.append(node)
        for view, array, node in self.gradients.targets:
            axes = "".join(axis for axis in AXES if axis in view.dims)
            phase = self.phase[node]
            own = nest(phase, self._stage(self.base[node], phase, axes), axes)
            own.gradients.append((view, array, node))
            own.added = self.gradients.added
        found = Schedule(kept=set(self.roots))
        for key in sorted([*nests, *products]):
            steps = found.steps.setdefault(key[0], [])
            if key in products:
                steps += products[key]
                for product in products[key]:
                    found.kept |= {product.node, *(factor for pair in product.factors for factor in pair)}
            else:
                own = nests[key]
                own.name = f"{self.name}_{_WORDS[key[0]]}{len(steps)}"
                steps.append(own)
                found.kept |= {*own.reductions, *own.read(own.roots)}
        return found
