"""Mistry, Farrahi & Hare, "A Primer for Neural Arithmetic Logic Modules", JMLR 2022."""

from pathlib import Path

from ..finding import read_findings
from ..paper import Criterion, Paper
from .estimators import COMPARISONS
from .experiments import CONTENTS

paper = Paper(
    key="mistry2022",
    title="A Primer for Neural Arithmetic Logic Modules",
    reference="Mistry, Farrahi & Hare, JMLR 23(185), 2022",
    experiments=CONTENTS,
    criteria={
        "epsilon": Criterion(
            note="A run is solved if its test error at the record of lowest validation error is below that of a module "
            "with an error of 10⁻⁵ in every weight. The released script writes 10⁻⁴; the figures were made with 10⁻⁵."
        ),
        "absolute": Criterion(
            note="A run is solved if that test error is below 10⁻⁵, as in the authors' later papers."
        ),
    },
    comparisons=COMPARISONS,
    findings=read_findings(Path(__file__).with_name("findings.toml")),
    introduction="One layer is to find an operation on two inputs, in nine ranges. Settings are those of the released "
    "program. Published numbers are known for the NAU and the NMU only, from a note that draws their runs again; the "
    "figures of the other units exist as pictures.",
)
