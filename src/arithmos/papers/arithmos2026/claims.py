"""Claims of our own about the second-order recipe and the mended Adam."""

from ..evidence import Cases, Claim, Decision, at_least, more_often
from ..experiment import axis_value
from .experiments import CONTENTS, NMU_LM

_CAN = "the 95% interval of the success rate starts at 80% or above in every cell"


def _ranges(cases: Cases) -> Decision:
    [experiment] = [one for one in CONTENTS if one.name == "lm-range"]
    places = [axis_value(spec, experiment.axis) for spec in experiment.specs if spec.model.name == NMU_LM.name]
    return Decision.all(at_least(cases("lm-range", NMU_LM.name, at), 0.8) for at in places)


def _quotients(cases: Cases) -> Decision:
    return Decision.all(at_least(cases("lm-operations", "RealNPU-LM", at), 0.8) for at in ("div", "root"))


def _slower(cases: Cases) -> Decision:
    return more_often(cases("slow-nmu", "NMU-slow", "mul"), cases("slow-nmu", "NMU-short", "mul"))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="lm-ranges",
        where="second-order recipe",
        text="The second-order recipe solves × on ten input ranges, one of which no published model solves.",
        criterion=_CAN,
        experiments=("lm-range",),
        test=_ranges,
    ),
    Claim(
        name="lm-quotients",
        where="second-order recipe",
        text="The second-order recipe solves ÷ and √ of sums over 100 inputs, which no published model solves.",
        criterion=_CAN,
        experiments=("lm-operations",),
        test=_quotients,
    ),
    Claim(
        name="slow-nmu-success",
        where="mended Adam",
        text="On U[-2, 2], a tenth of the learning rate for the NMU's weights solves × more often.",
        criterion="the 95% interval of the difference of success rates is above 0",
        experiments=("slow-nmu",),
        test=_slower,
    ),
)
