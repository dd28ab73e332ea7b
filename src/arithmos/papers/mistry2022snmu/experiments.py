"""The stochastic NMU (Mistry et al., 2022) as a single layer, behind an NAU, and with other noise."""

from ...optim import SparsitySchedule
from ...spec import MODELS, Layer, Model, Spec
from ...tasks import Arithmetic
from .. import single_module
from ..experiment import Experiment

NOISE = ((0.01, 0.05), (0.1, 0.5), (1.0, 2.0), (1.0, 5.0), (5.0, 10.0), (10.0, 20.0))
"""Ranges of the noise."""
SEEDS = 20
ITERATIONS = 2_000_000
"""Length of the noisy runs, whose regularizer has its full strength at the end; those of the NMU are longer."""


def _behind_nau(name: str, label: str, layer: Layer) -> Model:
    return Model(name, (Layer("NAU"), layer), SparsitySchedule(10.0, 1_000_000, 2_000_000), label)


def _noise(low: float, high: float) -> Model:
    """Return the network with other noise; that of the paper is the unit's own."""
    options = () if (low, high) == (1.0, 5.0) else (("high", high), ("low", low))
    return _behind_nau(f"SNMU {low:g} to {high:g}", f"U[{low:g},{high:g}]", Layer("SNMU", options))


NOISY = _behind_nau("SNMU", "sNMU", Layer("SNMU"))
BY_BATCH = _behind_nau("SNMUBatch", "sNMU, noise by the batch", Layer("SNMUBatch"))


def _specs(model: Model, iterations: int) -> tuple[Spec, ...]:
    return tuple(
        Spec(
            task=Arithmetic(operation="mul", interpolation=inside, extrapolation=outside),
            model=model,
            iterations=iterations,
        )
        for inside, outside in single_module.NINE
    )


CONTENTS = (
    Experiment(
        name="single-module",
        item="Figure: single module",
        title="One layer, multiplication of two inputs",
        specs=tuple(spec for unit in ("NMU", "SNMU") for spec in single_module.specs(unit, "mul")),
        seeds=single_module.SEEDS,
        axis="interpolation",
        criterion="absolute",
    ),
    Experiment(
        name="two-layers",
        item="Figure: arithmetic dataset",
        title="Multiplication of sums over 100 inputs",
        specs=(*_specs(MODELS["NMU"], 5_000_000), *_specs(NOISY, ITERATIONS), *_specs(BY_BATCH, ITERATIONS)),
        seeds=SEEDS,
        axis="interpolation",
        criterion="released",
    ),
    Experiment(
        name="noise",
        item="Figure: ranges of the noise",
        title="Multiplication of sums over 100 inputs with other noise",
        specs=tuple(spec for ends in NOISE for spec in _specs(_noise(*ends), ITERATIONS)),
        seeds=single_module.SEEDS,
        axis="interpolation",
        criterion="released",
    ),
)
