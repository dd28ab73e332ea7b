"""Success rates over all nine ranges, which the abstract of the first version gives."""

from collections.abc import Callable

from ...judging.cells import Judged
from ..evidence import Case, Cases, Claim, Decision, pool, undistinguished
from .experiments import CONTENTS

RUNS = 225
PUBLISHED = {"RealNPU": 158, "RealNPUModified": 192, "NMRU": 206}
"""Solved runs of 225, from 70.2, 85.3 and 91.6 %."""


def _pooled(experiment: str, model: str, k: int) -> Callable[[Cases], Decision]:
    """Return a test that runs on all ranges are solved as often as published."""
    specs = next(one for one in CONTENTS if one.name == experiment).places()
    places = [at for spec, at in specs if spec.model.name == model]

    def test(cases: Cases) -> Decision:
        ours = pool("ours", [cases(experiment, model, at) for at in places])
        return undistinguished(ours, Case("published", Judged(n=RUNS, k=k)))

    return test


def _claim(experiment: str, model: str, k: int, where: str) -> Claim:
    label = next(
        spec.model.label for one in CONTENTS for spec in one.specs if (one.name, spec.model.name) == (experiment, model)
    )
    return Claim(
        name=f"ten-{model}",
        where=where,
        text=f"{label} solves {k} of {RUNS} divisions of 2 of 10 inputs, over nine ranges.",
        criterion="Fisher's test at 5% does not separate our count from the published one",
        experiments=(experiment,),
        test=_pooled(experiment, model, k),
    )


CLAIMS = tuple(_claim("ten-inputs", model, k, "Abstract of arXiv 2110.05177") for model, k in PUBLISHED.items())
