"""The large task of Heim et al. (2020): an operation on two sums over 100 inputs, by two layers with 100 hidden units.

The released program takes training and test inputs from Sobol sequences; here they are independent uniform numbers.
Its penalty, `norm(parameters, 1)` in Julia, is the sum of the norms of the parameter tensors and not of magnitudes, as
the text has it. Here the NMU has the program's penalty where its runs are short, and all others that of the text.
"""

from dataclasses import dataclass
from pathlib import Path

from ...spec import Layer, Model, Penalty, RMSprop, Spec
from ...tasks import Arithmetic
from ...tasks.arithmetic import Operation, Range
from ..experiment import Experiment
from ..published import Published

INPUTS = 100
SUMS = ((0, 50), (38, 88))
"""Half of the inputs each, a quarter of these in both."""
LENGTH = 100_000
BEST = 10
"""Runs that count, those with the smallest test errors."""


@dataclass(frozen=True)
class LargeTask:
    """Data and training of an operation.

    Args:
        word: its name.
        inside, outside: ranges of training and test.
        lr: learning rate.
        l1: strength of the L1 penalty, at the start and at the end.
        nmu: iterations of the NMU, and its strength at the start; by default those of the other units.
        seeds: number of runs.
    """

    word: str
    inside: Range
    outside: Range
    lr: float
    l1: tuple[float, float]
    nmu: tuple[int, float] | None = None
    seeds: int = BEST


SETTINGS: dict[Operation, LargeTask] = {
    "add": LargeTask("addition", ((-1.0, 1.0),), ((-2.0, 2.0),), 1e-2, (1e-5, 1e-4), (10_000, 1e-7)),
    "mul": LargeTask("multiplication", ((-1.0, 1.0),), ((-2.0, 2.0),), 5e-3, (1e-5, 1e-4), (20_000, 1e-9), 2 * BEST),
    "reciprocal": LargeTask("reciprocal", ((0.0, 0.5),), ((-0.5, 0.0),), 5e-3, (1e-9, 1e-7)),
    "root": LargeTask("root", ((0.0, 2.0),), ((0.0, 4.0),), 5e-3, (1e-6, 1e-4)),
}

SUM = Layer("NAU", (("clip", False), ("init", "small"), ("project", False)))
"""Their NAU, a plain matrix; all weights of this task start from U[0, 0.1]."""
NETWORKS: dict[str, tuple[Layer, Layer]] = {
    "NPU": (SUM, Layer("NPU", (("init", "small"),))),
    "RealNPU": (SUM, Layer("RealNPU", (("init", "small"),))),
    "NMU": (SUM, Layer("NMU", (("init", "small"), ("project", False)))),
    "NaiveNPU": (SUM, Layer("NaiveNPU", (("init", "small"),))),
    "NALU": (Layer("NALUBiased"), Layer("NALUBiased")),
}
"""Layers of the networks, by the unit of the second one."""


def spec(unit: str, operation: Operation) -> Spec:
    """Return the spec of a unit on an operation."""
    own = SETTINGS[operation]
    short = own.nmu if unit == "NMU" else None
    length, start = short or (LENGTH, own.l1[0])
    penalty = Penalty(kind="norm" if short else "l1", strength=start, most=own.l1[1])
    return Spec(
        task=Arithmetic(
            operation=operation, input_size=INPUTS, fixed=SUMS, interpolation=own.inside, extrapolation=own.outside
        ),
        model=Model(unit, NETWORKS[unit], label=unit, penalties=(penalty,)),
        hidden_size=INPUTS,
        iterations=length,
        optimizer=RMSprop(lr=own.lr, alpha=0.9, eps=1e-8),
    )


LARGE = tuple(
    Experiment(
        name=f"large-{own.word}",
        item="Table: large task",
        title=f"{own.word.capitalize()} of sums over 100 inputs",
        specs=tuple(spec(unit, operation) for unit in NETWORKS),
        seeds=own.seeds,
        published=Published(Path(__file__).with_name("published") / f"large-{own.word}.csv"),
        by_weights=True,
    )
    for operation, own in SETTINGS.items()
)
