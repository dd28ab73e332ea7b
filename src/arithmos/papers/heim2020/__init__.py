"""Heim, Pevný & Šmídl, "Neural Power Units", NeurIPS 2020."""

from pathlib import Path

from ..finding import read_findings
from ..paper import Paper
from .estimators import COMPARISONS
from .experiments import CONTENTS

paper = Paper(
    key="heim2020",
    title="Neural Power Units",
    reference="Heim, Pevný & Šmídl, NeurIPS 2020",
    experiments=CONTENTS,
    comparisons=COMPARISONS,
    findings=read_findings(Path(__file__).with_name("findings.toml")),
    introduction="The simple task: two layers are to find a + b, a·b, a/b and √a at once. The published numbers are "
    "mean errors on a grid twice as wide as the training range, with negative inputs. The paper has no threshold; here "
    "a run is solved by a test error below 10⁻⁵. The large task: an operation on two sums over 100 inputs, by 100 "
    "hidden units. The published numbers are medians of the ten runs with the smallest test errors. The NALU is not "
    "built there. The fractional SIR model: a network is the right-hand side of a differential equation. No number is "
    "printed but the exponents of the best RealNPU; here a run is solved by an error below 0.1.",
)
