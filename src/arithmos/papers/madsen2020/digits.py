"""Sequences of handwritten digits in Madsen & Johansen (2020): running products and sums behind a CNN.

As in the released program, the product leaves out zeros, the sparsity regularizer is the same for every unit that has
one, and the NALU and the LSTM start at 0 in the product too. A run is solved if it does as well as the reference, whose
cell has nothing to learn.
"""

from ...optim import SparsitySchedule
from ...spec import NO_SCHEDULE, InputRegularizer, Layer, Model, Spec
from ...tasks import DigitSequences
from ..experiment import Experiment
from .experiments import printed

PRODUCT = DigitSequences(
    operation="mul", length=2, test_lengths=tuple(range(1, 21)), digits=tuple(range(1, 10)), images=49_566
)
SUM = DigitSequences(
    operation="add", length=10, test_lengths=(1, 10, *range(100, 1001, 100)), digits=tuple(range(10)), images=55_000
)
BATCH = 64
EPOCHS = 1001
SEEDS = 10
EVERY = 5
"""Epochs between two records."""

SPARSE = SparsitySchedule(10.0, 10_000, 100_000)


def cell(unit: str, label: str, *, name: str = "", sparse: bool = False, inputs: float = 0.0) -> Model:
    """Return a model of one unit, the cell."""
    schedule = SPARSE if sparse else NO_SCHEDULE
    return Model(name or unit, (Layer(unit),), schedule, label, InputRegularizer(inputs))


def problem(task: DigitSequences, model: Model) -> Spec:
    """Return a run as published: 1001 epochs, with a record every fifth, before the first update of the epoch."""
    epoch = task.epoch(BATCH)
    return Spec(
        task=task,
        model=model,
        hidden_size=1,
        iterations=EPOCHS * epoch - 1,
        batch_size=BATCH,
        evaluate_every=EVERY * epoch,
    )


def multipliers(inputs: float) -> list[Model]:
    """Return the models of the product; those with an input regularizer have it at this strength."""
    return [
        cell("NACMulNMU", "NAC•,NMU", sparse=True, inputs=inputs),
        cell("NACMulSigma", "NAC•,σ"),
        cell("NACMul", "NAC•"),
        cell("LSTM", "LSTM"),
        cell("NALU", "NALU"),
        cell("NMU", "NMU", sparse=True, inputs=inputs),
    ]


def adders(inputs: float) -> list[Model]:
    """Return the models of the sum; the NAU has its input regularizer at this strength."""
    return [
        cell("NACAdd", "NAC₊,Rz", name="NACAddRz", inputs=1.0),
        cell("NACAdd", "NAC₊"),
        cell("LSTM", "LSTM"),
        cell("NALU", "NALU"),
        cell("NAU", "NAU", sparse=True, inputs=inputs),
    ]


REFERENCES = {
    "mul": cell("SolvedMul", "reference ×", name="ReferenceMul"),
    "add": cell("SolvedAdd", "reference +", name="ReferenceAdd"),
}
"""Tasks by operation."""


def sides(task: DigitSequences, unit: str, label: str, *, sparse: bool) -> list[Spec]:
    """Return a unit with the regularizer of its inputs, and without."""
    return [
        problem(task, cell(unit, label, name=f"{unit}Rz", sparse=sparse, inputs=1.0)),
        problem(task, cell(unit, f"{label} without R_z", name=f"{unit}NoRz", sparse=sparse)),
    ]


CONTENTS = [
    Experiment(
        name="mnist-product",
        item="Figure: sequential MNIST, product",
        title="Products of handwritten digits, longer than those trained on",
        specs=tuple(problem(PRODUCT, model) for model in multipliers(1.0)),
        seeds=SEEDS,
        axis="test_length",
        published=printed("figure_mnist_product", stated=SEEDS),
    ),
    Experiment(
        name="mnist-product-no-rz",
        item="Figure: sequential MNIST, product without R_z (appendix)",
        title="Products of handwritten digits, inputs not regularized",
        specs=tuple(problem(PRODUCT, model) for model in multipliers(0.0)),
        seeds=SEEDS,
        axis="test_length",
        published=printed("figure_mnist_product_no_Rz", stated=SEEDS),
    ),
    Experiment(
        name="mnist-sum",
        item="Figure: sequential MNIST, sum (appendix)",
        title="Sums of handwritten digits, longer than those trained on",
        specs=tuple(problem(SUM, model) for model in adders(1.0)),
        seeds=SEEDS,
        axis="test_length",
        published=printed("figure_mnist_sum", stated=SEEDS),
    ),
    Experiment(
        name="mnist-sum-no-rz",
        item="Figure: sequential MNIST, sum without R_z (appendix)",
        title="Sums of handwritten digits, inputs of the NAU not regularized",
        specs=tuple(problem(SUM, model) for model in adders(0.0)),
        seeds=SEEDS,
        axis="test_length",
        published=printed("figure_mnist_sum_no_Rz", stated=SEEDS),
    ),
    Experiment(
        name="mnist-reference",
        item="Sequential MNIST, thresholds",
        title="Handwritten digits read by a cell that multiplies or adds without error",
        specs=tuple(problem(task, REFERENCES[task.operation]) for task in (PRODUCT, SUM)),
        seeds=SEEDS,
        axis="test_length",
    ),
    Experiment(
        name="mnist-rz",
        item="Sequential MNIST, what R_z does",
        title="Effect of the input regularizer on the numbers that a cell is given, and on its weights",
        specs=(
            *sides(PRODUCT, "NMU", "NMU", sparse=True),
            *sides(PRODUCT, "NACMulNMU", "NAC•,NMU", sparse=True),
            *sides(SUM, "NAU", "NAU", sparse=True),
            *sides(SUM, "NACAdd", "NAC₊", sparse=False),
        ),
        seeds=SEEDS,
    ),
]
