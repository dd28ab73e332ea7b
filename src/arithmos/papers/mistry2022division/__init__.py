"""Mistry, Farrahi & Hare, "Exploring the Learning Mechanisms of Neural Division Modules", TMLR 2022."""

from pathlib import Path

from ..finding import read_findings
from ..paper import Criterion, Paper
from .claims import CLAIMS
from .experiments import CONTENTS

paper = Paper(
    key="mistry2022division",
    title="Exploring the Learning Mechanisms of Neural Division Modules",
    reference="Mistry, Farrahi & Hare, TMLR, September 2022",
    experiments=CONTENTS,
    claims=CLAIMS,
    criteria={
        "absolute": Criterion(
            note="A run is solved if its test error at the record of lowest validation error is below 10⁻⁵, whatever "
            "the range."
        ),
        "epsilon": Criterion(
            note="A run is solved if that test error is below that of a module with an error of 10⁻⁵ in every weight, "
            "which is 7,000 to 20,000 times stricter for a division."
        ),
    },
    findings=read_findings(Path(__file__).with_name("findings.toml")),
    introduction="One layer is to divide one input by another, alone or among ten. Settings are those of the released "
    "program. The abstract of the first version gives success rates over all nine ranges; figures by range exist as "
    "pictures only.",
)
