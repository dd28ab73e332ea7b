"""Schlör, Ring & Hotho, "iNALU: Improved Neural Arithmetic Logic Unit", Frontiers in AI 2020."""

from pathlib import Path

from ..finding import read_findings
from ..not_run import read_not_run
from ..paper import Criterion, Paper
from .experiments import CONTENTS

paper = Paper(
    key="schloer2020",
    title="iNALU: Improved Neural Arithmetic Logic Unit",
    reference="Schlör, Ring & Hotho, Frontiers in Artificial Intelligence 3:71, 2020",
    experiments=CONTENTS,
    criteria={
        "absolute": Criterion(
            note="A run is solved if its test error is below 10⁻⁵, at the record of lowest validation error; the paper "
            "takes that of the last epoch."
        )
    },
    findings=read_findings(Path(__file__).with_name("findings.toml")),
    not_run=read_not_run(Path(__file__).with_name("not_run.toml")),
    introduction="Experiment 1: one layer is to find an operation on two inputs from a fixed table of 64,000 rows. "
    "Experiment 4: two layers, on two sums over 100 inputs. Published counts are those of the authors' files, one line "
    "per run. Our runs differ in four ways from theirs: weights and gates are trained together, and not in turn; the "
    "regularizer is part of the loss, and not a step of its own; stagnating runs do not start again; batches are drawn "
    "with replacement. Experiments 2 and 3 are not run, because the programs behind them were not released: the plan "
    "of experiment 3, on initial weights, has options and a test range that the released program does not know.",
)
