"""Our own results: the first paper's arithmetic experiments by the second-order recipe and by a mended Adam."""

from pathlib import Path

from ..finding import read_findings
from ..paper import Criterion, Paper
from .claims import CLAIMS
from .experiments import CONTENTS

paper = Paper(
    key="arithmos2026",
    title="Arithmetic by second-order training",
    reference="Arithmos, 2026",
    experiments=tuple(CONTENTS),
    claims=CLAIMS,
    criteria={
        "corrected": Criterion(
            note="A run is solved if its test error is below that of a network whose weights are off by 10⁻⁵."
        )
    },
    findings=read_findings(Path(__file__).with_name("findings.toml")),
    introduction="The arithmetic experiments of Madsen & Johansen (2020) again, trained by Levenberg–Marquardt on "
    "networks that grow factor by factor. Published numbers are those of the first paper's NMU, whose runs with "
    "Adam are shown beside ours.",
)
