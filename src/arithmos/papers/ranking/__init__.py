"""One ranking: all units on one protocol, as single layers."""

from ..contests import CRITERIA, contests
from ..paper import Paper

paper = Paper(
    key="ranking",
    title="All units on one protocol",
    reference="runs of this project",
    experiments=contests(),
    criteria=CRITERIA,
    introduction="One layer is to find an operation on one or two of its inputs, in nine ranges; roots in the "
    "four that are positive. Every unit is trained as its authors trained it, for the same number of iterations. "
    "Networks marked LM are trained by the second-order recipe, products with a layer of sums before them. There are "
    "100 seeds per range with two and with ten inputs, and 25 with a hundred.",
)
