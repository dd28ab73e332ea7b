"""Claims of Madsen & Johansen (2020) about their arithmetic experiments, in our words and in their order."""

from ...tasks import OPERATIONS
from ..evidence import Claim, Decision, at_least, more_often, pool, sooner, sparser
from . import hypotheses as h
from .digit_claims import MNIST_CLAIMS
from .experiments import ALL_MODELS, HIDDEN, MULTIPLIERS, RANGES

_MORE = "the 95% interval of the difference of success rates is above 0"
_SOONER = "solved runs come first by the rank-sum test at 5%"
_CANNOT = "the 95% interval of the success rate ends at 10% or below"
_CAN = "the 95% interval of the success rate starts at 90% or above"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        name="ten-parameters-success",
        where="1.1, Table 1",
        text="On the function of ten parameters the NMU succeeds more often than NAC• and NALU.",
        criterion=_MORE,
        experiments=("table-1",),
        test=h.against("table-1", "NMU", ("NACMul", "NALU"), "mul"),
    ),
    Claim(
        name="ten-parameters-speed",
        where="1.1, Table 1",
        text="There it also converges faster than both.",
        criterion=_SOONER,
        experiments=("table-1",),
        test=h.ahead("table-1", "NMU", ("NACMul", "NALU"), "mul"),
    ),
    Claim(
        name="no-bias",
        where="2.2, Table 2",
        text="Weights of tanh and sigmoid are not biased towards −1, 0 and 1: NAC₊ solves + and − without these.",
        criterion="the 95% interval of the median sparsity error of solved runs is above 0.1, on + and on −",
        experiments=("table-2",),
        test=h.no_bias,
    ),
    Claim(
        name="multiplication-success",
        where="4.1, Table 2",
        text="On × the NMU succeeds more often than NAC• and NALU.",
        criterion=_MORE,
        experiments=("table-2",),
        test=h.against("table-2", "NMU", ("NACMul", "NALU"), "mul"),
    ),
    Claim(
        name="multiplication-speed",
        where="4.1, Table 2",
        text="On × the NMU converges faster than NAC• and NALU.",
        criterion=f"{_SOONER}; a model that solves nothing is slower",
        experiments=("table-2",),
        test=h.ahead("table-2", "NMU", ("NACMul", "NALU"), "mul"),
    ),
    Claim(
        name="addition-success",
        where="4.1, Table 2",
        text="On + and − NAU and NAC₊ succeed equally, that is, always.",
        criterion=f"the difference lies within 10 points, and for both {_CAN}",
        experiments=("table-2",),
        test=h.addition_success,
    ),
    Claim(
        name="addition-speed",
        where="4.1, Table 2",
        text="On + and − the NAU solves the task significantly faster than NAC₊.",
        criterion=_SOONER,
        experiments=("table-2",),
        test=h.ahead("table-2", "NAU", ("NACAdd",), "add", "sub"),
    ),
    Claim(
        name="addition-sparsity",
        where="4.1, Table 2",
        text="There its solutions are significantly sparser than those of NAC₊.",
        criterion="sparsity errors of solved runs are smaller by the rank-sum test at 5%",
        experiments=("table-2",),
        test=h.sparser_than_nac,
    ),
    Claim(
        name="linear-subtraction",
        where="4.1, Table 2",
        text="A linear model has a hard time with subtraction.",
        criterion="the 95% interval of its success rate on − ends at 50% or below, and below that on +",
        experiments=("table-2",),
        test=h.linear_subtraction,
    ),
    Claim(
        name="hidden-size",
        where="Abstract; 4.1, figure: hidden size",
        text="The NMU copes with a much larger hidden size than the other multiplication models.",
        criterion=f"at 10 hidden units {_MORE}",
        experiments=("hidden-size",),
        test=h.against("hidden-size", "NMU", h.OTHERS, 10.0),
    ),
    Claim(
        name="no-division",
        where="4.1, figure: hidden size",
        text="Removing division improves the success rate of NAC•: as NAC•,σ and as NAC•,NMU it multiplies better.",
        criterion=f"on × {_MORE}",
        experiments=("all-models",),
        test=lambda cases: Decision.all(
            more_often(cases("all-models", model, "mul"), cases("all-models", "NACMul", "mul"))
            for model in ("NACMulSigma", "NACMulNMU")
        ),
    ),
    Claim(
        name="linear-weights",
        where="1; Table: all models",
        text="Linear, regularized weights improve convergence: NAC•,NMU is faster than NAC•,σ.",
        criterion=f"on × {_SOONER}",
        experiments=("all-models",),
        test=h.ahead("all-models", "NACMulNMU", ("NACMulSigma",), "mul"),
    ),
    Claim(
        name="variants-not-enough",
        where="4.1, figure: hidden size",
        text="That is not enough when the hidden size is large.",
        criterion=f"at 10 hidden units, for NAC•,σ and NAC•,NMU, {_CANNOT}",
        experiments=("hidden-size",),
        test=h.fails_at("hidden-size", ("NACMulSigma", "NACMulNMU"), 10.0),
    ),
    Claim(
        name="negative-inputs",
        where="4.1, figure: input range",
        text="Of these models, only the NMU handles inputs of both signs.",
        criterion=f"on U[-2,2] {_MORE}, and for the others {_CANNOT}",
        experiments=("input-range",),
        test=h.negative_inputs,
    ),
    Claim(
        name="negative-and-small",
        where="Abstract",
        text="NAU and NMU extrapolate to negative and to small values.",
        criterion="on U[-2,-1], U[-2,2], U[0,1] and U[0.1,0.2] the NMU's success rate is above 50% by its interval",
        experiments=("input-range",),
        test=h.in_ranges("U[-2,-1]", "U[-2,2]", "U[0,1]", "U[0.1,0.2]"),
    ),
    Claim(
        name="narrow-range",
        where="4.1, figure: input range",
        text="No model learns from inputs of U[1.1,1.2].",
        criterion=f"for each {_CANNOT}",
        experiments=("input-range",),
        test=h.fails_at("input-range", [model.name for model in MULTIPLIERS], "U[1.1,1.2]"),
    ),
    Claim(
        name="all-ranges",
        where="Conclusion",
        text="The models support all input ranges (which the previous claim contradicts).",
        criterion="in each of the seven ranges the NMU's success rate is above 50% by its interval",
        experiments=("input-range",),
        test=h.in_ranges(*[f"U[{low:g},{high:g}]" for ((low, high),), _ in RANGES]),
    ),
    Claim(
        name="ablation-1",
        where="Ablation, 1",
        text="With 2 hidden units the NMU needs neither the regularizer nor the clamp.",
        criterion=f"without one, the other or both {_CAN}",
        experiments=("ablation",),
        test=h.unconstrained,
    ),
    Claim(
        name="ablation-2",
        where="Ablation, 2",
        text="Without the regularizer the NMU fails at once with more hidden units.",
        criterion=f"with 3 to 10 hidden units {_CANNOT}",
        experiments=("ablation",),
        test=h.fails_at("ablation", (h.NO_SPARSE,), *map(float, HIDDEN[1:])),
    ),
    Claim(
        name="ablation-3",
        where="Ablation, 3",
        text="Without the clamp little changes; convergence is at most slightly slower.",
        criterion="over all hidden sizes the success rates differ by at most 10 points, and medians by 10% on average",
        experiments=("ablation",),
        test=h.no_clamp,
    ),
    Claim(
        name="ablation-4-success",
        where="Ablation, 4",
        text="Without both the success rate is lower.",
        criterion=f"over all hidden sizes {_MORE}",
        experiments=("ablation",),
        test=lambda cases: more_often(
            pool("NMU", h.ablated(cases, h.NMU)), pool("neither", h.ablated(cases, h.NEITHER))
        ),
    ),
    Claim(
        name="ablation-4-speed",
        where="Ablation, 4",
        text="Without both convergence is slower.",
        criterion=f"compared at each hidden size, {_SOONER}",
        experiments=("ablation",),
        test=lambda cases: sooner(list(zip(h.ablated(cases, h.NMU), h.ablated(cases, h.NEITHER), strict=True))),
    ),
    Claim(
        name="ablation-4-sparsity",
        where="Ablation, 4",
        text="Without both the sparsity error is higher.",
        criterion="compared at each hidden size, errors are smaller with both by the rank-sum test at 5%",
        experiments=("ablation",),
        test=lambda cases: sparser(list(zip(h.ablated(cases, h.NMU), h.ablated(cases, h.NEITHER), strict=True))),
    ),
    Claim(
        name="ablation-conclusion",
        where="Ablation, conclusion",
        text="Neither constraint is critical to the NMU's success rate.",
        criterion="over all hidden sizes each variant keeps at least half of the NMU's success rate, by its interval",
        experiments=("ablation",),
        test=h.not_critical,
    ),
    Claim(
        name="gating-1",
        where="Gating, 1",
        text="With separate weights far more NALU gates choose addition, on × and on +.",
        criterion="the 95% interval of the difference of the shares of gates above ½ is above 0, for both tasks",
        experiments=("gate",),
        test=h.separate_adds,
    ),
    Claim(
        name="gating-2-addition",
        where="Gating, 2",
        text="Whether NALU learns + depends on its gate choosing it.",
        criterion="where the gate adds at least 90% are solved, elsewhere at most 10%, by their intervals",
        experiments=("gate",),
        test=h.addition_needs_gate,
    ),
    Claim(
        name="gating-2-multiplication",
        where="Gating, 2",
        text="Where the gate chooses × the NMU converges more consistently than NAC•.",
        criterion=f"among runs whose gate is below ½ {_MORE}",
        experiments=("gate",),
        test=h.multiplication_beyond_gate,
    ),
    Claim(
        name="gating-3",
        where="2.8; Gating, 3",
        text="The choice of a gate is mostly random and independent of the task.",
        criterion="for each model the shares of gates above ½ on × and + do not differ by Fisher's test at 5%, which "
        "would find a difference of 50 points, and both sides are chosen in at least 10% of runs",
        experiments=("gate",),
        test=h.gate_is_random,
    ),
    Claim(
        name="division",
        where="1; All models, 1",
        text="No model learns division.",
        criterion=f"for each {_CANNOT}",
        experiments=("all-models",),
        test=h.fails_at("all-models", [model.name for model in ALL_MODELS], "div"),
    ),
    Claim(
        name="root",
        where="All models, 2",
        text="NAC• and NALU are barely able to learn √z.",
        criterion="each solves it at least once, and the 95% interval of its success rate ends at 20% or below",
        experiments=("all-models",),
        test=h.barely_roots,
    ),
    Claim(
        name="square",
        where="All models, 3",
        text="The NMU is fully capable of learning z².",
        criterion=_CAN,
        experiments=("all-models",),
        test=lambda cases: at_least(cases("all-models", "NMU", "squared")),
    ),
    Claim(
        name="square-nmu",
        where="All models, 3",
        text="The NMU learns z² by learning the same subset twice in the layer before it.",
        criterion="so do at least 90% of its solved runs, weights at the best record rounded, by the 95% interval",
        experiments=("all-models",),
        test=h.twice("NMU"),
    ),
    Claim(
        name="square-nac",
        where="All models, 3",
        text="NAC• learns z² in the same way.",
        criterion="as for the NMU",
        experiments=("all-models",),
        test=h.twice("NACMul"),
    ),
    Claim(
        name="gated",
        where="All models, 4",
        text="The gated NAU/NMU works very poorly.",
        criterion=f"on each operation {_CANNOT}",
        experiments=("all-models",),
        test=h.fails_at("all-models", ("GatedNAUNMU",), *OPERATIONS),
    ),
    *[
        Claim(
            name=f"strength-{operation}",
            where="Regularization",
            text=f"For {model} on {symbol} a regularizer of strength {chosen:g} is the best choice.",
            criterion="no other strength has a success rate more than 10 points above its own, by the 95% interval of "
            "the difference",
            experiments=(f"regularizer-{operation}",),
            test=h.strength_is_best(f"regularizer-{operation}", model, chosen),
        )
        for operation, symbol, model, chosen in (
            ("add", "+", "NAU", 0.01),
            ("sub", "−", "NAU", 0.01),
            ("mul", "×", "NMU", 10.0),
        )
    ],
    *MNIST_CLAIMS,
)
"""Claims in the order of the paper; those on sequences of digits come last."""
