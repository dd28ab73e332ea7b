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
    "Experiment 3: initial weights of two layers, on two sums over 100 inputs. Experiment 4: two layers on other "
    "inputs, with one kind of initial weights. Published counts are those of the authors' files, one line per run. Our "
    "runs differ in five ways from theirs: weights and gates are trained together, and not in turn; the regularizer is "
    "part of the loss, and not a step of its own; stagnating runs do not start again; batches are drawn with "
    "replacement; the NALU has the initial weights of Madsen and Johansen, and theirs those of the iNALU. Experiment 2 "
    "is not run, because its program was not released. Nor was that of experiment 3, whose plan has options that the "
    "released program does not know: from the plan we take training inputs, initial weights and 201 epochs, from "
    "printed errors the test inputs, and from experiment 4 all else.",
)
