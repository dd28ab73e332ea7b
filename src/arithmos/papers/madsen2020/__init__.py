"""Madsen & Johansen, "Neural Arithmetic Units", ICLR 2020."""

from pathlib import Path

from ..finding import read_findings
from ..paper import Paper
from . import as_written, digits, experiments
from .claims import CLAIMS
from .estimators import COMPARISONS, CRITERIA
from .surfaces import SURFACES

paper = Paper(
    key="madsen2020",
    title="Neural Arithmetic Units",
    reference="Madsen & Johansen, ICLR 2020",
    experiments=(*experiments.CONTENTS, *digits.CONTENTS, *as_written.CONTENTS),
    surfaces=SURFACES,
    claims=CLAIMS,
    criteria=CRITERIA,
    comparisons=COMPARISONS,
    findings=read_findings(Path(__file__).with_name("findings.toml")),
    introduction="The published numbers come from the authors' program, so its settings are used here, even where the "
    "text of the paper says otherwise.",
)
