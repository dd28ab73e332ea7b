"""Claims of Madsen & Johansen (2020) about sequences of handwritten digits, in our words."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ... import statistics
from ..._formatting import percent
from ...statistics import Interval
from ..evidence import (
    Case,
    Cases,
    Claim,
    Decision,
    TooFewRuns,
    above,
    at_least,
    more_often,
    points,
    sparser,
    undistinguished,
)
from .digits import PRODUCT, SUM

Test = Callable[[Cases], Decision]

TRAINED = {"product": float(PRODUCT.length), "sum": float(SUM.length)}
LONGEST = {"product": float(max(PRODUCT.test_lengths)), "sum": float(max(SUM.test_lengths))}

_MORE = "the 95% interval of the difference of success rates is above 0"


def beyond(operation: str, model: str, *others: str) -> Test:
    """Test that the model is solved more often than each of the others on the longest sequences."""
    name, at = f"mnist-{operation}", LONGEST[operation]
    return lambda cases: Decision.all(more_often(cases(name, model, at), cases(name, other, at)) for other in others)


def sides(cases: Cases, operation: str, model: str, at: float) -> tuple[Case, Case]:
    """Return a model with the regularizer of its inputs, and without."""
    one, other = cases(f"mnist-{operation}", model, at), cases(f"mnist-{operation}-no-rz", model, at)
    return one, replace(other, label=f"{other.label} without R_z")


def another_way(cases: Cases) -> Decision:
    """Test that without the regularizer some solved run of the NMU is not a product once its weights are rounded."""
    _, without = sides(cases, "product", "NMU", TRAINED["product"])
    k = int(np.count_nonzero(without.runs.intended != 1))
    return Decision(k > 0, f"{k} of {without.runs.k} solved runs of {without.label}")


def intended_way(cases: Cases) -> Decision:
    """Test that with the regularizer there is no such run."""
    parts = []
    for model in ("NMU", "NACMulNMU"):
        case = cases("mnist-product", model, TRAINED["product"])
        k = int(np.count_nonzero(case.runs.intended != 1))
        parts.append(Decision(case.runs.k > 0 and k == 0, f"{k} of {case.runs.k} solved runs of {case.label}"))
    return Decision.all(parts)


def similar_rates(cases: Cases) -> Decision:
    """Test that products are solved equally often with and without the regularizer."""
    parts = []
    for model in ("NMU", "NACMulNMU"):
        for at in (TRAINED["product"], LONGEST["product"]):
            one, other = sides(cases, "product", model, at)
            parts.append(undistinguished(one, other))
    return Decision.all(parts)


def other_solutions(cases: Cases) -> Decision:
    """Test that solved runs of products are sparser with the regularizer."""
    pairs = [sides(cases, "product", model, TRAINED["product"]) for model in ("NMU", "NACMulNMU")]
    return Decision.all(sparser([pair]) for pair in pairs)


def reduced(cases: Cases, operation: str, model: str) -> Interval:
    """Return how much lower the success rate is without the regularizer, at the training length."""
    one, other = sides(cases, operation, model, TRAINED[operation])
    return statistics.rate_difference(one.runs.k, one.runs.n, other.runs.k, other.runs.n)


def larger_reduction(cases: Cases) -> Decision:
    """Test that sums lose more without the regularizer than products do; errors of the differences add as variances."""
    add, mul = reduced(cases, "sum", "NAU"), reduced(cases, "product", "NMU")
    middle = add.estimate - mul.estimate
    low = middle - math.hypot(add.estimate - add.low, mul.high - mul.estimate)
    high = middle + math.hypot(add.high - add.estimate, mul.estimate - mul.low)
    difference = Interval(middle, low, high)
    losses = f"NAU on + loses {percent(add.estimate)}, NMU on × {percent(mul.estimate)}"
    return Decision(above(difference, 0.0), f"{losses}: {points(difference)}")


def learns_the_mean(cases: Cases) -> Decision:
    """Test that some run solved on the longest sums adds nearly the same number for every digit."""
    case = cases("mnist-sum-no-rz", "NAU", LONGEST["sum"])
    k = int(np.count_nonzero(case.runs.rises < 0.5))
    return Decision(k > 0, f"{k} of {case.runs.k} solved runs of {case.label}")


def grows_exponentially(operation: str, model: str) -> Test:
    """Test that the logarithm of the error is closer to linear in the length than in its logarithm."""

    def test(cases: Cases) -> Decision:
        lengths = np.array({"product": PRODUCT, "sum": SUM}[operation].test_lengths, np.float64)
        runs = [cases("mnist-reference", model, at).runs for at in lengths.tolist()]
        if not all(math.isfinite(one.threshold) for one in runs):
            raise TooFewRuns(f"mnist-reference, {model}: errors too large for thresholds")
        logs = np.log([one.threshold for one in runs])
        left = [float(np.sum((logs - np.polyval(np.polyfit(x, logs, 1), x)) ** 2)) for x in (lengths, np.log(lengths))]
        total = float(np.sum((logs - logs.mean()) ** 2))
        shares = " and ".join(percent(1 - one / total) for one in left)
        return Decision(left[0] < left[1], f"an exponential and a power of the length account for {shares}")

    return test


MNIST_CLAIMS = (
    Claim(
        name="mnist-learns",
        where="4.2, figure: MNIST product",
        text="The NMU does not hinder the learning of a deeper network, a CNN that reads digits.",
        criterion="on products of two digits, as in training, the NMU's success rate is above 50% by its interval",
        experiments=("mnist-product",),
        test=lambda cases: at_least(cases("mnist-product", "NMU", TRAINED["product"]), 0.5),
    ),
    Claim(
        name="mnist-extrapolates",
        where="4.2, figure: MNIST product",
        text="The NMU extrapolates to much longer sequences than those it is trained on.",
        criterion="on products of ten digits, five times as many, its success rate is above 50% by its interval",
        experiments=("mnist-product",),
        test=lambda cases: at_least(cases("mnist-product", "NMU", 10.0), 0.5),
    ),
    Claim(
        name="mnist-product-best",
        where="Conclusion; figure: MNIST product",
        text="On sequential products the NMU outperforms NAC•, NALU and an LSTM.",
        criterion=f"on products of twenty digits {_MORE}",
        experiments=("mnist-product",),
        test=beyond("product", "NMU", "NACMul", "NALU", "LSTM"),
    ),
    Claim(
        name="mnist-another-way",
        where="4.2",
        text="Behind a CNN without R_z the NMU may multiply in another way, as in 0.1·81 + 1 − 0.1 = 9.",
        criterion="a run that solves products of two digits has a weight that is not 1 once it is rounded",
        experiments=("mnist-product", "mnist-product-no-rz"),
        test=another_way,
    ),
    Claim(
        name="mnist-intended-way",
        where="4.2",
        text="R_z prevents that, for the NMU and for NAC•,NMU.",
        criterion="with it there is no such run, and some are solved",
        experiments=("mnist-product",),
        test=intended_way,
    ),
    Claim(
        name="mnist-growth-product",
        where="Sequential MNIST, task",
        text="Errors accumulate over a product, so that the reference's grows exponentially with its length.",
        criterion="a line fits the logarithm of the threshold better over the lengths than over their logarithm",
        experiments=("mnist-reference",),
        test=grows_exponentially("product", "ReferenceMul"),
    ),
    Claim(
        name="mnist-growth-sum",
        where="Sequential MNIST, task",
        text="So does that of sums.",
        criterion="as for products",
        experiments=("mnist-reference",),
        test=grows_exponentially("sum", "ReferenceAdd"),
    ),
    Claim(
        name="mnist-sum-best",
        where="Conclusion; figure: MNIST sum",
        text="On sequential sums the NAU outperforms NAC₊, NALU and an LSTM.",
        criterion=f"on sums of a thousand digits {_MORE}",
        experiments=("mnist-sum",),
        test=beyond("sum", "NAU", "NACAdd", "NALU", "LSTM"),
    ),
    Claim(
        name="mnist-sum-without",
        where="Sequential MNIST, sum without R_z",
        text="Without R_z the NAU succeeds less often.",
        criterion=f"on sums of ten digits, as in training, {_MORE}",
        experiments=("mnist-sum", "mnist-sum-no-rz"),
        test=lambda cases: more_often(*sides(cases, "sum", "NAU", TRAINED["sum"])),
    ),
    Claim(
        name="mnist-larger-reduction",
        where="Sequential MNIST, sum without R_z",
        text="That costs the NAU on sums more than the NMU on products.",
        criterion="at the training lengths the 95% interval of the difference of both differences is above 0",
        experiments=("mnist-sum", "mnist-sum-no-rz", "mnist-product", "mnist-product-no-rz"),
        test=larger_reduction,
    ),
    Claim(
        name="mnist-longer-is-easier",
        where="Sequential MNIST, sum without R_z",
        text="Without R_z the NAU succeeds more often on longer sums.",
        criterion=f"between a thousand digits and one {_MORE}",
        experiments=("mnist-sum-no-rz",),
        test=lambda cases: more_often(*(cases("mnist-sum-no-rz", "NAU", at) for at in (LONGEST["sum"], 1.0))),
    ),
    Claim(
        name="mnist-mean",
        where="Sequential MNIST, sum without R_z",
        text="That is because some runs only learn the mean of the digits, which is enough for long sums.",
        criterion="in a run that solves sums of a thousand digits the number added rises by less than ½ per digit",
        experiments=("mnist-sum-no-rz",),
        test=learns_the_mean,
    ),
    Claim(
        name="mnist-product-without",
        where="Sequential MNIST, product without R_z",
        text="On products the success rates without R_z are somewhat similar.",
        criterion="on two and on twenty digits those of NMU and NAC•,NMU do not differ by Fisher's test at 5%, which "
        "would find a difference of 50 points",
        experiments=("mnist-product", "mnist-product-no-rz"),
        test=similar_rates,
    ),
    Claim(
        name="mnist-other-solutions",
        where="Sequential MNIST, product without R_z",
        text="The solutions, by their sparsity errors, are quite different.",
        criterion="on two digits errors are smaller with R_z by the rank-sum test at 5%, for NMU and for NAC•,NMU",
        experiments=("mnist-product", "mnist-product-no-rz"),
        test=other_solutions,
    ),
)
"""Claims in the order of the paper."""
