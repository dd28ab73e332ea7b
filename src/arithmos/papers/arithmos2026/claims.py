"""Claims of our own about the second-order recipe and the mended Adam."""

from collections.abc import Iterable

from ..evidence import Cases, Claim, Decision, at_least, more_often, sooner
from ..experiment import axis_value
from .experiments import CONTENTS

_LEAST, _LEAST_OF_50 = 0.95, 0.85
_CAN = "the 95% interval of the success rate starts at 95% or above in every cell"
_MORE = "the 95% interval of the difference of success rates is above 0"

EXPERIMENTS = {experiment.name: experiment for experiment in CONTENTS}


def _solved(cases: Cases, names: Iterable[str], *, without: Iterable[float | str] = ()) -> Decision:
    """Decide whether every cell of some sweeps is solved, but for some positions."""
    return Decision.all(
        at_least(cases(name, spec.model.name, at), _LEAST)
        for name in names
        for spec in EXPERIMENTS[name].specs
        if (at := axis_value(spec, EXPERIMENTS[name].axis)) not in without
    )


_SIZES = ("lm-hidden", "lm-inputs", "lm-overlap", "lm-subset", "lm-batch")
_OPERATIONS = ("lm-div", "lm-add", "lm-sub", "lm-root", "lm-squared")


def _gates(cases: Cases) -> Decision:
    operations = ("mul", "div", "sub", "root", "squared")
    return Decision.all(at_least(cases("lm-operations", "RealNPU-LM", at), _LEAST) for at in operations)


def _slower(cases: Cases) -> Decision:
    return more_often(cases("slow-nmu", "NMU-slow", "mul"), cases("slow-nmu", "NMU-short", "mul"))


def _mended(cases: Cases) -> Decision:
    places = ("U[-2,2]", "U[0.1,0.2]")
    return Decision.all(more_often(cases("mended", "NMU-mended", at), cases("mended", "NMU", at)) for at in places)


_FAR = ("U[-2,-1]", "U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[10,20]")
"""Ranges whose mean is not 0."""


def _preconditioned(cases: Cases) -> Decision:
    cells = [cases("mended-ranges", "NMU-preconditioned", at) for at in ("U[-2,2]", *_FAR) if at != "U[0.1,0.2]"]
    longer = cases("mended-longer", "NMU-preconditioned", "mul")
    return Decision.all(at_least(cell, _LEAST_OF_50) for cell in (*cells, longer))


def _sooner(cases: Cases) -> Decision:
    pairs = [(cases("mended-ranges", "NMU-preconditioned", at), cases("mended-ranges", "NMU", at)) for at in _FAR]
    return Decision.all(sooner([pair]) for pair in pairs)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="lm-ranges",
        where="second-order recipe",
        text="The second-order recipe solves × on ten input ranges, one of which no published model solves, in float32 "
        "too.",
        criterion=_CAN,
        experiments=("lm-range", "lm-float32"),
        test=lambda cases: _solved(cases, ("lm-range", "lm-float32")),
    ),
    Claim(
        name="lm-sizes",
        where="second-order recipe",
        text="It solves × whatever the hidden size, the number of inputs, the overlap and length of the sums and the "
        "batch size.",
        criterion=_CAN,
        experiments=_SIZES,
        test=lambda cases: _solved(cases, _SIZES),
    ),
    Claim(
        name="lm-operations",
        where="second-order recipe",
        text="It solves ÷ and √ of sums over 100 inputs, which no published model solves, and + − z², on every range.",
        criterion=_CAN,
        experiments=_OPERATIONS,
        test=lambda cases: _solved(cases, _OPERATIONS),
    ),
    Claim(
        name="lm-gate",
        where="second-order recipe",
        text="With a RealNPU, it finds out by itself which of × ÷ − √ z² the operation is.",
        criterion=_CAN,
        experiments=("lm-operations",),
        test=_gates,
    ),
    Claim(
        name="lm-rows",
        where="second-order recipe",
        text="150 observations are enough for × with 100 inputs, although the network has 202 weights.",
        criterion=_CAN,
        experiments=("lm-rows",),
        test=lambda cases: _solved(cases, ("lm-rows",), without=(110.0, 125.0)),
    ),
    Claim(
        name="lm-noise",
        where="second-order recipe",
        text="Noise of 1 % in 1,000 observations does not hide a product.",
        criterion=_CAN,
        experiments=("lm-noise", "lm-noise-centered"),
        test=lambda cases: _solved(cases, ("lm-noise", "lm-noise-centered"), without=(0.1,)),
    ),
    Claim(
        name="slow-nmu-success",
        where="mended Adam",
        text="On U[-2, 2], a tenth of the learning rate for the NMU's weights solves × more often.",
        criterion=_MORE,
        experiments=("slow-nmu",),
        test=_slower,
    ),
    Claim(
        name="mended-success",
        where="mended Adam",
        text="On the two ranges where Adam as published fails at times, the mended Adam solves × more often.",
        criterion=_MORE,
        experiments=("mended",),
        test=_mended,
    ),
    Claim(
        name="preconditioned-success",
        where="mended Adam",
        text="With gradients freed of the inputs' mean, Adam solves × on every range of the first paper but "
        "U[1.1,1.2], in 100,000 iterations, on U[0.1,0.2] in 200,000.",
        criterion="the 95% interval of the success rate starts at 85% or above on each range",
        experiments=("mended-ranges", "mended-longer"),
        test=_preconditioned,
    ),
    Claim(
        name="preconditioned-speed",
        where="mended Adam",
        text="It solves × sooner than Adam as published, on each of these ranges whose mean is not 0.",
        criterion="solved runs come before those of Adam as published on each range, by the rank-sum test at 5 %",
        experiments=("mended-ranges",),
        test=_sooner,
    ),
)
