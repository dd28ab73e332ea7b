"""Single modules of Mistry et al. (2022): four operations in nine ranges, and more inputs than operands."""

import dataclasses
from pathlib import Path

from ...tasks.arithmetic import Operation
from .. import single_module
from ..experiment import Experiment
from ..published import Published

UNITS: dict[Operation, tuple[str, ...]] = {
    "add": ("NAU", "NACAdd", "NALU", "GNALU", "INALU", "MCFC"),
    "sub": ("NAU", "NACAdd", "NALU", "GNALU", "INALU"),
    "mul": (
        *("NMU", "NACMul", "NALU", "GNALU", "INALU", "NPU", "RealNPU"),
        *("MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU"),
    ),
    "div": ("NACMul", "NALU", "GNALU", "INALU", "NPU", "RealNPU"),
}
"""Units on each operation, those of the later note on MC-FC included."""
WORDS: dict[Operation, tuple[str, str]] = {
    "add": ("addition", "Figure 14"),
    "sub": ("subtraction", "Figure 15"),
    "mul": ("multiplication", "Figure 16"),
    "div": ("division", "Figure 17"),
}


def printed(name: str) -> Published:
    """Return the published values of a figure."""
    return Published(Path(__file__).with_name("published") / f"{name}.csv")


CONTENTS = (
    *[
        Experiment(
            name=name,
            item=item,
            title=f"One layer, {name} of two inputs",
            specs=tuple(spec for unit in UNITS[operation] for spec in single_module.specs(unit, operation)),
            seeds=single_module.SEEDS,
            axis="interpolation",
            published=printed(name) if operation in ("add", "mul") else None,
        )
        for operation, (name, item) in WORDS.items()
    ],
    Experiment(
        name="redundant-inalu",
        item="Figure 18",
        title="One layer of iNALU, addition of 2 of 10 inputs",
        specs=tuple(
            dataclasses.replace(spec, iterations=single_module.SHORT.iterations)
            for spec in single_module.specs("INALU", "add", 10)
        ),
        seeds=single_module.SEEDS,
        axis="interpolation",
    ),
    *[
        Experiment(
            name=f"redundant-{name}-{inputs}",
            item=f"Figure {19 if inputs == 10 else 20}",
            title=f"One layer of NAU, {name} of 2 of {inputs} inputs",
            specs=single_module.specs("NAU", operation, inputs),
            seeds=single_module.SEEDS,
            axis="interpolation",
        )
        for inputs, operations in ((10, ("add", "sub")), (100, ("add",)))
        for operation, (name, _) in WORDS.items()
        if operation in operations
    ],
)
