"""Mistry, Farrahi & Hare, "Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity"."""

from pathlib import Path

from ..finding import read_findings
from ..paper import Paper
from .experiments import CONTENTS

paper = Paper(
    key="mistry2022snmu",
    title="Improving the Robustness of Neural Multiplication Units with Reversible Stochasticity",
    reference="Mistry, Farrahi & Hare, arXiv 2211.05624, 2022",
    experiments=CONTENTS,
    findings=read_findings(Path(__file__).with_name("findings.toml")),
    introduction="The NMU with noise that cancels where weights are exact: as a single layer, and behind an NAU on the "
    "task of Madsen & Johansen (2020) in nine ranges. A single layer is solved by a test error below 10⁻⁵, a network "
    "of two layers by the thresholds of that paper, as released. Success rates exist as pictures only; thresholds are "
    "published. Products of static digits, of digits in color channels, and ReLU networks are not built.",
)
